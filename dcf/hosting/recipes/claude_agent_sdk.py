"""The Claude Agent SDK, which brings a Claude Code of its own; tools are called in this process.

Option `tools`: its own tools that it may use, such as "Read"; default none.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ProcessError,
    RateLimitEvent,
    ResultMessage,
    SdkMcpTool,
    create_sdk_mcp_server,
    query,
)

from dcf.hosting.prompts import system_prompt, user_prompt
from dcf.hosting.protocol import AgentTool, AgentTools, AgentWork, ModelAnswer, TaskFailed
from dcf.hosting.recipes.claude_code import QUIET, SessionFailed, rejected_window, report

_SERVER = "work"


async def handle(work: AgentWork, tools: AgentTools) -> ModelAnswer:
    """Let the agent work; its session is what it is resumed by."""
    ended: ResultMessage | None = None
    windows: list[dict[str, Any]] = []
    try:
        async for message in query(prompt=_prompt(work), options=_options(work, tools)):
            if isinstance(message, ResultMessage):
                ended = message  # the loop goes on to its end: leaving it would leave the process behind
            elif isinstance(message, RateLimitEvent):
                info = message.rate_limit_info
                windows.append(
                    {"status": info.status, "resetsAt": info.resets_at, "rateLimitType": info.rate_limit_type}
                )
    except ProcessError:
        if ended is None or not ended.is_error:
            raise  # otherwise the result that came before tells more: usage, and why it failed
    if ended is None:
        raise SessionFailed("the session ended without a result")
    report(tools, vars(ended), ended.model_usage)
    if ended.subtype == "error_max_turns":
        raise TaskFailed("DCF.TurnLimit", "The agent reached its limit of turns.")
    if ended.is_error or ended.subtype != "success":
        cause = f"the session ended with {ended.subtype}: {str(ended.result)[:500]}"
        raise SessionFailed(cause, ended.api_error_status, rejected_window(windows))
    return ModelAnswer(ended.result or "", ended.session_id)


async def _prompt(work: AgentWork) -> AsyncIterator[dict[str, Any]]:
    yield {"type": "user", "message": {"role": "user", "content": user_prompt(work)}}


def _options(work: AgentWork, tools: AgentTools) -> ClaudeAgentOptions:
    own = list(work.agent.options.get("tools", []))
    base_url = {"ANTHROPIC_BASE_URL": work.agent.base_url} if work.agent.base_url else {}
    server = create_sdk_mcp_server(_SERVER, tools=[_tool(tool, tools) for tool in tools.list()])
    return ClaudeAgentOptions(
        tools=own,
        allowed_tools=[f"mcp__{_SERVER}", *own],
        mcp_servers={_SERVER: server},
        strict_mcp_config=True,
        setting_sources=[],
        system_prompt=system_prompt(work),
        model=work.agent.model or None,
        max_turns=work.agent.max_turns,
        resume=work.session,
        env={**QUIET, **base_url, "ENABLE_TOOL_SEARCH": "false"},
    )


def _tool(tool: AgentTool, tools: AgentTools) -> SdkMcpTool[Any]:
    return SdkMcpTool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        handler=partial(_call, tools, tool.name),
    )


async def _call(tools: AgentTools, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await tools.call(name, arguments)
    return {"content": [{"type": "text", "text": result.text}], "is_error": result.is_error}
