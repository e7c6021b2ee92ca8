"""Anchors: how many runs they need."""

import pytest
from pydantic import ValidationError

from openrebench.core.anchors import Anchors


def anchors(runs: int, seconds: float) -> Anchors:
    return Anchors(
        environment="prefix_sum",
        version="1.0.0",
        profile="small",
        device="a-cpu",
        unit="ms",
        start=(4.0,) * 6,
        reference=(2.0,) * runs,
        score_call_s=seconds,
        hardware={},
        versions={},
        isolation="bubblewrap",
        conditions="quiet",
    )


@pytest.mark.parametrize(("runs", "seconds"), [(5, 3.0), (5, 90.0), (3, 90.0)])
def test_five_runs_are_enough_and_three_where_one_takes_minutes(runs: int, seconds: float) -> None:
    assert anchors(runs, seconds).reference == (2.0,) * runs


@pytest.mark.parametrize(("runs", "seconds", "least"), [(4, 3.0, 5), (3, 60.0, 5), (2, 90.0, 3)])
def test_fewer_are_refused(runs: int, seconds: float, least: int) -> None:
    with pytest.raises(ValidationError, match=f"{runs} runs; anchors need at least {least}"):
        anchors(runs, seconds)
