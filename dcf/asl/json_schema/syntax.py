"""Checks that a JSON Schema (2020-12) can be used to check values in bounded time. Pure.

A schema comes with a workflow, so it is refused if checking might never end or needs something from elsewhere:
references to other documents, those that lead back to themselves, and keywords whose meaning depends on what was
evaluated before.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from dcf.asl.json_schema.patterns import flaw_of_pattern
from dcf.asl.syntax.fields import kind, token
from dcf.values.json_text import Json, byte_length
from dcf.values.text_pieces import clip

MAX_SCHEMA: Final = 32 * 1024
MAX_FLAWS: Final = 20

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
"""The possible values of `type`."""

ONE: Final = frozenset(
    {"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames"},
)
"""Keywords whose value is a schema."""

SEVERAL: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose value is an array of schemas."""

NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keywords whose value is an object of schemas."""

_HERE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""Keywords whose schemas are for the same value, not for a part of it."""

_REFUSED: Final = frozenset(
    {"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$anchor", "$vocabulary"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)


class Flaw(NamedTuple):
    """A problem of a schema: a JSON Pointer into the schema, and a sentence without its end."""

    pointer: str
    message: str


def flaws_of(schema: Json) -> tuple[Flaw, ...]:
    """Return the problems of a schema, at most MAX_FLAWS; none if values can be checked with the schema."""
    if not isinstance(schema, bool | dict):
        return (Flaw("", f"a JSON Schema is an object, not {kind(schema)}"),)
    if byte_length(schema) > MAX_SCHEMA:
        return (Flaw("", f"the schema has more than {MAX_SCHEMA} bytes"),)
    places = dict(_schemas(schema))
    flaws: list[Flaw] = []
    for pointer, part in places.items():
        flaws += _flaws_at(pointer, part, places)
        if len(flaws) >= MAX_FLAWS:
            return tuple(flaws[:MAX_FLAWS])
    return tuple(flaws or _circles(places))


def doubts_of(schema: Json) -> tuple[Flaw, ...]:
    """Return the keywords that JSON Schema does not know but that resemble one of its keywords."""
    doubts = (
        (pointer, word, difflib.get_close_matches(word, _WORDS, 1, 0.8))
        for pointer, part in _schemas(schema)
        if isinstance(part, dict)
        for word in part
        if word not in _WORDS
    )
    return tuple(
        Flaw(f"{pointer}/{token(word)}", f"'{clip(word)}' is no keyword of JSON Schema; did you mean '{near[0]}'?")
        for pointer, word, near in doubts
        if near
    )


def target_of(reference: str) -> str | None:
    """Return the JSON Pointer that a `$ref` names in its own schema; None if it leads elsewhere."""
    return reference[1:] if reference == "#" or reference.startswith("#/") else None


def _schemas(schema: Json) -> Iterator[tuple[str, Json]]:
    """Yield a schema and all schemas inside it, each with its pointer."""
    pending = [("", schema)]
    while pending:
        pointer, part = pending.pop()
        yield pointer, part
        if isinstance(part, dict):
            pending += reversed([(pointer + tail, inner) for tail, inner in _inside(part)])


def _inside(schema: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the schemas directly inside one, as far as their keywords have the right form."""
    for word, value in schema.items():
        if word in ONE:
            yield f"/{word}", value
        elif word in SEVERAL and isinstance(value, list):
            yield from ((f"/{word}/{at}", item) for at, item in enumerate(value))
        elif word in NAMED and isinstance(value, dict):
            yield from ((f"/{word}/{token(name)}", member) for name, member in value.items())


def _flaws_at(pointer: str, schema: Json, places: Mapping[str, Json]) -> Iterator[Flaw]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield Flaw(pointer, f"a schema is needed here, not {kind(schema)}")
        return
    for word, value in schema.items():
        here = f"{pointer}/{token(word)}"
        if word in _REFUSED:
            yield Flaw(here, f"{word} is not supported")
        elif word == "$id" and pointer:
            yield Flaw(here, "a schema inside another cannot have an $id")
        elif word == "$ref":
            yield from _reference(here, value, places)
        elif word == "patternProperties" and isinstance(value, dict):
            yield from (Flaw(f"{here}/{token(pattern)}", f"the pattern {why}") for pattern, why in _bad_patterns(value))
        elif word in _FORMS:
            reason = _FORMS[word](value)
            if reason is not None:
                yield Flaw(here, f"{word} {reason}")


def _bad_patterns(patterns: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        reason = flaw_of_pattern(pattern)
        if reason is not None:
            yield pattern, reason


def _reference(here: str, value: Json, places: Mapping[str, Json]) -> Iterator[Flaw]:
    if not isinstance(value, str):
        yield Flaw(here, f"$ref must be a string, not {kind(value)}")
    elif target_of(value) is None:
        yield Flaw(here, f"'{clip(value)}' leads out of the schema; write it into $defs and refer to '#/$defs/name'")
    elif target_of(value) not in places:
        yield Flaw(here, f"there is no schema at '{clip(value)}'")


def _circles(places: Mapping[str, Json]) -> Iterator[Flaw]:
    """Yield a flaw if a schema leads back to itself without going into a part of the value."""
    done: set[str] = set()
    for start in places:
        path: list[str] = []
        pending = [(start, False)]
        while pending:
            pointer, is_left = pending.pop()
            if is_left:
                done.add(path.pop())
            elif pointer in path:
                yield Flaw(pointer, "the schema refers to itself without end, for the same value")
                return
            elif pointer not in done:
                path.append(pointer)
                pending += [(pointer, True), *((place, False) for place in _same_value(pointer, places[pointer]))]


def _same_value(pointer: str, schema: Json) -> Iterator[str]:
    """Yield the pointers of the schemas that a schema checks its own value with."""
    if not isinstance(schema, dict):
        return
    yield from (pointer + tail for tail, _ in _inside(schema) if tail.split("/")[1] in _HERE)
    if "$ref" in schema:
        yield target_of(schema["$ref"]) or ""


def _must_be(noun: str, *kinds: type) -> Callable[[Json], str | None]:
    """Return a check that a keyword's value is of one of these types; a boolean is no number."""

    def judge(value: Json) -> str | None:
        fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
        return None if fits else f"must be {noun}, not {kind(value)}"

    return judge


def _count(value: Json) -> str | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return None if is_whole and value >= 0 else "must be a whole number from 0"


def _positive(value: Json) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if is_number and value > 0 else "must be a number above 0"


def _names(value: Json) -> str | None:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return "must be an array of strings"
    return None if len(set(value)) == len(value) else "names something twice"


def _dependencies(value: Json) -> str | None:
    if not isinstance(value, dict):
        return "must be an object of arrays of strings"
    return next((reason for reason in map(_names, value.values()) if reason is not None), None)


def _types(value: Json) -> str | None:
    named: Any = [value] if isinstance(value, str) else value
    if (
        not isinstance(named, list)
        or not named
        or not all(type_name in TYPES for type_name in named if isinstance(type_name, str))
    ):
        return f"must be one of {', '.join(TYPES)}, or an array of these"
    return _names(named)


def _pattern(value: Json) -> str | None:
    return flaw_of_pattern(value) if isinstance(value, str) else f"must be a string, not {kind(value)}"


def _dialect(value: Json) -> str | None:
    is_known = isinstance(value, str) and value.rstrip("#") == DIALECT
    return None if is_known else f"names another dialect; leave it out, or write {DIALECT}"


def _some_schemas(value: Json) -> str | None:
    return None if isinstance(value, list) and value else "must be an array of at least one schema"


_TEXT: Final = _must_be("a string", str)
_NUMBER: Final = _must_be("a number", int, float)
_FLAG: Final = _must_be("true or false", bool)
_ARRAY: Final = _must_be("an array", list)
_OBJECT: Final = _must_be("an object of schemas", dict)

_FORMS: Final[Mapping[str, Callable[[Json], str | None]]] = {
    "$schema": _dialect,
    "type": _types,
    "enum": _ARRAY,
    "required": _names,
    "dependentRequired": _dependencies,
    "pattern": _pattern,
    "multipleOf": _positive,
    "uniqueItems": _FLAG,
    "examples": _ARRAY,
    **dict.fromkeys(("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"), _NUMBER),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), _count),
    **dict.fromkeys(("maxContains", "minContains"), _count),
    **dict.fromkeys(("$id", "$comment", "format", "title", "description"), _TEXT),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), _TEXT),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), _FLAG),
    **dict.fromkeys(SEVERAL, _some_schemas),
    **dict.fromkeys(NAMED, _OBJECT),
}
"""Check of each keyword's value, but for those that hold schemas, which are checked as schemas."""

_WORDS: Final = frozenset({*_FORMS, *ONE, *_REFUSED, "$ref", "const", "default", "contentSchema"})
