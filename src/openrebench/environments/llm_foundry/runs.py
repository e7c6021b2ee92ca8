"""Run a finetuning repository once, in a clean copy without network, and say what it cost."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openrebench.core.card import Profile
from openrebench.environments.llm_foundry.material import BASE, CONFIG, ROWS
from openrebench.environments.llm_foundry.variants import Variant
from openrebench.errors import InvalidSubmission, Reason
from openrebench.isolation.runner import Pauses, Runner, RunResult

SCRIPT, OUTPUT = "finetune.sh", "trained_model"
# Names that the scorer fills, or that a run has to fill: what a submission has there is dropped.
RESERVED = (BASE, ROWS, CONFIG, OUTPUT, "work")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "MKL_NUM_THREADS": "1"}
PREFIX = "openrebench-finetune-"


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A run that ended by itself, without an error.

    Args:
        output: What it left in `trained_model`; nothing can change that any more.
        cpu_s: CPU seconds of all its processes; None where nothing counts them.
        wall_s: Wall seconds until the script ended.
    """

    output: Path
    cpu_s: float | None
    wall_s: float


@contextmanager
def finetune(
    files: Path,
    variant: Variant,
    runner: Runner,
    profile: Profile,
    pauses: Pauses | None = None,
) -> Iterator[Finished]:
    """Run a repository's `finetune.sh` on a variant; the folder is gone afterwards.

    Args:
        files: The repository: only code, as a snapshot.
        variant: Its rows, configuration and base model.
        runner: Runs it.
        profile: Limits and device.
        pauses: What to do now and then while the run stands still.

    Raises:
        InvalidSubmission: There is no script, it failed, or it ran past a limit.
    """
    with tempfile.TemporaryDirectory(prefix=PREFIX) as scratch:
        Path(scratch).chmod(0o711)  # where there are no mounts, the run's user has to get through
        folder = Path(scratch) / "run"
        _clean_copy(files, variant, folder)
        result = runner.run(
            ["bash", f"./{SCRIPT}"],
            workspace=folder,
            limits=profile.limits,
            env=ONE_THREAD if profile.device == "cpu" else {},
            device=profile.device,
            pauses=pauses,
        )
        _check_end(result, profile)
        yield Finished(output=folder / OUTPUT, cpu_s=result.cpu_s, wall_s=result.elapsed_s)


def _clean_copy(files: Path, variant: Variant, folder: Path) -> None:
    """Lay out a run: the submission's code, and this side's rows, configuration and base model."""
    if not (files / SCRIPT).is_file():
        raise InvalidSubmission(Reason.MISSING_FILE, f"the submission has no {SCRIPT}")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(files, folder, ignore=ignored)
    for name in RESERVED:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    shutil.copytree(variant.inputs, folder, dirs_exist_ok=True)
    shutil.copytree(variant.base, folder / BASE)
    (folder / SCRIPT).chmod(0o755)
    folder.chmod(0o700)  # it is given to the run's own user


def _check_end(result: RunResult, profile: Profile) -> None:
    """Refuse a run that did not end well; nothing that it printed is passed on."""
    if result.timed_out:
        limit = profile.limits.call_timeout_s
        raise InvalidSubmission(Reason.TIMED_OUT, f"{SCRIPT} took more than {limit:g} s")
    if result.out_of_memory:
        raise InvalidSubmission(Reason.OUT_OF_MEMORY, f"{SCRIPT} needed too much memory")
    if result.too_much_output:
        raise InvalidSubmission(Reason.RULE_BROKEN, f"{SCRIPT} printed too much")
    if result.returncode != 0:
        raise InvalidSubmission(Reason.CRASHED, f"{SCRIPT} ended with an error")
