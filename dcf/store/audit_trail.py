"""Audit trail of changes outside runs: agents, skills, files, JSON documents, generated files, API keys.

A change inside a run is written to the run's history, in the same transaction. Outside there is often no transaction (a
file, an agent on Letta), so a change has two entries: one before it, without which it is not made, and one with its
outcome. If the process dies between them, the change is listed without an outcome.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from dcf.errors import DcfError
from dcf.store import keys
from dcf.store.authors import current_author
from dcf.store.connection import Connections
from dcf.values.instants import to_text
from dcf.values.json_text import Json, dump, load

log = logging.getLogger(__name__)

_KEPT: Final = 100_000
"""Entries that are kept at least; beyond that the oldest are trimmed."""

_MS: Final = 1000
_UNTOLD: Final = "interrupted"


@dataclass(slots=True)
class Recording:
    """A change under way: facts to record with it, and its outcome (the code of an answer)."""

    about: dict[str, str]
    outcome: str = _UNTOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change: what was called, with what, by whom. `outcome` None: it is under way, or its process died."""

    entry_id: str
    at: str
    by: str | None
    change: str
    about: Mapping[str, str]
    outcome: str | None

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "id": self.entry_id,
            "at": self.at,
            "by": self.by,
            "change": self.change,
            "about": dict(self.about),
            "outcome": self.outcome,
        }


class AuditTrail:
    """The audit trail of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def recording(self, change: str, about: Mapping[str, str]) -> Iterator[Recording]:
        """Record a change made by the `with` block. Raise before the block runs if it cannot be recorded."""
        author = current_author()
        by = [] if author is None else ["by", author]
        entry_id = self._append("change", change, "about", dump(dict(about)), *by).decode()
        recording = Recording(dict(about))
        try:
            yield recording
        except DcfError as error:
            recording.outcome = error.code
            raise
        finally:
            self._tell(entry_id, change, recording)

    def newest(self, limit: int) -> list[AuditEntry]:
        """Return the last changes, newest first."""
        ends: dict[str, dict[str, str]] = {}
        entries: list[AuditEntry] = []
        for entry_id, fields in self._backwards(2 * limit):
            if "of" in fields:
                ends[fields["of"]] = fields
            else:
                entries.append(_entry(entry_id, fields | ends.get(entry_id, {})))
            if len(entries) == limit:
                break
        return entries

    def _backwards(self, count: int) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the entries of the stream, newest first, read `count` at a time."""
        last = "+"
        while True:
            (found,) = self._connections.send(("XREVRANGE", keys.AUDIT_TRAIL, last, "-", "COUNT", count))
            for raw_id, flat in found:
                fields = {name.decode(): value.decode() for name, value in zip(flat[::2], flat[1::2], strict=True)}
                yield raw_id.decode(), fields
            if len(found) < count:
                return
            last = f"({found[-1][0].decode()}"

    def _tell(self, entry_id: str, change: str, recording: Recording) -> None:
        """Record the outcome of a change. A failure here does not change whether the change was made."""
        try:
            self._append("of", entry_id, "outcome", recording.outcome, "about", dump(recording.about))
        except DcfError as error:
            log.warning("audit: that %s ended with %s is not recorded: %s", change, recording.outcome, error.code)

    def _append(self, *fields: str) -> bytes:
        (entry_id,) = self._connections.send(("XADD", keys.AUDIT_TRAIL, "MAXLEN", "~", _KEPT, "*", *fields))
        assert isinstance(entry_id, bytes), "XADD answers with the id"
        return entry_id


def _entry(entry_id: str, fields: Mapping[str, str]) -> AuditEntry:
    return AuditEntry(
        entry_id=entry_id,
        at=to_text(int(entry_id.partition("-")[0]) * _MS),
        by=fields.get("by"),
        change=fields["change"],
        about=load(fields["about"]),
        outcome=fields.get("outcome"),
    )
