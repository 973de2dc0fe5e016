"""Reads single values of documents that may have been edited by hand: a damaged value reads as empty. Pure."""

from typing import Any, Final

from dcf.values.json_text import Json

_LARGEST: Final = 2**53
"""Largest count accepted: JSON readers round larger integers."""


def count_of(value: Json) -> int:
    """Read a positive whole number, also written as `300.0`; anything else is 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value <= _LARGEST else 0


def object_of(value: Json) -> dict[str, Any]:
    """Read an object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Json) -> list[Any]:
    """Read a list; anything else is an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Json) -> list[dict[str, Any]]:
    """Read the objects of a list."""
    return [item for item in list_of(value) if isinstance(item, dict)]


def text_of(value: Json) -> str:
    """Read a text; anything else is an empty one."""
    return value if isinstance(value, str) else ""


def texts_of(value: Json) -> list[str]:
    """Read the texts of a list."""
    return [item for item in list_of(value) if isinstance(item, str)]
