"""An agent of your own: `--agent examples/bring_your_own_agent.py@my_agent`."""

from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.model import execute_tools, get_model
from inspect_ai.tool import bash

from openrebench.harness.tools import score, score_log, time_left


@agent
def my_agent(timeout_s: int = 300) -> Agent:
    """Call tools until the model has nothing to call any more."""
    tools = [bash(timeout=timeout_s), score(), score_log(), time_left()]

    async def execute(state: AgentState) -> AgentState:
        while True:  # the harness ends it when the time is up; the best score counts
            state.output = await get_model().generate(state.messages, tools=tools)
            state.messages.append(state.output.message)
            if not state.output.message.tool_calls:
                return state
            results = await execute_tools(state.messages, tools)
            state.messages.extend(results.messages)

    return execute
