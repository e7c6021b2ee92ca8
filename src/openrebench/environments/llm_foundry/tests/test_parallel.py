"""The given repository learns the same in one process and in two, by DDP and by FSDP (gloo)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from openrebench.core.catalog import find_card

CARD = find_card("llm_foundry")

from openrebench.environments.llm_foundry import material, verdict  # noqa: E402

TOKENISE = ["scripts/data_prep/tokenize_finetuning_data.py", "finetune.yaml", "--input"]
CONVERT = ["scripts/inference/convert_checkpoint.py", "finetune.yaml", "--checkpoint"]
TWO = ["-m", "torch.distributed.run", "--nproc_per_node=2", "--master_addr=127.0.0.1"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    shutil.copytree(CARD.folder / "agent", folder)
    material.write_base(folder / material.BASE, CARD.profile("tiny"))
    rows = material.draw_rows("base", 20, np.random.default_rng(1))
    (folder / material.ROWS).write_text(material.rows_text(rows))
    python(folder, *TOKENISE, material.ROWS, "--out_root", "work/tokens/train")
    shutil.copytree(folder / "work/tokens/train", folder / "work/tokens/eval")
    return folder


def python(folder: Path, *arguments: str) -> None:
    env = {**os.environ, "PYTHONPATH": ".", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def trained(folder: Path, name: str, launch: list[str], *options: str) -> Path:
    for stale in ("checkpoints", "logs"):
        shutil.rmtree(folder / "work" / stale, ignore_errors=True)
    python(
        folder, *launch, "scripts/train/train.py", "finetune.yaml", "eval_interval=50ba", *options
    )
    python(folder, *CONVERT, "work/checkpoints/latest.pt", "--logs", "work/logs", "--out", name)
    return folder / name


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_process_or_two(workspace: Path) -> None:
    one = trained(workspace, "one", [])
    for strategy in ("ddp", "fsdp"):
        two = trained(workspace, strategy, TWO, f"parallel.strategy={strategy}")
        drift = verdict.measure_distance(two, one, workspace / material.BASE).drift
        assert 0 < drift["all"] < 1e-4, (strategy, drift)
        assert verdict.loss_gap(two / verdict.LOSSES, one / verdict.LOSSES) < 1e-4
