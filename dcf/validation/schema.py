"""Stage 1: the form of a document, by JSON Schema 2020-12. The messages are ours: no library's text leaves dcf."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from dcf.asl.fields import kind
from dcf.asl.path_syntax import clip
from dcf.core.json_text import Json
from dcf.errors import InvalidArgument
from dcf.validation.pointers import pointer
from dcf.validation.verdict import MAX_FINDINGS, Finding, found

SCHEMA_NAME: Final = "letta_asl_workflow_schema_v2.2.0.json"
MAX_SCHEMA: Final = 1024 * 1024
_PACKAGE: Final = Path(__file__).parents[1]
_PLACES: Final = (_PACKAGE / "data" / "schemas", _PACKAGE.parent / "schemas")

_Told = Iterator[tuple[tuple[str, ...], str, str, str]]
"""What is wrong: steps below the place of the error, code, message, hint."""


def check_schema(document: Json, schema: Mapping[str, Json] | None = None, name: str = SCHEMA_NAME) -> list[Finding]:
    """List what does not fit the schema, by default the shipped one of this name."""
    checker = _shipped(name) if schema is None else _validator(schema)
    findings: dict[tuple[str, str, str], Finding] = {}
    try:
        for error in islice(checker.iter_errors(document), MAX_FINDINGS):
            for finding in _findings(error):
                findings.setdefault((finding.path, finding.code, finding.message), finding)
    except Unresolvable:
        raise _useless() from None
    return list(findings.values())


def read_schema(path: Path) -> dict[str, Json]:
    """Read a schema from a file; raise InvalidArgument when it is none."""
    try:
        with path.open("rb") as file:
            found_schema = json.loads(file.read(MAX_SCHEMA))
    except (OSError, ValueError, RecursionError):
        raise _useless() from None
    if not isinstance(found_schema, dict):
        raise _useless()
    return found_schema


def schema_text(finding: Finding) -> str:
    """Write a finding as the seed's list `schema_errors` shows it."""
    return f"{finding.path[1:] or '<root>'}: {finding.message}"


@cache
def _shipped(name: str) -> Draft202012Validator:
    path = next(place / name for place in _PLACES if (place / name).is_file())
    return _validator(read_schema(path))


def _validator(schema: Mapping[str, Json]) -> Draft202012Validator:
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        raise _useless() from None
    # With a registry of its own the library never fetches what a $ref names.
    return Draft202012Validator(schema, registry=EMPTY_REGISTRY)


def _useless() -> InvalidArgument:
    return InvalidArgument(
        "The configured schema cannot be read as JSON Schema 2020-12.",
        "Check the file that DCF_WORKFLOW_SCHEMA or DCF_SKILL_SCHEMA names.",
    )


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
            yield (), "missing_field", f"{name} is missing.", f"Add {name}."


def _unknown(error: ValidationError) -> _Told:
    known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    instance: Json = error.instance
    hint = f"Remove it or correct its spelling; these belong here: {', '.join(sorted(known))}."
    for name in instance:
        if name not in known:
            yield (name,), "unknown_field", f"The field '{clip(name)}' does not belong here.", hint


def _type(error: ValidationError) -> _Told:
    wanted: Json = error.validator_value
    nouns = " or ".join(_NOUNS.get(name, name) for name in ([wanted] if isinstance(wanted, str) else wanted))
    yield (), "wrong_type", f"This must be {nouns}, not {kind(error.instance)}.", f"Write {nouns}."


def _allowed(error: ValidationError) -> _Told:
    value = error.validator_value
    allowed = value if error.validator == "enum" and isinstance(value, list) else [value]
    shown = f"'{clip(error.instance)}'" if isinstance(error.instance, str) else kind(error.instance)
    hint = f"Use one of: {', '.join(json.dumps(one) for one in allowed)}."
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
