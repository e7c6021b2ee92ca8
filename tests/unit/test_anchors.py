"""Anchors: how many runs they need, and whose count as this machine's."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from openrebench.core import measuring
from openrebench.core.anchors import Anchors, local_folder
from openrebench.core.catalog import load_environment
from openrebench.core.reading import SHIPPED, has_anchors, normalised
from openrebench.errors import ReBenchError
from openrebench.isolation.device import device_fingerprint


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


@pytest.mark.parametrize(("runs", "seconds", "least"), [(2, 90.0, 3), (4, 3.0, 5), (0, 3.0, 3)])
def test_too_few_runs_are_told_before_the_time_is_spent(
    runs: int, seconds: float, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = []

    def score(*_: object, **__: object) -> SimpleNamespace:
        scored.append(1)
        return SimpleNamespace(raw=1.0, seconds=seconds)

    monkeypatch.setattr(measuring, "score_submission", score)
    said = f"{runs} runs of start and reference are too few.* at least {least}"
    with pytest.raises(ReBenchError, match=said):
        measuring.measure_anchors(load_environment("guess_number"), "small", None, runs=runs)  # type: ignore[arg-type]
    assert len(scored) <= 1


@pytest.mark.parametrize(("unit", "shipped_do"), [("ms", False), ("nats", True)])
def test_shipped_times_are_no_anchors_of_this_machine(
    unit: str, shipped_do: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREBENCH_HOME", str(tmp_path / "home"))
    card = load_environment("prefix_sum").card
    score = card.score.model_copy(update={"unit": unit})
    changed = {"score": score, "folder": tmp_path, "version": "1.0.0"}
    card = card.model_copy(update=changed)
    device = device_fingerprint("cpu").slug
    measured = anchors(6, 3.0).model_copy(update={"unit": unit, "device": device})
    assert not has_anchors(card, "small")
    measured.save(tmp_path / "anchors")
    assert has_anchors(card, "small") is shipped_do
    assert normalised(card, "small", 2.0) == (
        1.0,
        "" if shipped_do else SHIPPED.format("prefix_sum", "small"),
    )
    measured.save(local_folder(card))
    assert has_anchors(card, "small")
    assert normalised(card, "small", 2.0) == (1.0, "")
