"""Claude Code and Codex CLI as agents, through inspect_swe (extra `swe`).

The program runs inside our sandbox, from a copy that is visible there read-only
(tools/agent_clis.sh gets it); nothing is downloaded during an attempt. Its model calls leave the
sandbox through Inspect's bridge, so that any Inspect model will do, and `score`, `score_log` and
`time_left` are reached the same way, as an MCP server. The programs' own web tools are off.

Not covered: these programs manage their conversation themselves, so there is no trimming of ours
and no line on what is left of the budget; they can ask `time_left`. What they said is lost when an
attempt is interrupted and resumed; the files of the workspace are not.
"""

from inspect_ai.agent import Agent, AgentState, BridgedToolsSpec, agent
from inspect_ai.util import sandbox

from openrebench.agents.prompts import fill
from openrebench.agents.toolkit import TOOL_TIMEOUT_S
from openrebench.errors import ReBenchError
from openrebench.harness import live
from openrebench.harness.tools import score, score_log, time_left

SERVER = "openrebench"
SCORE_TIMEOUT_S = 2 * 60 * 60  # the wait for other scores is part of a call
MISSING = "agent '{}' needs inspect_swe, which is not installed; install openrebench[swe]"


@agent
def claude_code() -> Agent:
    """Claude Code in the sandbox, with the model of the run."""
    try:
        from inspect_swe import claude_code as inspect_claude_code
    except ImportError as error:
        raise ReBenchError(MISSING.format("claude_code")) from error
    return _noting(
        inspect_claude_code(
            system_prompt=fill("cli_agent"),
            bridged_tools=[_server()],
            disallowed_tools=["WebSearch", "WebFetch"],
            version="sandbox",
            env={
                "MCP_TOOL_TIMEOUT": str(SCORE_TIMEOUT_S * 1000),
                "BASH_MAX_TIMEOUT_MS": str(TOOL_TIMEOUT_S * 1000),
            },
        ),
        "claude",
    )


@agent
def codex() -> Agent:
    """Codex CLI in the sandbox, with the model of the run."""
    try:
        from inspect_swe import codex_cli
    except ImportError as error:
        raise ReBenchError(MISSING.format("codex")) from error
    return _noting(
        codex_cli(
            system_prompt=fill("cli_agent"),
            bridged_tools=[_server()],
            web_search="disabled",
            version="sandbox",
            config_overrides={f"mcp_servers.{SERVER}.tool_timeout_sec": str(SCORE_TIMEOUT_S)},
        ),
        "codex",
    )


def _server() -> BridgedToolsSpec:
    """Offer our tools; a program may call them from code that its model wrote."""
    return BridgedToolsSpec(
        name=SERVER, tools=[score(), score_log(), time_left()], require_proposal=False
    )


def _noting(inner: Agent, program: str) -> Agent:
    """Note in the attempt's record which version of a program ran."""

    async def execute(state: AgentState) -> AgentState:
        done = await sandbox().exec([program, "--version"], timeout=60)
        if not done.success:
            raise ReBenchError(f"'{program}' is not in the sandbox; run tools/agent_clis.sh")
        live.current().settings["program"] = done.stdout.strip()
        return await inner(state)

    return execute
