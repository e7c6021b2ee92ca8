"""An agent that plays a list of steps from a file: for tests, demonstrations and replays.

The file is a list such as `[{do: write, path: solution.py, content: "..."}, {do: score}]`; what
there is to do is in steps.py.
"""

import json
import os
from pathlib import Path

import anyio
from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.log import transcript
from inspect_ai.util import sandbox

from openrebench.agents.steps import Fail, Run, Score, Step, Submit, Wait, Write, read_steps
from openrebench.harness import live
from openrebench.harness.tools import request_score, time_left_s


@agent
def scripted(steps: str, acknowledge: str | None = None) -> Agent:
    """Play steps.

    Args:
        steps: YAML or JSON file on the host (see `read_steps`).
        acknowledge: File on the host that gets a line for every score that was returned.
    """
    played = read_steps(Path(steps))

    async def execute(state: AgentState) -> AgentState:
        live.current().settings["steps"] = Path(steps).name
        for step in played:
            if isinstance(step, Submit):
                break
            transcript().info({"step": step.model_dump(), "time_left_s": time_left_s()})
            await _play(step, Path(acknowledge) if acknowledge else None)
        return state

    return execute


async def _play(step: Step, acknowledge: Path | None) -> None:
    match step:
        case Write():
            await sandbox().write_file(step.path, step.content)
        case Run():
            await _run(step)
        case Score():
            for _ in range(step.times):
                await _score(acknowledge)
        case Wait():
            await anyio.sleep(step.seconds)
        case Fail():
            raise RuntimeError(step.message)


async def _run(step: Run) -> None:
    argv = ["sh", "-c", step.command]
    done = await sandbox().exec(argv, timeout=step.timeout_s, timeout_retry=False)
    transcript().info({"code": done.returncode, "out": done.stdout, "err": done.stderr})


async def _score(acknowledge: Path | None) -> None:
    verdict = await request_score()
    if acknowledge is None:
        return
    line = json.dumps({"anchor": verdict.anchor, "text": verdict.text}) + "\n"
    fd = os.open(acknowledge, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)
