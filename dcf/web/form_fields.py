"""Forms made from JSON Schemas, and JSON made from the filled-in fields. Pure: no HTML, no I/O.

A field's name is a prefix and the JSON Pointer of its value: `input_json/customer/name`. Values that have no field of
their own (arrays, alternatives, objects of unknown members) are written as JSON text, so that every schema has a form.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from dcf.asl.json_schema.check import misfits
from dcf.asl.json_schema.syntax import flaws_of, target_of
from dcf.asl.syntax.fields import token
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, parse
from dcf.values.records import record
from dcf.workflows.validation.pointers import value_at

Kind: TypeAlias = Literal["text", "long", "number", "boolean", "choice", "json", "group"]

MOST_FIELDS: Final = 200
_DEEPEST: Final = 6
_LONG: Final = 200
"""From this length on a text may have, it is written in several lines."""
_KINDS: Final[Mapping[str, Kind]] = {
    "string": "text",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "object": "group",
}
_COMPOSED: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas"})
"""Keywords that say more about a value than a field of its own can; it is then JSON text."""

Filled: TypeAlias = Mapping[str, str]
"""The values of a form, by the names of its fields."""


@record(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field. `value` is its content, `options` are the possible values, `fields` those of a group.

    `key` is its id on the page. Options are JSON text, each with what is shown of it; `limits` are in words.
    """

    key: str
    name: str
    label: str
    kind: Kind
    required: bool
    value: str = ""
    description: str = ""
    limits: str = ""
    options: tuple[tuple[str, str], ...] = ()
    fields: tuple["FormField", ...] = ()
    whole: bool = False
    """A number that is an integer."""


class FormRead(NamedTuple):
    """The value of a form, and its problems by the name of the field; the value counts if there are no problems."""

    value: Json
    problems: dict[str, str]


def form_of(schema: Json, name: str, label: str, filled: Filled | None = None, key: str = "field") -> FormField:
    """Return the form for a value of this schema; `name` begins the names of its fields, and `key` their ids.

    `filled`: what is in it; None: what the schema has as defaults.
    """
    usable = schema if isinstance(schema, dict) and not flaws_of(schema) else {}
    return _Form(usable, filled, key).field(usable, name, label, required=True, depth=0)


def read_form(schema: Json, name: str, filled: Filled) -> FormRead:
    """Return the value that was filled into the form of a schema, checked with the schema."""
    form = form_of(schema, name, name)
    problems: dict[str, str] = {}
    values = list(_value(form, filled, problems))
    value = values[0] if values else {}
    if isinstance(schema, dict) and not flaws_of(schema):
        kinds = {field.name: field.kind for field in _each(form)}
        is_whole = not problems  # else what is missing in a group is reported at its fields already
        for misfit in misfits(schema, value):
            place = _nearest(f"{name}{misfit.pointer}", kinds)
            if is_whole or kinds.get(place) != "group":
                problems.setdefault(place, _sentence(misfit.message))
    return FormRead(value, problems)


class _Form:
    """One form being made: it counts its fields, so that a schema cannot ask for too many."""

    def __init__(self, schema: Mapping[str, Json], filled: Filled | None, key: str) -> None:
        self._schema = schema
        self._key = key
        self._filled = filled
        self._left = MOST_FIELDS

    def field(self, schema: Json, name: str, label: str, *, required: bool, depth: int) -> FormField:
        self._left -= 1
        key = f"{self._key}-{MOST_FIELDS - self._left}"
        resolved = self._followed(schema)
        kind = self._kind(resolved, depth)
        options = tuple(map(_option, _choices(resolved))) if kind == "choice" else ()
        members = tuple(self._members(resolved, name, depth)) if kind == "group" else ()
        return FormField(
            key=key,
            name=name,
            label=_text(resolved.get("title")) or label,
            kind=kind,
            required=required,
            value=self._standing(resolved, name, kind),
            description=_text(resolved.get("description")),
            limits=_limits(resolved),
            options=options,
            fields=members,
            whole=resolved.get("type") == "integer",
        )

    def _members(self, schema: Mapping[str, Json], name: str, depth: int) -> Iterator[FormField]:
        needed = schema.get("required", ())
        for member, inner in schema["properties"].items():
            place = f"{name}/{token(member)}"
            yield self.field(inner, place, member, required=member in needed, depth=depth + 1)

    def _followed(self, schema: Json) -> Mapping[str, Json]:
        """Return a schema, or what its `$ref` names; checked schemas have no circles."""
        while isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
            pointer = target_of(schema["$ref"])
            schema = None if pointer is None else value_at(dict(self._schema), pointer)
        return schema if isinstance(schema, dict) else {}

    def _kind(self, schema: Mapping[str, Json], depth: int) -> Kind:
        if _choices(schema):
            return "choice"
        if not _COMPOSED.isdisjoint(schema):
            return "json"
        kind = _KINDS.get(_type(schema), "json")
        if kind == "group":
            members: Mapping[str, Json] = schema.get("properties") or {}
            fits = depth < _DEEPEST and 0 < len(members) <= self._left
            return "group" if fits and all(map(str.isprintable, members)) else "json"
        if kind == "text" and schema.get("maxLength", 0) >= _LONG:
            return "long"
        return kind

    def _standing(self, schema: Mapping[str, Json], name: str, kind: Kind) -> str:
        if self._filled is not None:
            return self._filled.get(name, "")
        default = schema.get("default")
        if default is None or kind == "group":
            return ""
        if kind in {"text", "long"}:
            return default if isinstance(default, str) and default.replace("\n", "").isprintable() else ""
        return json.dumps(default, allow_nan=False)


def _value(field: FormField, filled: Filled, problems: dict[str, str]) -> Iterator[Json]:
    """Yield the value of a field; nothing where it is left out."""
    if field.kind == "group":
        yield from _object(field, filled, problems)
        return
    text = filled.get(field.name, "")
    if not text.strip():
        if field.required and (field.kind != "json" or "/" in field.name):
            problems[field.name] = "This is needed."
        return
    if field.kind in {"text", "long"}:
        yield text.replace("\r\n", "\n")
        return
    try:
        value = parse(text, name=field.label)
    except InvalidArgument as error:
        problems[field.name] = error.message if field.kind == "json" else _NO[field.kind]
        return
    if field.kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        problems[field.name] = _NO["number"]
    elif field.kind == "boolean" and not isinstance(value, bool):
        problems[field.name] = _NO["boolean"]
    elif field.kind == "choice" and text not in dict(field.options):
        problems[field.name] = _NO["choice"]
    else:
        yield value


_NO: Final[Mapping[Kind, str]] = {
    "number": "This is not a number.",
    "boolean": "Choose yes or no.",
    "choice": "Choose one of the list.",
}


def _object(group: FormField, filled: Filled, problems: dict[str, str]) -> Iterator[Json]:
    """Yield the object of a group. An optional, empty group is left out."""
    members: dict[str, Json] = {}
    wrong: dict[str, str] = {}
    for field in group.fields:
        member = field.name.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        for value in _value(field, filled, wrong):
            members[member] = value
    is_empty = not any(filled.get(field.name, "").strip() for field in _each(group))
    if group.required or not is_empty:
        problems |= wrong
        yield members


def _each(field: FormField) -> Iterator[FormField]:
    yield field
    for inner in field.fields:
        yield from _each(inner)


def _nearest(name: str, names: Mapping[str, Kind]) -> str:
    """Return the innermost field around the place of a problem."""
    while name not in names and "/" in name:
        name = name.rpartition("/")[0]
    return name


def _type(schema: Mapping[str, Json]) -> str:
    """Return the one type of a schema besides null; nothing if there are several."""
    type_names = schema.get("type", "object" if "properties" in schema else "")
    kinds = [
        type_name for type_name in (type_names if isinstance(type_names, list) else [type_names]) if type_name != "null"
    ]
    return kinds[0] if len(kinds) == 1 else ""


def _choices(schema: Mapping[str, Json]) -> list[Json]:
    if "const" in schema:
        return [schema["const"]]
    enum = schema.get("enum")
    return enum if isinstance(enum, list) else []


def _option(value: Json) -> tuple[str, str]:
    text = json.dumps(value, allow_nan=False)
    return text, value if isinstance(value, str) else text


_WORDS: Final = (
    *(("minimum", "at least {}"), ("exclusiveMinimum", "more than {}"), ("maximum", "at most {}")),
    *(("exclusiveMaximum", "less than {}"), ("minLength", "at least {} characters")),
    *(("maxLength", "at most {} characters"), ("format", "a {}"), ("pattern", "like {}")),
    *(("minItems", "at least {} items"), ("maxItems", "at most {} items")),
)


def _limits(schema: Mapping[str, Json]) -> str:
    return ", ".join(words.format(schema[name]) for name, words in _WORDS if name in schema)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}."
