"""Prepared answers of a model: what `scripted/...` and the loopback server give.

A plan is a list. Each item is one answer and has

    text: "..."                              nothing but words (they may be empty)
    tool: score, arguments: {...}            a tool call; `arguments` may be a text that is no JSON
    calls: [{tool: ..., arguments: ...}]     several tool calls
    error: "..."                             the provider fails

and may have `match` (a regular expression), `usage` ([input, output] tokens) and `wait_s`. A list
in place of an item holds alternatives for calls that look the same: they are given in turn.

An item with `match` answers every request in whose user messages the expression is found. All
others are taken in order, by how many answers of the model the request holds: that survives a
resume. After the last one comes `submit`. A request that offers no tools never gets a tool call.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from openrebench.errors import ReBenchError

Item = Mapping[str, Any]
KINDS = {"text", "tool", "calls", "error"}
SUBMIT: Item = {"tool": "submit", "arguments": {"answer": "done"}}
NO_TOOLS: Item = {"text": "ok"}


class Plan:
    """Prepared answers, and which of several alternatives comes next."""

    def __init__(self, items: Sequence[Item | list[Item]]) -> None:
        options = [item if isinstance(item, list) else [item] for item in items]
        self._matching = [found for found in options if "match" in found[0]]
        self._in_order = [found for found in options if "match" not in found[0]]
        self._turns: dict[int, Iterator[int]] = defaultdict(itertools.count)

    def answer(self, said: int, asked: str, offered: Collection[str]) -> Item:
        """Choose the item for a request.

        Args:
            said: Answers of the model that the request holds.
            asked: Text of its user messages.
            offered: Names of the tools that the model may call.
        """
        for found in self._matching:
            if re.search(str(found[0]["match"]), asked):
                return self._alternative(found, offered)
        if not offered:
            return NO_TOOLS
        found = self._in_order[said] if said < len(self._in_order) else [SUBMIT]
        return self._alternative(found, offered)

    def _alternative(self, found: list[Item], offered: Collection[str]) -> Item:
        item = found[next(self._turns[id(found)]) % len(found)]
        return NO_TOOLS if calls_of(item) and not offered else item


def calls_of(item: Item) -> list[Item]:
    """List the tool calls of an item, none if it only has words."""
    return list(item["calls"]) if "calls" in item else [item] if "tool" in item else []


def offered_name(tool: str, offered: Collection[str]) -> str:
    """Find a tool by its own name where a server's name stands before it.

    Example:
        >>> offered_name("score", ["Bash", "mcp__openrebench__score"])
        'mcp__openrebench__score'
        >>> offered_name("unknown", ["Bash"])
        'unknown'
    """
    if tool in offered:
        return tool
    return next((name for name in offered if name.endswith(f"__{tool}")), tool)


def read_script(path: Path) -> list[Item | list[Item]]:
    """Read a plan from a YAML or JSON file.

    Raises:
        ReBenchError: The file can't be read or an item is none of the kinds.
    """
    try:
        script = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ReBenchError(f"{path}: can't be read as a script ({error})") from error
    if not isinstance(script, list):
        raise ReBenchError(f"{path}: is a {type(script).__name__}; it must be a list of answers")
    for number, found in enumerate(script):
        for item in found if isinstance(found, list) and found else [found]:
            if not isinstance(item, dict) or not item.keys() & KINDS:
                raise ReBenchError(
                    f"{path}: item {number} is {item!r}; it needs text, tool, calls or error"
                )
    return script
