"""Ends one state by hand, or gives it to other agents: what the planner or an operator does in place of a holder. Pure.

The state is left by the same transition as after a holder's write, so what follows is entered, counted and announced as
always. The present holder is fenced out: its lease ends here, and it is told to stop.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from dcf.asl import engine
from dcf.asl.state_paths import name_of
from dcf.asl.steps import Advance
from dcf.core import receipts, refusals
from dcf.core.advancing import open_transition, take, visits_to_leave
from dcf.core.catalog import reassigned
from dcf.core.decision import Changes, Decision, Event, Snapshot
from dcf.core.definition import Definition
from dcf.core.lease import Release, forgotten_claim, release
from dcf.core.model import Lease, RunStatus, StateDoc, Status
from dcf.core.notices import ready_again, stop_notices
from dcf.core.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.transition import Transition, clock_of
from dcf.errors import InvalidArgument
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal

How: TypeAlias = Literal["output", "error", "skip"]
"""How a state is ended: with this output, with a failure, or with its input as its output."""

_MOST_NAMED: Final = 20
"""Most next states that an answer names; it is stored."""


@record(frozen=True, slots=True, kw_only=True)
class Resolve:
    """What to do with a state: end it (`how`), give it to `agents`, or both.

    `handled`: a failure is retried and caught as if its holder had failed. Otherwise it is final: whoever fails a state
    by hand knows that another attempt will not do. `epoch`: only if the state still has this one, as the caller saw it;
    a state in a loop may have been entered again, or taken by somebody else.
    """

    state: str
    how: How | None = None
    output: Json = None
    error: str | None = None
    cause: str | None = None
    handled: bool = False
    agents: tuple[str, ...] = ()
    epoch: int | None = None

    def arguments(self) -> dict[str, Json]:
        """Return what is asked for, for its fingerprint."""
        told = [self.output, self.error, self.cause, self.handled, self.epoch]
        return {"state": self.state, "how": self.how, "told": told, "agents": list(self.agents)}


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
) -> Resolve:
    """Return the wish that these arguments of a caller mean; raise InvalidArgument where they contradict each other."""
    named: dict[How, bool] = {"output": output is not MISSING, "error": error is not None, "skip": skip}
    asked = [how for how, is_named in named.items() if is_named]
    if len(asked) > 1:
        raise InvalidArgument(f"A state is ended in one way, not by {asked[0]} and {asked[1]}.", "Name one of them.")
    if error is None and (cause is not None or handled):
        raise InvalidArgument("cause and handled go with an error.", "Name the error, or leave them out.")
    return Resolve(
        state=state,
        how=asked[0] if asked else None,
        output=None if output is MISSING else output,
        error=error,
        cause=cause,
        handled=handled,
        agents=agents,
        epoch=epoch,
    )


def resolve(
    snapshot: Snapshot, request: RunRequest, wish: Resolve, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """Do what is asked for, or refuse: the run or the state has ended, or control has not reached the state."""
    return once(snapshot, request, lambda: _resolve(snapshot, request, wish, definition, context))


def _resolve(
    snapshot: Snapshot, request: RunRequest, wish: Resolve, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    refusal = _why_not(snapshot, wish)
    if refusal is not None:
        return Decision(answer=refusal)
    if wish.how is None:
        return _assign(snapshot, request, wish)
    return _end(snapshot, request, wish, definition, context)


def _why_not(snapshot: Snapshot, wish: Resolve) -> Refusal | None:
    meta, doc = snapshot.meta, snapshot.states[wish.state]
    assert meta is not None, "the control plane checks that the run exists before it decides"
    if meta.status is not RunStatus.RUNNING:
        return refusals.run_over(meta.status)
    if doc.status.is_terminal:
        return refusals.state_terminal(wish.state, doc)
    if not doc.is_ready:
        return refusals.not_reached(wish.state, doc)
    if wish.epoch is not None and wish.epoch != doc.lease.epoch:
        return refusals.moved_on(wish.state, doc, wish.epoch)
    return _why_not_this(wish, doc)


def _why_not_this(wish: Resolve, doc: StateDoc) -> Refusal | None:
    if doc.is_scope:
        return refusals.is_a_scope(wish.state, doc)
    if not _is_task(doc) and (wish.agents or wish.how == "output"):
        return refusals.has_no_worker(wish.state, doc)
    return None


def _end(
    snapshot: Snapshot, request: RunRequest, wish: Resolve, definition: Definition, context: Mapping[str, Json]
) -> RunDecision:
    """End the state and enter what follows, in one transaction."""
    state, doc, now = wish.state, snapshot.states[wish.state], snapshot.now
    epoch = doc.lease.next_epoch(now)
    advance = _advance(snapshot, wish, definition, context, epoch)
    step = open_transition(snapshot, state, epoch, definition)
    writes = step.writes
    writes.states[state] = _left(doc, wish, epoch, now)
    writes.timers[state] = None
    writes.claims.update(forgotten_claim(doc))
    writes.receipts.update(receipts.lost(state, doc, now))
    writes.events.append(_event(request, wish, doc, epoch))
    writes.meta.update(_agents_patch(snapshot, wish))
    if _is_task(doc) and wish.how != "error":
        writes.outputs[state] = wish.output if wish.how == "output" else snapshot.entries[state].raw
    more = take(step, snapshot, state, advance, definition, context)
    if more is not None:
        return Decision(answer=more)
    writes.notices.extend(stop_notices({state: doc}))  # only now: closing a scope drops the notices of what is inside
    answer = RunAnswer(answer=_told(step, wish), at=now)
    done = step.decision(answer)
    return replace(done, changes=replace(step.writes, assigned=wish.agents))


def _advance(
    snapshot: Snapshot, wish: Resolve, definition: Definition, context: Mapping[str, Json], epoch: int
) -> Advance:
    state, doc, machine = wish.state, snapshot.states[wish.state], definition.machine
    visits, clock = visits_to_leave(snapshot, state), clock_of(snapshot.now, epoch)
    if wish.how == "error":
        fail = engine.fail if wish.handled and _is_task(doc) else engine.break_off
        return fail(machine, state, visits, wish.error, wish.cause, context, clock)
    if not _is_task(doc):
        return engine.wake(machine, state, visits, context, clock)
    if wish.how == "skip":
        return engine.skip(machine, state, visits, context, clock)
    return engine.complete(machine, state, visits, wish.output, context, clock)


def _left(doc: StateDoc, wish: Resolve, epoch: int, now: int) -> StateDoc:
    """Return the state without its holder. A Task that succeeds is closed here, all else by the transition."""
    free = replace(doc, lease=Lease(epoch=epoch), claim=None, reminders=0)
    if wish.how == "error" or not _is_task(doc):
        return free
    return replace(
        free,
        status=Status.SUCCEEDED,
        kind=None,
        started_at=doc.started_at or now,
        finished_at=now,
        not_before=None,
        delay_s=None,
    )


def _is_task(doc: StateDoc) -> bool:
    """Return True for a Task, also for one that its retry is to enter again."""
    return doc.kind in (None, "Task")


def _assign(snapshot: Snapshot, request: RunRequest, wish: Resolve) -> RunDecision:
    """Give the state to other agents. A holder that is not one of them is fenced out; the new ones are told."""
    state, doc, now = wish.state, snapshot.states[wish.state], snapshot.now
    changes, holder = Changes(), doc.lease.owner_agent_id
    if doc.lease.token is not None and holder not in wish.agents:
        freed = release(snapshot, Release(state=state, token=None, force=True)).changes
        assert freed is not None, "a lease that is held can be released"
        changes = replace(freed, notices=stop_notices({state: doc}))
    after = changes.states.get(state, doc)
    told = [ready_again(state, after, now, "assigned")] if after.is_claimable(now) else []
    answer: dict[str, Json] = {
        "state": state,
        "state_status": after.status.value,
        "run_status": RunStatus.RUNNING.value,
        "assigned": list(wish.agents),
        "next": _ASSIGNED,
    }
    return Decision(
        answer=RunAnswer(answer=answer, at=now),
        changes=replace(
            changes,
            meta=_agents_patch(snapshot, wish),
            events=[_event(request, wish, doc, doc.lease.epoch), *changes.events],
            notices=[*changes.notices, *told],
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
    told: dict[str, Json] = {"epoch": epoch, "how": wish.how or "assign"}
    told |= {"agents": list(wish.agents)} if wish.agents else {}
    told |= {"held_by": doc.lease.owner_agent_id} if doc.lease.token is not None else {}
    return Event(type="StateResolved", state=wish.state, data=request.told(**told))


def _told(step: Transition, wish: Resolve) -> dict[str, Json]:
    doc = step.writes.states[wish.state]
    answer: dict[str, Json] = {
        "state": wish.state,
        "state_status": doc.status.value,
        "run_status": step.run_status.value,
        "next_states": list(step.entered[:_MOST_NAMED]),
        "next": _ENDED if step.run_status is RunStatus.RUNNING else _OVER,
    }
    return answer | ({"assigned": list(wish.agents)} if wish.agents else {})


_ASSIGNED: Final = "The agents are told, and may take the state; explain_run says why if nobody does."
_ENDED: Final = "The run goes on with what follows; read_workflow_control_plane shows it."
_OVER: Final = "The run is over; finalize_workflow writes its audit record."
