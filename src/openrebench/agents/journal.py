"""The journal of `tree_search`: every solution that was tried, and what the next step is.

The policy is AIDE's (github.com/WecoAI/aideml, Jiang et al. 2025, arXiv:2502.13138): some drafts,
then debugging of what went wrong, with a probability and up to a depth, else improving the best.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from openrebench.core.scale import ScoreScale

Kind = Literal["start", "draft", "debug", "improve"]
Verdict = Literal["scored", "invalid", "error", "failed", "nothing"]
START = 0  # number of the node that is the starting solution


class Node(BaseModel):
    """One solution and what came of it.

    Attributes:
        id: Number, from 0 for the starting solution.
        parent: Number of the node that it was made from.
        kind: How it was made.
        plan: What the model wanted.
        files: Whole texts of all files that differ from the workspace at the start, by path.
        command: What was run before scoring.
        output: What the command printed, its middle cut out.
        verdict: `scored`, `invalid` and `error` as in the score log; `failed` if the command did;
            `nothing` if the model proposed nothing.
        raw: Raw score; None without a valid one, and where scores are not shown.
        message: What the solver was told.
        summary: What the reviewing model made of it.
        submission: SHA-256 of the scored files, which the attempt keeps by it.
        proposed_s: Working seconds when the proposal was asked for.
        ended_s: Working seconds when all was known.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    parent: int = START
    kind: Kind
    plan: str = ""
    files: Mapping[str, str] = Field(default_factory=dict)
    command: str = ""
    output: str = ""
    verdict: Verdict
    raw: float | None = None
    message: str = ""
    summary: str = ""
    submission: str | None = None
    proposed_s: float = 0.0
    ended_s: float = 0.0

    @property
    def works(self) -> bool:
        """Whether it has a valid score."""
        return self.verdict == "scored"


class Step(NamedTuple):
    """What to do next: number of the node to come, how, and from which node."""

    number: int
    kind: Kind
    parent: int


class Policy(BaseModel):
    """AIDE's settings.

    Attributes:
        drafts: Solutions from scratch before anything else.
        debug_probability: How often something that went wrong is debugged, if there is any.
        debug_depth: How many times in a row.
        seed: Of all draws.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    drafts: int = Field(default=5, ge=0)
    debug_probability: float = Field(default=0.5, ge=0, le=1)
    debug_depth: int = Field(default=3, ge=0)
    seed: int | str = 0

    def next_step(self, tree: "Tree", running: Sequence[Step]) -> Step:
        """Choose the next step.

        Args:
            tree: What was tried so far.
            running: Steps that are being worked at, which count as drafts and occupy nodes.
        """
        number = 1 + max([node.id for node in tree.nodes] + [step.number for step in running])
        drafts = sum(node.kind == "draft" for node in tree.nodes)
        drafts += sum(step.kind == "draft" for step in running)
        if drafts < self.drafts:
            return Step(number, "draft", START)
        rng = random.Random(f"{self.seed}/{number}")
        broken = tree.broken_leaves(self.debug_depth, {step.parent for step in running})
        if broken and rng.random() < self.debug_probability:
            return Step(number, "debug", rng.choice(broken).id)
        best = tree.best()
        return Step(number, "draft", START) if best is None else Step(number, "improve", best.id)


class Tree:
    """The nodes of a journal.

    Args:
        nodes: The starting solution first.
        scale: Tells which raw scores are better.
    """

    def __init__(self, nodes: Sequence[Node], scale: ScoreScale) -> None:
        self.nodes = list(nodes)
        self.scale = scale

    def add(self, node: Node) -> None:
        """Add a node that was tried."""
        self.nodes.append(node)

    def node(self, number: int) -> Node:
        """Find a node by its number."""
        return next(node for node in self.nodes if node.id == number)

    def best(self) -> Node | None:
        """The working node with the best score; the newest one where scores are not shown."""
        best: Node | None = None
        for node in self.nodes:
            if node.works and (best is None or not self._beats(best, node)):
                best = node
        return best

    def _beats(self, old: Node, new: Node) -> bool:
        if old.raw is None or new.raw is None:
            return False
        return not self.scale.better(new.raw, old.raw)

    def broken_leaves(self, depth: int, busy: set[int]) -> list[Node]:
        """List what went wrong, was not debugged yet, and may still be debugged."""
        parents = {node.parent for node in self.nodes if node.id != START} | busy
        return [
            node
            for node in self.nodes
            if node.verdict in ("failed", "invalid")
            and node.id not in parents
            and self._debugged(node) < depth
        ]

    def _debugged(self, node: Node) -> int:
        """Count the debugging steps in a row that led to a node."""
        count = 0
        while node.kind == "debug":
            count, node = count + 1, self.node(node.parent)
        return count
