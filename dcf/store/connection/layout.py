"""The key layout of a Redis: by its version, a dcf that does not know the keys that a newer one wrote stays away.

The record is one string of JSON, so that one command reads it and one command writes it whole. Each new connection
reads it before dcf sends anything else (`handshake`), and a process writes it at its start where there is none
(`inspection`). docs/operating/upgrades.md says when `LAYOUT` is raised. This module does not send anything.
"""

from typing import Final

from dcf.errors import StoreUnsuitable
from dcf.store.connection.commands import Command
from dcf.store.keys import table as keys
from dcf.values.json_text import Json, dump, load
from dcf.version import __version__

LAYOUT: Final = 1
"""The latest layout that this dcf knows. It reads and writes this one and all before it."""

FIRST: Final = 1
"""The layout of a Redis without the record."""

READ: Final[Command] = ("GET", keys.LAYOUT)
"""Reads the record."""

WRITE: Final[Command] = ("SET", keys.LAYOUT, dump({"version": LAYOUT, "dcf": __version__}), "NX")
"""Writes the record where there is none."""


class StoreTooNew(StoreUnsuitable):
    """A newer dcf keeps the data of this Redis in an unknown layout. `writer` is the version of the newer dcf."""

    code = "store_too_new"
    default_hint = "This dcf changed nothing in it; docs/operating/upgrades.md says how to go on, and how to go back."

    def __init__(self, version: int, writer: str) -> None:
        super().__init__(
            f"Use dcf {writer} or newer with this Redis: it has key layout {version}, and this dcf knows none after"
            f" {LAYOUT}."
        )


def refusal_of(record: bytes | None) -> StoreUnsuitable | None:
    """Return why dcf must not use a Redis with this record; None if it may."""
    if record is None:
        return None
    try:
        version, writer = _facts(record)
    except (ValueError, KeyError, TypeError):
        return changed_by_hand()
    return StoreTooNew(version, writer) if version > LAYOUT else None


def version_of(record: bytes) -> int:
    """Return the version that a record says which is not refused."""
    return _facts(record)[0]


def changed_by_hand() -> StoreUnsuitable:
    """Return the error for a record that dcf did not write."""
    return StoreUnsuitable(
        f"The record of the key layout ({keys.LAYOUT}) was changed by hand, and says no version.",
        f"Delete {keys.LAYOUT} if no dcf newer than {__version__} has used this Redis; else restore it from a backup.",
    )


def _facts(text: bytes) -> tuple[int, str]:
    record: Json = load(text)
    version, writer = record["version"], record["dcf"]
    if type(version) is not int or not isinstance(writer, str):
        raise TypeError
    return version, writer
