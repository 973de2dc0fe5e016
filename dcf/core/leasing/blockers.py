"""Issues that block a run: while one is open, no lease is granted. Data and the two changes of it; pure.

The run's meta document has them as `blocked_by`, so that every decision on a lease sees them without a further read.
`blocked` and `unblocked` return changes of meta, history and timers which another decision adds to its own: a gate or
a budget blocks a run in the transaction that finds the reason. The issue itself is an entry of the journal
(`features/journal/model.py`). Holders renew, finish and release as in a paused run, and what follows is entered.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.values.json_text import Json
from dcf.values.names import escaped
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record, replace
from dcf.values.text_pieces import clip

MOST_BLOCKERS: Final = 20
"""Most issues that block a run at the same time."""

KILLED_PROCESS: Final = "killed_process"
"""Why a run is on hold: processes died while they evaluated its expressions. It is used in place of an issue's id."""

LONGEST_BLOCKER: Final = 300
"""Characters of an issue that the meta document keeps; the journal has all of it."""


@record(frozen=True, slots=True, kw_only=True)
class Blocker:
    """An open issue that blocks its run: its id in the journal, the beginning of its text, and since when.

    The hold of a run is a blocker too, `KILLED_PROCESS`, which is not in the journal.
    """

    issue: str
    text: str
    since: int

    @property
    def is_hold(self) -> bool:
        """True if the run is on hold, and only an operator releases it."""
        return self.issue == KILLED_PROCESS

    @property
    def shown_text(self) -> str:
        """The text on one line, with what cannot be seen written out."""
        return escaped(self.text, LONGEST_BLOCKER)

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON, as the meta document has it."""
        return _BLOCKER.write(replace(self, text=clip(self.text, LONGEST_BLOCKER)))


_BLOCKER: Final = RecordCodec(Blocker, times="since", whole=True)


def read_blockers(document: Json) -> tuple[Blocker, ...]:
    """Read `blocked_by` of a meta document; invalid entries are dropped."""
    return tuple(filter(None, map(_BLOCKER.read, document))) if isinstance(document, list) else ()


def write_blockers(blockers: Iterable[Blocker]) -> Json:
    """Return the field `blocked_by`: null if there is none."""
    return [blocker.as_json() for blocker in blockers] or None


def is_blocked(document: Mapping[str, Json]) -> bool:
    """Return True if a run with this meta document, or line in the list, is running and an issue blocks it."""
    return document.get("status") == "running" and bool(document.get("blocked_by"))


def word_of(document: Mapping[str, Json]) -> str:
    """Return the status of a run for people, by its meta document: paused and blocked ones say so."""
    if document.get("status") == "running" and document.get("paused_at") is not None:
        return "paused"
    return "blocked" if is_blocked(document) else str(document.get("status"))


def listed_word(row: Mapping[str, Json]) -> str:
    """Return the word for a run by its line in the list of runs: what holds it up, else its status."""
    marks = (name for name in ("paused", "blocked", "stuck") if row.get(name))
    return next(marks, str(row["status"]))
