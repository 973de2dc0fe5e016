"""How large a value may grow while states reshape it.

Called only for values that a state built; what passes through unchanged was checked when it came in.
Templates can repeat their input many times over, so the size is bounded before the text is ever written.
"""

from collections.abc import Mapping
from typing import Final

from dcf.errors import StateError
from dcf.values.json_text import MAX_BYTES, MAX_DEPTH, Json, dump

MAX_ITEMS: Final = 100_000
"""Items of one Map."""

MAX_IN_A_ROW: Final = 12_500
"""States that control passes without anybody working or waiting: AWS ends a run after 25,000 events, two for each."""

AT_ONCE: Final = 1_000
"""States that one call of the engine runs; what comes after them is left to another call, which may follow at once."""

TASKS_AT_ONCE: Final = 10_000
"""States that one call runs before it leaves Tasks to another as well, which it only opens."""

MAX_VARIABLES_BYTES: Final = 10 * 1024 * 1024
"""UTF-8 bytes of all variables that a state can see, names included."""


def bounded(value: Json) -> Json:
    """Return the value; raise StateError States.DataLimitExceeded when too large or deep to be stored."""
    if isinstance(value, dict | list | str):
        _refuse_hopeless(value)
        if len(dump(value).encode()) > MAX_BYTES:
            raise _too_large()
    return value


def refuse_endless(passed: int) -> None:
    """Raise StateError States.Runtime when control came through too many states without anybody working or waiting."""
    if passed >= MAX_IN_A_ROW:
        cause = f"Control came through {MAX_IN_A_ROW} states in a row, and in none of them anybody worked or waited."
        raise StateError("States.Runtime", cause)


def refuse_too_much(variables: Mapping[str, Json]) -> None:
    """Raise StateError States.DataLimitExceeded when all the variables together are too large to be stored."""
    # Each was bounded when it was assigned, so that few of them are never too much, and most runs have few.
    if len(variables) * MAX_BYTES <= MAX_VARIABLES_BYTES:
        return
    if len(dump(dict(variables)).encode()) > MAX_VARIABLES_BYTES:
        cause = f"The variables together are larger than {MAX_VARIABLES_BYTES} bytes."
        raise StateError("States.DataLimitExceeded", cause)


def exceeds_depth(value: Json, limit: int) -> bool:
    """Whether containers and values nest deeper than `limit` levels; never recurses."""
    level = [value]
    for _ in range(limit):
        level = [part for item in level if isinstance(item, dict | list) for part in _parts(item)]
        if not level:
            return False
    return True


def _parts(item: dict[str, Json] | list[Json]) -> list[Json]:
    return list(item.values()) if isinstance(item, dict) else item


def _refuse_hopeless(value: Json) -> None:
    """Stop early on a value whose text could take very long to write: count a lower bound of its bytes."""
    least, level, depth = 0, [value], 1
    while level:
        if depth > MAX_DEPTH:
            raise StateError("States.DataLimitExceeded", f"The state's data is nested deeper than {MAX_DEPTH} levels.")
        deeper: list[Json] = []
        for item in level:
            if isinstance(item, str):
                least += len(item)
                continue
            if isinstance(item, dict):
                least += sum(map(len, item)) + len(item)
                deeper += item.values()
            elif isinstance(item, list):
                least += len(item)
                deeper += item
            else:
                continue
            if least > MAX_BYTES:
                raise _too_large()
        level, depth = deeper, depth + 1


def _too_large() -> StateError:
    return StateError("States.DataLimitExceeded", f"The state's data is larger than {MAX_BYTES} bytes.")
