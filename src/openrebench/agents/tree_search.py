"""The agent `tree_search`: draft, debug and improve solutions over a journal, as AIDE does.

A solution is a set of files and a command; its metric is the score service, its direction the
card's. The journal lies in the attempt's folder, and an attempt that is resumed goes on from it.
"""

import contextlib
from collections.abc import Iterator, Mapping

from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.util import collect, span
from pydantic import ConfigDict, Field

from openrebench.agents.journal import START, Node, Policy, Step, Tree
from openrebench.agents.lines import Lines
from openrebench.agents.options import read_options
from openrebench.agents.prompts import fill
from openrebench.agents.proposals import Proposal, ask_for_proposal, ask_for_review
from openrebench.agents.trial import Bench, Ran, Scored, TrialFailed
from openrebench.agents.usage import score_scale, seconds_left, urgency, usage_line
from openrebench.core.card import TaskCard
from openrebench.core.duration import format_duration
from openrebench.harness import live
from openrebench.isolation.cuda import cuda_devices

FILE = "journal.jsonl"  # in the attempt's folder
FRUITLESS = 5  # steps without a proposal, one after the other
LARGE_FILE_BYTES = 1_000_000  # such as weights: these are neither shown nor restored
MEMORY = 30  # solutions that a proposal is told of
SHOWN_FILE, SHOWN_FILES = 20_000, 80_000  # letters that a proposal is shown of one file, of all
RESERVE = 2  # score calls
NONE_YET = "(none yet)"
NOT_SCORED = Scored("failed", None, "it could not be run, so nothing was scored", None)


class Options(Policy):
    """Settings of `tree_search`, besides those of the policy.

    Attributes:
        parallel: Solutions in flight at a time; 0 for one for each GPU, or one without.
        steps: Solutions after which to stop; 0 for as many as the time allows.
        command_minutes: How long the command of a solution may take.
        review: Whether a model sums up what came of each solution (role `feedback`).
        temperature: Of proposals; the provider's own if None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    parallel: int = Field(default=0, ge=0, le=64)
    steps: int = Field(default=0, ge=0)
    command_minutes: float = Field(default=60.0, gt=0)
    review: bool = True
    temperature: float | None = Field(default=None, ge=0, le=2)


@agent
def tree_search(  # noqa: PLR0913 - one argument for each option
    drafts: int = 5,
    debug_probability: float = 0.5,
    debug_depth: int = 3,
    seed: int = 0,
    parallel: int = 0,
    steps: int = 0,
    command_minutes: float = 60.0,
    review: bool = True,
    temperature: float | None = None,
) -> Agent:
    """Draft, debug, improve, until the time is up (see `Options`)."""
    options = read_options(Options, "tree_search", locals())

    async def execute(state: AgentState) -> AgentState:
        live.current().settings.update(options.model_dump())
        search = _Search(options, state)
        return await search.until_over()

    return execute


class _Search:
    """One attempt of `tree_search`."""

    def __init__(self, options: Options, state: AgentState) -> None:
        self.attempt = live.current()
        self.card: TaskCard = self.attempt.attempt.environment.card
        self.options = options.model_copy(update={"seed": f"{options.seed}/{self.attempt.number}"})
        self.state = state
        self.model = get_model()
        self.reviewer = get_model(role="feedback", default=self.model)
        self.task = "\n\n".join(message.text for message in state.messages)
        self.lines = Lines(self.attempt.attempt.folder / FILE, Node)
        self.tree = Tree(self.lines.read() or [self._start()], score_scale())
        self.given = self._given_files()
        self.bench = Bench(self.card.submission, self.given)
        self.running: list[Step] = []
        self.fruitless = 0
        self.forgotten: set[int] = set()

    def _start(self) -> Node:
        """Make the first node of the first score, and begin the journal with it."""
        entry = self.attempt.attempt.log.entries[0]
        visible = self.card.score.visible
        node = Node(
            id=START,
            kind="start",
            plan="The starting solution.",
            verdict=entry.outcome.value,
            raw=entry.raw if visible else None,
            submission=entry.submission or None,
        )
        self.lines.append(node)
        return node

    async def until_over(self) -> AgentState:
        """Search, then leave the best solution in the workspace."""
        await self.bench.set_up()
        slots = self.options.parallel or self._devices() or 1
        await collect(*[self._work(slot, slots) for slot in range(slots)])
        await self._finish()
        words = f"tried {len(self.tree.nodes) - 1} solutions"
        self.state.output = ModelOutput.from_content(model=self.model.name, content=words)
        self.state.messages.append(self.state.output.message)
        return self.state

    def _devices(self) -> int:
        if self.card.profile(self.attempt.attempt.record.profile).device != "cuda":
            return 0
        return sum(device.removeprefix("/dev/nvidia").isdecimal() for device in cuda_devices())

    async def _work(self, slot: int, slots: int) -> None:
        """Take one step after the other; several of these run side by side."""
        device = slot % self._devices() if slots > 1 and self._devices() else None
        while self._goes_on():
            step = self.options.next_step(self.tree, self.running)
            self.running.append(step)
            async with span(f"{step.number}: {step.kind} from {step.parent}"):
                node = await self._take(step, device)
            self.running.remove(step)
            self.lines.append(node)
            self.tree.add(node)
            self.fruitless = self.fruitless + 1 if node.verdict == "nothing" else 0
            await self._tidy()

    def _goes_on(self) -> bool:
        steps = len(self.tree.nodes) - 1 + len(self.running)
        wanted = self.options.steps == 0 or steps < self.options.steps
        return wanted and self.fruitless < FRUITLESS and seconds_left() > self._reserve_s()

    def _reserve_s(self) -> float:
        """Time kept for scoring the best solution again, where the last score counts."""
        if self.card.score.counts == "best" or not self.card.score.visible:
            return 0.0
        return RESERVE * max(entry.seconds for entry in self.attempt.attempt.log.entries)

    async def _take(self, step: Step, device: int | None) -> Node:
        """Ask for a solution, try it out, and say what came of it."""
        asked_s = self.attempt.clock.used_s()
        parent = self.tree.node(step.parent)
        config = GenerateConfig(temperature=self.options.temperature)
        proposal = await ask_for_proposal(self.model, self._question(step, parent), config)
        if isinstance(proposal, str):
            found: dict[str, object] = {"verdict": "nothing", "message": proposal}
        else:
            found = await self._try(step, parent, proposal, device)
        place = {"id": step.number, "parent": step.parent, "kind": step.kind}
        times = {"proposed_s": asked_s, "ended_s": self.attempt.clock.used_s()}
        return Node.model_validate({**place, **found, **times})

    async def _try(
        self, step: Step, parent: Node, proposal: Proposal, device: int | None
    ) -> dict[str, object]:
        """Run and score a proposal; gives what its node holds."""
        files = {**parent.files, **proposal.texts()}
        facts = {"plan": proposal.plan, "files": files, "command": proposal.command}
        try:
            await self.bench.prepare(step.number, step.parent, files)
            ran = await self._run(step, proposal, device)
            scored = await self.bench.score(step.number) if ran.ok else NOT_SCORED
        except TrialFailed as error:
            ran, scored = Ran(False, str(error)), NOT_SCORED
        summary = await self._review(proposal, ran, scored)
        return {**facts, **scored._asdict(), "output": ran.output, "summary": summary}

    async def _run(self, step: Step, proposal: Proposal, device: int | None) -> Ran:
        if not proposal.command.strip():
            return Ran(True, "")
        return await self.bench.run(step.number, proposal.command, self._command_s(), device)

    def _command_s(self) -> float:
        return min(self.options.command_minutes * 60, seconds_left())

    async def _review(self, proposal: Proposal, ran: Ran, scored: Scored) -> str:
        if not self.options.review:
            return ""
        question = fill(
            "review",
            task=self.task,
            plan=proposal.plan or NONE_YET,
            verdict=scored.message,
            output=ran.output or NONE_YET,
        )
        return await ask_for_review(self.reviewer, question)

    def _question(self, step: Step, parent: Node) -> list[ChatMessage]:
        question = fill(
            "proposal",
            task=self.task,
            submission="\n".join(self.card.submission),
            memory=self._memory() if step.kind != "debug" else "(not needed to find the fault)",
            parent=self._described(parent, debugging=step.kind == "debug"),
            step=step.number,
            kind=step.kind,
            instructions=fill(f"step_{step.kind}"),
            usage=usage_line(),
            urgency=urgency(),
        )
        system = fill(
            "tree_search", command_limit=format_duration(max(1, round(self._command_s())))
        )
        return [ChatMessageSystem(content=system), ChatMessageUser(content=question)]

    def _memory(self) -> str:
        """Sum up what worked: plan, result and review."""
        good = [node for node in self.tree.nodes if node.works and node.id != START]
        lines = [
            f"{node.id} ({node.kind}): {node.plan}\nResult: {node.message}\n{node.summary}".strip()
            for node in good[-MEMORY:]
        ]
        return "\n\n".join(lines) or NONE_YET

    def _described(self, node: Node, *, debugging: bool) -> str:
        """Show the files of a solution, and what went wrong with one to be debugged."""
        parts = [f"{node.plan}\nResult: {node.message or node.verdict}", *self._shown_files(node)]
        if node.command:
            parts.append(f"Command: {node.command}")
        if debugging or node.command:
            parts.append(f"What it printed:\n{node.output or NONE_YET}")
        return "\n\n".join(parts)

    def _shown_files(self, node: Node) -> Iterator[str]:
        """Show the texts of a solution: those that it changed first, until it is enough."""
        given = {path: _as_text(content) for path, content in self.given.items()}
        left = SHOWN_FILES
        for path, text in {**node.files, **given, **node.files}.items():
            shown = text[: min(SHOWN_FILE, left)]
            left -= len(shown)
            cut = f"\n[{len(text) - len(shown)} more letters]" if len(shown) < len(text) else ""
            yield f"```{path}\n{shown}{cut}\n```"

    def _given_files(self) -> Mapping[str, bytes]:
        """Read the files that were scored at the start, but for large ones."""
        folder = self.attempt.attempt.folder / "submissions" / (self.tree.nodes[0].submission or "")
        if not self.tree.nodes[0].submission or not folder.is_dir():
            return {}
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        small = [path for path in files if path.stat().st_size <= LARGE_FILE_BYTES]
        return {str(path.relative_to(folder)): path.read_bytes() for path in small}

    async def _tidy(self) -> None:
        """Remove the folders of solutions that nothing will be made from any more."""
        best = self.tree.best()
        kept = {START, *(step.parent for step in self.running), *(s.number for s in self.running)}
        kept |= {node.id for node in self.tree.broken_leaves(self.options.debug_depth, set())}
        kept |= {best.id} if best else set()
        for number in {node.id for node in self.tree.nodes} - kept - self.forgotten:
            self.forgotten.add(number)
            await self.bench.forget(number)

    async def _finish(self) -> None:
        """Put the best solution in place; score it again where the last score counts."""
        best = self.tree.best()
        if best is None:
            return
        with contextlib.suppress(TrialFailed):  # what was scored stays scored
            last = self.attempt.attempt.log.entries[-1]
            if self.card.score.counts == "last" and best.submission != last.submission:
                await self.bench.score(best.id)
            else:
                await self.bench.restore(best.id)


def _as_text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"({len(content)} bytes that are no text)"
