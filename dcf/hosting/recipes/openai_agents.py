"""The OpenAI Agents SDK. Option `api`: "responses" (default) or "chat", for servers that only have chat completions."""

import json
from functools import partial
from typing import Any

from openai import AsyncOpenAI

from agents import (  # type: ignore[attr-defined]  # a folder of this repository has the same name
    Agent,
    AgentsException,
    FunctionTool,
    MaxTurnsExceeded,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    Usage,
    set_tracing_disabled,
)
from dcf.hosting.prompts import system_prompt, user_prompt
from dcf.hosting.protocol import AgentTool, AgentTools, AgentWork, ModelAnswer, TaskFailed
from dcf.hosting.recipes.retries import bound_waits

set_tracing_disabled(disabled=True)  # otherwise what is said goes to the vendor, too


async def handle(work: AgentWork, tools: AgentTools) -> ModelAnswer:
    """Let the agent work; its conversation is what it is resumed by."""
    async with AsyncOpenAI(base_url=work.agent.base_url or None) as client:
        bound_waits(client)
        is_chat = work.agent.options.get("api") == "chat"
        model: Any = OpenAIChatCompletionsModel if is_chat else OpenAIResponsesModel
        agent = Agent(
            name=work.agent.name,
            instructions=system_prompt(work),
            model=model(model=work.agent.model, openai_client=client),
            tools=[_tool(tool, tools) for tool in tools.list()],
        )
        history: list[Any] = json.loads(work.session) if work.session else []
        history.append({"role": "user", "content": user_prompt(work)})
        try:
            result = await Runner.run(agent, history, max_turns=work.agent.max_turns)
        except AgentsException as error:
            if error.run_data is not None:
                _report(tools, work, error.run_data.context_wrapper.usage)
            if isinstance(error, MaxTurnsExceeded):
                raise TaskFailed("DCF.TurnLimit", str(error)) from None
            raise
    _report(tools, work, result.context_wrapper.usage)
    return ModelAnswer(str(result.final_output), json.dumps(result.to_input_list(), default=str, allow_nan=False))


def _report(tools: AgentTools, work: AgentWork, used: Usage) -> None:
    cached = used.input_tokens_details.cached_tokens or 0
    written = getattr(used.input_tokens_details, "cache_write_tokens", 0) or 0  # older versions know none
    tools.report_usage(
        tokens_in=used.input_tokens - cached - written,
        tokens_cached=cached,
        tokens_cache_written=written,
        tokens_out=used.output_tokens,
        model=work.agent.model or None,
    )


def _tool(tool: AgentTool, tools: AgentTools) -> FunctionTool:
    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=partial(_call, tools, tool.name),
        strict_json_schema=False,
    )


async def _call(tools: AgentTools, name: str, _: Any, arguments: str) -> str:
    try:
        value = json.loads(arguments or "{}")
    except ValueError as error:
        return f"The arguments are not JSON: {error}"
    return (await tools.call(name, value)).text
