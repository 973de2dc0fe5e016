"""Lines that the holder of a lease writes into the run's history: what a function says of its work. Pure.

They are few and small, since the history is kept as long as the run. Each has a number, so that a repetition of a call
writes it once.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final

from dcf.core.documents import refusals
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.leasing.first_terms import signed
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record
from dcf.values.refusal import Refusal

MOST_LINES: Final = 100
"""Most lines of one lease."""

LONGEST_MESSAGE: Final = 2000
MOST_BYTES: Final = 4096
"""Most bytes of the fields of a line."""


@record(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """Request of a lease holder to write line `number` of this lease, counted from 1."""

    state: str
    token: str
    number: int
    message: str
    fields: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.number <= MOST_LINES:
            raise InvalidArgument(f"number is not between 1 and {MOST_LINES}.", "Write fewer lines for each lease.")
        if len(self.message) > LONGEST_MESSAGE:
            raise InvalidArgument(f"message has more than {LONGEST_MESSAGE} characters.", "Shorten it.")
        if byte_length(dict(self.fields)) > MOST_BYTES:
            raise InvalidArgument(f"fields_json has more than {MOST_BYTES} bytes.", "Leave out what is in the output.")


@record(frozen=True, slots=True, kw_only=True)
class Logged:
    """The line is in the history, since this call or before (`repeated`). `left` more may follow."""

    left: int
    repeated: bool = False


def log_event(snapshot: Snapshot, request: LogEvent) -> Decision[Logged | Refusal]:
    """Write the line, unless it or a later one of this lease was written before."""
    doc, meta = snapshot.states[request.state], snapshot.existing_meta
    refusal = refusals.unless_holder(doc, meta, request.state, request.token)
    if refusal is not None:
        return Decision(answer=refusal)
    if request.number <= doc.logged:
        return Decision(answer=Logged(left=MOST_LINES - doc.logged, repeated=True))
    data = {"epoch": doc.lease.epoch, "number": request.number, "message": request.message}
    data |= {"fields": dict(request.fields)} if request.fields else {}
    return Decision(
        answer=Logged(left=MOST_LINES - request.number),
        changes=WriteSet(
            states={request.state: replace(signed(doc, snapshot.now), logged=request.number)},
            events=[Event(type="TaskLogged", state=request.state, data=data)],
        ),
    )
