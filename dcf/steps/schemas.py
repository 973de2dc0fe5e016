"""The JSON Schema of an annotation: what the output of a step and the input of a flow must be. Pure."""

import dataclasses
import enum
import types
import typing
from collections.abc import Hashable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, Final

from dcf.steps.value_types import is_model, required_keys
from dcf.values.json_text import Json

_SIMPLE: Final[dict[Any, str]] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    None: "null",
    type(None): "null",
    list: "array",
    dict: "object",
    date: "string",
    datetime: "string",
    time: "string",
}
_WRAPPERS: Final = (typing.Annotated, typing.Required, typing.NotRequired)


def schema_of(hint: Any) -> dict[str, Json] | None:
    """Return the JSON Schema of a resolved annotation; None if any value may come."""
    if isinstance(hint, Hashable) and hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    origin = typing.get_origin(hint)
    if origin is not None:
        return _of_generic(origin, typing.get_args(hint))
    return _of_class(hint) if isinstance(hint, type) else None


def _of_generic(origin: Any, arguments: Sequence[Any]) -> dict[str, Json] | None:
    if origin in _WRAPPERS:
        return schema_of(arguments[0])
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in {typing.Union, types.UnionType}:
        schemas = [schema_of(argument) for argument in arguments]
        return None if None in schemas else {"anyOf": schemas}
    if origin in {list, Sequence}:
        return {"type": "array", **_part("items", arguments[0])}
    return {"type": "object", **_part("additionalProperties", arguments[1])} if origin in {dict, Mapping} else None


def _part(name: str, hint: Any) -> dict[str, Json]:
    schema = schema_of(hint)
    return {} if schema is None else {name: schema}


def _of_class(hint: type) -> dict[str, Json] | None:
    if issubclass(hint, enum.StrEnum):
        return {"enum": [member.value for member in hint]}
    if is_model(hint):
        model: Any = hint
        return dict(model.model_json_schema(mode="serialization"))
    if dataclasses.is_dataclass(hint):
        return object_schema(typing.get_type_hints(hint), [field.name for field in dataclasses.fields(hint)])
    if typing.is_typeddict(hint):
        hints = typing.get_type_hints(hint)
        return object_schema(hints, [name for name in hints if name in required_keys(hint)])
    return None


def object_schema(hints: Mapping[str, Any], required: Sequence[str]) -> dict[str, Json]:
    """Return the schema of an object with these fields."""
    properties = {name: schema_of(hint) or {} for name, hint in hints.items() if name != "return"}
    return {"type": "object", "properties": properties, "required": list(required)}
