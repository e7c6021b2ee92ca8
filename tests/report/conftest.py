"""Tables of attempts to report on, written as folders of imported tables."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from openrebench.analysis.table import from_rows, write_parquet
from openrebench.report import render

MakeFolder = Callable[..., Path]
ENVIRONMENTS = (
    *("prefix_sum", "llm_foundry", "fix_embedding", "scaling_law"),
    *("restricted_mlm", "gpt2_qa", "rust_codecontests"),
)


def logged(seed: int, length_s: float, *, calls: int = 8) -> list[dict[str, object]]:
    """A score log that rises, with an invalid call in it."""
    rng = np.random.default_rng(seed)
    at_s = np.sort(rng.uniform(0, length_s, calls))
    scores = np.cumsum(rng.uniform(0, 0.25, calls)) - 0.1
    log: list[dict[str, object]] = [
        {"at_s": float(t), "outcome": "scored", "raw": float(y), "score": float(y)}
        for t, y in zip(at_s, scores, strict=True)
    ]
    log[3] = {"at_s": float(at_s[3]), "outcome": "invalid", "reason": "wrong_output"}
    return log


@pytest.fixture
def real_drawing() -> None:
    """Asked for by tests that need figures as they are; the others get their specifications."""


@pytest.fixture(autouse=True)
def quick_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a figure's specification in place of its image: rendering is most of the time."""
    if "real_drawing" in request.fixturenames:
        return
    monkeypatch.setattr(render.vl_convert, "vegalite_to_svg", lambda spec, **_: json.dumps(spec))
    monkeypatch.setattr(render.vl_convert, "svg_to_png", lambda *_, **__: b"")
    monkeypatch.setattr(render.vl_convert, "svg_to_pdf", lambda *_: b"")


@pytest.fixture
def make_folder(tmp_path: Path) -> MakeFolder:
    """Write a table: solvers with budgets in hours, at some environments, n attempts each."""

    def make(
        name: str = "table",
        environments: tuple[str, ...] = ("prefix_sum",),
        solvers: tuple[tuple[str, str, float], ...] = (
            ("human", "human", 8.0),
            ("bot", "agent", 0.5),
        ),
        n: int = 3,
        **changed: object,
    ) -> Path:
        rows, logs = [], []
        for i, (environment, (solver, kind, hours), j) in enumerate(
            (e, s, j) for e in environments for s in solvers for j in range(n)
        ):
            logs.append(logged(i, hours * 3600))
            best = max(float(e["score"]) for e in logs[-1] if "score" in e)
            rows.append(
                {
                    "attempt": f"{environment} {solver} {j}",
                    "environment": environment,
                    "version": "1.0.0",
                    "profile": "small",
                    "anchors": "measured",
                    "isolation": "isolated",
                    "source": "own",
                    "solver": solver,
                    "kind": kind,
                    "counts": "last" if environment == "scaling_law" else "best",
                    "budget_s": hours * 3600,
                    "length_s": hours * 3600,
                    "working_s": hours * 3600,
                    "ended": "budget",
                    "unit": "ms",
                    "score": max(0.0, best),
                    "score_calls": len(logs[-1]),
                    "has_log": True,
                }
                | changed
            )
        write_parquet(from_rows(rows, logs), tmp_path / name)
        return tmp_path / name

    return make
