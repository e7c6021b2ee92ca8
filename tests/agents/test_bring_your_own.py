"""The example of an agent of one's own runs, and the docs show what runs."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "bring_your_own_agent.py"
PLAN = [
    {"tool": "bash", "arguments": {"command": "echo 'NUMBER = 40' > solution.py"}},
    {"calls": [{"tool": "score"}, {"tool": "time_left"}]},
    {"text": "That is all."},
]


def test_an_agent_of_ones_own_runs(player: Callable[..., Any], tmp_path: Path) -> None:
    found = player(tmp_path, f"{EXAMPLE}@my_agent", PLAN, agent_args={"timeout_s": 5})
    assert (found.ended, found.raws) == ("submitted", [41.0, 2.0])
    assert "s left of 1m" in found.results("time_left")[0]


def test_the_docs_show_it() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    assert EXAMPLE.read_text().strip() in page


def test_the_docs_name_tests_that_exist() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    there = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert len(named) > 12 and {name for name in named if f"def {name}(" not in there} == set()
