"""Makes records of a client from the answers of tools: by the names and types of the records' fields.

A field that the answer lacks has its default, and what the record does not know is left out, so that client and server
may be of different versions.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from dcf.errors import ToolCallFailed
from dcf.values.json_text import Json

R = TypeVar("R")


def read(kind: type[R], answer: Mapping[str, Json]) -> R:
    """Return the record; raise ToolCallFailed if the answer lacks what the record needs."""
    try:
        return kind(**{name: _value(of, answer[name]) for name, of in _fields(kind).items() if name in answer})
    except (TypeError, AttributeError, ValueError):
        raise ToolCallFailed(
            "error", f"The answer of the server is no {kind.__name__}.", "Use a client of the server's version."
        ) from None


_FIELDS: Final[dict[type, dict[str, Any]]] = {}
"""The names and types of the fields of records that were read before."""


def _fields(kind: type[Any]) -> dict[str, Any]:
    found = _FIELDS.get(kind)
    if found is None:
        hints = get_type_hints(kind)
        found = _FIELDS[kind] = {one.name: hints[one.name] for one in fields(kind)}
    return found


def _value(of: Any, value: Json) -> Json:
    """Return a value as the type of its field has it."""
    origin, inner = get_origin(of), get_args(of)
    if of is datetime:
        return datetime.fromisoformat(value)
    if origin in (Union, UnionType):
        one, *more = (kind for kind in inner if kind is not NoneType)
        return value if value is None or more else _value(one, value)
    if origin is tuple:
        return tuple(_value(inner[0], one) for one in value or ())
    if origin is Mapping and is_dataclass(inner[1]):
        return {name: _value(inner[1], one) for name, one in value.items()}
    if isinstance(of, type) and is_dataclass(of):
        return read(of, value)
    return value
