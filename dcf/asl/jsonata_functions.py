"""The functions that AWS adds to JSONata: $partition, $range, $hash, $parse, $random and $uuid.

They raise ValueError with a reason; the calling expression turns it into an error of the state.
"""

from collections.abc import Callable
from typing import Any, Final

from dcf.asl.intrinsics import chunks, digest, from_text, produced, steps, whole
from dcf.asl.limits import MAX_ITEMS
from dcf.asl.surroundings import Chance
from dcf.values.json_text import Json


def _partition(items: Json = None, size: Json = None) -> Json:
    wanted = whole(size)
    if wanted < 1:
        raise ValueError("the size of a piece must be positive")
    listed = items if isinstance(items, list) else [items]
    if len(listed) > MAX_ITEMS:
        raise ValueError(f"the array has more than {MAX_ITEMS} items")
    return chunks(listed, wanted)


def _range(first: Json = None, last: Json = None, step: Json = None) -> Json:
    found = steps(whole(first), whole(last), whole(step), most=MAX_ITEMS)
    # A JSONata sequence: a sequence of one item equals the item, and an empty one is no value.
    return found if len(found) > 1 else next(iter(found), None)


def _hash(value: Json = None, algorithm: Json = None) -> Json:
    return digest(value, algorithm)


def _parse(text: Json = None) -> Json:
    if not isinstance(text, str):
        raise ValueError("$parse needs a string")  # noqa: TRY004 - reported as data
    return produced(from_text(text))


PURE: Final[dict[str, tuple[Callable[..., Any], str | None]]] = {
    "partition": (_partition, None),
    "range": (_range, None),
    "hash": (_hash, None),
    "parse": (_parse, None),
}
"""Functions that depend only on their arguments, each with its JSONata signature."""


def lucky(chance: Chance) -> dict[str, Callable[..., Any]]:
    """Return the functions that draw random values from `chance`."""

    def random(seed: Json = None) -> float:
        return chance.fraction() if seed is None else Chance(f"seed {whole(seed)}").fraction()

    def uuid() -> str:
        return chance.uuid()

    return {"random": random, "uuid": uuid}
