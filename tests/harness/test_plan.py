"""Plans, prices, accounts, and what a plan can cost."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from openrebench.errors import AttemptError, ReBenchError
from openrebench.harness.accounts import Accounts, Book, ModelAccount, read_accounts, write_accounts
from openrebench.harness.budget import START_S, Budget, Fuses, Used, parse_size, spent, task_limits
from openrebench.harness.estimate import estimate, total
from openrebench.harness.plan import Plan, find_plans, read_plan
from openrebench.harness.prices import Price, load_prices, read_prices

SETTINGS: dict[str, Any] = {"profile": "small", "time_limit_s": 1800.0}


class Session:
    """What Inspect says a model has used."""

    def __init__(self, read: int, wrote: int, cost: float | None, cached: int = 0) -> None:
        self.input_tokens, self.output_tokens, self.total_cost = read, wrote, cost
        self.input_tokens_cache_read, self.input_tokens_cache_write = cached, None


def plan(agents: list[str], models: list[str], attempts: int = 1, **settings: Any) -> Plan:
    return Plan.make(["one", "two"], agents, models, attempts, **{**SETTINGS, **settings})


def test_a_plan_is_the_product_first_attempts_first() -> None:
    cells = plan(["react", "literal_search"], ["a/x", "b/y"], 2).cells
    assert [cell.place for cell in cells] == list(range(1, 13))
    assert [cell.number for cell in cells] == [1] * 6 + [2] * 6
    assert [(c.environment, c.agent, c.model) for c in cells[:3]] == [
        ("one", "react", "a/x"),
        ("one", "react", "b/y"),
        ("one", "literal_search", "none/none"),
    ]


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = plan(["react"], ["a/x"], fuses=Fuses(max_tokens=5), prices={"a/x": (1, 2, 3, 4)})
    made.save(tmp_path)
    assert find_plans(tmp_path) == [made] == find_plans(made.path(tmp_path))
    assert made.prices["a/x"] == Price(1, 2, 3, 4)


def test_equal_commands_have_equal_digests() -> None:
    one, same = plan(["react"], ["a/x"]), plan(["react"], ["a/x"])
    assert one.id != same.id and one.digest == same.digest
    assert one.digest != plan(["react"], ["a/x"], seed=1).digest


def test_a_damaged_plan_is_one_sentence(tmp_path: Path) -> None:
    made = plan(["react"], ["a/x"])
    made.save(tmp_path)
    made.path(tmp_path).write_text('{"schema_version": 2}')
    with pytest.raises(AttemptError, match="schema_version: Input should be 1"):
        read_plan(made.path(tmp_path))
    with pytest.raises(AttemptError, match="can't be read"):
        read_plan(tmp_path / "none.json")


def test_what_a_plan_costs_at_most() -> None:
    prices = load_prices().over({"a/x": Price(1.0, 4.0, 0.1, 1.25)})
    made = plan(["react", "literal_search"], ["a/x"], 3, fuses=Fuses(max_tokens=2_000_000))
    rows = estimate(made, prices, made.cells)
    assert len(rows) == 4 and rows[0].attempts == 3
    assert rows[0].working_s == 3 * 1800 and rows[0].wall_s == 3 * 2850
    assert rows[0].tokens == 6_000_000 and rows[0].cost_usd == 3 * 8.0
    assert (rows[1].tokens, rows[1].cost_usd) == (0, 0.0)
    assert total(rows).cost_usd == 48.0 and total(rows).attempts == 12


def test_the_lower_fuse_bounds_the_money() -> None:
    prices = load_prices().over({"a/x": Price(1.0, 4.0, 0.1, 1.25)})
    made = plan(["react"], ["a/x"], fuses=Fuses(max_tokens=2_000_000, max_cost_usd=0.5))
    assert [row.cost_usd for row in estimate(made, prices, made.cells)] == [0.5, 0.5]


def test_what_is_not_known_is_said_and_not_0() -> None:
    made = plan(["react"], ["a/x"], fuses=Fuses(max_tokens=9))
    rows = estimate(made, load_prices(), made.cells)
    assert rows[0].cost_usd is None and "price of a/x is unknown" in rows[0].why_not
    assert total(rows).cost_usd is None and total(rows).tokens == 18
    free = plan(["react"], ["openai/gpt-5"])
    (row, _) = estimate(free, load_prices(), free.cells)
    assert (row.tokens, row.cost_usd) == (None, None) and "--max-cost" in row.why_not


def test_prices_that_ship_name_date_and_source() -> None:
    prices = load_prices()
    assert prices.checked.count("-") == 2 and "github" in prices.source.lower()
    assert len(prices.by_model) > 20
    assert all(0 <= price.cache_read <= price.input for price in prices.by_model.values())
    dated = prices.find("anthropic/claude-sonnet-4-5-20250929")
    assert dated == prices.find("anthropic/claude-sonnet-4-5") == Price(3, 15, 0.3, 3.75)
    assert prices.find("openai/gpt-99") is None and prices.find("vllm/x") is None


def test_prices_can_be_given(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[models]\n"a/x" = [1, 2]\n"b/y" = [3, 4, 0.5]\n')
    found = read_prices(file, ["a/x=10,20"])
    assert found == {"a/x": Price(10, 20, 10, 10), "b/y": Price(3, 4, 0.5, 3)}


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("a/x", "write MODEL=INPUT,OUTPUT"),
        ("a/x=1", "is no price"),
        ("a/x=1,b", "is no price"),
        ("a/x=1,-2", "is no price"),
        ("a/x=nan,1", "is no price"),
    ],
)
def test_a_wrong_price_is_one_sentence(word: str, told: str) -> None:
    with pytest.raises(ReBenchError, match=told):
        read_prices(None, [word])


def test_a_wrong_price_file_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for text, told in (
        ("[models", "is not TOML"),
        ("a = 1", "no table"),
        ("[models]\na=1", "no p"),
    ):
        file.write_text(text)
        with pytest.raises(ReBenchError, match=told):
            read_prices(file, [])
    with pytest.raises(ReBenchError, match="can't be read"):
        read_prices(tmp_path / "none.toml", [])


def test_accounts_add_up_over_sessions() -> None:
    earlier = Accounts(models={"a/x": ModelAccount(calls=2, input_tokens=10, cost_usd=1.0)})
    usage = {"a/x": Session(100, 20, 0.5, cached=30), "b/y": Session(1, 1, 0.25)}
    book = Book(earlier, usage)
    book.call("a/x")
    book.call("c/z")
    accounts = book.accounts(working_s=1800.0, score_calls=11)
    assert accounts.models["a/x"] == ModelAccount(
        calls=3, input_tokens=140, cached_tokens=30, output_tokens=20, cost_usd=1.5
    )
    assert (accounts.model_calls, accounts.input_tokens, accounts.output_tokens) == (4, 141, 21)
    assert accounts.cost_usd == 1.75 and accounts.score_calls_per_hour == 20.0
    usage["b/y"] = Session(5, 5, 0.25)  # whoever counts goes on
    assert book.accounts().input_tokens == 145


def test_an_unknown_price_is_said() -> None:
    accounts = Book(Accounts(), {"a/x": Session(1, 1, None), "b/y": Session(1, 1, 0.5)}).accounts()
    assert accounts.cost_usd is None and accounts.usage().cost_usd is None
    assert accounts.unpriced == ("a/x",) and accounts.known_cost_usd == 0.5
    assert Accounts().cost_usd == 0.0 and Accounts().score_calls_per_hour is None


def test_accounts_are_read_as_they_were_written(tmp_path: Path) -> None:
    accounts = Book(Accounts(gpu_s=None), {"a/x": Session(1, 2, None)}).accounts(wall_s=3.0)
    write_accounts(tmp_path, accounts)
    assert read_accounts(tmp_path) == accounts
    (tmp_path / "accounts.json").write_text("{")
    assert read_accounts(tmp_path) is None


def test_limits_are_what_is_left() -> None:
    fuses = Fuses(max_wall_s=100, max_tokens=50, max_cost_usd=2.0)
    used = Used(working_s=10.5, wall_s=20.0, tokens=49, cost_usd=1.5)
    assert task_limits(Budget(60), fuses, used) == {
        "working_limit": 50,
        "time_limit": START_S + 80,
        "token_limit": 1,
        "cost_limit": 0.5,
    }
    assert task_limits(Budget(60), Fuses(), Used()) == {
        "working_limit": 60,
        "time_limit": START_S + 675,
    }
    assert not spent(Budget(60), fuses, used)
    for over in (
        Used(working_s=60.0),
        Used(wall_s=100.0),
        Used(tokens=50),
        Used(cost_usd=2.0),
    ):
        assert spent(Budget(60), fuses, over)


@pytest.mark.parametrize("field", ["max_wall_s", "max_tokens", "max_cost_usd", "max_disk_bytes"])
def test_fuses_are_above_0(field: str) -> None:
    with pytest.raises(ValidationError):
        Fuses(**{field: 0})


def test_sizes() -> None:
    assert [parse_size(t) for t in ("500MB", "20 gb", "1TB")] == [5 * 10**8, 2 * 10**10, 10**12]
    with pytest.raises(ReBenchError, match="size '5' can't be read"):
        parse_size("5")
