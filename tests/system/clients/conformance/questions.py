"""Tools and a prompt that need something of the client before they can answer, in both ways that there are.

On 2026-07-28 a result says what is needed and the client calls again with it. Before, the server called the client,
for which a stateless server has no way (see `baseline.yml`); those tools try all the same, so that the suite would
notice if they could.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.server.mcpserver.resolve import Resolve, Sample
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

_TEXT = {"type": "string"}
_NAME = {"name": _TEXT}
_YES = {"ok": {"type": "boolean"}}


def _form(message: str, properties: Mapping[str, Any]) -> ElicitRequest:
    schema = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _said(text: str) -> list[SamplingMessage]:
    return [SamplingMessage(role="user", content=TextContent(type="text", text=text))]


def _sample(text: str) -> CreateMessageRequest:
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=_said(text), max_tokens=100))


def _needed(state: str | None = None, /, **requests: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests=requests, request_state=state)


def _answer(ctx: Context, question: str, field: str) -> Any:
    """Return what the user filled in, or None."""
    result = (ctx.input_responses or {}).get(question)
    return result.content.get(field) if isinstance(result, ElicitResult) and result.content else None


async def test_input_required_result_elicitation(ctx: Context) -> str | InputRequiredResult:
    """Ask the user for a name."""
    name = _answer(ctx, "user_name", "name")
    return f"Hello, {name}!" if name else _needed(user_name=_form("What is your name?", _NAME))


async def test_input_required_result_sampling(ctx: Context) -> str | InputRequiredResult:
    """Ask the client's model."""
    match (ctx.input_responses or {}).get("capital_question"):
        case CreateMessageResult(content=TextContent(text=text)):
            return text
    return _needed(capital_question=_sample("What is the capital of France?"))


async def test_input_required_result_list_roots(ctx: Context) -> str | InputRequiredResult:
    """Ask for the client's roots."""
    return "roots: seen" if ctx.input_responses else _needed(client_roots=ListRootsRequest())


async def test_input_required_result_request_state(ctx: Context) -> str | InputRequiredResult:
    """Ask for a yes and remember, with the client, that it was asked for."""
    if ctx.request_state == "asked" and _answer(ctx, "confirm", "ok"):
        return "state-ok"
    return _needed("asked", confirm=_form("Please confirm", _YES))


async def test_input_required_result_tampered_state(ctx: Context) -> str | InputRequiredResult:
    """Ask likewise; the state in the client's answer is another one."""
    return await test_input_required_result_request_state(ctx)


async def test_input_required_result_multiple_inputs(ctx: Context) -> str | InputRequiredResult:
    """Ask three kinds of questions at once."""
    questions: dict[str, InputRequest] = {
        "user_name": _form("What is your name?", _NAME),
        "greeting": _sample("Generate a greeting"),
        "client_roots": ListRootsRequest(),
    }
    if questions.keys() <= (ctx.input_responses or {}).keys():
        return "all of it"
    return _needed("asked", **questions)


async def test_input_required_result_multi_round(ctx: Context) -> str | InputRequiredResult:
    """Ask twice, the second time after the first."""
    match ctx.request_state, _answer(ctx, "step1", "name"), _answer(ctx, "step2", "color"):
        case "named", _, str(color):
            return f"Somebody likes {color}."
        case "unknown", str(), _:
            return _needed("named", step2=_form("Step 2: What is your favorite color?", {"color": _TEXT}))
    return _needed("unknown", step1=_form("Step 1: What is your name?", _NAME))


async def test_input_required_result_capabilities(ctx: Context) -> str | InputRequiredResult:
    """Ask only in ways that the client knows."""
    known = ctx.client_capabilities
    questions: dict[str, InputRequest] = {}
    if known is not None and known.sampling is not None:
        questions["capital"] = _sample("What is the capital of France?")
    if known is not None and known.elicitation is not None:
        questions["user_name"] = _form("What is your name?", _NAME)
    return _needed(**questions) if questions else "nobody to ask"


async def test_streaming_elicitation(ctx: Context) -> InputRequiredResult:
    """Tell how far it is, then ask."""
    await ctx.report_progress(1, 2)
    return _needed(user_name=_form("What is your name?", _NAME))


async def _ask_the_model() -> Sample:
    return Sample(_said("What is the capital of France?"), max_tokens=100)


async def test_missing_capability(answer: Annotated[CreateMessageResult, Resolve(_ask_the_model)]) -> str:
    """Depend on the client's model."""
    return answer.model


async def test_sampling(prompt: str, ctx: Context) -> str:
    """Call the client's model, the old way."""
    answer = await ctx.session.create_message(_said(prompt), max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {answer.content}"


async def _old_form(ctx: Context, message: str, properties: Mapping[str, Any]) -> str:
    schema = {"type": "object", "properties": dict(properties)}
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"User response: action={answer.action}, content={answer.content}"


async def test_elicitation(message: str, ctx: Context) -> str:
    """Ask the user, the old way."""
    return await _old_form(ctx, message, {"username": _TEXT, "email": _TEXT})


_DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a default for every field, the old way."""
    return await _old_form(ctx, "Who are you?", _DEFAULTS)


_OPTIONS = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{number}", "title": f"Value {number}"} for number in (1, 2, 3)]
_CHOICES = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}


async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask for a choice in every form that there is, the old way."""
    return await _old_form(ctx, "Which one?", _CHOICES)


async def test_input_required_result_prompt(ctx: Context) -> list[Message] | InputRequiredResult:
    """Ask what the prompt is to be about."""
    context = _answer(ctx, "user_context", "context")
    if context:
        return [UserMessage(f"Take into account: {context}")]
    return _needed(user_context=_form("What context should the prompt use?", {"context": _TEXT}))


_TOOLS = (
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    test_streaming_elicitation,
    test_missing_capability,
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
)


def add_questions(server: MCPServer[None]) -> None:
    """Add the tools and the prompt."""
    for tool in _TOOLS:
        server.add_tool(tool, structured_output=False)
    server.prompt()(test_input_required_result_prompt)
