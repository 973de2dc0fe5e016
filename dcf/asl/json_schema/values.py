"""The types of single values in JSON Schema, their equality, and their names in messages. Pure."""

from collections.abc import Mapping
from itertools import chain
from typing import Final

from dcf.asl.syntax.fields import kind
from dcf.values.json_text import Json, byte_length, dump
from dcf.values.text_pieces import clip

_SHOWN: Final = 60


def is_type(value: Json, name: str) -> bool:
    """Return True for a value of this type; 1.0 is an integer too, and a boolean is no number."""
    if name == "integer":
        return is_number(value) and (isinstance(value, int) or bool(value.is_integer()))
    kinds: tuple[type, ...] = _TYPES[name]
    return isinstance(value, kinds) and (name == "boolean" or not isinstance(value, bool))


def is_number(value: Json) -> bool:
    """Return True for a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def canonical(value: Json) -> Json:
    """Return a value of which equal ones have the same text: names in order, and 1.0 as 1."""
    if isinstance(value, dict):
        return {name: canonical(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [canonical(value) for value in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**63
    return int(value) if is_whole else value


def shown(value: Json) -> str:
    """Return a short text for what is there; of objects and arrays only what they are."""
    return kind(value) if isinstance(value, dict | list) or value is None else text_of(value)


def text_of(value: Json) -> str:
    """Return the beginning of a value's JSON text."""
    if isinstance(value, str):
        return dump(clip(value, _SHOWN))
    if isinstance(value, dict | list):
        is_long = _room_after(value, _SHOWN) < 0 or byte_length(value) > _SHOWN
        return kind(value) if is_long else dump(value)
    return dump(value)


def _room_after(value: Json, room: int) -> int:
    """Return at most `room` minus the bytes of a value's text; below 0 without reading all of a long value."""
    if isinstance(value, str):
        return room - len(value)
    if not isinstance(value, dict | list):
        return room - 1
    for part in chain.from_iterable(value.items()) if isinstance(value, dict) else value:
        room = _room_after(part, room - 1)
        if room < 0:
            break
    return room


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}

NOUNS: Final[Mapping[str, str]] = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}
"""The types in words."""
