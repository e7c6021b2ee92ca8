"""The Python snippets of the docs run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if "```python" in p.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page: Path) -> None:
    for snippet in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        exec(compile(snippet, str(page), "exec"), {})


def test_there_are_snippets() -> None:
    assert PAGES
