"""The README's commands exist and run; what it promises about files is there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from openrebench.cli import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def commands(heading: str) -> list[list[str]]:
    section = README.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", section, re.S)).splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def test_first_two_commands_are_demo_and_test() -> None:
    assert commands("First steps")[:2] == [["make", "demo"], ["make", "test"]]
    for _, target in commands("First steps"):
        assert re.search(rf"^{target}:", MAKEFILE, re.M)


def test_ci_runs_the_readmes_test_command() -> None:
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("\nmake test")


def test_by_hand_works_in_a_fresh_folder(tmp_path: Path) -> None:
    ran = 0
    for words in commands("By hand"):
        if words[0] != "re-bench" or words[1] == "run":
            continue
        done = subprocess.run(
            [sys.executable, "-m", "openrebench", *words[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        ran += 1
    assert ran == 6
    assert (tmp_path / "report" / "index.html").is_file()
    (record,) = tmp_path.glob("attempts/*/attempt.json")
    assert json.loads(record.read_text())["solver"]["name"] == "anonymous"


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", *[f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")]],
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_every_command_in_the_readmes_table_exists() -> None:
    named = re.findall(r"^\| `(\w+)", README, re.M)
    assert set(named) - {"prefix_sum"} <= set(cli.commands)
