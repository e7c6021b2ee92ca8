"""Attempts from Inspect's logs, written by hand so that no model and no Inspect is needed."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from openrebench.analysis.errors import TableError
from openrebench.analysis.importers import inspect_logs
from openrebench.analysis.importers.inspect_logs import import_inspect

HEADER = {
    "status": "success",
    "eval": {
        "task": "openrebench/prefix_sum",
        "model": "mockllm/model",
        "config": {"working_limit": 1800},
    },
}


def score_event(
    value: object, *, intermediate: bool = True, **metadata: object
) -> dict[str, object]:
    return {
        "event": "score",
        "working_start": 7.5,
        "intermediate": intermediate,
        "score": {"value": value, "metadata": metadata},
    }


def sample(*events: dict[str, object], **changed: object) -> dict[str, object]:
    whole = {
        "id": "prefix_sum",
        "epoch": 1,
        "messages": [{"role": "user", "content": "x" * 1000}],
        "metadata": {"environment": "prefix_sum@1.0.0/small"},
        "scores": {},
        "store": {"events": {"event": "score"}},
        "events": [
            {"event": "model", "score": {"value": 9}},
            *events,
            {"event": "info", "data": [1, {"a": 2}]},
        ],
        "model_usage": {"m": {"input_tokens": 10, "output_tokens": 4}},
        "uuid": "u1",
        "working_time": 1200.0,
        "total_time": 1300.0,
        "limit": {"type": "working", "limit": 1800},
        "error": None,
    }
    return whole | changed


def write(
    path: Path, *samples: dict[str, object], header: dict[str, object] | None = HEADER
) -> Path:
    log = path / "log.eval"
    with zipfile.ZipFile(log, "w") as archive:
        for i, content in enumerate(samples):
            archive.writestr(f"samples/s_epoch_{i}.json", json.dumps(content))
        if header is not None:
            archive.writestr("header.json", json.dumps(header))
    return log


def test_score_events_become_the_log_of_an_attempt(tmp_path: Path) -> None:
    events = [
        score_event(0.0, requested_at_s=0.0, outcome="scored", raw=100.0, scale="normalised"),
        score_event(None, requested_at_s=60.0, outcome="invalid", reason="crashed"),
        score_event(0.7, requested_at_s=90.0, outcome="scored", raw=20.0, scale="normalised"),
        score_event(0.7, intermediate=False, requested_at_s=90.0, outcome="scored", raw=20.0),
    ]
    found = import_inspect(write(tmp_path, sample(*events)))
    row = found.attempts.attempts.row(0, named=True)
    assert (row["environment"], row["version"], row["profile"]) == ("prefix_sum", "1.0.0", "small")
    assert (row["attempt"], row["score"], row["score_calls"], row["ended"]) == (
        "u1",
        0.7,
        3,
        "budget",
    )
    assert (row["length_s"], row["working_s"], row["input_tokens"], row["output_tokens"]) == (
        1800.0,
        1200.0,
        10,
        4,
    )
    assert found.attempts.entries["at_s"].to_list() == [0.0, 60.0, 90.0]
    assert found.attempts.entries["reason"].to_list() == [None, "crashed", None]
    assert found.notes == ()


def test_logs_of_others_are_read_by_time_and_value(tmp_path: Path) -> None:
    header = {
        "status": "error",
        "eval": {"task": "metr/ai_rd_rust_codecontests_inference", "model": "m"},
    }
    events = [score_event(0.2), score_event(float("nan"), elapsed_seconds=30), score_event("C")]
    log = write(tmp_path, sample(*events, metadata={}, limit=None, uuid=None), header=header)
    found = import_inspect(log)
    row = found.attempts.attempts.row(0, named=True)
    assert row["environment"] == "rust_codecontests" and row["ended"] == "submitted"
    assert row["attempt"] == "log prefix_sum 1" and row["length_s"] == 1200.0
    assert found.attempts.entries.select("at_s", "outcome").rows() == [
        (7.5, "scored"),
        (30.0, "invalid"),
        (7.5, "invalid"),
    ]
    assert found.notes == ("log.eval: the run ended with status error",)


def test_log_without_score_events_has_its_final_score(tmp_path: Path) -> None:
    scored = sample(scores={"a": {"value": "C"}, "b": {"value": -0.2}})
    row = import_inspect(write(tmp_path, scored)).attempts.attempts.row(0, named=True)
    assert row["score"] == 0.0 and not row["has_log"] and row["score_calls"] is None


def test_samples_that_say_nothing_are_left_out_with_the_reason(tmp_path: Path) -> None:
    raw_only = score_event(3.0, outcome="scored", raw=3.0, scale="raw")
    samples = [
        sample(uuid="a"),
        sample(uuid="b", error={"message": "boom"}),
        sample(raw_only, uuid="c"),
        sample(score_event(float("nan")), uuid="d"),
    ]
    found = import_inspect(write(tmp_path, *samples)).attempts.attempts
    assert dict(found.select("attempt", "left_out").rows()) == {
        "a": "no score that is a number",
        "b": "ended in an error of the harness",
        "c": "no score that is a number",
        "d": "",
    }


def test_last_answer_counts_for_scaling_law(tmp_path: Path) -> None:
    events = [score_event(0.9), score_event(0.1)]
    log = write(tmp_path, sample(*events, metadata={"environment": "scaling_law@1.0.0/small"}))
    assert import_inspect(log).attempts.attempts["score"].to_list() == [0.1]


def test_folder_of_logs_is_read_and_an_empty_one_refused(tmp_path: Path) -> None:
    write(tmp_path, sample())
    assert len(import_inspect(tmp_path).attempts) == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="holds no .eval log"):
        import_inspect(tmp_path / "empty")


def test_damaged_or_unfinished_log_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="has no header, so the run is not finished"):
        import_inspect(write(tmp_path, sample(), header=None))
    (tmp_path / "bad.eval").write_bytes(b"nothing")
    with pytest.raises(TableError, match="bad.eval: is no readable Inspect log"):
        import_inspect(tmp_path / "bad.eval")


def test_missing_package_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_logs, "NEEDED", ("no_such_package", "ijson"))
    with pytest.raises(TableError, match="needs 'no_such_package'; install it with: pip install"):
        import_inspect(write(tmp_path, sample()))


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_nan_is_read_as_null_wherever_a_block_ends(size: int) -> None:
    text = b'{"a":NaN,"b":[NaN, -Infinity],"c":{"d": NaN},"e":"x","f":1}' * 3
    file = inspect_logs._WithoutNaN(io.BytesIO(text))
    found = b"".join(iter(lambda: file.read(size), b""))
    expected = text.replace(b"NaN", b"null").replace(b"-Infinity", b"null")
    assert found == expected
