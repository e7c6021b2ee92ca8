"""docs/running.md: every row of what can go wrong is a test, every option is one of the command."""

import ast
import re
from pathlib import Path

from openrebench.cli import cli

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "running.md").read_text()
TESTS = ROOT / "tests" / "harness"


def rows() -> list[list[str]]:
    table = PAGE.split("## What can go wrong\n")[1]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def existing_tests() -> set[str]:
    found = set()
    for path in TESTS.glob("test_*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        found |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    return found


def test_each_row_is_a_test() -> None:
    assert len(rows()) > 20
    for _, _, tests in rows():
        named = re.findall(r"`(test_\w+)`", tests)
        assert named and set(named) <= existing_tests(), tests


def test_each_test_of_what_goes_wrong_is_a_row() -> None:
    tree = ast.parse((TESTS / "test_what_goes_wrong.py").read_text())
    names = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    named = {test for row in rows() for test in re.findall(r"`(test_\w+)`", row[2])}
    assert {name for name in names if name.startswith("test_")} <= named


def test_each_option_exists() -> None:
    known = {word for parameter in cli.commands["run"].params for word in parameter.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) <= known
