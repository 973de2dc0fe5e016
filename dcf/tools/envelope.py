"""One call of a tool: arguments checked, the function run, every failure turned into an answer.

No exception leaves this module, and no library's text is in any answer.
"""

import inspect
import logging
from collections.abc import Mapping
from dataclasses import dataclass

import anyio.to_thread
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dcf.application import Application
from dcf.core.json_text import Json
from dcf.errors import DcfError, InternalError, InvalidArgument, InvalidDefinition, PlatformUnavailable
from dcf.tools.registry import Answer, Arguments, ToolSpec

log = logging.getLogger(__name__)

_LONGEST_ECHO = 80
_PROBLEMS_SHOWN = 50
_TYPE_WORDS = {"boolean": "true or false", "object": "an object", "array": "an array"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the caller gets. `broken` means that the call itself was wrong or could not be carried out."""

    payload: Mapping[str, Json]
    broken: bool = False


async def call(spec: ToolSpec, application: Application, arguments: Mapping[str, Json]) -> Reply:
    """Run the tool; synchronous ones on a worker thread."""
    try:
        checked = _check(spec.arguments, arguments)
        if inspect.iscoroutinefunction(spec.run):
            answer = await spec.run(application, checked)
        else:
            answer = await anyio.to_thread.run_sync(spec.run, application, checked)
        assert isinstance(answer, Answer), "every tool returns its answer model"
        return Reply(payload=answer.payload())
    except DcfError as error:
        return Reply(payload=_failure(spec, error, arguments), broken=True)
    except Exception:  # the edge of the process: a defect of ours must not show its insides to a caller
        log.exception("tool %s failed", spec.name)
        return Reply(payload=_failure(spec, InternalError(), arguments), broken=True)


def _check(model: type[Arguments], arguments: Mapping[str, Json]) -> Arguments:
    try:
        checked = model.model_validate(dict(arguments))
    except ValidationError as error:
        raise _explained(model, error) from None
    if checked.redis_url is not None:
        raise InvalidArgument("redis_url may not be chosen by the caller.", "Leave redis_url out of the call.")
    return checked


def _explained(model: type[Arguments], error: ValidationError) -> InvalidArgument:
    """Name the wrong argument and what it should be, unknown names first; never repeat a value."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    first = min(found, key=lambda one: one["type"] != "extra_forbidden")
    name = _printable(str(first["loc"][0])[:_LONGEST_ECHO])
    if first["type"] == "extra_forbidden":
        known = ", ".join(model.model_fields)
        return InvalidArgument(f"There is no argument '{name}'.", f"The arguments are: {known}.")
    wanted = model.model_json_schema()["properties"][name]
    return InvalidArgument(f"{_wrong(first, name, wanted)}.", wanted.get("description"))


def _wrong(error: ErrorDetails, name: str, wanted: Mapping[str, Json]) -> str:
    if error["type"] == "missing":
        return f"The argument {name} is missing"
    if error["type"] == "string_pattern_mismatch":
        return f"{name} has the wrong form"
    if error["type"] == "string_unicode":
        return f"{name} holds a string that is not valid Unicode"
    return f"{name} must be {_expected(wanted)}"


def _expected(schema: Mapping[str, Json]) -> str:
    """Say in words what a JSON Schema of ours admits; null is left out, since leaving out an argument is simpler."""
    if "anyOf" in schema:
        return " or ".join(_expected(branch) for branch in schema["anyOf"] if branch.get("type") != "null")
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    if schema.get("type") in {"integer", "number"}:
        kind = "a whole number" if schema["type"] == "integer" else "a number"
        return f"{kind} between {schema['minimum']:g} and {schema['maximum']:.0f}" if "minimum" in schema else kind
    if schema.get("type") == "string":
        longest = f" of at most {schema['maxLength']} characters" if "maxLength" in schema else ""
        return ("a non-empty string" if schema.get("minLength") else "a string") + longest
    return _TYPE_WORDS[schema["type"]]


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def _failure(spec: ToolSpec, error: DcfError, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Make the tool's own answer, empty but for the error and the ids that the caller sent."""
    told, hint = _printable(f"{error.code}: {error.message}"), _printable(error.hint)
    wait = error.retry_after_s if isinstance(error, PlatformUnavailable) else None
    answer = spec.answer(error=told, code=error.code, hint=hint, retry_after_s=wait, **_echo(spec, arguments))
    payload = answer.payload()
    if isinstance(error, InvalidDefinition):
        payload["problems"] = [
            {"path": found.path, "code": found.code, "message": found.message, "hint": found.hint}
            for found in error.problems[:_PROBLEMS_SHOWN]
        ]
    return payload


def _echo(spec: ToolSpec, arguments: Mapping[str, Json]) -> dict[str, Json]:
    sent = {name: arguments.get(name) for name in ("workflow_id", "state") if name in spec.answer.model_fields}
    return {
        name: value
        for name, value in sent.items()
        if isinstance(value, str) and len(value) <= _LONGEST_ECHO and value.isprintable()
    }
