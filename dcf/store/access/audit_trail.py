"""Audit trail: changes outside runs, calls that were refused, log-ins and log-outs, exports. One stream, in order.

A change inside a run is written to the run's history, in the same transaction. Outside there is often no transaction (a
file, an agent on Letta), so a change has two entries: one before it, without which it is not made, and one with its
outcome. If the process dies between them, the change is listed without an outcome.

Each author has a share of the trail, so that no key can push out the entries of others. One index for each author lists
the author's entries in the stream. When there are too many, the oldest entries of that author are removed.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Final, Literal, TypeAlias

from dcf.core.access.model import LOCAL
from dcf.errors import DcfError
from dcf.store.access.authors import current_author
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.reserve import freeing
from dcf.store.keys import table as keys
from dcf.values.instants import to_text
from dcf.values.json_text import dump, load
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

log = logging.getLogger(__name__)

KEPT: Final = 10_000
"""Entries that are kept of one key; a change has two, one before it and one with its outcome."""
_KEPT_OF_OPERATORS: Final = 100_000
_KEPT_OF_REFUSALS: Final = 1_000
_KEPT_OF_LOGINS: Final = 10_000

_FREEING: Final = frozenset({"delete_run", "finalize_workflow", "prune"})
"""Changes that free memory: that Redis is full must not keep them from being recorded, and so from being made."""

_MS: Final = 1000
_PAGE: Final = 1000
_UNTOLD: Final = "interrupted"
_LOGINS: Final = "logins"
_NOBODY: Final = "dcf"
"""The author of entries without one, in a filter."""

_APPEND: Final = """
local id = redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))
local ms, number = string.match(id, '^(%d+)-(%d+)$')
redis.call('ZADD', KEYS[2], string.format('%.0f', ms * 1000 + math.min(number, 999)), id)
local over = math.min(redis.call('ZCARD', KEYS[2]) - ARGV[1], 100)
if over > 0 then
  local oldest = redis.call('ZRANGE', KEYS[2], 0, over - 1)
  redis.call('XDEL', KEYS[1], unpack(oldest))
  redis.call('ZREM', KEYS[2], unpack(oldest))
end
return id
"""

Kind: TypeAlias = Literal["change", "refusal", "login", "read"]
_KINDS: Final[Mapping[str, Kind]] = {"login": "login", "refusal": "refusal", "read": "read"}
"""Kinds that an entry names in a field; the entry of a change does not have that field."""


@dataclass(slots=True)
class Recording:
    """A change under way: facts to record with it, and its outcome (the code of an answer)."""

    about: dict[str, str]
    outcome: str = _UNTOLD


@record(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One entry: what was called, with what, by whom. `outcome` None: it is under way, or its process died.

    `of` is the id of the change whose outcome an entry reports; only an export has such entries.
    """

    entry_id: str
    at: str
    kind: Kind
    by: str | None
    change: str
    about: Mapping[str, str]
    outcome: str | None
    of: str | None = None

    as_json = json_method(named={"entry_id": "id"}, left_out="defaults")


@record(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries to return: by whom, of what type (a kind, or the name of what was called), and when (server ms)."""

    by: str | None = None
    type: str | None = None
    since: int = 0
    until: int | None = None

    def admits(self, entry: AuditEntry) -> bool:
        """Return True for an entry by this author and of this type. The time is up to the reading."""
        return self.by in {None, entry.by or _NOBODY} and self.type in {None, entry.kind, entry.change}


EVERYTHING: Final = AuditFilter()


class AuditTrail:
    """The audit trail of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def recording(self, change: str, about: Mapping[str, str]) -> Iterator[Recording]:
        """Record a change made by the `with` block. Raise before the block runs if it cannot be recorded."""
        author = current_author()
        named = {"change": change} | ({} if author is None else {"by": author})
        share, most = _share(author)
        append = self._append_from_reserve if change in _FREEING else self._append
        entry_id = append(share, most, named | {"about": dump(dict(about))})
        recording = Recording(dict(about))
        try:
            yield recording
        except DcfError as error:
            recording.outcome = error.code
            raise
        finally:
            outcome = {"of": entry_id, "outcome": recording.outcome, "about": dump(recording.about)}
            try:
                append(share, most, named | outcome)
            except DcfError as error:  # it does not alter whether the change was made
                log.warning("audit: that %s ended with %s is not recorded: %s", change, recording.outcome, error.code)

    def note_refusal(self, by: str, call: str, about: Mapping[str, str], code: str = "forbidden") -> None:
        """Record a call that its author may not make, or that named what they do not see; in a share of its own."""
        self._append(f"refused:{_share(by)[0]}", _KEPT_OF_REFUSALS, _note("refusal", by, call, code, about))

    def note_login(self, by: str | None, why: str, about: Mapping[str, str], call: str = "log in") -> None:
        """Record a log-in or log-out, or a key that opened nothing, and why. `by` names the key, if it is known."""
        self._append(_LOGINS, _KEPT_OF_LOGINS, _note("login", by, call, why, about))

    def note_read(self, by: str, call: str, about: Mapping[str, str]) -> None:
        """Record that somebody took a copy of much at once. Raise if it cannot be recorded."""
        share, most = _share(by)
        self._append(f"read:{share}", most, _note("read", by, call, "ok", about))

    def newest(self, limit: int, audit_filter: AuditFilter = EVERYTHING) -> list[AuditEntry]:
        """Return the last entries, newest first, each change as one entry with its outcome."""
        ends: dict[str, dict[str, str]] = {}
        entries: list[AuditEntry] = []
        for entry_id, fields in self._backwards(min(2 * limit, _PAGE), audit_filter):
            if "of" in fields:
                ends[fields["of"]] = fields
                continue
            entry = _entry(entry_id, fields | _outcome(ends.get(entry_id)))
            if audit_filter.admits(entry):
                entries.append(entry)
            if len(entries) == limit:
                break
        return entries

    def each(self, after: str | None = None, audit_filter: AuditFilter = EVERYTHING) -> Iterator[AuditEntry]:
        """Yield every entry after this one (None: from the oldest), oldest first; the outcome of a change is its own.

        So no entry is missed: an export that continues after the last id finds the outcomes that came later.
        """
        first = str(audit_filter.since) if after is None or _ms(after) < audit_filter.since else f"({after}"
        while True:
            command = ("XRANGE", keys.AUDIT_TRAIL, first, _end(audit_filter), "COUNT", _PAGE)
            (entries,) = self._connections.send(command)
            yield from filter(audit_filter.admits, (_entry(raw_id.decode(), _fields(flat)) for raw_id, flat in entries))
            if len(entries) < _PAGE:
                return
            first = f"({entries[-1][0].decode()}"

    def _backwards(self, count: int, audit_filter: AuditFilter) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the entries, newest first, read `count` at a time; where an author is named, those of its shares.

        Outcomes of later than `until` belong to changes of before, so they are read as well.
        """
        by, since = audit_filter.by, audit_filter.since
        for raw_id, flat in self._of_all(count, since) if by is None else self._of_one(by, count, since):
            entry_id, fields = raw_id.decode(), _fields(flat)
            if "of" in fields or audit_filter.until is None or _ms(entry_id) <= audit_filter.until:
                yield entry_id, fields

    def _of_all(self, count: int, since: int) -> Iterator[Reply]:
        last = "+"
        while True:
            (entries,) = self._connections.send(("XREVRANGE", keys.AUDIT_TRAIL, last, since, "COUNT", count))
            yield from entries
            if len(entries) < count:
                return
            last = f"({entries[-1][0].decode()}"

    def _of_one(self, author: str, count: int, since: int) -> Iterator[Reply]:
        """Yield the entries of the shares that may have an author's entries, without reading those of other authors."""
        shares = [self._ids(keys.audit_share(share), count, since) for share in _shares(author)]
        ids = (entry_id for _, entry_id in merge(*shares, reverse=True))
        while page := list(islice(ids, count)):
            for entries in self._connections.send(
                *(("XRANGE", keys.AUDIT_TRAIL, entry_id, entry_id) for entry_id in page)
            ):
                yield from entries

    def _ids(self, share: str, count: int, since: int) -> Iterator[tuple[float, bytes]]:
        """Yield the ids of a share's entries with their scores, newest first."""
        last = "+inf"
        while True:
            command: Command = ("ZRANGE", share, last, since * _MS, "BYSCORE", "REV", "LIMIT", 0, count, "WITHSCORES")
            (scored_ids,) = self._connections.send(command)
            yield from zip(map(float, scored_ids[1::2]), scored_ids[::2], strict=True)
            if len(scored_ids) < 2 * count:
                return
            last = f"({scored_ids[-1].decode()}"

    def _append_from_reserve(self, share: str, most: int, fields: Mapping[str, str]) -> str:
        with freeing():
            return self._append(share, most, fields)

    def _append(self, share: str, most: int, fields: Mapping[str, str]) -> str:
        flat: list[str] = [part for pair in fields.items() for part in pair]
        command: Command = ("EVAL", _APPEND, 2, keys.AUDIT_TRAIL, keys.audit_share(share), most, *flat)
        (entry_id,) = self._connections.send(command)
        return str(entry_id.decode())


def _share(author: str | None) -> tuple[str, int]:
    """Return whose share an author's entries count for, and how many there may be."""
    if author in {None, LOCAL}:
        return "operators", _KEPT_OF_OPERATORS
    return author, KEPT


def _shares(author: str) -> tuple[str, ...]:
    """Return the shares that may have entries of an author, as a filter names it: changes, refusals, reads, log-ins."""
    share, _ = _share(None if author == _NOBODY else author)
    return share, f"refused:{share}", f"read:{share}", _LOGINS


def _note(kind: Kind, by: str | None, call: str, outcome: str, about: Mapping[str, str]) -> dict[str, str]:
    fields = {"kind": kind, "change": call, "outcome": outcome, "about": dump(dict(about))}
    return fields if by is None else fields | {"by": by}


def _fields(flat: list[bytes]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in zip(flat[::2], flat[1::2], strict=True)}


def _outcome(end: Mapping[str, str] | None) -> dict[str, str]:
    return {} if end is None else {name: end[name] for name in ("outcome", "about")}


def _entry(entry_id: str, fields: Mapping[str, str]) -> AuditEntry:
    kind = fields.get("kind")
    return AuditEntry(
        entry_id=entry_id,
        at=to_text(_ms(entry_id) * _MS),
        kind=_KINDS.get(kind or "", "change"),
        by=fields.get("by"),
        change=fields["change"],
        about=load(fields["about"]),
        outcome=fields.get("outcome"),
        of=fields.get("of"),
    )


def _ms(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])


def _end(audit_filter: AuditFilter) -> str:
    return "+" if audit_filter.until is None else str(audit_filter.until)
