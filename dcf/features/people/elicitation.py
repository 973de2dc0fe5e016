"""Asks the person in front of a client to answer a human task, where the client can show a form (elicitation).

`answer_human_task` without a choice then becomes a question. The caller answers, as with a choice: the form only lets
the person choose instead of their model. Since the revision 2026-07-28 a question is an answer to the call, and the
client calls again with the filled-in form. Before, the server asks on the connection, over stdio only.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.mcpserver.context import Context
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from dcf.core.access.model import Scope
from dcf.tools.mcp.reading import ToolReading
from dcf.values.json_text import Json, dump
from dcf.values.text_pieces import clip
from dcf.verbs.registry import ToolSpec, printable

_TOOL: Final = "answer_human_task"
_QUESTION: Final = "answer-"
"""How a question is named; the epoch of the state follows, so that the answer is given to the visit that was shown."""

_MOST_SHOWN: Final = 4_000
"""Characters of the instructions, and of the details, that a form shows."""
_PRIMITIVE: Final = frozenset({"string", "number", "integer", "boolean"})
_OWN: Final = frozenset({"choice", "comment"})

Arguments = Mapping[str, Json]


async def asked(
    spec: ToolSpec, arguments: Arguments, context: Context[Any, Any], reading: ToolReading
) -> Arguments | InputRequiredResult:
    """Return the arguments with the person's choice, or the question; unchanged if the client cannot ask."""
    if spec.name != _TOOL or arguments.get("choice") is not None or not _can_ask(context, reading):
        return arguments
    for name, answer in (context.input_responses or {}).items():
        if name.startswith(_QUESTION) and isinstance(answer, ElicitResult):
            return _filled(arguments, answer, name.removeprefix(_QUESTION))
    task = await _task(arguments, reading)
    if task is None:
        return arguments
    message, schema = _message(task), _form(task)
    if context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        params = ElicitRequestFormParams(message=message, requested_schema=schema)
        return InputRequiredResult(input_requests={f"{_QUESTION}{task['epoch']}": ElicitRequest(params=params)})
    try:
        answer = await context.session.elicit_form(message, schema, related_request_id=context.request_id)
    except NoBackChannelError:
        return arguments
    return _filled(arguments, answer, str(task["epoch"]))


def _can_ask(context: Context[Any, Any], reading: ToolReading) -> bool:
    known = context.client_capabilities
    asks = None if known is None else known.elicitation
    takes_forms = asks is not None and (asks.form is not None or asks.url is None)
    return takes_forms and Scope.ANSWER in reading.caller.scopes


async def _task(arguments: Arguments, reading: ToolReading) -> Mapping[str, Json] | None:
    """Return the task that the call names; None where there is none, which the tool then tells."""
    named = {name: arguments.get(name) for name in ("workflow_id", "state")}
    try:
        listed = await reading.tool("list_human_tasks", **named)
    except MCPError:
        return None
    tasks: list[Mapping[str, Json]] = listed["tasks"]
    return tasks[0] if tasks and all(named.values()) else None


def _message(task: Mapping[str, Json]) -> str:
    details = "" if task.get("details") is None else f"Details: {clip(dump(task['details']), _MOST_SHOWN)}"
    parts = (
        printable(str(task["title"])),
        clip(str(task.get("instructions") or ""), _MOST_SHOWN),
        details,
        f"Asked by state '{printable(str(task['state']))}' of run '{task['workflow_id']}'.",
    )
    return "\n\n".join(part for part in parts if part)


def _form(task: Mapping[str, Json]) -> dict[str, Any]:
    """Return the form: the choices, a comment, and the fields of the task's own schema if a form can have them."""
    choices = [choice if isinstance(choice, str) else choice["name"] for choice in task["choices"]]
    own = {
        "choice": {"type": "string", "enum": choices, "title": "Choice"},
        "comment": {"type": "string", "title": "Comment", "description": "Why; some choices need it."},
    }
    return {"type": "object", "properties": {**own, **_fields(task)}, "required": ["choice"]}


def _fields(task: Mapping[str, Json]) -> Mapping[str, Json]:
    schema = task.get("schema")
    fields = schema.get("properties", {}) if isinstance(schema, dict) else {}
    plain = all(isinstance(field, dict) and field.get("type") in _PRIMITIVE for field in fields.values())
    members = ("type", "title", "description", "enum", "minimum", "maximum", "default")
    return (
        {name: {key: field[key] for key in members if key in field} for name, field in fields.items()}
        if plain and not _OWN & fields.keys()
        else {}
    )


def _filled(arguments: Arguments, answer: ElicitResult, epoch: str) -> Arguments:
    """Return the arguments with what was filled in; without a choice where the person gave none."""
    content = answer.content if answer.action == "accept" else None
    if not content or not epoch.isdecimal():
        return arguments
    fields = {name: value for name, value in content.items() if name not in _OWN and value is not None}
    filled = {name: content[name] for name in _OWN if content.get(name)}
    return {**arguments, **filled, "epoch": int(epoch), **({"answer_json": fields} if fields else {})}
