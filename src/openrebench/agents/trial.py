"""Try out one solution in a folder of its own: write its files, run its command, score it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import anyio
from inspect_ai.util import OutputLimitExceededError, sandbox

from openrebench.agents.journal import START, Verdict
from openrebench.harness import live
from openrebench.harness.tools import request_score
from openrebench.sandbox.config import HOME, WORKSPACE

NAME = ".tree_search"
SHOWN = 2_500  # letters of output from either end
TAKE = Path(__file__).with_name("take_submission.py")
# The command's process group ends with it: what stays behind would take cores and memory from what
# is tried next.
RUN = 'mkdir "$TMPDIR"; sh -c "$1"; code=$?; trap "" TERM; kill -TERM -$$ 2>/dev/null; exit $code'
# Sockets, through which services of the environment are reached, can't be copied.
COPY = """
rm -rf "$2" && mkdir -p "$2" && cd "$1" || exit 1
find . -mindepth 1 -maxdepth 1 ! -name .tree_search ! -type s -exec cp -a -t "$2" {} + || exit 1
for socket in $(find . -mindepth 1 -maxdepth 1 -type s); do ln -s "$1/$socket" "$2"; done
"""


class TrialFailed(Exception):
    """A solution could not be put together, by its own fault or for want of room."""


class Ran(NamedTuple):
    """How a command went."""

    ok: bool
    output: str


class Scored(NamedTuple):
    """How a score call went."""

    verdict: Verdict
    raw: float | None
    message: str
    submission: str | None


class Bench:
    """Where solutions are tried: one folder for each, one score at a time.

    The folders lie in the workspace, so that they outlive a crash and have its room; where
    patterns such as `**/*.py` would take them for part of a submission, in the home folder.

    Args:
        patterns: Of the files that are scored.
        given: The files that were scored at the start.
    """

    def __init__(self, patterns: tuple[str, ...], given: Mapping[str, bytes]) -> None:
        self.patterns = patterns
        self.given = given
        greedy = any(reaches_every_folder(pattern) for pattern in patterns)
        self.home = f"{HOME if greedy else WORKSPACE}/{NAME}"
        self._scoring = anyio.Lock()

    def folder(self, number: int) -> str:
        """Folder of a solution in the sandbox."""
        return f"{self.home}/{number}"

    async def set_up(self) -> None:
        """Keep the workspace as it was at the start, unless that has been done."""
        if await self._exists(START):
            return
        await self._copy(WORKSPACE, self.folder(START))
        given = {f"{self.folder(START)}/{path}": content for path, content in self.given.items()}
        await sandbox().exec(["chmod", "-f", "u+w", *given])
        for path, content in given.items():
            await sandbox().write_file(path, content)

    async def prepare(self, number: int, parent: int, files: Mapping[str, str]) -> None:
        """Make the folder of a solution from its parent's, or from the start if that is gone.

        Raises:
            TrialFailed: It can't be made, or a file can't be written.
        """
        await self.set_up()
        origin = parent if await self._exists(parent) else START
        await self._copy(self.folder(origin), self.folder(number))
        try:
            for path, text in files.items():
                await sandbox().write_file(f"{self.folder(number)}/{path}", text)
        except OSError as error:
            raise TrialFailed(f"{path} can't be written: {error}") from error

    async def run(self, number: int, command: str, timeout_s: float, device: int | None) -> Ran:
        """Run a command in the folder of a solution, on one of several devices if given."""
        temporary = f"/tmp/{number}"  # noqa: S108 - the sandbox's own
        env = {"TMPDIR": temporary}
        if device is not None:
            env["CUDA_VISIBLE_DEVICES"] = str(device)
        try:
            done = await sandbox().exec(
                ["sh", "-c", RUN, "sh", command],
                cwd=self.folder(number),
                env=env,
                timeout=max(1, round(timeout_s)),
                timeout_retry=False,
            )
        except TimeoutError:
            return Ran(False, f"it was stopped after {timeout_s:.0f} s")
        except OutputLimitExceededError as error:
            return Ran(False, str(error))
        finally:
            await sandbox().exec(["rm", "-rf", temporary])  # it is memory
        code = "" if done.success else f"\n[exit code {done.returncode}]"
        return Ran(done.success, ends(f"{done.stdout}\n{done.stderr}".strip()) + code)

    async def score(self, number: int) -> Scored:
        """Score a solution; others wait."""
        async with self._scoring:
            await self.restore(number)
            verdict = await request_score()
        entries = live.current().attempt.log.entries
        entry = next(entry for entry in reversed(entries) if entry.hash == verdict.anchor)
        return Scored(verdict.outcome.value, verdict.raw, verdict.text, entry.submission)

    async def restore(self, number: int) -> None:
        """Put the scored files of a solution into the workspace.

        Raises:
            TrialFailed: They can't be put there.
        """
        argv = [
            "python",
            "-I",
            "-c",
            TAKE.read_text(encoding="utf-8"),
            self.folder(number),
            WORKSPACE,
        ]
        done = await sandbox().exec([*argv, *self.patterns])
        if not done.success:
            raise TrialFailed(f"solution {number} could not be put in place: {done.stderr}")

    async def forget(self, number: int) -> None:
        """Remove the folder of a solution that nothing will be made from."""
        await sandbox().exec(["rm", "-rf", self.folder(number)])

    async def listing(self) -> str:
        """List the files of the workspace at the start."""
        done = await sandbox().exec(
            ["find", ".", "-type", "f", "-size", "-9M"], cwd=self.folder(START)
        )
        return ends("\n".join(sorted(done.stdout.splitlines())))

    async def _exists(self, number: int) -> bool:
        return (await sandbox().exec(["test", "-d", self.folder(number)])).success

    async def _copy(self, source: str, target: str) -> None:
        done = await sandbox().exec(["sh", "-c", COPY, "sh", source, target])
        if not done.success:
            raise TrialFailed(f"{source} could not be copied: {done.stderr.strip()}")


def reaches_every_folder(pattern: str) -> bool:
    """Tell whether a pattern of submitted files matches in folders of any name."""
    first, slash, _ = pattern.partition("/")
    return bool(slash) and any(sign in first for sign in "*?[")


def ends(text: str) -> str:
    """Cut the middle out of a long text."""
    if len(text) <= 2 * SHOWN:
        return text
    return f"{text[:SHOWN]}\n[...]\n{text[-SHOWN:]}"
