import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from openrebench.core.catalog import load_environment  # noqa: E402
from openrebench.core.contract import cheat_folders  # noqa: E402
from openrebench.core.environment import Environment  # noqa: E402
from openrebench.core.result import Outcome, ScoreResult  # noqa: E402
from openrebench.core.scoring import score_submission  # noqa: E402
from openrebench.core.seed import Seed  # noqa: E402
from openrebench.core.workspace import stage  # noqa: E402
from openrebench.environments.fix_embedding import environment as module  # noqa: E402
from openrebench.environments.fix_embedding.hidden import damage, recover  # noqa: E402
from openrebench.errors import Reason  # noqa: E402
from openrebench.isolation.local import LocalRunner  # noqa: E402
from openrebench.textbase import build, source, weights  # noqa: E402

ENVIRONMENT = load_environment("fix_embedding")
CARD = ENVIRONMENT.card
START, REFERENCE = CARD.folder / "agent", CARD.folder / "hidden" / "reference"
INTACT = build.HERE / "hidden" / "large.safetensors"
EMBEDDING = "tokens.weight"
NO_NUMBERS = torch.full((112,), torch.nan).half()


@pytest.fixture(scope="module")
def reduced() -> Environment:
    """The same scoring on an eighth of the text."""
    profile = CARD.profile("small")
    small = profile.model_copy(update={"parameters": profile.parameters | {"score_tokens": 4096}})
    return type(ENVIRONMENT)(CARD.model_copy(update={"profiles": {"small": small}}))


def score(environment: Environment, folder: Path, runner: LocalRunner) -> ScoreResult:
    return score_submission(environment, folder, "small", runner)


def test_start_and_reference(reduced: Environment, runner: LocalRunner) -> None:
    start, reference = score(reduced, START, runner), score(reduced, REFERENCE, runner)
    assert (start.raw or 0) > 12 and start.flags == ()
    assert 2.9 < (reference.raw or 0) < 3.3
    assert reference.details["intact_loss"] < reference.raw  # type: ignore[operator]


def test_the_intact_model_is_flagged(
    tmp_path: Path, reduced: Environment, runner: LocalRunner
) -> None:
    shutil.copy(INTACT, tmp_path / module.SUBMITTED)
    result = score(reduced, tmp_path, runner)
    assert any(flag.startswith("near_copy: 100%") for flag in result.flags)


def test_a_link_to_the_intact_model_is_not_followed(
    tmp_path: Path, reduced: Environment, runner: LocalRunner
) -> None:
    (tmp_path / module.SUBMITTED).symlink_to(INTACT)
    assert score(reduced, tmp_path, runner).reason is Reason.MISSING_FILE


def test_noise_does_not_hide_a_copy() -> None:
    original = load_file(INTACT)[EMBEDDING].float()
    noisy = original * (1 + 1e-3 * torch.randn(original.shape))
    assert module.copied_share(noisy, original) == 1.0
    assert module.copied_share(original.roll(1, 0), original) < 0.01


def test_a_loss_below_the_intact_one_is_flagged_and_an_impossible_one_refused() -> None:
    assert module._flags(2.8, 2.9, 0.0)[0].startswith("better_than_intact")
    assert module._flags(3.0, 2.9, 0.0) == []
    for loss in (math.nan, math.inf, 1.5):
        with pytest.raises(module.InvalidSubmission):
            module._check_loss(loss, 1.5)


@pytest.fixture
def workspaces(tmp_path: Path) -> list[Path]:
    """Two attempts, and a third with the seed of the second."""
    seeds = [Seed.fresh(), Seed.fresh()]
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder, seed in zip(folders, [*seeds, seeds[1]], strict=True):
        stage(ENVIRONMENT, "small", folder, seed=seed)
    return folders


def order_in(workspace: Path) -> list[int]:
    """Tell which row of the intact embedding lies where; rows are all different."""
    intact = {row.numpy().tobytes(): i for i, row in enumerate(load_file(INTACT)[EMBEDDING])}
    rows = load_file(workspace / "large_model.safetensors")[EMBEDDING]
    return [intact[row.numpy().tobytes()] for row in rows]


def test_each_attempt_has_its_own_permutation(workspaces: list[Path]) -> None:
    first, second, again = (order_in(folder) for folder in workspaces)
    assert sorted(first) == sorted(second) == list(range(build.VOCABULARY))
    agreeing = np.mean(np.array(first) == np.array(second))
    assert agreeing < 0.01 and second == again
    shipped = load_file(START / module.SUBMITTED)[EMBEDDING]
    assert not torch.equal(shipped, load_file(workspaces[0] / module.SUBMITTED)[EMBEDDING])


def test_nothing_else_in_the_workspace_depends_on_the_permutation(workspaces: list[Path]) -> None:
    first, second, _ = workspaces
    names = {p.relative_to(first) for p in first.rglob("*") if p.is_file()}
    assert names == {p.relative_to(second) for p in second.rglob("*") if p.is_file()}
    differing = {str(n) for n in names if (first / n).read_bytes() != (second / n).read_bytes()}
    assert differing == {"large_model.safetensors", module.SUBMITTED}
    one, two = (load_file(folder / "large_model.safetensors") for folder in (first, second))
    assert {name for name in one if not torch.equal(one[name], two[name])} == {EMBEDDING}


def test_the_solver_is_not_told_what_was_done(workspaces: list[Path]) -> None:
    for path in workspaces[0].rglob("*"):
        if path.suffix in (".py", ".md", ".json") and path.name != "model.py":
            assert b"permut" not in path.read_bytes().lower(), path.name


def test_the_workspace_has_no_hidden_text(workspaces: list[Path]) -> None:
    given = (workspaces[0] / "tokens.bin").read_bytes()
    profile = CARD.profile("small")
    assert len(given) == 2 * profile.integer("dev_tokens")
    for split in ("score", "final"):
        hidden = source.tokens(profile, split).numpy().astype("<u2")
        assert hidden[1000:1040].tobytes() not in given


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: w.pop("norm.weight"), Reason.WRONG_OUTPUT),
        (lambda w: w.update({"norm.weight": torch.ones(112)}), Reason.WRONG_OUTPUT),
        (lambda w: w.update({"norm.weight": torch.ones(111).half()}), Reason.WRONG_SHAPE),
        (lambda w: w.update({"norm.weight": NO_NUMBERS}), Reason.NON_FINITE),
        (lambda w: w.update({"norm.weight": torch.full((112,), 6e4).half()}), None),
    ],
)  # fmt: skip
def test_bad_weights_are_invalid_and_wild_ones_score(
    tmp_path: Path, reduced: Environment, runner: LocalRunner, change, reason: Reason | None
) -> None:
    tensors = load_file(INTACT)
    change(tensors)
    save_file(tensors, tmp_path / module.SUBMITTED)
    result = score(reduced, tmp_path, runner)
    expected = Outcome.SCORED if reason is None else Outcome.INVALID
    assert (result.outcome, result.reason) == (expected, reason), result


@pytest.mark.parametrize("cheat", cheat_folders(CARD), ids=lambda folder: folder.name)
def test_cheats_are_invalid(cheat: Path, reduced: Environment, runner: LocalRunner) -> None:
    result = score(reduced, cheat, runner)
    assert result.outcome is Outcome.INVALID, result


def test_the_reference_finds_most_rows_of_any_permutation() -> None:
    profile, seed = CARD.profile("small"), Seed.fresh()
    large, little = source.model(profile, "large"), source.model(profile, "little")
    given = weights.model_of(damage.damaged(large, seed), large.config)
    with source.one_thread():
        found = recover.order_of(given, little)
    right = damage.order(large, seed)[found.numpy()] == np.arange(len(found))
    assert right.mean() > 0.8


def test_simple_routes_score_less_than_the_reference() -> None:
    record = json.loads((CARD.folder / "anchors" / "waypoints-small.json").read_text())
    found = {name: row["normalised"] for name, row in record["waypoints"].items()}
    assert found["from scratch, the reference's compute"] <= 0.6
    assert all(v < 0.9 for name, v in found.items() if "scratch" in name or "finetuned" in name)
    assert found["intact"] > 1.0
