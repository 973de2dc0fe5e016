"""Parses JSON from outside strictly, and writes JSON for the store compactly.

Python's parser accepts NaN, duplicate keys and any depth; Redis, other languages and auditors do not
(reliability notes, section 3). Every value that a caller sends is checked here once.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn, TypeAlias

import orjson

from dcf.errors import InvalidArgument, TooLarge

Json: TypeAlias = Any
"""Any JSON value. The alias marks values that this module has checked or will check."""

MAX_DEPTH = 64
"""Deepest nesting of data. RedisJSON stops at 128 levels, and dcf's documents wrap a value in a few more."""

MAX_WORKFLOW_DEPTH = 127
"""Deepest nesting of a workflow document, which is stored as it is: 30 Parallel states in each other fit."""

YAML_SUFFIXES = frozenset({".yaml", ".yml"})
"""Ends of the names of files whose documents are written in YAML."""

MAX_BYTES = 256 * 1024
"""Largest value in UTF-8 bytes: the payload limit of AWS Step Functions."""

_INT_LIMIT = 2**63
_LONG_INTEGER = "an integer beyond 64 bits"
_HINTS = {_LONG_INTEGER: "Send such a number as a string."}


def dump(value: Json) -> str:
    """Write compact JSON text. The value must have passed `parse` or be made by dcf."""
    return orjson.dumps(value).decode()


dump_bytes = orjson.dumps
"""Write compact JSON text in UTF-8, as `dump` does."""


def byte_length(value: Json) -> int:
    """Return the length in bytes of what `dump` writes."""
    return len(orjson.dumps(value))


_PYTHON: Final = re.compile(r'\s*(?:"""|#|@\w|(?:from|import|def|async|class) +\w)')

SEND_COMPILED: Final = (
    "Send the document that `dcf compile FILE.py` prints, or write one: `describe_workflow_language` shows how."
)
"""What to do about Python in the place of a workflow."""

load = orjson.loads
"""Parse JSON that dcf itself wrote."""


def without_nulls(members: Mapping[str, Json]) -> dict[str, Json]:
    """Return the members of an object that are not null."""
    return {name: value for name, value in members.items() if value is not None}


def parse(value: Json, *, name: str, max_bytes: int = MAX_BYTES) -> Json:
    """Return a checked JSON value; raise InvalidArgument or TooLarge with the reason.

    `value` is a native value or a string; a string is always parsed as JSON text. `name` stands for it in messages.
    """
    parsed = _parse_text(value, name, max_bytes, MAX_DEPTH) if isinstance(value, str) else value
    return check(parsed, name=name, max_bytes=max_bytes)


def parse_object(value: Json, *, name: str, max_bytes: int = MAX_BYTES) -> dict[str, Json]:
    """Return the object that an argument holds, as `parse` does; raise InvalidArgument for another kind of value."""
    parsed = parse(value, name=name, max_bytes=max_bytes)
    if not isinstance(parsed, dict):
        raise InvalidArgument(f"{name} is not an object.", f'Send {name} as {{"name": "value"}}.')
    return parsed


def parse_workflow(value: Json, *, name: str, max_bytes: int) -> Json:
    """Read a workflow document, as text or native; raise InvalidArgument with the reason."""
    if is_python(value):
        raise InvalidArgument(f"{name} is Python; it is not run, and only JSON is read.", SEND_COMPILED)
    parsed = _parse_text(value, name, max_bytes, MAX_WORKFLOW_DEPTH) if isinstance(value, str) else value
    return check(parsed, name=name, max_bytes=max_bytes, max_depth=MAX_WORKFLOW_DEPTH)


def is_python(value: Json) -> bool:
    """Return True for a text that begins as a file of Python does: for what is sent in the place of a workflow."""
    return isinstance(value, str) and _PYTHON.match(value) is not None


def check(value: Json, *, name: str, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Json:
    """Return a native value that JSON text can hold; raise InvalidArgument for any other, with the reason."""
    _check(value, name, max_depth, max_bytes)
    if byte_length(value) > max_bytes:
        raise _too_large(name, max_bytes)
    return value


def parts_of(value: Json) -> Iterator[Json]:
    """Yield a value and all values inside it, however deep; the names of members are none."""
    pending: list[Json] = [value]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, dict):
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def unwritable(value: Json) -> str | None:
    """Say what in a value, however deep, JSON text cannot hold or Redis would change; None if there is no such thing.

    For values that dcf itself made of JSON values, by functions that a workflow calls.
    """
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif fault := _fault(item):
            return fault
    return None


def _too_large(name: str, max_bytes: int) -> TooLarge:
    return TooLarge(f"{name} is larger than {max_bytes} bytes.", "Store the data elsewhere and pass a reference to it.")


def _too_deep(name: str, max_depth: int) -> InvalidArgument:
    return InvalidArgument(f"{name} is nested deeper than {max_depth} levels.")


def _parse_text(text: str, name: str, max_bytes: int, max_depth: int) -> Json:
    if len(text) > max_bytes:
        raise _too_large(name, max_bytes)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise _too_deep(name, max_depth) from None
    except ValueError as error:
        reason = str(error) if isinstance(error, _NotJson | json.JSONDecodeError) else "a number is too long"
        raise InvalidArgument(
            f"{name} is not valid JSON: {reason}.",
            f'Send {name} as a JSON value, or as a string that holds JSON; plain text as "\\"text\\"".',
        ) from None


class _NotJson(ValueError):
    """JSON text that Python's parser accepts and dcf does not."""


def repeated_key(text: bytes) -> str | None:
    """Return the problem of JSON text in which an object has a key twice; None for any other text."""
    try:
        json.loads(text, object_pairs_hook=_unique)
    except _RepeatedKey as error:
        return str(error)
    except (ValueError, RecursionError):
        return None
    return None


class _RepeatedKey(_NotJson):
    """JSON text of which one reader takes the first value of a key, and another the last."""


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        repeated, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _RepeatedKey(f"the key {repeated[:80]!r} appears twice in one object")
    return members


def _no_constant(token: str) -> NoReturn:
    raise _NotJson(f"{token} is not a JSON number")


def _check(value: Json, name: str, max_depth: int, max_parts: int) -> None:
    """Refuse what JSON text cannot hold or Redis would change: depth, non-finite or huge numbers, lone surrogates.

    Also refuse values with more parts than text of the allowed length: one native object may occur in many places.
    """
    level, depth, parts = [value], 1, 1
    while level:
        if depth > max_depth:
            raise _too_deep(name, max_depth)
        deeper: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                _check_keys(item, name)
                deeper += item.values()
            elif isinstance(item, list):
                deeper += item
            elif isinstance(item, str) and item.isascii():
                continue  # by far most scalars
            else:
                _check_scalar(item, name)
                continue
            if parts + len(deeper) > max_parts:
                raise _too_large(name, max_parts)
        level, depth, parts = deeper, depth + 1, parts + len(deeper)


def _check_keys(item: dict[Any, Json], name: str) -> None:
    for key in item:
        if not isinstance(key, str):
            raise InvalidArgument(f"{name} holds an object with a key that is not a string.")
        if not key.isascii():
            _check_scalar(key, name)


def _check_scalar(item: Json, name: str) -> None:
    fault = _fault(item)
    if fault is not None:
        raise InvalidArgument(f"{name} holds {fault}.", _HINTS.get(fault))


def _fault(item: Json) -> str | None:
    """Return the problem of a value that is not a container."""
    if isinstance(item, str):
        return None if _is_unicode(item) else "a string that is not valid Unicode"
    if isinstance(item, float) and not math.isfinite(item):
        return "a number that JSON cannot express (NaN or infinity)"
    if isinstance(item, int) and not -_INT_LIMIT <= item < _INT_LIMIT:
        return _LONG_INTEGER
    return None if isinstance(item, int | float | None) else f"a {type(item).__name__}, which is not a JSON value"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
