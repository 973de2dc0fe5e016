"""Limits on the size of values that states build.

Check only values that a state built: values that pass through unchanged were checked when they arrived. A template
can repeat its input many times, so the size is estimated before the text is written.
"""

from collections.abc import Mapping
from typing import Final

from dcf.errors import StateError
from dcf.values.json_text import MAX_BYTES, MAX_DEPTH, Json, byte_length, dump_bytes

MAX_ITEMS: Final = 100_000
"""Limit on the items of one Map."""

MAX_BUILT: Final = 4 * MAX_BYTES
"""Limit on the texts, in characters, that the parts of one template make before the whole is checked."""

MAX_READ: Final = 32 * MAX_BYTES
"""Limit on the bytes that all intrinsic functions of one step read. Their time grows with that."""

MAX_VARIABLES_BYTES: Final = 10 * 1024 * 1024
"""Limit on the UTF-8 bytes of all variables that a state can read, names included."""


def bounded(value: Json) -> Json:
    """Return the value; raise StateError States.DataLimitExceeded when it is too large or too deep to store."""
    if isinstance(value, dict | list | str):
        least_size(value)
        if len(dump_bytes(value)) > MAX_BYTES:
            raise too_large()
    return value


def refuse_too_much(variables: Mapping[str, Json]) -> None:
    """Raise StateError States.DataLimitExceeded when all the variables together are too large to store."""
    # Each variable was checked when it was assigned, so a few together never exceed the limit. Most runs have few.
    if len(variables) * MAX_BYTES <= MAX_VARIABLES_BYTES:
        return
    if byte_length(dict(variables)) > MAX_VARIABLES_BYTES:
        cause = f"The variables together are larger than {MAX_VARIABLES_BYTES} bytes."
        raise StateError("States.DataLimitExceeded", cause)


def exceeds_depth(value: Json, limit: int) -> bool:
    """Return True if containers and values nest deeper than `limit` levels; does not recurse."""
    level = [value]
    for _ in range(limit):
        level = [part for item in level if isinstance(item, dict | list) for part in _parts(item)]
        if not level:
            return False
    return True


def _parts(item: dict[str, Json] | list[Json]) -> list[Json]:
    return list(item.values()) if isinstance(item, dict) else item


def least_size(value: Json) -> int:
    """Return a lower bound of the bytes of a value's JSON text; raise StateError when it is too large or too deep.

    A value may hold another a thousand times, so its text can be far larger than the value.
    """
    least, level, depth = 0, [value], 1
    while level:
        if depth > MAX_DEPTH:
            raise StateError("States.DataLimitExceeded", f"The state's data is nested deeper than {MAX_DEPTH} levels.")
        deeper: list[Json] = []
        for item in level:
            if isinstance(item, str):
                least += len(item)
            elif isinstance(item, dict):
                least += 4 * len(item) + sum(map(len, item))
                deeper += item.values()
            elif isinstance(item, list):
                least += len(item)
                deeper += item
            else:
                continue
            if least > MAX_BYTES:
                raise too_large()
        level, depth = deeper, depth + 1
    return least


def too_large() -> StateError:
    """Return the error for data that is too large to store."""
    return StateError("States.DataLimitExceeded", f"The state's data is larger than {MAX_BYTES} bytes.")
