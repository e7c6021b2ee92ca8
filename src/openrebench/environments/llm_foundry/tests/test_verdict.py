"""What is read of an output, and what is refused. No run is needed for this."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file  # noqa: E402

from openrebench.core.catalog import find_card  # noqa: E402

PROFILE = find_card("llm_foundry").profile("small")

from openrebench.environments.llm_foundry import verdict  # noqa: E402
from openrebench.errors import InvalidSubmission, Reason  # noqa: E402

NAMES = tuple(f"transformer.{name}.weight" for name in ("wte", "blocks.0.attn.Wqkv", "norm_f"))
LOSSES = [4.0, 3.5, 3.25]


def state(scale: float) -> dict[str, "torch.Tensor"]:
    generator = torch.Generator().manual_seed(1)
    base = {name: torch.randn(64, 32, generator=generator) for name in NAMES}
    return {name: value + scale * value.cos() for name, value in base.items()}


def write(folder: Path, weights: dict[str, "torch.Tensor"], losses: object = LOSSES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors")
    (folder / "train_loss.json").write_text(json.dumps(losses))
    return folder


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    return {
        "base": write(tmp_path / "base", state(0.0)),
        "truth": write(tmp_path / "truth", state(1e-2)),
        "output": write(tmp_path / "output", state(1e-2)),
    }


def judged(folders: dict[str, Path]) -> verdict.Verdict:
    return verdict.judge(folders["output"], folders["truth"], folders["base"], PROFILE)


def test_the_truth_has_no_drift(folders: dict[str, Path]) -> None:
    found = judged(folders)
    assert set(found.distance.drift.values()) == {0.0} and found.loss_gap == 0.0


@pytest.mark.parametrize("share", [0.0, 0.9, 0.99, 1.01, 2.0])
def test_drift_is_the_share_of_the_way(folders: dict[str, Path], share: float) -> None:
    write(folders["output"], state(1e-2 * share))
    found = verdict.measure_distance(folders["output"], folders["truth"], folders["base"])
    assert found.drift["all"] == pytest.approx(abs(1 - share), rel=1e-3)
    assert found.ahead["all"] == pytest.approx(share - 1, rel=1e-3)
    assert found.drift["feed-forward"] == 0.0  # no such tensor
    with pytest.raises(InvalidSubmission, match="relative distance"):
        judged(folders)


def test_the_tool_in_the_workspace_says_what_the_scorer_says(folders: dict[str, Path]) -> None:
    write(folders["output"], state(0.97e-2), [4.0, 3.5, 3.5])
    tool = find_card("llm_foundry").folder / "agent" / "tools" / "compare.py"
    places = [str(folders[name]) for name in ("base", "truth", "output")]
    command = [sys.executable, str(tool), *places]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = verdict.measure_distance(folders["output"], folders["truth"], folders["base"])
    shown = {"wte": "embedding", "attn": "attention", "norm": "norm", "all": "all"}
    for name, group in shown.items():
        drift, ahead = found.drift[group], found.ahead[group]
        assert f"{name:5s} drift {drift:.2e} ahead {ahead:+.2e}" in said
    assert "largest difference of a step's loss: 2.50e-01" in said


@pytest.mark.parametrize(
    ("share", "said"), [(0.95, r"[45]\.\d% less far"), (1.05, r"[45]\.\d% further")]
)
def test_a_way_cut_short_shows_beside_coarse_rounding(
    folders: dict[str, Path], share: float, said: str
) -> None:
    """Scatter of a tenth passes; the same scatter on a way of another length does not."""
    wide = {"tolerance": 0.2, "ahead_tolerance": 0.01}
    coarse = PROFILE.model_copy(update={"parameters": PROFILE.parameters | wide})
    places = (folders["output"], folders["truth"], folders["base"])

    def scattered(share: float) -> None:
        noise = torch.Generator().manual_seed(2)
        rounded = {
            name: value + 7e-4 * torch.randn(value.shape, generator=noise)
            for name, value in state(1e-2 * share).items()
        }
        write(folders["output"], rounded)

    scattered(1.0)
    found = verdict.judge(*places, coarse).distance
    assert 0.05 < found.drift["all"] < 0.2 and abs(found.ahead["all"]) < 0.005
    scattered(share)
    with pytest.raises(InvalidSubmission, match=said):
        verdict.judge(*places, coarse)


def test_one_group_can_give_it_away(folders: dict[str, Path]) -> None:
    weights = state(1e-2)
    weights[NAMES[2]] = state(0.0)[NAMES[2]]
    weights = {name: value.clone() for name, value in weights.items()}
    write(folders["output"], weights)
    drift = verdict.measure_distance(folders["output"], folders["truth"], folders["base"]).drift
    assert drift["norm"] == pytest.approx(1.0) and drift["embedding"] == 0.0


def test_what_does_not_move_may_not_move(folders: dict[str, Path]) -> None:
    write(folders["truth"], state(0.0))
    write(folders["output"], state(0.0))
    assert judged(folders).distance.drift["all"] == 0.0
    write(folders["output"], state(1e-6))
    with pytest.raises(InvalidSubmission):
        judged(folders)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: w.pop(NAMES[0]), Reason.WRONG_OUTPUT),
        (lambda w: w.update(extra=torch.zeros(1)), Reason.WRONG_OUTPUT),
        (lambda w: w.update({NAMES[0]: w[NAMES[0]].reshape(32, 64)}), Reason.WRONG_SHAPE),
        (lambda w: w.update({NAMES[0]: w[NAMES[0]].half()}), Reason.WRONG_SHAPE),
        (lambda w: w[NAMES[0]].fill_(math.nan), Reason.NON_FINITE),
        (lambda w: w[NAMES[0]].fill_(math.inf), Reason.NON_FINITE),
        (lambda w: w.update(huge=torch.zeros(1 << 20)), Reason.WRONG_OUTPUT),
    ],
)
def test_bad_weights_are_refused(folders: dict[str, Path], change, reason: Reason) -> None:
    weights = state(1e-2)
    change(weights)
    write(folders["output"], weights)
    with pytest.raises(InvalidSubmission) as caught:
        judged(folders)
    assert caught.value.reason is reason and "\n" not in caught.value.message


@pytest.mark.parametrize(
    "losses",
    [[], LOSSES[:2], [*LOSSES, 3.0], [4.0, 3.5, 3.26], [4.0, 3.5, math.nan], {"a": 1}, "x", None,
     [4.0, 3.5, "y"], [[4.0], 3.5, 3.25], [4.0, 3.5, 1e400]],
)  # fmt: skip
def test_bad_losses_are_refused(folders: dict[str, Path], losses: object) -> None:
    write(folders["output"], state(1e-2), losses)
    with pytest.raises(InvalidSubmission):
        judged(folders)


def link(path: Path) -> None:
    target = path.rename(path.with_name("elsewhere"))
    path.symlink_to(target)


def hole(path: Path) -> None:
    os.truncate(path, 1 << 40)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def nested(path: Path) -> None:
    path.write_text("[" * 100_000)


def header(path: Path) -> None:
    path.write_bytes((1 << 62).to_bytes(8, "little") + path.read_bytes()[8:])


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["model.safetensors", "train_loss.json"])
@pytest.mark.parametrize("spoil", [Path.unlink, link, hole, pipe, folder, nested, header])
def test_odd_files_are_refused(folders: dict[str, Path], name: str, spoil) -> None:
    spoil(folders["output"] / name)
    with pytest.raises(InvalidSubmission):
        judged(folders)


def test_a_linked_folder_is_refused(folders: dict[str, Path]) -> None:
    folders["output"].rename(folders["output"].with_name("moved"))
    folders["output"].symlink_to(folders["truth"])
    with pytest.raises(InvalidSubmission):
        judged(folders)


def shard(folder: Path, index: object) -> None:
    weights = state(1e-2)
    (folder / "model.safetensors").unlink()
    for number, name in enumerate(weights):
        save_file({name: weights[name]}, folder / f"model-{number}.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_several_files_with_an_index_are_read_as_one(folders: dict[str, Path]) -> None:
    index = {"weight_map": {name: f"model-{n}.safetensors" for n, name in enumerate(NAMES)}}
    shard(folders["output"], index)
    assert judged(folders).distance.drift["all"] == 0.0


@pytest.mark.parametrize(
    "index",
    [{}, [], {"weight_map": []}, {"weight_map": {"a": 7}},
     {"weight_map": {"a": "../base/model.safetensors"}},
     {"weight_map": {str(i): f"m{i}" for i in range(99)}}],
)  # fmt: skip
def test_a_bad_index_is_refused(folders: dict[str, Path], index: object) -> None:
    shard(folders["output"], index)
    with pytest.raises(InvalidSubmission):
        judged(folders)
