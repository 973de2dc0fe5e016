"""The answer to a holder's write, and the receipt by which a repetition of it gets the same answer. Pure."""

from operator import attrgetter

from dcf.core.completing.transition import Transition
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import Receipt, RunStatus, StateDoc, Status

_state_of = attrgetter("state")


def answer_to(
    step: Transition, request: Update, closed: StateDoc, holder: str | None, claims: tuple[Leased, ...]
) -> Updated:
    """Return the answer to a completion or failure, with what it set in motion."""
    failed = step.run_status is RunStatus.FAILED
    doc = step.writes.states[request.state] if failed else closed
    return Updated(
        status=doc.status,
        doc=doc,
        output_written=request.has_output and not doc.waits_outside,
        run_status=step.run_status,
        next_states=step.entered,
        claims=claims,
        left=step.left,
        owner=holder,
        retry_at=step.writes.states[request.state].not_before if request.status is Status.FAILED else None,
    )


def receipt_of(request: Update, answer: Updated, now: int) -> Receipt:
    """Return the receipt of a write that was applied."""
    assert request.key is not None, "the fence rejects every write without a token"
    return Receipt(
        request=request.key,
        operation=request.operation,
        at=now,
        status=answer.status,
        content=request.content,
        output_written=answer.output_written,
        run_status=answer.run_status,
        next_states=answer.next_states,
        claimed=tuple(map(_state_of, answer.claims)),
    )


def error_text(request: Update) -> str | None:
    """Return the error and its cause as one text; None if there is neither."""
    return ": ".join(filter(None, (request.error, request.cause))) or None
