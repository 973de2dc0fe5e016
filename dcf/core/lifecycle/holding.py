"""Puts a run on hold whose evaluations end processes, and releases it at the order of an operator. Pure.

A held run is a blocked run: no agent gets a lease, and every view shows it among the blocked. Besides, no expression
of it is evaluated that may end another process. (`hold_run` is something else: it keeps an ended run from deletion.)
"""

from collections.abc import Sequence
from typing import Final

from dcf.core.completing.evaluation_marks import Mark
from dcf.core.documents.decision import Decision, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.leasing.blockers import KILLED_PROCESS, Blocker
from dcf.core.leasing.halt_refusals import ONLY_OPERATORS_RELEASE
from dcf.core.lifecycle.blocking import block, unblock
from dcf.values.names import escaped

_AUTHOR: Final = "dcf"
_MOST_NAMED: Final = 100
_RELEASED: Final = "The run continues where it was; `explain_run` says what it waits for."


def hold(snapshot: Snapshot, state: str, deaths: Sequence[Mark]) -> Decision[Blocker]:
    """Put the run on hold because these processes died while they evaluated expressions of a state."""
    blocker = Blocker(issue=KILLED_PROCESS, text=_text_of(state, deaths), since=snapshot.now)
    if snapshot.existing_meta.hold is not None or snapshot.existing_meta.status is not RunStatus.RUNNING:
        return Decision(answer=snapshot.existing_meta.hold or blocker)
    writes = WriteSet()
    block(writes, snapshot.existing_meta, blocker, _AUTHOR)
    return Decision(answer=blocker, changes=writes)


@decided_once
def release(snapshot: Snapshot, request: RunRequest, *, may_release: bool) -> RunDecision:
    """Release a held run, and forget the deaths. The open states must have been read."""
    if not may_release:
        return Decision(answer=ONLY_OPERATORS_RELEASE.refuse())
    writes = WriteSet(absolved=True)
    unblock(writes, snapshot, snapshot.existing_meta, KILLED_PROCESS, **request.told())
    writes.sooner.update({path: snapshot.now for path, doc in snapshot.states.items() if doc.kind is not None})
    document = snapshot.meta_document or {}
    answer = {
        "run_status": snapshot.existing_meta.status.value,
        "retried": document.get("retried") or 0,
        "states": sorted(snapshot.states)[:_MOST_NAMED],
        "hint": _RELEASED,
    }
    return Decision(answer=RunAnswer(answer=answer, at=snapshot.now), changes=writes)


def _text_of(state: str, deaths: Sequence[Mark]) -> str:
    processes, name = " and ".join(escaped(mark.process) for mark in deaths), escaped(state)
    return f"The expressions of state '{name}' ended {len(deaths)} processes while they were evaluated: {processes}."
