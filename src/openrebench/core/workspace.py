"""Stage what a solver gets, and nothing else."""

import shutil
from pathlib import Path
from string import Template

from openrebench.core.environment import Environment
from openrebench.core.seed import Seed
from openrebench.errors import AttemptError, CardError

INSTRUCTIONS = "instructions.md"


def instructions(environment: Environment, profile: str) -> str:
    """Fill the environment's instructions from its card, so that numbers can't drift.

    Raises:
        CardError: The text names something that the card does not have.
    """
    card = environment.card
    path = card.folder / INSTRUCTIONS
    chosen = card.profile(profile)
    values: dict[str, object] = {
        "title": card.title,
        "unit": card.score.unit,
        "direction": card.score.direction,
        "profile": profile,
        "submission": ", ".join(card.submission),
        **{f"limit_{name}": value for name, value in chosen.limits.model_dump().items()},
        **chosen.parameters,
    }
    try:
        return Template(path.read_text(encoding="utf-8")).substitute(values)
    except (OSError, KeyError, ValueError) as error:
        raise CardError(f"{path}: can't be filled from the card ({error!r})") from error


def stage(environment: Environment, profile: str, workspace: Path, *, seed: Seed) -> None:
    """Fill an empty workspace: the environment's `agent/`, its instructions, its scoring code.

    Raises:
        AttemptError: The folder exists and is not empty.
    """
    if workspace.exists() and any(workspace.iterdir()):
        raise AttemptError(f"{workspace}: is not empty; name a new folder for the workspace")
    card = environment.card
    shutil.copytree(
        card.folder / "agent",
        workspace,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (workspace / INSTRUCTIONS).write_text(instructions(environment, profile), encoding="utf-8")
    _show_scoring(card.folder / "environment.py", workspace / "scoring")
    environment.prepare(workspace, card.profile(profile), seed=seed)


def _show_scoring(source: Path, folder: Path) -> None:
    """Let the solver read how it is scored; the copy decides nothing."""
    folder.mkdir()
    copy = folder / source.name
    shutil.copyfile(source, copy)
    copy.chmod(0o444)
