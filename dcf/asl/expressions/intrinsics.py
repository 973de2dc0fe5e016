"""The intrinsic functions of JSONPath mode. Pure.

Each function takes a source of random numbers and its arguments, and raises ValueError with a reason.
`intrinsic_syntax` parses calls. The size of a result is checked before the result is built.
"""

import base64
import json
import math
from collections.abc import Callable
from typing import Final

from dcf.asl.jsonata.aws_functions import MAX_CHARACTERS, chunks, digest, from_base64, refuse_constant, steps, whole
from dcf.asl.limits import too_large
from dcf.asl.surroundings import Chance
from dcf.values.json_text import MAX_BYTES, Json, dump, unwritable
from dcf.values.records import record

MAX_RANGE: Final = 1_000


@record(frozen=True, slots=True, kw_only=True)
class Function:
    """An intrinsic function: the number and types of its arguments, and its implementation."""

    work: Callable[..., Json]
    least: int
    most: int | None
    kinds: tuple[str, ...] = ()
    returns_text: bool = False


def fill(pieces: list[str], values: list[Json]) -> str:
    """Insert the values between the pieces of a Format template."""
    if len(values) != len(pieces) - 1:
        raise ValueError(f"the template has {len(pieces) - 1} places to fill and {len(values)} values")
    shown: list[str] = []
    left = MAX_BYTES
    for piece, value in zip(pieces, values, strict=False):
        shown += (piece, _shown(value))
        left -= len(shown[-1])
        if left < 0:
            raise too_large()
    return "".join((*shown, pieces[-1]))


def produced(value: Json) -> Json:
    """Return a function's result; raise ValueError when a JSON document in the store could not hold it."""
    fault = unwritable(value)
    if fault is not None:
        raise ValueError(f"the value holds {fault}")
    return value


def from_text(text: str) -> Json:
    """Parse JSON text; blank text is null."""
    if not text.strip():
        return None
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("the text nests too deep") from None
    except ValueError:
        raise ValueError("the text is not JSON") from None


def same(left: Json, right: Json) -> bool:
    """Return True if two values are deeply equal; unlike in Python, a boolean never equals a number."""
    pending = [(left, right)]
    while pending:
        item, other = pending.pop()
        if isinstance(item, dict) and isinstance(other, dict) and item.keys() == other.keys():
            pending += [(part, other[name]) for name, part in item.items()]
        elif isinstance(item, list) and isinstance(other, list) and len(item) == len(other):
            pending += list(zip(item, other, strict=True))
        elif isinstance(item, dict | list | bool) or isinstance(other, dict | list | bool):
            if item is not other:
                return False
        elif item != other:
            return False
    return True


def _shown(value: Json) -> str:
    """Write a value as AWS writes it: containers in Java's format."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}={_shown(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return dump(value)


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise ValueError("an array is needed")  # noqa: TRY004 - reported as data
    return value


def _text(value: Json, limit: int = MAX_BYTES) -> str:
    if not isinstance(value, str):
        raise ValueError("a string is needed")  # noqa: TRY004 - reported as data
    if len(value) > limit:
        raise ValueError(f"the string has more than {limit} characters")
    return value


def _array(_: Chance, *values: Json) -> Json:
    return list(values)


def _partition(_: Chance, items: Json, size: Json) -> Json:
    number = whole(size)
    if number < 1:
        raise ValueError("the size of a piece must be positive")
    return chunks(_list(items), number)


def _contains(_: Chance, items: Json, value: Json) -> Json:
    return any(same(item, value) for item in _list(items))


def _range(_: Chance, first: Json, last: Json, step: Json) -> Json:
    return steps(_rounded(first), _rounded(last), _rounded(step), MAX_RANGE)


def _item(_: Chance, items: Json, index: Json) -> Json:
    number = whole(index)
    if not 0 <= number < len(_list(items)):
        raise ValueError(f"the array has no item {number}")
    return items[number]


def _length(_: Chance, items: Json) -> Json:
    return len(_list(items))


def _unique(_: Chance, items: Json) -> Json:
    # Equal values have equal canonical texts: comparing texts avoids comparing every pair of values.
    by_text = {_canonical(item): item for item in reversed(_list(items))}
    return list(reversed(by_text.values()))


def _canonical(value: Json) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{dump(name)}:{_canonical(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else dump(value)


def _encode(_: Chance, text: Json) -> Json:
    return base64.b64encode(_text(text, MAX_CHARACTERS).encode()).decode()


def _decode(_: Chance, text: Json) -> Json:
    return from_base64(_text(text, MAX_CHARACTERS))


def _hash(_: Chance, value: Json, algorithm: Json) -> Json:
    return digest(value, algorithm)


def _merge(_: Chance, left: Json, right: Json, deep: Json) -> Json:
    if not isinstance(left, dict) or not isinstance(right, dict):
        raise ValueError("JsonMerge needs two objects")  # noqa: TRY004 - reported as data
    if deep is not False:
        raise ValueError("JsonMerge supports only the shallow mode: its third argument must be false")
    return {**left, **right}


def _parse(_: Chance, text: Json) -> Json:
    return from_text(_text(text))


def _print(_: Chance, value: Json) -> Json:
    return dump(value)


def _rounded(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number is needed")  # noqa: TRY004 - reported as data
    return value if isinstance(value, int) else math.floor(value + 0.5)


def _add(_: Chance, left: Json, right: Json) -> Json:
    return _rounded(left) + _rounded(right)


def _random(chance: Chance, first: Json, end: Json, seed: Json = None) -> Json:
    low, high = _rounded(first), _rounded(end)
    if low >= high:
        raise ValueError("the first number must be smaller than the second")
    luck = chance if seed is None else Chance(f"seed {_rounded(seed)}")
    return low + luck.bits(128) % (high - low)


def _split(_: Chance, text: Json, separators: Json) -> Json:
    marks = set(_text(separators))
    pieces, current = [], ""
    for character in _text(text):
        if character in marks:
            pieces.append(current)
            current = ""
        else:
            current += character
    return [piece for piece in [*pieces, current] if piece]


def _uuid(chance: Chance) -> Json:
    return chance.uuid()


def _format(_: Chance, *_values: Json) -> Json:
    raise ValueError("Format is filled by the call itself")


_ANY, _ARRAY, _OBJECT, _STRING, _NUMBER, _BOOLEAN = (
    "any value",
    "an array",
    "an object",
    "a string",
    "a number",
    "a boolean",
)

FUNCTIONS: Final = {
    "Format": Function(work=_format, least=1, most=None, kinds=(_STRING,), returns_text=True),
    "StringToJson": Function(work=_parse, least=1, most=1, kinds=(_STRING,)),
    "JsonToString": Function(work=_print, least=1, most=1, kinds=(_ANY,), returns_text=True),
    "Array": Function(work=_array, least=0, most=None),
    "ArrayPartition": Function(work=_partition, least=2, most=2, kinds=(_ARRAY, _NUMBER)),
    "ArrayContains": Function(work=_contains, least=2, most=2, kinds=(_ARRAY, _ANY)),
    "ArrayRange": Function(work=_range, least=3, most=3, kinds=(_NUMBER, _NUMBER, _NUMBER)),
    "ArrayGetItem": Function(work=_item, least=2, most=2, kinds=(_ARRAY, _NUMBER), returns_text=True),
    "ArrayLength": Function(work=_length, least=1, most=1, kinds=(_ARRAY,)),
    "ArrayUnique": Function(work=_unique, least=1, most=1, kinds=(_ARRAY,)),
    "Base64Encode": Function(work=_encode, least=1, most=1, kinds=(_STRING,), returns_text=True),
    "Base64Decode": Function(work=_decode, least=1, most=1, kinds=(_STRING,), returns_text=True),
    "Hash": Function(work=_hash, least=2, most=2, kinds=(_ANY, _STRING), returns_text=True),
    "JsonMerge": Function(work=_merge, least=3, most=3, kinds=(_OBJECT, _OBJECT, _BOOLEAN)),
    "MathRandom": Function(work=_random, least=2, most=3, kinds=(_NUMBER, _NUMBER, _NUMBER)),
    "MathAdd": Function(work=_add, least=2, most=2, kinds=(_NUMBER, _NUMBER)),
    "StringSplit": Function(work=_split, least=2, most=2, kinds=(_STRING, _STRING)),
    "UUID": Function(work=_uuid, least=0, most=0, returns_text=True),
}
"""The functions by name, without the prefix `States.`."""
