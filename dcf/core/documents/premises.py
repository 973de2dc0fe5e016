"""Premises: conditions on another run that a decision about this run needs. Both are read in one round trip. Pure.

Between two round trips a power loss or a failover may undo writes that the first one read. A decision that rests on
them would, for example, report the end of a child that in fact continues. A read and a write over one connection reach
one server, and a server that loses writes loses the latest ones: if the decision is still stored, its premise is too.
On a Redis Cluster the other run may be on another node, which can lose it alone (docs/decisions/storage/premises.md).
"""

from collections.abc import Callable
from typing import TypeVar

from dcf.core.completing.waiting_refusals import RUN_MOVED
from dcf.core.documents.decision import Decision, OtherRun, ReadSet, Snapshot
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")


@record(frozen=True, slots=True, kw_only=True)
class Premise:
    """`holds` gets a snapshot with the documents of the `other` run, and these receipts of its own run."""

    other: OtherRun
    holds: Callable[[Snapshot], bool]
    receipts: tuple[str, ...] = ()


def with_premise(reads: ReadSet, premise: Premise | None) -> ReadSet:
    """Return the reads with those of a premise, if there is one."""
    if premise is None:
        return reads
    return replace(reads, other=premise.other, run_receipts=(*reads.run_receipts, *premise.receipts))


def resting_on(
    premise: Premise | None, snapshot: Snapshot, decide: Callable[[], Decision[Answer]]
) -> Decision[Answer | Refusal]:
    """Return the decision; a refusal if there is a premise that does not hold."""
    if premise is None or premise.holds(snapshot):
        return decide()
    return Decision(answer=RUN_MOVED.refuse(run=premise.other.run))
