"""Tables of attempts to report on, written as folders of imported tables."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from openrebench.analysis.table import from_rows, write_parquet
from openrebench.report import build, public, sections
from openrebench.report.page import Section
from openrebench.report.render import Drawn, Figure
from openrebench.report.theme import WIDE

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
    """Asked for by tests that need images; the others get each figure's specification."""


@pytest.fixture
def with_published() -> None:
    """Asked for by tests of what others published; the others leave that part out."""


@pytest.fixture(autouse=True)
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes most of the time and is not what a test is about."""
    if "real_drawing" in request.fixturenames:
        return
    for module in (sections, public):
        monkeypatch.setattr(module, "draw", draw_specification)
    if "with_published" not in request.fixturenames:
        nothing = Section(title="Published results, full size")
        monkeypatch.setattr(build, "public_section", lambda *_: nothing)
        monkeypatch.setattr(sections, "published_panel", lambda *_: None)


def draw_specification(figure: Figure, folder: Path) -> Drawn:
    """Write a figure's specification in place of its images."""
    folder.mkdir(parents=True, exist_ok=True)
    specification = json.dumps(figure.draw(WIDE).to_dict(validate=False), default=str)
    (folder / f"{figure.name}.svg").write_text(specification)
    return Drawn(figure=figure, wide="data:,", narrow="data:,")


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
