"""What a decision about one run takes for true of another one: it is read in the packet on which the decision rests.

Between two packets a power loss or a failover may take back what the first one read. Who then decides by it tells a
parent of the end of a child that goes on. What is read and then written over one connection is of one server, and a
server that loses writes loses the latest ones: whatever is left of the decision, what it rests on is left too. On a
Redis Cluster the other run may be on another node, which can lose it alone (docs/decisions/storage/premises.md).
Pure.
"""

from collections.abc import Callable
from typing import TypeVar

from dcf.core.completing.waiting_refusals import run_moved
from dcf.core.documents.decision import Decision, OtherRun, ReadSet, Snapshot
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")


@record(frozen=True, slots=True, kw_only=True)
class Premise:
    """`holds` is asked of a snapshot that has what is read of the `other` run, and these receipts of its own."""

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
    """Return what is decided; a refusal if there is a premise and it does not hold."""
    if premise is None or premise.holds(snapshot):
        return decide()
    return Decision(answer=run_moved(premise.other.run))
