"""The Redis keys of schedules. None belongs to a run.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:idx:schedule:<name>` | JSON | creating and operating a schedule, the clock at each tick | until it is deleted |
| `cp:idx:schedules` | sorted set | the same, in the same transaction: all schedules, by when the clock must look at them | with its schedules |
| `cp:idx:schedules:troubled` | sorted set | the same: those that are stopped or could not start their latest run, by when | with its schedules |
| `cp:idx:schedules:of:<author>` | sorted set | the same: the schedules of one author, by creation time | with its schedules |
"""

from typing import Final

SCHEDULES: Final = "cp:idx:schedules"
TROUBLED: Final = "cp:idx:schedules:troubled"


def schedule(name: str) -> str:
    """Return the key of a schedule's document."""
    return f"cp:idx:schedule:{name}"


def schedules_of(author: str) -> str:
    """Return the key of the index of an author's schedules."""
    return f"{SCHEDULES}:of:{author}"
