"""What Inspect tells us of every run of this process: model calls, and finished logs.

Import it once an attempt begins: Inspect announces on standard output, in every run of everybody,
hooks that are there when it starts.
"""

from pathlib import Path

import anyio.to_thread
from inspect_ai.hooks import BeforeModelGenerate, Hooks, RunEnd, hooks

from openrebench.harness import live
from openrebench.harness.transcripts import TEMPORARY, keep_transcript


@hooks(name="openrebench", description="Counts model calls of attempts, keeps their transcripts.")
class AttemptHooks(Hooks):
    """Does nothing in runs that are not of our tasks."""

    def enabled(self) -> bool:
        """Tell whether this process has begun any attempt."""
        return bool(live.folders())

    async def on_before_model_generate(self, data: BeforeModelGenerate) -> None:
        """Count a call with the attempt whose sample makes it."""
        attempt = live.find_current()
        if attempt is not None:
            attempt.book.call(data.model_name)

    async def on_run_end(self, data: RunEnd) -> None:
        """Put each attempt's part of the logs beside its score log, also after Ctrl-C."""
        for done in data.logs:
            log = Path(done.location.removeprefix("file://"))
            if not log.parent.name.startswith(TEMPORARY):  # there `re-bench run` does it
                # Not in this thread: where a loop runs, reading logs would patch asyncio.
                await anyio.to_thread.run_sync(keep_transcript, log, live.folders())
