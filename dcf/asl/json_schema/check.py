"""Checks values with a JSON Schema (2020-12) and says what does not match, in bounded time and few words. Pure.

Written here since the usual library can be kept busy for hours by a schema or a value, and writes whole values into its
messages. Every schema applied and every comparison counts as a step; matching texts has steps of its own. The schema
must have passed `syntax.flaws_of`. Tests compare this with that library.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import Any, Final, NamedTuple

from dcf.asl.json_schema.formats import fits_format
from dcf.asl.json_schema.patterns import Endless, Steps, matches
from dcf.asl.json_schema.syntax import target_of
from dcf.asl.json_schema.values import NOUNS, canonical, is_number, is_type, shown, text_of
from dcf.asl.syntax.fields import token
from dcf.values.json_text import Json, byte_length, dump
from dcf.values.text_pieces import clip

MAX_MISFITS: Final = 20
MAX_CHECKS: Final = 500_000
MAX_MATCHING: Final = 200_000
MAX_LEVELS: Final = 250

_LONGEST_PLACE: Final = 300
_LONGEST_MESSAGE: Final = 300
_OFFERED: Final = 10
_BYTES_PER_STEP: Final = 64


class Misfit(NamedTuple):
    """A part of a value that does not match: a JSON Pointer into the value, and a sentence without its end."""

    pointer: str
    message: str

    def as_json(self) -> dict[str, Json]:
        """Return the object that answers show."""
        return {"path": self.pointer, "message": f"{self.message[:1].upper()}{self.message[1:]}."}


def misfits(schema: Mapping[str, Json] | bool, value: Json) -> tuple[Misfit, ...]:
    """Return the parts of a value that do not match, at most MAX_MISFITS; none if the value matches.

    A value that could not be checked within the limits counts as a value that does not match.
    """
    try:
        misfit_list = islice(_Checker(schema).check(schema, value, "", 0), MAX_MISFITS)
        return tuple(
            dict.fromkeys(Misfit(_shown_place(place), clip(text, _LONGEST_MESSAGE)) for place, text in misfit_list)
        )
    except (Endless, RecursionError):
        return (Misfit("", "it cannot be checked: that takes too many steps, or is nested too deep"),)


Found = Iterator[tuple[str, str]]
"""Places and messages, computed lazily: `anyOf` needs to know only whether there is one."""


class _Checker:
    """One check of one value; `left` are the steps that remain."""

    __slots__ = ("left", "root", "steps")

    def __init__(self, root: Mapping[str, Json] | bool) -> None:
        self.root = root
        self.left = MAX_CHECKS
        self.steps = Steps(MAX_MATCHING)

    def spend(self, steps: int) -> None:
        """Count steps; raise Endless once they are used up."""
        self.left -= steps
        if self.left < 0:
            raise Endless

    def check(self, schema: Json, value: Json, place: str, level: int) -> Found:
        """Yield the parts of a value that do not match a schema."""
        self.spend(1)
        if schema is True:
            return
        if schema is False:
            yield place, "nothing may be here"
            return
        if level > MAX_LEVELS:
            raise Endless
        for word, keyword_value in schema.items():
            keyword = _KEYWORDS.get(word)
            if keyword is not None:
                yield from keyword(self, _At(schema=schema, value=value, place=place, level=level + 1), keyword_value)

    def fits(self, schema: Json, at: "_At") -> bool:
        """Return True if the value matches another schema too."""
        return next(self.check(schema, at.value, at.place, at.level), None) is None

    def equal(self, left: Json, other: Json) -> bool:
        """Compare as JSON: 1 and 1.0 are equal, 1 and true are not."""
        self.spend(1)
        if isinstance(left, dict) and isinstance(other, dict):
            return left.keys() == other.keys() and all(self.equal(part, other[name]) for name, part in left.items())
        if isinstance(left, list) and isinstance(other, list):
            return len(left) == len(other) and all(map(self.equal, left, other))
        return bool(left == other) and isinstance(left, bool) == isinstance(other, bool)


class _At(NamedTuple):
    """A value, the schema that is applied to it, where it stands, and how deep the schemas are nested."""

    schema: Mapping[str, Json]
    value: Json
    place: str
    level: int


def _type(_: _Checker, at: _At, type_names: Json) -> Found:
    named = [type_names] if isinstance(type_names, str) else type_names
    if not any(is_type(at.value, name) for name in named):
        yield at.place, f"must be {' or '.join(NOUNS[type_name] for type_name in named)}, not {shown(at.value)}"


def _enum(checker: _Checker, at: _At, choices: list[Json]) -> Found:
    if not any(checker.equal(at.value, choice) for choice in choices):
        offered = ", ".join(map(text_of, choices[:_OFFERED])) + (" …" if len(choices) > _OFFERED else "")
        yield at.place, f"must be one of {offered}, not {shown(at.value)}"


def _const(checker: _Checker, at: _At, expected: Json) -> Found:
    if not checker.equal(at.value, expected):
        yield at.place, f"must be {text_of(expected)}, not {shown(at.value)}"


def _bound(fits: Callable[[Any, Any], bool], words: str) -> "_Keyword":
    """Return a keyword that limits numbers."""

    def judge(_: _Checker, at: _At, limit: Json) -> Found:
        if is_number(at.value) and not fits(at.value, limit):
            yield at.place, f"must be {words} {limit}, not {at.value}"

    return judge


def _multiple_of(_: _Checker, at: _At, unit: Json) -> Found:
    # Exact, as the numbers are written: 0.3 is a multiple of 0.1.
    if is_number(at.value) and (Fraction(repr(at.value)) / Fraction(repr(unit))).denominator != 1:
        yield at.place, f"must be a multiple of {unit}, not {at.value}"


def _size(
    of: type[str | list[Json] | dict[str, Json]], fits: Callable[[int, int], bool], words: str, noun: str
) -> "_Keyword":
    """Return a keyword that limits how much a text, an array or an object has of something."""

    def judge(_: _Checker, at: _At, limit: int) -> Found:
        size = len(at.value) if isinstance(at.value, str | list | dict) else 0
        if isinstance(at.value, of) and not fits(size, limit):
            yield at.place, f"must have {words} {limit} {noun}, not {size}"

    return judge


def _pattern(checker: _Checker, at: _At, pattern: str) -> Found:
    if isinstance(at.value, str) and not matches(pattern, at.value, checker.steps):
        yield at.place, f"must match the pattern {clip(pattern, 120)}, which {shown(at.value)} does not"


def _format(checker: _Checker, at: _At, name: str) -> Found:
    if not isinstance(at.value, str):
        return
    checker.spend(len(at.value) // _BYTES_PER_STEP)
    if not fits_format(name, at.value):
        yield at.place, f"must be of the format {clip(name)}, not {shown(at.value)}"


def _items(checker: _Checker, at: _At, schema: Json) -> Found:
    if isinstance(at.value, list):
        first = len(at.schema.get("prefixItems", ()))
        for number, item in enumerate(at.value[first:], first):
            yield from checker.check(schema, item, f"{at.place}/{number}", at.level)


def _first_items(checker: _Checker, at: _At, schemas: list[Json]) -> Found:
    if isinstance(at.value, list):
        for number, (schema, item) in enumerate(zip(schemas, at.value, strict=False)):
            yield from checker.check(schema, item, f"{at.place}/{number}", at.level)


def _contains(checker: _Checker, at: _At, schema: Json) -> Found:
    if not isinstance(at.value, list):
        return
    least, most = at.schema.get("minContains", 1), at.schema.get("maxContains")
    count = sum(checker.fits(schema, at._replace(value=item)) for item in at.value)
    if count < least or (most is not None and count > most):
        limit = f"at least {least}" if count < least else f"at most {most}"
        yield at.place, f"must contain {limit} of the elements that the schema describes in contains, not {count}"


def _unique(checker: _Checker, at: _At, is_on: bool) -> Found:
    if not is_on or not isinstance(at.value, list):
        return
    checker.spend(byte_length(at.value) // _BYTES_PER_STEP)
    seen: set[str] = set()
    for number, item in enumerate(at.value):
        text = dump(canonical(item))
        if text in seen:
            yield f"{at.place}/{number}", "is in the array twice"
            return
        seen.add(text)


def _properties(checker: _Checker, at: _At, schemas: Mapping[str, Json]) -> Found:
    if isinstance(at.value, dict):
        checker.spend(len(schemas) // 8)
        for name, schema in schemas.items():
            if name in at.value:
                yield from checker.check(schema, at.value[name], f"{at.place}/{token(name)}", at.level)


def _by_pattern(checker: _Checker, at: _At, schemas: Mapping[str, Json]) -> Found:
    for name, member in at.value.items() if isinstance(at.value, dict) else ():
        for pattern, schema in schemas.items():
            if matches(pattern, name, checker.steps):
                yield from checker.check(schema, member, f"{at.place}/{token(name)}", at.level)


def _others(checker: _Checker, at: _At, schema: Json) -> Found:
    if not isinstance(at.value, dict):
        return
    named, patterns = at.schema.get("properties", {}), at.schema.get("patternProperties", {})
    for name, member in at.value.items():
        if name in named or any(matches(pattern, name, checker.steps) for pattern in patterns):
            continue
        place = f"{at.place}/{token(name)}"
        if schema is False:
            listed = f"; it has {', '.join(map(clip, list(named)[:_OFFERED]))}" if named else ""
            yield place, f"the schema has no '{clip(name)}'{listed}"
        else:
            yield from checker.check(schema, member, place, at.level)


def _names(checker: _Checker, at: _At, schema: Json) -> Found:
    for name in at.value if isinstance(at.value, dict) else ():
        for _, message in checker.check(schema, name, at.place, at.level):
            yield at.place, f"the name '{clip(name)}': {message}"


def _required(checker: _Checker, at: _At, names: list[str]) -> Found:
    if isinstance(at.value, dict):
        checker.spend(len(names) // 8)
        yield from ((at.place, f"'{clip(name)}' is missing") for name in names if name not in at.value)


def _dependent(checker: _Checker, at: _At, needs: Mapping[str, list[str]]) -> Found:
    if not isinstance(at.value, dict):
        return
    checker.spend(len(needs) // 8)
    for name in needs:
        if name not in at.value:
            continue
        checker.spend(len(needs[name]) // 8)
        missing = [other for other in needs[name] if other not in at.value]
        yield from ((at.place, f"'{clip(other)}' is missing, which belongs to '{clip(name)}'") for other in missing)


def _dependent_schemas(checker: _Checker, at: _At, schemas: Mapping[str, Json]) -> Found:
    if not isinstance(at.value, dict):
        return
    checker.spend(len(schemas) // 8)
    for name, schema in schemas.items():
        if name in at.value:
            yield from checker.check(schema, at.value, at.place, at.level)


def _all(checker: _Checker, at: _At, schemas: list[Json]) -> Found:
    for schema in schemas:
        yield from checker.check(schema, at.value, at.place, at.level)


def _any(checker: _Checker, at: _At, schemas: list[Json]) -> Found:
    if not any(checker.fits(schema, at) for schema in schemas):
        yield at.place, f"matches none of {len(schemas)} alternatives: {_nearest(checker, at, schemas)}"


def _one(checker: _Checker, at: _At, schemas: list[Json]) -> Found:
    count = sum(checker.fits(schema, at) for schema in schemas)
    if count > 1:
        yield at.place, f"matches {count} of {len(schemas)} alternatives, and must match one"
    elif not count:
        yield at.place, f"matches none of {len(schemas)} alternatives: {_nearest(checker, at, schemas)}"


def _nearest(checker: _Checker, at: _At, schemas: list[Json]) -> str:
    """Say what does not match the alternative that comes nearest: the one whose first misfit is deepest inside."""
    first = [next(checker.check(schema, at.value, at.place, at.level)) for schema in schemas]
    place, message = max(first, key=lambda misfit: misfit[0].count("/"))
    inner = place.removeprefix(at.place)
    return f"{inner} {message}" if inner else message


def _not(checker: _Checker, at: _At, schema: Json) -> Found:
    if checker.fits(schema, at):
        yield at.place, f"must not match the schema in not, as {shown(at.value)} does"


def _if(checker: _Checker, at: _At, schema: Json) -> Found:
    following = at.schema.get("then" if checker.fits(schema, at) else "else", True)
    yield from checker.check(following, at.value, at.place, at.level)


def _reference(checker: _Checker, at: _At, reference: str) -> Found:
    schema: Json = checker.root
    for step in (target_of(reference) or "").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        schema = schema[int(name)] if isinstance(schema, list) else schema[name]
    yield from checker.check(schema, at.value, at.place, at.level)


def _shown_place(place: str) -> str:
    return clip(place, _LONGEST_PLACE)


_Keyword = Callable[[_Checker, _At, Any], Found]


def _least(result: Any, limit: Any) -> bool:
    return bool(result >= limit)


def _most(result: Any, limit: Any) -> bool:
    return bool(result <= limit)


_KEYWORDS: Final[Mapping[str, _Keyword]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _bound(_least, "at least"),
    "maximum": _bound(_most, "at most"),
    "exclusiveMinimum": _bound(lambda number, limit: bool(number > limit), "more than"),
    "exclusiveMaximum": _bound(lambda number, limit: bool(number < limit), "less than"),
    "multipleOf": _multiple_of,
    "minLength": _size(str, _least, "at least", "characters"),
    "maxLength": _size(str, _most, "at most", "characters"),
    "pattern": _pattern,
    "format": _format,
    "items": _items,
    "prefixItems": _first_items,
    "contains": _contains,
    "minItems": _size(list, _least, "at least", "elements"),
    "maxItems": _size(list, _most, "at most", "elements"),
    "uniqueItems": _unique,
    "required": _required,
    "properties": _properties,
    "patternProperties": _by_pattern,
    "additionalProperties": _others,
    "propertyNames": _names,
    "minProperties": _size(dict, _least, "at least", "members"),
    "maxProperties": _size(dict, _most, "at most", "members"),
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent_schemas,
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _one,
    "not": _not,
    "if": _if,
    "$ref": _reference,
}
"""The check of each keyword. Other keywords are not checked."""
