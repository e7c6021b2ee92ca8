"""The published size: LLM Foundry at its pinned commit, finetuning deepseek-coder-1.3b-base.

`re-bench assets llm_foundry/full` downloads both where they can be reached. The submission's
Python needs LLM Foundry's own requirements beside it; the scorer needs `transformers`.
"""

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from openrebench.core.card import Profile
from openrebench.errors import ReBenchError
from openrebench.isolation.layout import worker_env
from openrebench.textbase import assets, hub

COMMAND = "re-bench assets llm_foundry/full"
OURS = Path(__file__).parent / "full_size"  # the run's script and configuration
WORKER_NEEDS = ("composer", "streaming", "transformers")
ONE_FILE = "1000GB"
KEPT = "tools"  # of the small repository: comparing two models
# Options of LLM Foundry that change what is learned, and hardly how much work that is.
SAME_WORK: dict[str, tuple[Any, ...]] = {
    "optimizer.lr": (0.8, 1.2, 1.6),
    "optimizer.betas": ([0.8, 0.95], [0.9, 0.9]),
    "optimizer.weight_decay": (0.1, 0.3),
    "scheduler.t_warmup": ("2ba", "10ba"),
    "algorithms.gradient_clipping.clipping_threshold": (0.25, 0.5),
}


def repository(profile: Profile) -> Path:
    """Give the folder of the repository as attempts get it."""
    return assets.cache_folder() / f"llm-foundry-{profile.parameters['commit']}"


def missing(profile: Profile) -> str | None:
    """Say in one sentence what of the published size is not here and how to get it, or None."""
    if importlib.util.find_spec("transformers") is None:
        return "needs transformers; pip install 'openrebench[full]'"
    absent = []
    if not repository(profile).is_dir():
        absent.append(f"{profile.parameters['repository']} at {profile.parameters['commit']}")
    try:
        hub.loaded("AutoConfig", str(profile.parameters["model"]), offline=True)
    except ReBenchError:
        absent.append(str(profile.parameters["model"]))
    if absent:
        return f"{' and '.join(absent)} not downloaded; online, run: {COMMAND}"
    return _lacking_packages()


def _lacking_packages() -> str | None:
    """Say what of LLM Foundry's requirements the submissions' Python lacks."""
    site = next(worker_env().glob("lib/python3.*/site-packages"), Path())
    lacking = [name for name in WORKER_NEEDS if not (site / name).is_dir()]
    if lacking:
        return (
            f"the worker environment lacks {', '.join(lacking)}; install the requirements of "
            "LLM Foundry there"
        )
    return None


def fetch(profile: Profile) -> None:
    """Download the repository at its commit, and the base model.

    Raises:
        ReBenchError: One can't be reached, or has no such commit.
    """
    hub.loaded("AutoTokenizer", str(profile.parameters["model"]), offline=False)
    hub.loaded("AutoModelForCausalLM", str(profile.parameters["model"]), offline=False)
    folder = repository(profile)
    if folder.is_dir():
        return
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        clone = Path(scratch) / "clone"
        _git("clone", "--quiet", str(profile.parameters["repository"]), str(clone))
        _git("-C", str(clone), "checkout", "--quiet", str(profile.parameters["commit"]))
        shutil.rmtree(clone / ".git")
        shutil.copytree(OURS, clone, dirs_exist_ok=True)
        clone.replace(folder)


def replace(agent: Path, workspace: Path, profile: Profile) -> None:
    """Put LLM Foundry into a workspace in place of the small repository."""
    for entry in agent.iterdir():
        staged = workspace / entry.name
        if entry.name == KEPT:
            continue
        if staged.is_dir():
            shutil.rmtree(staged)
        else:
            staged.unlink(missing_ok=True)
    shutil.copytree(repository(profile), workspace, dirs_exist_ok=True)


def write_base(folder: Path, profile: Profile) -> None:
    """Write the base model as Hugging Face does, in fp32 and one file, with its tokenizer.

    Raises:
        ReBenchError: It was not fetched.
    """
    model = hub.loaded("AutoModelForCausalLM", str(profile.parameters["model"]), offline=True)
    model.float().save_pretrained(folder, max_shard_size=ONE_FILE)
    hub.loaded("AutoTokenizer", str(profile.parameters["model"]), offline=True).save_pretrained(
        folder
    )
    for path in folder.iterdir():
        path.chmod(0o644)


def _git(*arguments: str) -> None:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}"
        raise ReBenchError(f"git {arguments[0]} failed ({said}); the repository must be in reach")
