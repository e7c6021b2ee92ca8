"""Runs are counted and capped where the solver can't reach, and every one is in the journal."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from openrebench.core.card import Profile
from openrebench.core.catalog import find_card
from openrebench.core.service import Journal, Refused, reply_to
from openrebench.environments.scaling_law.experiments import Experiments, spent
from openrebench.environments.scaling_law.tests.fakes import Instant

PROFILE = find_card("scaling_law").profile("small")
SMALL = {"n_embd": 8, "max_iters": 10}


@pytest.fixture
def trainer() -> Instant:
    return Instant()


@pytest.fixture
def service(tmp_path: Path, trainer: Instant) -> Iterator[Experiments]:
    found = Experiments(PROFILE, Journal(tmp_path / "runs.jsonl"), trainer=trainer)
    yield found
    found.close()


def allowing(flop: float) -> Profile:
    return PROFILE.model_copy(update={"parameters": {**PROFILE.parameters, "allowance": flop}})


def test_a_run_gives_loss_cost_and_what_is_left(service: Experiments) -> None:
    reply = service.answer({"n_embd": 16, "max_iters": 100, "learning_rate": 0.01, "seed": 3})
    cost = 6 * (24 * 16**2 + 2048 * 16) * 256 * 100
    assert reply == {
        "loss": 5.0, "flop": cost, "flop_used": cost, "flop_left": int(2.4e12) - cost,
        "runs_left": 199,
    }  # fmt: skip
    listed = service.answer({})
    run = {"n_embd": 16, "max_iters": 100, "rate": 0.01, "seed": 3, "loss": 5.0}
    left = {name: reply[name] for name in ("flop_used", "flop_left", "runs_left")}
    assert listed == {**left, "runs": [run]}


def test_every_run_is_in_the_journal(service: Experiments) -> None:
    service.answer(SMALL)
    begun, done = service.journal.rows()
    assert begun["event"] == "begun" and begun["n_embd"] == 8 and begun["at"]
    assert (done["event"], done["run"], done["loss"]) == ("done", begun["run"], 5.0)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"n_embd": 48, "max_iters": 8477}, "a run may cost 4e"),
        ({"n_embd": 12, "max_iters": 10}, "multiple of 8"),
        ({"n_embd": 264, "max_iters": 10}, "from 8 to 256"),
        ({"n_embd": 8}, "max_iters must be an integer"),
        ({"n_embd": 8, "max_iters": 10.0}, "max_iters must be an integer"),
        ({**SMALL, "seed": -1}, "seed must be"),
        ({**SMALL, "learning_rate": float("nan")}, "learning_rate must be"),
        ({**SMALL, "learning_rate": 0}, "learning_rate must be"),
        ({**SMALL, "flop": 1}, "unknown key 'flop'"),
    ],
)
def test_a_bad_request_costs_nothing_and_says_why(
    service: Experiments, trainer: Instant, request_: dict, says: str
) -> None:
    with pytest.raises(Refused, match=says):
        service.answer(request_)
    assert service.journal.rows() == [] and trainer.asked == []


def test_racing_requests_share_one_allowance(tmp_path: Path) -> None:
    cost = Experiments(PROFILE, Journal(tmp_path / "x")).family.flop(8, 10)
    journal = tmp_path / "runs.jsonl"
    services = [
        Experiments(allowing(7.5 * cost), Journal(journal), trainer=Instant()) for _ in range(4)
    ]
    start, outcomes = threading.Barrier(32), []

    def one(k: int) -> None:
        start.wait()
        outcomes.append("loss" in reply_to(services[k % 4], json.dumps(SMALL).encode()))

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(one, range(32)))
    assert sum(outcomes) == 7
    assert spent(Journal(journal).rows()) == (7, 7 * cost)


def test_a_restarted_service_remembers(tmp_path: Path) -> None:
    first = Experiments(PROFILE, Journal(tmp_path / "runs.jsonl"), trainer=Instant())
    first.answer(SMALL)
    with (tmp_path / "runs.jsonl").open("a") as file:
        file.write('{"event": "begun", "ru')  # a crash while writing
    second = Experiments(PROFILE, Journal(tmp_path / "runs.jsonl"), trainer=Instant())
    second.answer(SMALL)
    numbers = [row["run"] for row in second.journal.rows() if row["event"] == "begun"]
    assert numbers == [0, 1]


def test_what_fails_by_our_fault_is_not_charged(tmp_path: Path) -> None:
    broken = Instant(OSError("no memory"))
    service = Experiments(PROFILE, Journal(tmp_path / "runs.jsonl"), trainer=broken)
    reply = reply_to(service, json.dumps(SMALL).encode())
    assert "our side" in str(reply["error"]) and "memory" not in str(reply)
    assert spent(service.journal.rows()) == (0, 0)


def test_a_diverged_run_has_no_loss_but_is_charged(tmp_path: Path) -> None:
    service = Experiments(PROFILE, Journal(tmp_path / "runs.jsonl"), trainer=Instant(float("nan")))
    reply = service.answer(SMALL)
    assert reply["loss"] is None and reply["flop_used"] == reply["flop"]


def test_the_number_of_runs_is_capped(service: Experiments) -> None:
    service.max_runs = 2
    service.answer(SMALL)
    service.answer(SMALL)
    with pytest.raises(Refused, match="all 2 runs"):
        service.answer(SMALL)


def test_the_tuned_rate_is_used_if_none_is_named(service: Experiments, trainer: Instant) -> None:
    service.answer(SMALL)
    service.answer({**SMALL, "learning_rate": 0.5})
    assert [job.rate for job in trainer.asked] == [0.25 / 8, 0.5]
