"""The formats of texts that JSON Schemas may name (`format`), as far as dcf checks them. Pure.

Each is checked in time linear in the text. A format that is not here says what a text means and is not checked, as
JSON Schema has it.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, time
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from dcf.asl.expressions.timestamps import instant

_TIME: Final = re.compile(r"([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_EMAIL: Final = re.compile(r"[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,255}")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20\x7f]+")
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_LONGEST_HOST: Final = 253


def fits_format(name: str, text: str) -> bool:
    """Return True if the text has this format, or the format is not one of those that are checked."""
    check = FORMATS.get(name)
    return check is None or check(text)


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _parses(date.fromisoformat, text)


def _is_time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    return match is not None and _parses(time.fromisoformat, match[1])


def _is_instant(text: str) -> bool:
    return instant(text.upper()) is not None


def _is_host(text: str) -> bool:
    return len(text) <= _LONGEST_HOST and all(_LABEL.fullmatch(part) for part in text.split("."))


def _parses(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date-time": _is_instant,
    "date": _is_date,
    "time": _is_time,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hostname": _is_host,
    "ipv4": lambda text: _parses(IPv4Address, text),
    "ipv6": lambda text: "%" not in text and _parses(IPv6Address, text),
    "uri": lambda text: _URI.fullmatch(text) is not None,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
}
"""Check of each format."""
