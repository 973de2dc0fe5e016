"""Ends one state by hand, or gives it to other agents: what the planner or an operator does in place of a holder. Pure.

`ending` leaves the state: it enters the states that follow as after a holder's write, and fences the holder out.
"""

from collections.abc import Mapping
from typing import Final

from dcf.asl.state_paths import name_of
from dcf.core.completing.ending import End, How, end, ended_answer, is_task
from dcf.core.completing.transition import Transition
from dcf.core.completing.waiting_refusals import waits_outside
from dcf.core.definitions.model import Definition
from dcf.core.definitions.outputs import TO_OPERATOR, output_refusal
from dcf.core.documents import refusals
from dcf.core.documents.decision import Decision, Event, More, Snapshot, WriteSet
from dcf.core.documents.kinds import GROUP
from dcf.core.documents.model import RunStatus, StateDoc, Status
from dcf.core.documents.notices import ready_again, stop_notices
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.extensions import EXTENSIONS
from dcf.core.leasing.lease import Release, release
from dcf.core.listing.runs import reassigned
from dcf.errors import InvalidArgument
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class Resolve:
    """What to do with a state: end it (`how`), give it to `agents`, or both.

    `handled`: a failure is retried and caught as if its holder had failed. Otherwise it is final: a caller that fails a
    state by hand knows that another attempt will not help. `epoch`: only if the state still has this epoch, as the
    caller saw it; a state in a loop may have been entered again, or leased by another agent. `force`: accept an output
    that does not match the state's OutputSchema.
    """

    state: str
    how: How | None = None
    output: Json = None
    error: str | None = None
    cause: str | None = None
    handled: bool = False
    agents: tuple[str, ...] = ()
    epoch: int | None = None
    force: bool = False

    def arguments(self) -> dict[str, Json]:
        """Return the arguments of the request, for its fingerprint."""
        result = [self.output, self.error, self.cause, self.handled, self.epoch, *([True] if self.force else [])]
        return {"state": self.state, "how": self.how, "told": result, "agents": list(self.agents)}


def wish_of(
    state: str,
    *,
    output: Json = MISSING,
    error: str | None = None,
    cause: str | None = None,
    skip: bool = False,
    handled: bool = False,
    agents: tuple[str, ...] = (),
    epoch: int | None = None,
    force: bool = False,
) -> Resolve:
    """Return the wish that these arguments of a caller mean; raise InvalidArgument where they contradict each other."""
    named: dict[How, bool] = {"output": output is not MISSING, "error": error is not None, "skip": skip}
    hows = [how for how, is_named in named.items() if is_named]
    if len(hows) > 1:
        first, other = hows[:2]
        raise InvalidArgument(f"A state is ended in one way, not by {first} and {other}.", f"Pass {first} or {other}.")
    if error is None and (cause is not None or handled):
        raise InvalidArgument("cause and handled go with an error.", "Name the error, or leave them out.")
    if output is MISSING and force:
        raise InvalidArgument("force goes with an output.", "Give an output, or leave force out.")
    return Resolve(
        state=state,
        how=hows[0] if hows else None,
        output=None if output is MISSING else output,
        error=error,
        cause=cause,
        handled=handled,
        agents=agents,
        epoch=epoch,
        force=force,
    )


@decided_once
def assign_ahead(snapshot: Snapshot, request: RunRequest, wish: Resolve) -> RunDecision:
    """Assign a Task by its name before control reaches it, or in all iterations of the Map around it."""
    meta = snapshot.existing_meta
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=refusals.RUN_OVER.refuse(status=meta.status))
    answer: dict[str, Json] = {
        "state": wish.state,
        "state_status": Status.PENDING.value,
        "run_status": RunStatus.RUNNING.value,
        "assigned": list(wish.agents),
        "hint": _ASSIGNED,
    }
    event = Event(type="AgentsAssigned", data=request.told(agents={wish.state: list(wish.agents)}))
    changes = WriteSet(meta=_agents_patch(snapshot, wish), events=[event], assigned=wish.agents)
    return Decision(answer=RunAnswer(answer=answer, at=snapshot.now), changes=changes)


@decided_once
def resolve(
    snapshot: Snapshot, request: RunRequest, wish: Resolve, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """Carry out the wish; refuse if the run or the state has ended, or control has not reached the state."""
    refusal = _why_not(snapshot, wish, definition)
    if refusal is None and wish.how == "output" and definition.output_schemas and not wish.force:
        refusal = output_refusal(definition, wish.state, wish.output, snapshot.states[wish.state], TO_OPERATOR)
    if refusal is not None:
        return Decision(answer=refusal)
    if wish.how is None:
        return _assign(snapshot, request, wish)
    return _end(snapshot, request, wish, definition, context)


def _why_not(snapshot: Snapshot, wish: Resolve, definition: Definition) -> Refusal | None:
    meta, doc = snapshot.existing_meta, snapshot.states[wish.state]
    if meta.status is not RunStatus.RUNNING:
        return refusals.RUN_OVER.refuse(status=meta.status)
    if definition.units is not None:
        refusal = _why_not_unit(wish, doc)
        is_well = wish.how in ("output", "skip")
        return refusal or (EXTENSIONS.flow.unless_open(snapshot, wish.state) if is_well else None)
    if doc.status.is_terminal:
        return refusals.STATE_TERMINAL.refuse(state=wish.state, doc=doc)
    if not doc.is_ready:
        may_be_assigned = wish.how is None and name_of(wish.state) in definition.skills
        return None if may_be_assigned else refusals.NOT_REACHED.refuse(state=wish.state, doc=doc)
    if wish.epoch is not None and wish.epoch != doc.lease.epoch:
        return refusals.MOVED_ON.refuse(state=wish.state, doc=doc, epoch=wish.epoch)
    return _why_not_this(wish, doc)


def _why_not_unit(wish: Resolve, doc: StateDoc) -> Refusal | None:
    """Return why a unit of an open run cannot be ended or assigned so; None if it can.

    A failed unit can still be completed or skipped. A unit that is not ready cannot be failed.
    """
    if doc.kind == GROUP:
        return refusals.IS_A_SCOPE.refuse(state=wish.state, doc=doc)
    if doc.waits_outside and wish.agents:
        return waits_outside(wish.state, doc)
    if doc.status.is_terminal and (doc.status is not Status.FAILED or wish.how in (None, "error")):
        return refusals.STATE_TERMINAL.refuse(state=wish.state, doc=doc)
    if not doc.is_ready and wish.how == "error":
        return refusals.NOT_REACHED.refuse(state=wish.state, doc=doc)
    if wish.epoch is not None and wish.epoch != doc.lease.epoch:
        return refusals.MOVED_ON.refuse(state=wish.state, doc=doc, epoch=wish.epoch)
    return None


def _why_not_this(wish: Resolve, doc: StateDoc) -> Refusal | None:
    if doc.is_scope:
        return refusals.IS_A_SCOPE.refuse(state=wish.state, doc=doc)
    if doc.waits_outside and wish.agents:
        return waits_outside(wish.state, doc)
    if not is_task(doc) and (wish.agents or wish.how == "output"):
        return refusals.HAS_NO_WORKER.refuse(state=wish.state, doc=doc)
    return None


def _end(
    snapshot: Snapshot, request: RunRequest, wish: Resolve, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """End the state and enter what follows, in one transaction."""
    assert wish.how is not None, "the caller looked"
    doc = snapshot.states[wish.state]
    epoch = doc.lease.next_epoch(snapshot.now)
    ending = End(
        state=wish.state,
        how=wish.how,
        event=_event(request, wish, doc, epoch),
        output=wish.output,
        error=wish.error,
        cause=wish.cause,
        handled=wish.handled,
        meta=_agents_patch(snapshot, wish),
    )
    step = end(snapshot, ending, epoch, definition, context)
    if isinstance(step, More):
        return Decision(answer=step)
    done = step.decision(RunAnswer(answer=_told(step, wish), at=snapshot.now))
    return replace(done, changes=replace(step.writes, assigned=wish.agents))


def _assign(snapshot: Snapshot, request: RunRequest, wish: Resolve) -> RunDecision:
    """Assign the state to other agents. A holder that is not among them is fenced out; the new agents are notified."""
    state, doc, now = wish.state, snapshot.states[wish.state], snapshot.now
    changes, holder = WriteSet(), doc.lease.owner_agent_id
    if doc.lease.token is not None and holder not in wish.agents:
        freed = release(snapshot, Release(state=state, token=None, force=True)).changes
        assert freed is not None, "a lease that is held can be released"
        changes = replace(freed, notices=stop_notices({state: doc}))
    after = changes.states.get(state, doc)
    notices = [ready_again(state, after, now, "assigned")] if after.is_claimable(now) else []
    answer: dict[str, Json] = {
        "state": state,
        "state_status": after.status.value,
        "run_status": RunStatus.RUNNING.value,
        "assigned": list(wish.agents),
        "hint": _ASSIGNED,
    }
    return Decision(
        answer=RunAnswer(answer=answer, at=now),
        changes=replace(
            changes,
            meta=_agents_patch(snapshot, wish),
            events=[_event(request, wish, doc, doc.lease.epoch), *changes.events],
            notices=[*changes.notices, *notices],
            assigned=wish.agents,
        ),
    )


def _agents_patch(snapshot: Snapshot, wish: Resolve) -> dict[str, Json]:
    """Return the assignments with the new one: by the name of the state, which all iterations of a Map share."""
    if not wish.agents:
        return {}
    document = snapshot.meta_document or {}
    before = document.get("agents")
    own: Json = wish.agents[0] if len(wish.agents) == 1 else list(wish.agents)
    return reassigned(document, {**(before if isinstance(before, dict) else {}), name_of(wish.state): own})


def _event(request: RunRequest, wish: Resolve, doc: StateDoc, epoch: int) -> Event:
    """Return the history entry that says how the state was resolved, why, and who held it."""
    data: dict[str, Json] = {"epoch": epoch, "how": wish.how or "assign"}
    data |= {"agents": list(wish.agents)} if wish.agents else {}
    data |= {"held_by": doc.lease.owner_agent_id} if doc.lease.token is not None else {}
    return Event(type="StateResolved", state=wish.state, data=request.told(**data))


def _told(step: Transition, wish: Resolve) -> dict[str, Json]:
    return ended_answer(step, wish.state) | ({"assigned": list(wish.agents)} if wish.agents else {})


_ASSIGNED: Final = "The agents are notified and may lease the state; `explain_run` says why if none does."
