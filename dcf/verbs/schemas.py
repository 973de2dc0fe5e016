"""The JSON Schemas of a tool's arguments and answer, without parts that carry no information.

`parameters_of` has all that a tool accepts. `listed_of` is what clients are shown: a model reads it with every list of
tools, so it has only what a caller needs to know.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Final, TypeAlias

from dcf.values.json_text import Json
from dcf.verbs.registry import ToolSpec
from dcf.verbs.unlisted import KEYWORD, PLAIN_KEYWORD
from dcf.verbs.wording.tools import in_tools

Keywords: TypeAlias = AbstractSet[tuple[str, type]]
"""Keywords of JSON Schema, with the type of what they say, since an argument may be named like one of them."""

_TYPES = ("object", "array", "string", "number", "boolean", "null")
_SAYS_TYPE = frozenset({"type", "anyOf", "$ref", "const", "enum"})
_LEFT_OUT: Final[Keywords] = frozenset(
    {("title", str), ("default", type(None)), ("additionalProperties", bool), ("examples", list)}
)
"""Keywords that tell a model nothing, and examples, which hints show."""

_BOUNDS: Final = (("minimum", int), ("maximum", int), ("minimum", float), ("maximum", float))
_CHECKED: Final[Keywords] = frozenset({("pattern", str), ("minLength", int), ("maxItems", int), *_BOUNDS})
"""Keywords of what is checked in any case, and told in words where it is not so; they are a tenth of a list."""

_WORTH_TELLING: Final = 1000
"""Lengths from here on are of texts that a model writes; shorter ones are of names."""

_BESIDE_A_NAME: Final = ("description", "maxLength")
"""The keys that the schema of a plain argument omits: its name says the one, and a refusal the other."""

_NEVER_LISTED: Final = frozenset({"redis_url"})
"""Arguments that every tool accepts and no caller needs: they may only say `default`."""

_CLOSED: Final = "additionalProperties"

_EMPTY: Final[tuple[Json, ...]] = (False, "", [], {})
"""The values that mean the same as an omitted argument."""

_NULL: Final[Mapping[str, Json]] = {"type": "null"}


@cache
def listed_of(spec: ToolSpec, *, whole: bool = False) -> dict[str, Json]:
    """Return the input schema as clients are shown it: open, since a tool accepts more than a list shows.

    An argument that may be null may as well be left out, so only its other type is shown. `whole` adds the arguments
    that lists leave out, with their types alone.
    """
    schema = _without(_CHECKED, parameters_of(spec))
    words = schema.pop("$defs", {})
    anchored = {name: part for name, part in words.items() if "$anchor" in part}  # others may mean it by its anchor
    schema |= {"$defs": anchored} if anchored else {}
    inlined = _inlined(schema, {name: part for name, part in words.items() if name not in anchored})
    parts = {name: _present(part) for name, part in inlined["properties"].items() if name not in _NEVER_LISTED}
    shown = {name: _short(part) for name, part in parts.items() if KEYWORD not in part}
    more = {name: _bare(part) for name, part in parts.items() if KEYWORD in part} if whole else {}
    return {**{name: part for name, part in inlined.items() if name != _CLOSED}, "properties": shown | more}


def _bare(part: dict[str, Json]) -> dict[str, Json]:
    """Return the type alone of an argument; its description is on the reference page."""
    return {"type": part["type"]} if "type" in part else {"anyOf": [_bare(kind) for kind in part["anyOf"]]}


def _inlined(node: Json, words: Mapping[str, Json]) -> Json:
    """Put what is referred to in the place of each reference; nothing refers to itself."""
    if isinstance(node, list):
        return [_inlined(part, words) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" not in node or node["$ref"].rpartition("/")[2] not in words:
        return {name: _inlined(part, words) for name, part in node.items()}
    kind = _inlined(words[node["$ref"].rpartition("/")[2]], words)
    parts = {name: _present(part) for name, part in kind["properties"].items()}
    return {**{name: part for name, part in kind.items() if name != "description"}, "properties": parts}


def _short(part: dict[str, Json]) -> dict[str, Json]:
    """Say nothing of the elements of an array that may be anything, nor what a name or what is left out says."""
    shortened = part if part.get("items", {}).get("type") != list(_TYPES) else {**part, "items": {}}
    values = {name: value for name, value in shortened.items() if not _goes_without_saying(name, value)}
    if values.pop(PLAIN_KEYWORD, False):
        return {name: value for name, value in values.items() if name not in _BESIDE_A_NAME}
    return {**values, "description": in_tools(values["description"])} if "description" in values else values


def _goes_without_saying(keyword: str, value: Json) -> bool:
    if keyword == "maxLength":
        return bool(value < _WORTH_TELLING)
    return keyword == "default" and value in _EMPTY


def _present(part: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of an optional argument where it is given."""
    kinds = [kind for kind in part.get("anyOf", ()) if kind != _NULL]
    if not kinds:
        return part
    return {**_one_of(kinds), **{name: value for name, value in part.items() if name != "anyOf"}}


def _one_of(kinds: list[dict[str, Json]]) -> dict[str, Json]:
    """Return the schema of a value of one of these kinds, with a list of types where they say nothing different."""
    names = [name for kind in kinds for name in kind if name != "type"]
    if len(names) != len(set(names)) or not all(isinstance(kind.get("type"), str) for kind in kinds):
        return {"anyOf": kinds}
    types = [kind["type"] for kind in kinds]
    merged = {name: value for kind in kinds for name, value in kind.items()}
    return {**merged, "type": types[0] if len(types) == 1 else types}


def parameters_of(spec: ToolSpec) -> dict[str, Json]:
    """Return the input schema, without the tool's description, which clients get separately."""
    spec.build()
    schema = _typed(_without(_LEFT_OUT, spec.arguments.model_json_schema()))
    del schema["description"]
    return {**schema, _CLOSED: False}


def _typed(node: Json) -> Json:
    """Give every property and item a type, if need be the list of all types.

    Letta 0.16.8 silently leaves out a tool with a parameter that has no type (measured).
    """
    if not isinstance(node, dict):
        return node
    typed: dict[str, Json] = dict(node)
    if "anyOf" in typed:
        typed["anyOf"] = [_typed(branch) for branch in typed["anyOf"]]
    if "items" in typed:
        typed["items"] = _typed(typed["items"])
    if "properties" in typed:
        typed["properties"] = {name: _typed(part) for name, part in typed["properties"].items()}
    return typed if typed.keys() & _SAYS_TYPE else {**typed, "type": list(_TYPES), "items": {}}


def _without(keywords: Keywords, schema: Json) -> Json:
    """Leave these keywords out of a JSON Schema, wherever they are."""
    if isinstance(schema, Mapping):
        return {name: _without(keywords, part) for name, part in schema.items() if (name, type(part)) not in keywords}
    if isinstance(schema, list):
        return [_without(keywords, part) for part in schema]
    return schema
