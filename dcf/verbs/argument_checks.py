"""Checks the arguments of a tool call, and says in words what is wrong with them.

Nothing here costs more for arguments made to be costly than for others of their length. Names that a tool does not have
are counted before pydantic sees them (it builds an error for each). Large arguments are checked outside the event loop,
so that other requests are answered meanwhile.
"""

from collections.abc import Mapping
from functools import cache

import anyio
import anyio.to_thread
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, dump
from dcf.verbs.answers.suggestions import argument_meant, closest
from dcf.verbs.description.words import ID
from dcf.verbs.examples import example_of
from dcf.verbs.registry import ID_RULE, Arguments, ToolSpec, printable
from dcf.verbs.unlisted import is_listed

_LONGEST_ECHO = 80
_TYPE_WORDS = {"boolean": "true or false", "object": "an object", "array": "an array"}


_SMALL = 1000
"""Values in arguments that are checked on the event loop; that takes less than a millisecond."""
_CHARACTERS = 64
"""Characters of a string that count as one value."""


class AlmostRight(InvalidArgument):
    """A call with a known correction.

    `renamed` has the names of arguments that were probably meant, `values` what is to be sent for others.
    """

    def __init__(
        self,
        message: str,
        hint: str | None,
        renamed: Mapping[str, str] | None = None,
        values: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.renamed: Mapping[str, str] = renamed or {}
        self.values: Mapping[str, str] = values or {}


async def check_arguments(
    spec: ToolSpec, arguments: Mapping[str, Json], threads: anyio.CapacityLimiter | None
) -> Arguments:
    """Return the arguments as the tool's model; raise InvalidArgument, which names what is wrong.

    Large ones are checked on one of the caller's threads.
    """
    if is_large(arguments):
        return await anyio.to_thread.run_sync(check_at_once, spec, arguments, limiter=threads)
    return check_at_once(spec, arguments)


def is_large(arguments: Mapping[str, Json]) -> bool:
    """Return True if looking at all of the arguments takes long; looks at a few of them only."""
    left, pending = _SMALL, [dict(arguments)] if len(arguments) < _SMALL else []
    while pending and left > 0:
        value = pending.pop()
        if isinstance(value, str):
            left -= len(value) // _CHARACTERS
        elif isinstance(value, dict | list):
            left -= len(value)
            if left > 0:
                pending.extend(value.values() if isinstance(value, dict) else value)
    return left <= 0 or len(arguments) >= _SMALL


def check_at_once(spec: ToolSpec, arguments: Mapping[str, Json]) -> Arguments:
    """Return the arguments as the tool's model, checked in this thread; raise InvalidArgument."""
    _refuse_unknown(spec, arguments)
    spec.build()
    try:
        checked = spec.arguments.model_validate(dict(arguments))
    except ValidationError as error:
        raise _explained(spec, error) from None
    if spec.resolve is not None:
        spec.resolve(arguments)  # it raises: a call that means a verb is checked as that verb's
    return checked


def _refuse_unknown(spec: ToolSpec, arguments: Mapping[str, Json]) -> None:
    """Raise for names that the tool does not have: the message has the first, and only counts the others."""
    known = spec.arguments.model_fields
    first = next((name for name in arguments if name not in known), None)
    if first is None:
        return
    others = sum(name not in known for name in arguments) - 1
    more = f", nor {others} more that were sent" if others else ""
    message = f"There is no argument '{printable(first[:_LONGEST_ECHO])}'{more}."
    listed = [name for name, field in known.items() if is_listed(field)]
    text = f"The arguments are: {', '.join(listed)}."
    meant = None if others else argument_meant(first, listed, arguments)
    if meant is not None:
        raise AlmostRight(message, f"Did you mean {meant}? {text}", {first: meant})
    raise InvalidArgument(message, text)


def _explained(spec: ToolSpec, error: ValidationError) -> InvalidArgument:
    """Return an error naming the wrong argument and what is expected; never repeats a value."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    name = str(first["loc"][0])
    schema = _properties(spec.arguments)[name]
    sent = error.errors(include_url=False, include_context=False)[0]["input"]
    meant = _value_meant(sent, schema)
    explanation = _explanation(spec, name, schema)
    hint = (
        explanation
        if meant is None
        else f"Did you mean '{meant}'?" + ("" if explanation is None else f" {explanation}")
    )
    missing = _missing(error)
    if meant is None and not missing:
        return InvalidArgument(f"{_wrong(first, name, schema)}.", hint)
    values = missing if meant is None else {name: meant}
    return AlmostRight(f"{_wrong(first, name, schema)}.", hint, values=values)


@cache
def _properties(arguments: type[Arguments]) -> Mapping[str, Json]:
    """Return the schema of each argument; pydantic would make it again each time, which takes milliseconds."""
    properties: Mapping[str, Json] = arguments.model_json_schema()["properties"]
    return properties


def _missing(error: ValidationError) -> dict[str, str]:
    """Return the arguments that are missing, each with a place to fill in; none if others are wrong too."""
    errors = error.errors(include_input=False, include_url=False, include_context=False)
    if any(error["type"] != "missing" or len(error["loc"]) > 1 for error in errors):
        return {}
    return {str(error["loc"][0]): f"<{error['loc'][0]}>" for error in errors}


def _value_meant(sent: object, schema: Mapping[str, Json]) -> str | None:
    """Return the allowed word that is most like what was said."""
    words = [word for branch in schema.get("anyOf", [schema]) for word in branch.get("enum", ())]
    return closest(sent, words) if isinstance(sent, str) else None


def _explanation(spec: ToolSpec, name: str, schema: Mapping[str, Json]) -> str | None:
    """Return an argument's description and an example; for ids also their format, in the schema a pattern."""
    branches = schema.get("anyOf", [schema])
    rule = f"It has {ID_RULE}." if any(branch.get("pattern") == ID for branch in branches) else None
    value = example_of(spec, name)
    example = None if value is None else f"For example {dump({name: value})}."
    explanation = " ".join(filter(None, (schema.get("description"), rule, example)))
    return f"{name}: {explanation}" if explanation else None


def _wrong(error: ErrorDetails, name: str, schema: Mapping[str, Json]) -> str:
    if error["type"] == "missing":
        return f"The argument {name} is missing"
    if error["type"] == "string_pattern_mismatch":
        return f"{name} has the wrong form"
    if error["type"] == "string_unicode":
        return f"{name} holds a string that is not valid Unicode"
    return f"{name} must be {_expected(schema)}"


def _expected(schema: Mapping[str, Json]) -> str:
    """Describe in words what a JSON Schema allows, without null: leaving an argument out is simpler."""
    if "anyOf" in schema:
        return " or ".join(_expected(branch) for branch in schema["anyOf"] if branch.get("type") != "null")
    if "const" in schema:
        return f"'{schema['const']}'"
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    if schema.get("type") in {"integer", "number"}:
        kind = "a whole number" if schema["type"] == "integer" else "a number"
        return f"{kind} between {schema['minimum']:g} and {schema['maximum']:.0f}" if "minimum" in schema else kind
    if schema.get("type") == "string":
        longest = f" of at most {schema['maxLength']} characters" if "maxLength" in schema else ""
        return ("a non-empty string" if schema.get("minLength") else "a string") + longest
    return _TYPE_WORDS[schema["type"]]
