"""The arguments of profiles' tools: their schemas as clients are shown them, and what is wrong with a call.

A word of a list is understood in any case and with any separators: `In-Progress` is `in_progress`. An answer must never
repeat a value of a call.
"""

import types
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from dcf.profiles.profile import Failure, NotDone
from dcf.values.json_text import Json, parts_of

_SHOWN: Final = 10
"""Most mistakes of a call that its error names."""

UNLISTED: Final = "unlisted"
"""Keyword of arguments that clients are not shown."""

_NULL: Final = {"type": "null"}
_UNIONS: Final = (Union, types.UnionType)


class ProfileArguments(BaseModel):
    """Base of arguments, and of objects inside them. Names that are not known are left out, as these systems do."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _words(cls, given: Any) -> Any:
        """Write the words of lists as they are listed."""
        if not isinstance(given, dict):
            return given
        arguments = dict(given)
        for name, field in cls.model_fields.items():
            key = field.alias or name
            words = {folded(word): word for word in _words_of(field.annotation)}
            if words and key in arguments:
                arguments[key] = _as_listed(arguments[key], words)
        return arguments


class CamelArguments(ProfileArguments):
    """The same, with names in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


AnyArguments = TypeVar("AnyArguments", bound=BaseModel)


def folded(word: str) -> str:
    """Return a word without case and separators."""
    return "".join(character for character in word.casefold() if character.isalnum())


def _words_of(annotation: Any) -> Iterator[str]:
    """Yield the words that a field takes: a Literal, an optional Literal, or a list of them."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif get_origin(annotation) in {*_UNIONS, list, tuple}:
        for part in get_args(annotation):
            yield from _words_of(part)


def _as_listed(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_as_listed(item, words) for item in value]
    return words.get(folded(value), value) if isinstance(value, str) else value


def check(model: type[AnyArguments], arguments: Mapping[str, Json]) -> AnyArguments:
    """Return the arguments; raise NotDone with the path of everything that is wrong."""
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_input=False, include_context=True)
    wrong: dict[str, str] = {}
    for mistake in mistakes:
        wrong.setdefault(_path(mistake["loc"], model), _told(mistake["type"], mistake.get("ctx", {})))
    shown = [f"{path}: {message}" for path, message in list(wrong.items())[:_SHOWN]]
    more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    failure = Failure(
        code="invalid_argument",
        message=f"{'; '.join(shown)}{more}.",
        hint="Correct this and call again; nothing was changed.",
        paths=tuple(wrong),
    )
    raise NotDone(failure)


def _path(location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Return the path of an argument, without the parts that only say which kind of value was tried."""
    schemas = [part for part in parts_of(model.model_json_schema(by_alias=True)) if isinstance(part, dict)]
    known = {name for schema in schemas for name in schema.get("properties", ())}
    parts = [str(part) for part in location if isinstance(part, int) or part in known]
    return ".".join(parts) or "arguments"


_TOLD: Final = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "literal_error": "must be {expected}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "greater_than_equal": "must be {ge} or more",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be {le} or less",
    "string_pattern_mismatch": "has the wrong form",
    "extra_forbidden": "is not an argument of this tool",
}


def _told(kind: str, context: Mapping[str, Any]) -> str:
    return _TOLD.get(kind, "has the wrong form").format(**context)


def schema_of(model: type[BaseModel]) -> dict[str, Json]:
    """Return the JSON Schema of arguments as clients are shown it, without references and titles."""
    schema: dict[str, Json] = model.model_json_schema(by_alias=True)
    plain: dict[str, Json] = _plain(schema, schema.get("$defs", {}))
    return {name: value for name, value in plain.items() if name not in {"$defs", "description"}}


def _plain(node: Json, parts: Mapping[str, Json]) -> Json:
    """Write out references, and leave out titles and that an argument which may be left out may be null."""
    if isinstance(node, list):
        return [_plain(part, parts) for part in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        whole = parts[node["$ref"].rpartition("/")[2]]
        named = {name: value for name, value in whole.items() if name != "description"}
        return _plain({**named, **{name: value for name, value in node.items() if name != "$ref"}}, parts)
    if "properties" in node:
        listed = {name: part for name, part in node["properties"].items() if UNLISTED not in part}
        inside = {name: _plain(part, parts) for name, part in listed.items()}
        return {
            **_plain({name: part for name, part in node.items() if name != "properties"}, parts),
            "properties": inside,
        }
    members = {name: _plain(part, parts) for name, part in node.items() if not _is_noise(name, part)}
    kinds = [kind for kind in members.get("anyOf", ()) if kind != _NULL]
    if "anyOf" in members and len(kinds) == 1:
        return {**kinds[0], **{name: part for name, part in members.items() if name != "anyOf"}}
    return {**members, "anyOf": kinds} if kinds else members


def _is_noise(name: str, part: Json) -> bool:
    noise = {"title": str, "additionalProperties": bool, "default": type(None)}
    return isinstance(part, noise.get(name, ()))
