"""The texts that agents give to models, one file each."""

from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent


def fill(name: str, **values: object) -> str:
    """Read a prompt and fill in its $names.

    Raises:
        KeyError: The prompt names something that was not given.
    """
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return Template(text).substitute(values).strip()
