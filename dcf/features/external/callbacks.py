"""Ends a Task by its task token, or keeps it alive: the effect of a callback. Pure.

A token is the authority over one visit of one state: its holder may end that visit once. It is valid from the entry of
the state on, also while an agent still holds its lease: an answer may come before the agent that handed the token out
is done. That agent then gets an event to stop. The token is invalid once the state was retried or has ended.
"""

from dataclasses import replace
from typing import Final

from dcf.asl.surroundings import RunContext
from dcf.core.completing.conclusion import Conclusion, ended
from dcf.core.completing.waiting_refusals import TASK_TOKEN_OUTDATED, TASK_TOKEN_UNKNOWN, TASK_TOKEN_USED
from dcf.core.definitions.model import Definition
from dcf.core.definitions.outputs import TO_CALLBACK, output_refusal
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, once
from dcf.core.documents.usage import UsageReport
from dcf.core.leasing.attention import latest_look
from dcf.core.leasing.lease import is_worth_an_event
from dcf.features.usage.charging import decide_charged
from dcf.values.digest import fingerprint
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal
from dcf.values.task_tokens import TaskToken


@record(frozen=True, slots=True, kw_only=True)
class Callback:
    """The message with a task token: an output, or a failure if it `failed`; and the usage of the work."""

    token: TaskToken
    failed: bool = False
    output: Json = None
    error: str | None = None
    cause: str | None = None
    usage: UsageReport | None = None

    def request(self) -> RunRequest:
        """Return the request, known again by its token: a token is used once."""
        arguments: dict[str, Json] = {"told": [self.failed, self.output, self.error, self.cause]}
        known_by = f"task token {fingerprint(self.token.text)}"
        return RunRequest(verb="task_token", request_id=known_by, arguments=arguments)


def conclude(
    snapshot: Snapshot, request: RunRequest, came: Callback, definition: Definition, context: RunContext
) -> RunDecision:
    """End the state with what came; a repetition with the same content gets the first answer."""
    token = came.token
    if not token.is_made_with(context.secret):
        return Decision(answer=TASK_TOKEN_UNKNOWN.refuse())
    run_receipt = snapshot.run_receipts.get(request.key)
    if run_receipt is not None and run_receipt.content != request.content:
        return Decision(answer=TASK_TOKEN_USED.refuse(state=token.state))
    return once(snapshot, request, lambda: _conclude(snapshot, request, came, definition, context))


def beat(snapshot: Snapshot, token: TaskToken, context: RunContext) -> RunDecision:
    """Restart the state's HeartbeatSeconds."""
    refusal = _why_not(snapshot, token) if token.is_made_with(context.secret) else TASK_TOKEN_UNKNOWN.refuse()
    if refusal is not None:
        return Decision(answer=refusal)
    doc, meta, now = snapshot.states[token.state], snapshot.existing_meta, snapshot.now
    if not doc.waits_outside and doc.lease.token is None:
        return Decision(answer=_alive(doc, token, now))  # no heartbeat is due before an agent takes it
    alive = replace(doc, lease=replace(doc.lease, ts=now))
    event = Event(type="TaskHeartbeat", state=token.state, data={"epoch": doc.lease.epoch})
    changes = WriteSet(
        states={token.state: alive},
        events=[event] if is_worth_an_event(doc, now) else [],
        timers={token.state: latest_look(alive, meta, now)},
    )
    return Decision(answer=_alive(alive, token, now), changes=changes)


def _alive(doc: StateDoc, token: TaskToken, now: int) -> RunAnswer:
    due = doc.heartbeat_due
    answer_data: dict[str, Json] = {
        "state": token.state,
        "state_status": doc.status.value,
        "run_status": RunStatus.RUNNING.value,
        "heartbeat_due": None if due is None else to_text(due),
        "deadline": None if doc.deadline is None else to_text(doc.deadline),
        "hint": _ALIVE if due is not None else _NOT_DUE,
    }
    return RunAnswer(answer=answer_data, at=now)


def _conclude(
    snapshot: Snapshot, request: RunRequest, came: Callback, definition: Definition, context: RunContext
) -> RunDecision:
    state, refusal = came.token.state, _why_not(snapshot, came.token)
    if refusal is None and not came.failed and definition.output_schemas:
        refusal = output_refusal(definition, state, came.output, snapshot.states[state], TO_CALLBACK)
    if refusal is not None:
        return Decision(answer=refusal)
    wish = Conclusion(
        state=state,
        epoch=snapshot.states[state].lease.epoch,
        by="callback",
        failed=came.failed,
        output=came.output,
        error=came.error,
        cause=came.cause,
    )
    if came.usage is None:
        return ended(snapshot, request, wish, definition, context)
    return decide_charged(snapshot, state, came.usage, lambda seen: ended(seen, request, wish, definition, context))


def _why_not(snapshot: Snapshot, token: TaskToken) -> Refusal | None:
    """Return why the token serves no more; None if its visit of the state is open."""
    meta, doc = snapshot.existing_meta, snapshot.states[token.state]
    if meta.status is not RunStatus.RUNNING:
        return TASK_TOKEN_OUTDATED.refuse(state=token.state, why=f"its run is {meta.status.value}")
    if doc.status.is_terminal:
        return TASK_TOKEN_OUTDATED.refuse(state=token.state, why=f"the state is {doc.status.value}")
    if doc.visit is None or str(doc.visit) != token.visit:
        return TASK_TOKEN_OUTDATED.refuse(state=token.state, why="the state was retried or entered again")
    return None


_ALIVE: Final = "Send the next heartbeat before heartbeat_due, or end the state with `send_task_success`."
_NOT_DUE: Final = "No heartbeat is due; end the state with `send_task_success` or `send_task_failure`."
