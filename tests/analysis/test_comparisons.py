"""The paper's statements beside what attempts support."""

from openrebench.analysis.budgets import estimated
from openrebench.analysis.comparisons import paper_comparisons
from openrebench.analysis.groups import grouped
from openrebench.analysis.options import Options

ONE = ("prefix_sum",)
FAST = Options(resamples=200)
EIGHT = {"budget_s": 28800.0, "length_s": 28800.0}


def estimates(table):
    found = [estimated(group, FAST) for group in grouped(table, ONE, FAST)]
    humans = [e for e in found if e.group.kind == "human"]
    return (humans[0] if humans else None), [e for e in found if e.group.kind != "human"]


def test_ratio_of_humans_to_the_best_agent_with_its_interval(make_table) -> None:
    humans = [{"kind": "human", "solver": "human", "score": s, **EIGHT} for s in (0.9, 1.0, 1.1)]
    agents = [{"score": s, **EIGHT} for s in (0.4, 0.5, 0.6)]
    worse = [{"score": 0.1, "solver": "worse", **EIGHT}]
    rows = paper_comparisons(*estimates(make_table(*humans, *agents, *worse)))
    two, eight, _ = rows.iter_rows(named=True)
    assert eight["agent"] == "agent" and eight["human_over_agent"] == 2.0
    assert eight["ratio_low"] > 1 and "humans ahead" in eight["these_attempts"]
    assert two["human"] is None and two["human_over_agent"] is None
    assert "can't support it: no human score at 2 h" in two["these_attempts"]


def test_agents_ahead_and_no_clear_difference_are_said(make_table) -> None:
    human = {"kind": "human", "solver": "human", **EIGHT}
    ahead = make_table({"score": 0.1, **human}, {"score": 0.9, **EIGHT})
    assert "the agent ahead" in paper_comparisons(*estimates(ahead))["these_attempts"][1]
    spread = [{"score": s, **human} for s in (0.0, 1.0)]
    even = make_table(*spread, *[{"score": s, **EIGHT} for s in (0.0, 1.0)])
    assert "no clear difference" in paper_comparisons(*estimates(even))["these_attempts"][1]


def test_agents_that_score_nothing_and_missing_agents_are_said(make_table) -> None:
    human = {"kind": "human", "solver": "human", **EIGHT}
    nothing = make_table({"score": 0.5, **human}, {"score": 0.0, **EIGHT})
    assert paper_comparisons(*estimates(nothing))["human_over_agent"][1] == float("inf")
    alone = make_table({"score": 0.5, **human})
    assert (
        "no agent has attempts for 8 h" in paper_comparisons(*estimates(alone))["these_attempts"][1]
    )
    agents_only = make_table({"score": 0.5, **EIGHT})
    rows = paper_comparisons(*estimates(agents_only))
    assert rows["agent_score"][1] == 0.5 and rows["human"].null_count() == 3
