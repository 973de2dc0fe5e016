"""The journal of a run: the notes of its agents and people, apart from its history. Data and its text form; pure.

The history (events) has the changes that dcf made. The journal has entries by agents and people: lines of a log,
decisions, milestones, issues, notes, handoffs. An entry is known by its key and never changes, but for how an issue was
resolved. Which fields each kind has is in `features/journal/details.py`, what may be written in
`features/journal/writing.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from operator import add
from typing import Final

from dcf.core.documents.parts import Part, every_name
from dcf.core.documents.stored_values import object_of
from dcf.values.digest import content_fingerprint, fingerprint
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record, replace

TAIL: Final = "-"
"""Stands for the entries in the reads of a decision that reads only how full the journal is."""

MOST_ENTRIES: Final = 100_000
"""Most entries of a journal."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of all entries of a journal."""

LONGEST_ENTRY_TEXT: Final = 4000
"""Most characters of the text of an entry."""

MOST_DETAILS: Final = 16 * 1024
"""Most bytes of the details of an entry, as JSON."""

LONGEST_KEY: Final = 200
OWN_KEYS: Final = ("note:", "gate:", "budget:", "project-budget:", "tree-budget:")
"""The beginnings of the keys of dcf's own entries, which no other author may use."""

LONGEST_HOW: Final = 2000
"""Most characters of how an issue was resolved."""


class EntryKind(StrEnum):
    """The kinds of entries: a line of a log, a decision with its reasons, a milestone, an issue, a note, a handoff."""

    LOG = "log"
    DECISION = "decision"
    MILESTONE = "milestone"
    ISSUE = "issue"
    NOTE = "note"
    HANDOFF = "handoff"


@record(frozen=True, slots=True, kw_only=True)
class Resolution:
    """How an issue was resolved, by whom, and when."""

    how: str
    by: str
    at: int
    as_json = json_method(times="at")


@record(frozen=True, slots=True, kw_only=True)
class EntryFacts:
    """The content of an entry. `agent` wrote it, with the key `caller` (None: the command line, or dcf itself)."""

    kind: EntryKind
    text: str
    agent: str
    caller: str | None = None
    state: str | None = None
    details: Mapping[str, Json] = field(default_factory=dict)
    blocks: bool = False


@record(frozen=True, slots=True, kw_only=True)
class JournalEntry(EntryFacts):
    """An entry. `at` is the server's time in microseconds, and its place: later entries have later times.

    `attempt` is that of its state when it was written. `content` is the fingerprint of what was written, by which a
    repetition is known. `blocks`: the issue blocks the run until it is resolved.
    """

    entry_id: str
    at: int
    content: str
    attempt: int | None = None
    key: str | None = None
    resolution: Resolution | None = None

    @property
    def is_open(self) -> bool:
        """True for an issue that is not resolved."""
        return self.kind is EntryKind.ISSUE and self.resolution is None

    @property
    def place(self) -> str:
        """Its place in the order of the journal, as text that sorts as the places do."""
        return f"{self.at:016d}:{self.entry_id}"

    def as_json(self) -> dict[str, Json]:
        """Return it as readers see it."""
        shown = _SHOWN.write(self)
        if self.kind is EntryKind.ISSUE:
            shown |= {"blocks": self.blocks, "open": self.is_open}
        return shown | ({} if self.resolution is None else {"resolved": self.resolution.as_json()})


def entry_id_of(key: str) -> str:
    """Return the id of the entry with this key, the same each time."""
    return f"j{fingerprint(key)}"


def content_of(kind: EntryKind, text: str, agent: str, state: str | None, details: Mapping[str, Json]) -> str:
    """Return the fingerprint of what an entry says."""
    return content_fingerprint([kind.value, text, agent, state, dict(details)])


@record(frozen=True, slots=True, kw_only=True)
class JournalSeen:
    """The journal as a decision reads it: the entries that it asked for, and how full the journal is.

    `last_at` is the time of the last entry, 0 if there is none.
    """

    entries: Mapping[str, JournalEntry] = field(default_factory=dict)
    count: int = 0
    size: int = 0
    last_at: int = 0


UNSEEN: Final = JournalSeen()


def _seen_after(seen: JournalSeen, written: Sequence[JournalEntry]) -> JournalSeen:
    """Return what would be read after these entries."""
    new = [entry for entry in written if entry.resolution is None]
    if not new:
        return seen
    return replace(seen, count=seen.count + len(new), last_at=max(seen.last_at, *(entry.at for entry in new)))


ENTRIES: Final = Part[tuple[str, ...], JournalSeen, tuple[JournalEntry, ...]](
    name="journal", both=every_name, after=_seen_after, together=add
)
"""The journal of a run. Wanted are some of its entries (`TAIL`: none of them), written those that are new or
whose issue was resolved. It is watched."""

_SHOWN: Final = RecordCodec(
    JournalEntry,
    "entry_id kind at agent state attempt text details key caller",
    named={"entry_id": "entry", "caller": "by"},
    times="at",
    left_out="defaults",
)
_ENTRY: Final = RecordCodec(
    JournalEntry,
    "kind text agent at content caller state attempt details key blocks",
    named={
        "kind": "k",
        "text": "t",
        "agent": "a",
        "content": "of",
        "caller": "by",
        "state": "s",
        "attempt": "n",
        "details": "d",
        "blocks": "b",
    },
    left_out="defaults",
)


def write_entry(entry: JournalEntry) -> dict[str, Json]:
    """Write an entry as it is stored; what is empty is left out."""
    done = entry.resolution
    return _ENTRY.write(entry) | ({} if done is None else {"r": [done.how, done.by, done.at]})


def read_entry(entry_id: str, document: Json) -> JournalEntry | None:
    """Read what `write_entry` wrote; None for anything else."""
    code = object_of(document)
    if code.get("k") not in frozenset(EntryKind):
        return None
    return _ENTRY.read(code, entry_id=entry_id, resolution=_resolution(code.get("r")))


def _resolution(document: Json) -> Resolution | None:
    match document:
        case [str(how), str(by), int(at)]:
            return Resolution(how=how, by=by, at=at)
    return None
