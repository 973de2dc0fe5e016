"""LangGraph's agent. The model is `openai:NAME` (needs langchain-openai) or `anthropic:NAME` (langchain-anthropic)."""

import json
import os
from typing import Any

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import HumanMessage, messages_from_dict, messages_to_dict
from langchain_core.tools import StructuredTool, ToolException
from langgraph.errors import GraphRecursionError
from langgraph.prebuilt import create_react_agent

from dcf.hosting.prompts import system_prompt, user_prompt
from dcf.hosting.protocol import AgentTool, AgentTools, AgentWork, ModelAnswer, TaskFailed
from dcf.hosting.recipes.retries import bound_waits

_WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Where the tokens are counted that were written to a cache, each in one of them."""

os.environ.setdefault("LANGSMITH_TRACING", "false")  # otherwise what is said goes to the vendor, too


async def handle(work: AgentWork, tools: AgentTools) -> ModelAnswer:
    """Let the agent work; its conversation is what it is resumed by."""
    model = _model(work.agent.model, work.agent.base_url)
    graph = create_react_agent(model, [_tool(tool, tools) for tool in tools.list()], prompt=system_prompt(work))
    before = messages_from_dict(json.loads(work.session)) if work.session else []
    limit = 2 * work.agent.max_turns + 1  # a step of the model and one of its tools each
    used = UsageMetadataCallbackHandler()
    try:
        result = await graph.ainvoke(
            {"messages": [*before, HumanMessage(user_prompt(work))]}, {"recursion_limit": limit, "callbacks": [used]}
        )
    except GraphRecursionError as error:
        raise TaskFailed("DCF.TurnLimit", str(error)) from None
    finally:
        for name, sums in used.usage_metadata.items():
            _report(tools, name, sums)
    messages = result["messages"]
    return ModelAnswer(messages[-1].text, json.dumps(messages_to_dict(messages), default=str, allow_nan=False))


def _report(tools: AgentTools, model: str, sums: Any) -> None:
    details = sums.get("input_token_details") or {}
    cached, written = details.get("cache_read") or 0, sum(details.get(name) or 0 for name in _WRITTEN)
    tools.report_usage(
        tokens_in=sums["input_tokens"] - cached - written,
        tokens_cached=cached,
        tokens_cache_written=written,
        tokens_out=sums["output_tokens"],
        model=model,
    )


def _model(name: str, base_url: str) -> Any:
    provider, _, model = name.partition(":")
    if provider == "anthropic":
        from langchain_anthropic import ChatAnthropic

        chat = ChatAnthropic(model_name=model, base_url=base_url or None)
        bound_waits(chat._async_client)  # noqa: SLF001 - it has no public name
        return chat
    from langchain_openai import ChatOpenAI

    chat_model = ChatOpenAI(model=model or name, base_url=base_url or None)
    bound_waits(chat_model.root_async_client)
    return chat_model


def _tool(tool: AgentTool, tools: AgentTools) -> StructuredTool:
    async def call(**arguments: Any) -> str:  # a function of its own: its annotations are read
        result = await tools.call(tool.name, arguments)
        if result.is_error:
            raise ToolException(result.text)
        return result.text

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=dict(tool.parameters),
        coroutine=call,
        handle_tool_error=True,
    )
