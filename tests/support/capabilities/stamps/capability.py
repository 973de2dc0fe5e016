"""Offers to the engine that an output counts only after it is stamped."""

from collections.abc import Mapping
from typing import Final

from dcf.core.completing.updates import Update
from dcf.core.definitions.briefs import field_of, has_field
from dcf.core.definitions.extensions import EndReads
from dcf.core.definitions.model import Definition
from dcf.core.documents.answers import Owed
from dcf.core.documents.attached import AttachedKind
from dcf.core.documents.decision import Decision, More, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.parts import WHOLE
from dcf.core.extensions import Capability, CompletionStep, Settle, Written
from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from tests.support.capabilities.stamps.model import BOOK, Stamp, read_stamp
from tests.support.capabilities.stamps.syntax import NAME

REMINDS_AFTER: Final = 60 * SECOND


def unstamped(state: str) -> Refusal:
    """Refuse what has to wait for the stamp."""
    return Refusal(code="unstamped", message=f"The output of '{state}' waits for its stamp.", hint="Have it stamped.")


def _through(snapshot: Snapshot, definition: Definition, settle: Settle, request: Update) -> Written:
    state, doc = request.state, snapshot.states[request.state]
    stamp = doc.attached_as(Stamp)
    if field_of(definition, state, NAME) is None or (stamp is not None and stamp.is_stamped):
        return settle(request)
    due = snapshot.now + REMINDS_AFTER
    changes = WriteSet(states={state: doc.attaching(Stamp(due=due))}, timers={state: due})
    changes.put(BOOK, ("submitted",))
    return Decision(answer=unstamped(state), changes=changes if stamp is None else None)


def _holds(state: str, doc: StateDoc) -> Refusal | None:
    stamp = doc.attached_as(Stamp)
    return None if stamp is None or stamp.is_stamped else unstamped(state)


def _look(snapshot: Snapshot, _: str, doc: StateDoc) -> Decision[Owed] | None:
    stamp = doc.attached_as(Stamp)
    is_due = stamp is not None and stamp.due is not None and stamp.due <= snapshot.now
    return Decision(answer=Owed(fired="unstamped")) if is_due else None


def _remind(snapshot: Snapshot, state: str, _: Definition, __: Mapping[str, Json]) -> Decision[RunStatus | More | None]:
    doc = snapshot.states[state].attaching(Stamp())
    changes = WriteSet(states={state: doc}, timers={state: doc.attention(doc.lease.expires_at or snapshot.now)})
    lines = snapshot.part(BOOK)
    assert lines is not None, "whoever ends such a state reads the book"
    changes.put(BOOK, (f"reminded after {len(lines)}",))
    return Decision(answer=None, changes=changes)


def _is_stamped(definition: Definition) -> bool:
    return has_field(definition, NAME)


OFFER: Final = Capability(
    completion=CompletionStep(applies=_is_stamped, through=_through),
    holds=_holds,
    looks=_look,
    endings={"unstamped": _remind},
    end_reads=EndReads(applies=_is_stamped, parts=lambda _, __: BOOK.wanted(WHOLE)),
    attached=AttachedKind(field=Stamp.field, read=read_stamp),
)
