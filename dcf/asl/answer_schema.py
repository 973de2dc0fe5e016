"""Checks answers of people with the JSON Schema of their task, in bounded time. Pure.

A schema comes with the workflow, so what can take for ever is refused: regular expressions (which Python's engine may
not finish) and references (which may repeat a part of the schema without end). The library is imported with the first
schema: it takes long to import, and few runs need it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.values.json_text import Json, dump
from dcf.values.text_pieces import clip

MAX_SCHEMA: Final = 16 * 1024
MAX_ANSWER: Final = 64 * 1024
MAX_ITEMS: Final = 1_000
"""Most elements of one array in an answer: comparing each with each (`uniqueItems`) must not take long."""

_REFUSED: Final = frozenset(
    {
        *("$ref", "$dynamicRef", "$recursiveRef", "pattern", "patternProperties"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_OF_NAMES: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_OF_DATA: Final = frozenset({"const", "enum", "default", "examples", "required"})
_LONGEST_FLAW: Final = 300


def flaw_of_schema(schema: Json) -> str | None:
    """Return why this is no schema that answers can be checked with, to follow the word "schema"; None if it is one."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return "must be an object: a JSON Schema"
    if len(dump(schema).encode()) > MAX_SCHEMA:
        return f"has more than {MAX_SCHEMA} bytes"
    refused = next((word for word in _keywords(schema) if word in _REFUSED), None)
    if refused is not None:
        return f"has {refused}, which is not supported: it may take without end to check"
    return _no_schema(schema)


def misfit(schema: Mapping[str, Json] | bool, answer: Json) -> str | None:
    """Return in words what of the answer does not match; None if it does. The schema must have no flaw."""
    if len(dump(answer).encode()) > MAX_ANSWER:
        return f"it has more than {MAX_ANSWER} bytes"
    if _longest(answer) > MAX_ITEMS:
        return f"an array in it has more than {MAX_ITEMS} elements"
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - see the docstring of the module
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415 - see the docstring of the module

    checker: Any = Draft202012Validator(schema, registry=EMPTY_REGISTRY)
    error = next(checker.iter_errors(answer), None)
    if error is None:
        return None
    place = "/".join(map(str, error.absolute_path))
    return clip(f"{error.message}{f' (at {place})' if place else ''}", _LONGEST_FLAW)


def _no_schema(schema: Mapping[str, Json]) -> str | None:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - see the docstring of the module
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - see the docstring of the module

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path))
        told = f"is no JSON Schema 2020-12: {error.message}{f' (at {place})' if place else ''}"
        return clip(told, _LONGEST_FLAW)
    return None


def _keywords(schema: Json) -> Iterator[str]:
    """Yield the keywords of a schema and of all schemas inside it; names of properties and data are none."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        if not isinstance(part, dict):
            continue
        yield from part
        for word, value in part.items():
            if word in _OF_NAMES:
                pending += list(value.values()) if isinstance(value, dict) else []
            elif word not in _OF_DATA:
                pending.append(value)


def _longest(value: Json) -> int:
    """Return the number of elements of the longest array in a value."""
    longest, pending = 0, [value]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            longest = max(longest, len(part))
            pending += part
        elif isinstance(part, dict):
            pending += part.values()
    return longest
