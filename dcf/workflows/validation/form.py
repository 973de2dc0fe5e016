"""Checks a document with the JSON Schema library, and says in dcf's own words what does not match.

No other module of dcf that checks workflows and manifests imports that library: it takes long to import.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from dcf.asl.syntax.fields import kind
from dcf.data import PACKAGE
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip
from dcf.workflows.validation.pointers import pointer
from dcf.workflows.validation.schema_files import read_schema, useless
from dcf.workflows.validation.verdict import MAX_FINDINGS, Finding, found

_PLACES: Final = (PACKAGE / "data" / "schemas", PACKAGE.parent / "schemas")

_PLAIN: Final = frozenset({"description", "title", "default", "examples", "$comment", "type", "enum", "minLength"})
"""Schema keywords whose success is decided here; the library reports failures."""

_Told = Iterator[tuple[tuple[str, ...], str, str, str]]
"""Problems: the steps below the place of the error, code, message, hint."""


def check_form(document: Json, schema: Mapping[str, Json] | None, name: str) -> list[Finding]:
    """List the parts that do not match the schema; None means the schema of this name that dcf ships."""
    checker = _shipped(name) if schema is None else _validator(schema)
    findings: dict[tuple[str, str, str], Finding] = {}
    try:
        for error in islice(checker.iter_errors(document), MAX_FINDINGS):
            for finding in _findings(error):
                findings.setdefault((finding.path, finding.code, finding.message), finding)
    except Unresolvable:
        raise useless() from None
    return list(findings.values())


@cache
def _shipped(name: str) -> Any:
    path = next(place / name for place in _PLACES if (place / name).is_file())
    return _checker(read_schema(path))


def _validator(schema: Mapping[str, Json]) -> Any:
    if not is_schema(schema):
        raise useless()
    return _checker(schema)


def is_schema(schema: Mapping[str, Json]) -> bool:
    """Return True for a valid JSON Schema 2020-12."""
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True


def _checker(schema: Mapping[str, Json]) -> Any:
    definitions = schema.get("$defs")
    local: dict[str, Json] = {}
    if isinstance(definitions, dict) and not any(
        '"$id"' in json.dumps(part, allow_nan=False) for part in definitions.values()
    ):
        local = {f"#/$defs/{name}": part for name, part in definitions.items()}
    keywords = {
        "$ref": partial(_reference, local),
        "properties": _properties,
        "additionalProperties": _others,
        "items": _items,
    }
    # Given a registry, the library never fetches the target of a $ref.
    return extend(Draft202012Validator, keywords)(schema, registry=EMPTY_REGISTRY)  # type: ignore[no-untyped-call]


def _reference(
    local: Mapping[str, Json], checker: Any, target: Json, instance: Json, schema: Json
) -> Iterator[ValidationError]:
    """Validate against one of the schema's own definitions, found by a dictionary look-up."""
    if target not in local:
        yield from _LIBRARY["$ref"](checker, target, instance, schema) or ()
    elif not _plainly_fits(checker, instance, local[target]):
        yield from checker.descend(instance, local[target])


def _properties(checker: Any, members: Json, instance: Json, _schema: Json) -> Iterator[ValidationError]:
    """Validate an object's members as the library does, but skip the checker for members that trivially match.

    Most members of a state are as simple as a string. A checker for each of them would take half of all the time.
    """
    if isinstance(instance, dict):
        for name, schema in members.items():
            if name in instance and not _plainly_fits(checker, instance[name], schema):
                yield from checker.descend(instance[name], schema, path=name, schema_path=name)


def _others(checker: Any, schema: Json, instance: Json, parent: Json) -> Iterator[ValidationError]:
    """Check members that the schema does not name, such as all states, in order; the library's order varies."""
    if isinstance(schema, dict) and isinstance(instance, dict) and not parent.keys() & {"properties", _BY_PATTERN}:
        for name, member in instance.items():
            yield from checker.descend(member, schema, path=name)
    else:
        yield from _LIBRARY["additionalProperties"](checker, schema, instance, parent) or ()


def _items(checker: Any, schema: Json, instance: Json, parent: Json) -> Iterator[ValidationError]:
    """Validate an array's items as the library does, but skip the checker for items that trivially match."""
    if isinstance(instance, list) and not all(_plainly_fits(checker, item, schema) for item in instance):
        yield from _LIBRARY["items"](checker, schema, instance, parent) or ()


def _plainly_fits(checker: Any, instance: Json, schema: Json) -> bool:
    """Return True if the schema only asks for a type or an enum, and the value matches it."""
    if schema is True:
        return True
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN:
        return False
    words = schema.get("enum")
    if words is not None and not (isinstance(instance, str) and instance in words):
        return False
    if isinstance(instance, str) and len(instance) < schema.get("minLength", 0):
        return False
    type_names = schema.get("type")
    types = [type_names] if isinstance(type_names, str) else type_names
    return types is None or any(checker.is_type(instance, name) for name in types)


_BY_PATTERN: Final = "patternProperties"
_LIBRARY: Final[Mapping[str, Any]] = Draft202012Validator.VALIDATORS


def _findings(error: ValidationError) -> Iterator[Finding]:
    describe = _WORDS.get(str(error.validator), _other)
    place = tuple(error.absolute_path)
    for below, code, message, hint in describe(error):
        yield found("schema", pointer((*place, *below)), code, message, hint)


def _missing(error: ValidationError) -> _Told:
    required: Json = error.validator_value
    instance: Json = error.instance
    for name in required:
        if name not in instance:
            yield (), "missing_field", f"{name} is missing.", _ADD.get(name, f"Add {name}.")


def _unknown(error: ValidationError) -> _Told:
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    instance: Json = error.instance
    hint = f"Remove it or correct its spelling; these belong here: {', '.join(sorted(known))}."
    for name in instance:
        if name not in known:
            yield (name,), "unknown_field", f"The field '{clip(name)}' does not belong here.", hint


def _type(error: ValidationError) -> _Told:
    expected: Json = error.validator_value
    nouns = " or ".join(_NOUNS.get(name, name) for name in ([expected] if isinstance(expected, str) else expected))
    yield (), "wrong_type", f"This must be {nouns}, not {kind(error.instance)}.", f"Write {nouns}."


def _allowed(error: ValidationError) -> _Told:
    value = error.validator_value
    allowed = value if error.validator == "enum" and isinstance(value, list) else [value]
    shown = f"'{clip(error.instance)}'" if isinstance(error.instance, str) else kind(error.instance)
    hint = f"Use one of: {', '.join(json.dumps(allowed, allow_nan=False) for allowed in allowed)}."
    yield (), "invalid_value", f"This cannot be {shown}.", clip(hint, 500)


def _empty(_: ValidationError) -> _Told:
    yield (), "missing_field", "This is empty.", "Write at least one character."


def _pattern(error: ValidationError) -> _Told:
    versions = (["version"], ["skillVersion"])
    hint = "Write a semantic version such as 1.0.0." if list(error.absolute_path)[-1:] in versions else "Correct it."
    yield (), "invalid_value", f"'{clip(str(error.instance))}' does not have the required form.", hint


def _long(error: ValidationError) -> _Told:
    yield (), "invalid_value", f"This is longer than {error.validator_value}.", "Shorten it."


def _other(error: ValidationError) -> _Told:
    rule = clip(str(error.validator))
    yield (), "invalid_value", f"This breaks the schema's rule '{rule}'.", "Compare it with the schema."


_ADD: Final = {
    "AgentBinding": 'Add "AgentBinding": {"agent_ref": {"id": "<agent id>"}}.',
    "Type": 'Add "Type": "Task", or another type of state.',
    "States": 'Add "States": {"Name": {"Type": "Task", "End": true}}.',
    "version": 'Add "version": "1.0.0".',
}
"""What to add, in the form in which it is written."""

_NOUNS: Final = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "boolean": "a boolean",
    "number": "a number",
    "integer": "an integer",
    "null": "null",
}

_WORDS: Final[Mapping[str, Callable[[ValidationError], _Told]]] = {
    "required": _missing,
    "additionalProperties": _unknown,
    "type": _type,
    "enum": _allowed,
    "const": _allowed,
    "minLength": _empty,
    "pattern": _pattern,
    "maxLength": _long,
    "maxItems": _long,
}
