"""Parses what a text names in backticks: a verb, a call with arguments, an argument, an argument with its value.

The only parser of these: hints, descriptions and help are all read by it. It must not import the verbs.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from json import JSONDecodeError, JSONDecoder
from typing import Final, NamedTuple

from dcf.values.json_text import Json, dump

_NAMED: Final = re.compile(r"`([a-z][a-z0-9_]*)(?:\(([^`]*)\)|=([^`]*))?`")
_ARGUMENT: Final = re.compile(r"\s*([a-z][a-z0-9_]*)=")
_BARE: Final = re.compile(r'[^\s,"`()=\[\]{}](?:[^,"`()=\[\]{}]*[^\s,"`()=\[\]{}])?')
_JSON: Final = JSONDecoder()


class Named(NamedTuple):
    """A text in backticks: a name, possibly with the arguments of a call, or with the value of an argument."""

    written: str
    name: str
    arguments: Mapping[str, Json]
    has_value: bool
    value: Json


def rewritten(text: str, replacement: Callable[[Named], str | None]) -> str:
    """Return a text with something else in place of what it names in backticks; None leaves it as it is."""

    def instead(match: re.Match[str]) -> str:
        return replacement(_named(match)) or match[0]

    return _NAMED.sub(instead, text) if "`" in text else text


def renamed(text: str, name: Callable[[str], str]) -> str:
    """Return a text with something else in place of each name that is alone in backticks."""
    return rewritten(text, lambda named: name(named.name) if named.written == f"`{named.name}`" else None)


def named_in(text: str) -> Iterator[Named]:
    """Yield what a text names in backticks."""
    return map(_named, _NAMED.finditer(text))


def value_written(value: Json) -> str:
    """Return a value in the form of a call; a text is without quotation marks if it is read the same."""
    is_bare = isinstance(value, str) and _BARE.fullmatch(value) is not None and _value(value) == value
    return str(value) if is_bare else dump(value)


def _named(match: re.Match[str]) -> Named:
    name, inside, value = match.groups()
    return Named(match[0], name, dict(_arguments(inside or "")), value is not None, _value(value or ""))


def _arguments(inside: str) -> Iterator[tuple[str, Json]]:
    """Yield the arguments of a call: each value is JSON, or a text up to the next comma."""
    position = 0
    while (name := _ARGUMENT.match(inside, position)) is not None:
        value, position = _value_at(inside, name.end())
        yield name[1], value


def _value_at(inside: str, start: int) -> tuple[Json, int]:
    """Return the value that begins here, and where the next argument begins."""
    try:
        value, end = _JSON.raw_decode(inside, start)
    except JSONDecodeError:
        end = -1
    if end < 0 or inside[end : end + 1] not in ("", ","):
        text = inside[start:].partition(",")[0]
        value, end = text.strip(), start + len(text)
    return value, end + 1


def _value(text: str) -> Json:
    """Return a value as it is meant; a word without quotes is a text."""
    value, end = _value_at(text, 0)
    return value if end > len(text) else text
