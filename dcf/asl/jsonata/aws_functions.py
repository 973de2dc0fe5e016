"""The JSONata functions that only AWS has, and those that work differently on AWS than in the library.

Each does what was measured on AWS. It raises ValueError with a reason; the calling expression turns that into an error
of the state. Each process that evaluates expressions imports this module, so it imports little.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote_plus

from dcf.asl.limits import MAX_ITEMS
from dcf.values.json_text import Json, dump

MAX_CHARACTERS: Final = 10_000
"""Limit on the text that a function hashes, encodes or decodes."""

ALGORITHMS: Final = {
    "MD5": "md5",
    "SHA-1": "sha1",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
}

_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_STRING: Final = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.DOTALL)
_BARE_QUOTE: Final = re.compile(r'\\.|"', re.DOTALL)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_INT_LIMIT: Final = 2**63

_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1


def chunks(items: list[Json], size: int) -> list[Json]:
    """Split a list into chunks; the last may be shorter."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def steps(first: int, last: int, step: int, most: int) -> list[Json]:
    """Return the numbers from first to last; last is included when a step reaches it."""
    if step == 0:
        raise ValueError("the step must not be zero")
    counted = range(first, last + (1 if step > 0 else -1), step)
    if len(counted[: most + 1]) > most:
        raise ValueError(f"the range has more than {most} items")
    return list(counted)


def whole(value: Json) -> int:
    """Return an integer; a number with a fraction of zero is accepted too."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != math.floor(value):
        raise ValueError("an integer is needed")
    return int(value)


def digest(value: Json, algorithm: Json) -> str:
    """Return the hash of a string, or of the JSON text of any other value."""
    known = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
    if known is None:
        raise ValueError(f"the algorithm must be one of {', '.join(ALGORITHMS)}")
    text = value if isinstance(value, str) else dump(value)
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"the data has more than {MAX_CHARACTERS} characters")
    return hashlib.new(known, text.encode(), usedforsecurity=False).hexdigest()


def from_base64(text: str) -> str:
    """Decode the Base64 form of UTF-8 text. Its padding may be missing."""
    padding = "" if text.endswith("=") else "=" * (-len(text) % 4)
    try:
        return base64.b64decode(text + padding, validate=True).decode()
    except ValueError:
        raise ValueError("the text is not Base64 of UTF-8 text") from None


def refuse_constant(name: str) -> Json:
    """Refuse NaN and Infinity, which Python's parser takes for JSON."""
    raise ValueError(f"{name} is not JSON")


def seeded_fraction(seed: int) -> float:
    """Return the first number, from 0 to 1, of Java's generator with this seed."""
    state = ((seed ^ _MULTIPLIER) * _MULTIPLIER + _INCREMENT) & _MASK
    following = (state * _MULTIPLIER + _INCREMENT) & _MASK
    return float(((state >> 22) << 27) + (following >> 21)) / (1 << 53)


def _cut(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number is needed")  # noqa: TRY004 - reported as data
    return int(value)


def _partition(items: Json = None, *sizes: Json) -> Json:
    listed = items if isinstance(items, list) else [items]
    if len(listed) > MAX_ITEMS:
        raise ValueError(f"the array has more than {MAX_ITEMS} items")
    size = _cut(sizes[0]) if sizes else max(1, len(listed))
    if size < 1:
        raise ValueError("the size of a piece must be positive")
    return chunks(listed, size)


def _range(first: Json = None, last: Json = None, step: Json = None) -> Json:
    numbers = steps(_cut(first), _cut(last), _cut(step), most=MAX_ITEMS)
    # A JSONata sequence: a sequence of one item equals the item, and an empty one is no value.
    return numbers if len(numbers) > 1 else next(iter(numbers), None)


def _hash(value: Json = None, algorithm: Json = None) -> Json:
    return digest(value, algorithm)


def _parse(text: Json = None) -> Json:
    if not isinstance(text, str):
        raise ValueError("$parse needs a string")  # noqa: TRY004 - reported as data
    if not text.strip():
        return None
    try:
        value = _read(_STRING.sub(_double_quoted, text) if "'" in text else text)
    except RecursionError:
        raise ValueError("the text nests too deep") from None
    except json.JSONDecodeError:
        raise ValueError("the text is not JSON") from None
    if _SURROGATE.search(text) and _holds_half_a_character(value):
        raise ValueError("the text has half of a character")
    return value


def _read(text: str) -> Json:
    return json.loads(
        text, parse_constant=refuse_constant, parse_int=_integer, parse_float=_finite, object_pairs_hook=_unique
    )


def _holds_half_a_character(value: Json) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _double_quoted(match: re.Match[str]) -> str:
    string = match[0]
    if string[0] == '"':
        return string
    inner = _BARE_QUOTE.sub(lambda part: {"\\'": "'", '"': '\\"'}.get(part[0], part[0]), string[1:-1])
    return f'"{inner}"'


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("an object of the text has a key twice")
    return made


def _integer(digits: str) -> int:
    # Python refuses to read thousands of digits, with a message of its own.
    if len(digits) > len(str(-_INT_LIMIT)) or not -_INT_LIMIT <= int(digits) < _INT_LIMIT:
        raise ValueError("the text has an integer beyond 64 bits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("the text has a number that is too large")
    return number


def _base64encode(text: str | None = None) -> str | None:
    return None if text is None else base64.b64encode(text.encode()).decode()


def _base64decode(text: str | None = None) -> str | None:
    return None if text is None else from_base64(text)


def _decode_url_component(text: str | None = None) -> str | None:
    if text is None:
        return None
    if _BROKEN_ESCAPE.search(text):
        raise ValueError("two hexadecimal digits are needed after each %")
    return unquote_plus(text, errors="replace")


def _substring(text: str | None = None, start: float | None = None, length: float | None = None) -> str | None:
    if text is None:
        return None
    if text.isascii() or max(text) <= "\uffff":
        first, end = _bounds(len(text), start, length)
        return text[first:end]
    units = text.encode("utf-16-le")
    first, end = _bounds(len(units) // 2, start, length)
    try:
        return units[2 * first : 2 * end].decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError("the substring has one half of a character that consists of two UTF-16 units") from None


def _bounds(size: int, start: float | None, length: float | None) -> tuple[int, int]:
    """Return where a substring begins, which may be counted from the end, and where it ends."""
    if start is None:
        return 0, size if length is None else 0
    begin = 0 if size + start < 0 else start
    if length is None:
        return int(begin), size
    if length <= 0:
        return 0, 0
    return int(begin), int(begin + length if begin >= 0 else size + begin + length)


FUNCTIONS: Final[dict[str, tuple[Callable[..., Any], str | None]]] = {
    "partition": (_partition, None),
    "range": (_range, None),
    "hash": (_hash, None),
    "parse": (_parse, None),
    "base64encode": (_base64encode, "<s-:s>"),
    "base64decode": (_base64decode, "<s-:s>"),
    "decodeUrlComponent": (_decode_url_component, "<s-:s>"),
    "substring": (_substring, "<s-nn?:s>"),
}
"""Functions that depend only on their arguments, each with its JSONata signature."""
