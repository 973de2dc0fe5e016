"""The context for an agent that lost its memory, cut to a number of bytes: the most important first. Pure.

It is made of pieces in the order of their importance. A piece that does not fit is left out and counted, and the next
one is tried, so that one long text does not hide short ones. Parts that were left out are named, with the call that
shows them.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from dcf.errors import InvalidArgument
from dcf.features.journal.model import JournalEntry
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record
from dcf.values.text_pieces import clip

LEAST_BYTES: Final = 1_000
DEFAULT_BYTES: Final = 16_000
MOST_BYTES: Final = 200_000

LONGEST_SHOWN: Final = 600
"""Characters of the text of an entry that a context shows."""

MOST_RUNS: Final = 5
"""Runs that a context describes."""

_SAID: Final = 400
"""Bytes that the parts of an answer need in addition to its pieces."""

_HOW: Final[dict[str, str]] = {
    "runs": "`list_runs`",
    "next": "`get_my_assignment`",
    "held": "`get_my_assignment`",
    "issues": "`read_journal(open=true)`",
    "handoffs": "`read_journal(kind=handoff)`",
    "decisions": "`read_journal(kind=decision)`",
    "ready": "`find_work`",
    "milestones": "`read_journal(kind=milestone)`",
    "inputs": "`get_my_assignment`",
}

SECTIONS: Final = tuple(_HOW)
"""The parts of a context, the most important first."""


@record(frozen=True, slots=True, kw_only=True)
class ContextQuery:
    """The subject of a context: an agent, the runs with the tag of a session, or one run.

    `project`: only runs of it.
    """

    agent: str | None = None
    run: str | None = None
    session: str | None = None
    project: str | None = None

    def __post_init__(self) -> None:
        if self.agent is None and self.run is None and self.session is None:
            raise InvalidArgument(
                "Nothing says whose context is wanted.", "Pass `agent_id`, `workflow_id`, or session (a tag of runs)."
            )


@record(frozen=True, slots=True, kw_only=True)
class ContextPiece:
    """One item of a part of the context."""

    section: str
    item: dict[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The parts of a context that fit, and how many items of each do not."""

    sections: dict[str, list[Json]]
    left_out: list[Json]


def fitted(pieces: Iterable[ContextPiece], max_bytes: int) -> Fitted:
    """Return the pieces that fit into `max_bytes` of JSON, in their order; of each part the first that fit."""
    room, shown, missing = max_bytes - _SAID, dict[str, list[Json]](), Counter[str]()
    for piece in pieces:
        size = byte_length(piece.item) + len(piece.section) + 8
        if size > room:
            missing[piece.section] += 1
            continue
        room -= size
        shown.setdefault(piece.section, []).append(piece.item)
    left_out: list[Json] = [
        {"what": name, "count": missing[name], "see": _HOW[name]} for name in SECTIONS if missing[name]
    ]
    return Fitted(sections=shown, left_out=left_out)


def entry_piece(section: str, workflow_id: str, entry: JournalEntry) -> ContextPiece:
    """Return an entry of a journal as a piece, with only the fields that an agent needs to continue."""
    names = ("entry", "at", "agent", "state", "details", "blocks")
    values: dict[str, Json] = {name: value for name, value in entry.as_json().items() if name in names}
    return ContextPiece(
        section=section, item={"workflow_id": workflow_id, **values, "text": clip(entry.text, LONGEST_SHOWN)}
    )
