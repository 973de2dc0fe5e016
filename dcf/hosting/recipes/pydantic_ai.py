"""pydantic-ai. The model is written as `openai:NAME` (chat completions), `anthropic:NAME`, or as the SDK knows it."""

from functools import partial
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import infer_model
from pydantic_ai.usage import RunUsage, UsageLimits

from dcf.hosting.prompts import system_prompt, user_prompt
from dcf.hosting.protocol import AgentTool, AgentTools, AgentWork, ModelAnswer, TaskFailed
from dcf.hosting.recipes.retries import bound_waits


async def handle(work: AgentWork, tools: AgentTools) -> ModelAnswer:
    """Let the agent work; its conversation is what it is resumed by."""
    model = _model(work.agent.model, work.agent.base_url)
    client = getattr(model, "client", None)
    if getattr(client, "_client", None) is not None:  # that of anthropic or openai
        bound_waits(client)
    agent = Agent(
        model,
        instructions=system_prompt(work),
        tools=[_tool(tool, tools) for tool in tools.list()],
    )
    before = ModelMessagesTypeAdapter.validate_json(work.session) if work.session else None
    limits, used = UsageLimits(request_limit=work.agent.max_turns), RunUsage()
    try:
        result = await agent.run(user_prompt(work), message_history=before, usage_limits=limits, usage=used)
    except UsageLimitExceeded as error:
        raise TaskFailed("DCF.TurnLimit", str(error)) from None
    finally:
        _report(tools, work, used)
    return ModelAnswer(result.output, ModelMessagesTypeAdapter.dump_json(result.all_messages()).decode())


def _report(tools: AgentTools, work: AgentWork, used: RunUsage) -> None:
    cost = getattr(used, "cost", None)  # older versions know none
    cached, written = used.cache_read_tokens, used.cache_write_tokens
    tools.report_usage(
        tokens_in=used.input_tokens - cached - written,
        tokens_cached=cached,
        tokens_cache_written=written,
        tokens_out=used.output_tokens,
        model=work.agent.model or None,
        **({} if cost is None else {"cost": f"{cost:.9f}", "currency": "USD"}),
    )


def _model(name: str, base_url: str) -> Any:
    provider, _, model = name.partition(":")
    if not base_url:
        return infer_model(name)
    if provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(model, provider=AnthropicProvider(base_url=base_url))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(model or name, provider=OpenAIProvider(base_url=base_url))


def _tool(tool: AgentTool, tools: AgentTools) -> Tool[Any]:
    return Tool.from_schema(
        partial(_call, tools, tool.name),
        name=tool.name,
        description=tool.description,
        json_schema=dict(tool.parameters),
    )


async def _call(tools: AgentTools, name: str, **arguments: Any) -> str:
    """Return a failure as text, too: the second failing call of a tool would end the run."""
    return (await tools.call(name, arguments)).text
