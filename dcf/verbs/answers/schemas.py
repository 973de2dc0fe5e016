"""The JSON Schema of a tool's answer, derived from the record that every interface answers with.

It is on no list of tools unless a client asks for it: the lists would be twice as long. A program checks answers with
it, so it must admit every answer of the tool, refusals too, and promise nothing that only some answers have.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from dcf.values.json_text import Json
from dcf.verbs.registry import ToolSpec

_REFERENCE: Final = "#/$defs/"
_NULL: Final[Mapping[str, Json]] = {"type": "null"}


@cache
def answer_schema(spec: ToolSpec) -> dict[str, Json]:
    """Return the schema of all answers of a tool: its fields with their types, and those that are never left out."""
    spec.build()
    schema = spec.answer.model_json_schema()
    left_out, records = spec.answer.may_be_left_out(), schema.get("$defs", {})
    fields = {
        name: _plain(_never_null(part) if name in left_out else part, records)
        for name, part in schema["properties"].items()
    }
    needed = [name for name in fields if name not in left_out and name not in spec.answer.of_some]
    return {"type": "object", "properties": fields, "required": needed}


def _never_null(part: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema of a field that an answer leaves out where it is null. One of any kind has no `anyOf`."""
    return {**part, "anyOf": [kind for kind in part["anyOf"] if kind != _NULL]} if "anyOf" in part else dict(part)


def _plain(part: Mapping[str, Json], records: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a schema says of values, without titles and defaults, and with each record where it is used."""
    if "$ref" in part:
        return _plain(records[part["$ref"].removeprefix(_REFERENCE)], records)
    if "anyOf" in part:
        return _one_of([_plain(kind, records) for kind in part["anyOf"]])
    plain: dict[str, Json] = {name: part[name] for name in ("type", "enum", "required") if name in part}
    if "const" in part:
        plain["enum"] = [part["const"]]
    for name in ("items", "additionalProperties"):
        if isinstance(part.get(name), Mapping) and (inner := _plain(part[name], records)):
            plain[name] = inner
    if "properties" in part:
        plain["properties"] = {name: _plain(field, records) for name, field in part["properties"].items()}
        if part.get("additionalProperties") is True:
            plain["additionalProperties"] = True
    return plain


def _one_of(kinds: list[dict[str, Json]]) -> dict[str, Json]:
    """Return the schema of a value of one of these kinds: without `anyOf` where one schema says the same."""
    if {} in kinds:
        return {}
    some = [kind for kind in kinds if kind != _NULL]
    may_be_null = len(some) < len(kinds)
    if len({kind.get("type") for kind in some}) == 1 and all(kind.keys() == {"type", "enum"} for kind in some):
        some = [{**some[0], "enum": [value for kind in some for value in kind["enum"]]}]
    if len(some) == 1:
        return _or_null(some[0]) if may_be_null else some[0]
    if all(kind.keys() == {"type"} for kind in kinds):
        return {"type": list(dict.fromkeys(kind["type"] for kind in kinds))}
    return {"anyOf": [*some, dict(_NULL)] if may_be_null else some}


def _or_null(kind: dict[str, Json]) -> dict[str, Json]:
    values = {"enum": [*kind["enum"], None]} if "enum" in kind else {}
    return {**kind, "type": [kind["type"], "null"], **values}
