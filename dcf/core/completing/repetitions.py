"""Answers a holder's write that was applied before: with the first answer, or a refusal if it is another. Pure."""

from typing import TYPE_CHECKING

from dcf.core.documents import refusals
from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.decision import Decision, More
from dcf.core.documents.model import Lease, Meta, Operation, Receipt, RunStatus, StateDoc, Status
from dcf.values.digest import next_token
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.core.completing.updates import Update


def repeat(doc: StateDoc, meta: Meta, receipt: Receipt, request: "Update") -> Decision[Updated | Refusal | More]:
    """Return the answer of the first call; refuse if this one has other content or is another operation."""
    if receipt.operation is Operation.COMPLETE and _differs(receipt, request):
        latest = doc.receipt is not None and doc.receipt.request == receipt.request
        return Decision(
            answer=refusals.ALREADY_COMPLETED.refuse(state=request.state, doc=doc, receipt=receipt, is_latest=latest)
        )
    if receipt.operation is Operation.UPDATE and _differs(receipt, request):
        return Decision(answer=refusals.REQUEST_ID_USED.refuse(state=request.state))
    if receipt.operation is Operation.LOST and meta.status is RunStatus.RUNNING:
        return Decision(answer=refusals.lease_lost(request.state, doc))
    if receipt.operation is not request.operation:
        stale = refusals.unless_holder(doc, meta, request.state, request.token)
        return Decision(answer=stale or refusals.lease_lost(request.state, doc))
    answer = Updated(
        status=receipt.status,
        doc=doc,
        output_written=receipt.output_written or (_is_of_first_versions(receipt) and request.has_output),
        run_status=receipt.run_status,
        next_states=receipt.next_states,
        claims=_claimed_before(receipt.claimed, request),
        repeated=True,
    )
    return Decision(answer=answer)


def _is_of_first_versions(receipt: Receipt) -> bool:
    """Return True if a completion was acknowledged without a note of what was written."""
    return receipt.operation is Operation.COMPLETE and not receipt.content


def _differs(receipt: Receipt, request: "Update") -> bool:
    """Return True if the request writes something else; of what the first versions acknowledged, another end."""
    if receipt.content:
        return receipt.content != request.content
    return receipt.status.is_terminal and request.status is not receipt.status


def _claimed_before(states: tuple[str, ...], request: "Update") -> tuple[Leased, ...]:
    if request.token is None:
        return ()
    leases = ((state, Lease(token=next_token(request.token, state))) for state in states)
    return tuple(
        Leased(outcome="lease_already_held", state=state, doc=StateDoc(status=Status.RUNNING, lease=lease))
        for state, lease in leases
    )
