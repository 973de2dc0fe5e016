"""The JSON Schemas of a tool's arguments and answer, without parts that carry no information."""

from collections.abc import Mapping

from dcf.tools.registry import ToolSpec
from dcf.values.json_text import Json

_TYPES = ("object", "array", "string", "number", "boolean", "null")
_SAYS_TYPE = frozenset({"type", "anyOf", "$ref", "const", "enum"})
_LEFT_OUT = frozenset({("title", str), ("default", type(None)), ("additionalProperties", bool), ("examples", list)})
"""Keywords that tell a model nothing, and examples, which hints show; by type, since an argument may be named so."""


def answer_of(spec: ToolSpec) -> dict[str, Json]:
    """Return the schema of the answer: names and types only, since it is nearly half of what a model has to read."""
    found: dict[str, Json] = _schema(spec.answer.model_json_schema())
    words: dict[str, Json] = found.get("$defs", {})
    assert all("enum" in part for part in words.values()), "answers are flat"
    properties = {name: _bare(part, words) for name, part in found["properties"].items()}
    return {"type": "object", "properties": properties}


def _bare(part: dict[str, Json], words: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out defaults, descriptions and enums, and write a nullable type as one list of types."""
    if "$ref" in part:
        part = words[part["$ref"].rpartition("/")[2]]
    kept = {name: value for name, value in part.items() if name not in {"default", "description", "enum"}}
    kinds = [_bare(kind, words) for kind in kept.get("anyOf", ())]
    plain = [kind["type"] for kind in kinds if kind.keys() == {"type"}]
    if kinds:
        return {"type": plain} if len(plain) == len(kinds) else {**kept, "anyOf": kinds}
    return kept


def parameters_of(spec: ToolSpec) -> dict[str, Json]:
    """Return the input schema, without the tool's description, which clients get separately."""
    found = _typed(_schema(spec.arguments.model_json_schema()))
    del found["description"]
    return {**found, "additionalProperties": False}


def _typed(node: Json) -> Json:
    """Give every property and item a type, if need be the list of all types.

    Letta 0.16.8 silently leaves out a tool with a parameter that has no type (measured).
    """
    if not isinstance(node, dict):
        return node
    found: dict[str, Json] = dict(node)
    if "anyOf" in found:
        found["anyOf"] = [_typed(one) for one in found["anyOf"]]
    if "items" in found:
        found["items"] = _typed(found["items"])
    if "properties" in found:
        found["properties"] = {name: _typed(part) for name, part in found["properties"].items()}
    return found if found.keys() & _SAYS_TYPE else {**found, "type": list(_TYPES), "items": {}}


def _schema(found: Json) -> Json:
    """Leave out the parts of a JSON Schema that cost tokens and carry no information."""
    if isinstance(found, Mapping):
        return {name: _schema(part) for name, part in found.items() if (name, type(part)) not in _LEFT_OUT}
    if isinstance(found, list):
        return [_schema(part) for part in found]
    return found
