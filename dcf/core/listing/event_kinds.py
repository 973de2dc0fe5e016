"""Every kind of event: what the history of a run records, and what agents get in inboxes and webhooks, field by field.

Data for readers: the reference is made of it, and tests compare it with what is written. Pure.
"""

from collections.abc import Mapping
from typing import Final

from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class EventKind:
    """A kind of event: what has happened, in one sentence, and the fields that events of it can have of their own."""

    meaning: str
    fields: tuple[str, ...] = ()


def _kind(meaning: str, fields: str = "") -> EventKind:
    return EventKind(meaning=meaning, fields=tuple(fields.split()))


HISTORY: Final[Mapping[str, EventKind]] = {
    "AgentsAssigned": _kind("States got other agents; `count` replaces a very long list.", "agents count reason"),
    "AgentsJoined": _kind("Agents joined the pool of a unit.", "agents"),
    "AreasOverlap": _kind("A state was leased whose area others work in.", "overlaps count"),
    "ArtifactPut": _kind("An artifact was kept.", "artifact_id name content_type size sha256"),
    "BudgetSet": _kind("The run got another budget.", "budget reason"),
    "CallbackAwaited": _kind(
        "The holder handed its task token out, and the state waits for the callback.", "epoch owner"
    ),
    "ChildStarted": _kind("The child run of a state was started.", "epoch run"),
    "DocumentEdited": _kind(
        "A document of the run was edited by hand; the value is not recorded.", "key path operation who"
    ),
    "GateDecided": _kind(
        "A gate got a verdict.",
        "epoch gate content_sha256 verdict judged_by criteria comment exit_code output_tail duration_s reason",
    ),
    "GateOpened": _kind("An output waits for the verdict of a gate.", "gate kind content_sha256 author asked epoch"),
    "GateOverridden": _kind("An operator let an output pass a gate.", "gate overridden_by reason content_sha256 epoch"),
    "GroupSealed": _kind("Nothing more comes into a group.", "reason"),
    "HumanTaskDefaulted": _kind(
        "The deadline of a human task passed, and its default choice was taken.", "epoch choice"
    ),
    "HumanTaskEscalated": _kind("Further people may answer a human task.", "epoch to groups"),
    "IssueOpened": _kind("An issue was written into the journal.", "issue agent blocks"),
    "IssueResolved": _kind("An issue was resolved.", "issue how agent reason"),
    "LeaseAcquired": _kind(
        "An agent leased a state; `takeover` is true if the lease of another had expired.",
        "epoch owner attempt ttl_s takeover",
    ),
    "LeaseReleased": _kind("A state was released, or taken from its holder.", "epoch forced reason"),
    "LeaseRenewed": _kind("A lease was renewed; not every renewal is recorded.", "epoch ttl_s"),
    "NoteLeft": _kind("A note was left for the planner.", "note agent text reason"),
    "NotificationFailed": _kind("An agent could not be notified.", "agent reason epoch failure error"),
    "NotificationSent": _kind("An agent was notified; `agents` names all of a pool.", "agent reason epoch agents"),
    "PlannerReminded": _kind("The planner was reminded of a run that is not started.", "reason reminders"),
    "QuestionAnswered": _kind(
        "A question of a worker was answered.", "question agent answered_by answer comment reason"
    ),
    "QuestionAsked": _kind(
        "A worker asked a question; `gave_back` is true if it released its state.",
        "question agent text choices to gave_back epoch reason",
    ),
    "QuestionExpired": _kind("No person or planner answered a question in time.", "question agent"),
    "ResultCorrected": _kind(
        "The output of a state was replaced; `was` is the former one if it is short.", "epoch before after was reason"
    ),
    "RunBlocked": _kind("An issue blocks the run: no lease is granted until it is resolved.", "issue text agent"),
    "RunCancelled": _kind("The run was cancelled.", "reason"),
    "RunClosed": _kind("An open run was closed; `left` counts the units that had not ended.", "status left reason"),
    "RunCreated": _kind(
        "The documents of the run were written; the first event of every run.",
        "definition_sha256 rerun_of parent from kept grown reason",
    ),
    "RunDeleted": _kind("The run is being deleted.", "reason"),
    "RunEndHeld": _kind("The run will have succeeded once the issues that block it are resolved.", "issues"),
    "RunFailed": _kind("The run failed; `state` is the state in which it did.", "error cause"),
    "RunFinalized": _kind("The audit record of the run was written.", "status reason"),
    "RunHeld": _kind("The run must be kept.", "hold reason"),
    "RunNested": _kind("A run was opened under a unit of this run.", "run"),
    "RunPaused": _kind("The run was paused: no lease is granted until it is resumed.", "reason"),
    "RunReleased": _kind("The run may be deleted again.", "hold reason"),
    "RunRerun": _kind("The run was repeated as another one.", "run from reason"),
    "RunResumed": _kind("A paused run continues.", "reason"),
    "RunRetried": _kind("A run that had not succeeded continues.", "retried states epoch reason"),
    "RunSealed": _kind("Nothing more comes into an open run.", "reason"),
    "RunStarted": _kind("The run was started.", "reason"),
    "RunSucceeded": _kind("The run succeeded."),
    "RunTimedOut": _kind("The time limit of an open run passed.", "deadline"),
    "RunUnblocked": _kind("An issue no longer blocks the run.", "issue still_blocked reason"),
    "SignalReceived": _kind(
        "A signal arrived; `kept` is true if no state waited for it yet.", "signal number kept reason"
    ),
    "StateCancelled": _kind("A state was cancelled.", "epoch"),
    "StateConcluded": _kind(
        "A person, a signal, a callback or a child run ended a state; `via` says which of them.",
        "epoch how via signal number answered_by choice comment group run error cause reason",
    ),
    "StateEntered": _kind("A state was entered; `source` is the state before it.", "epoch source"),
    "StateFailed": _kind(
        "A state failed; `caught_by` is the state that follows by a Catch.", "epoch error cause caught_by"
    ),
    "StateReminded": _kind("The agents of a state that is not leased were notified again.", "epoch reason"),
    "StateReopened": _kind("A state that had ended was opened again, since its run was retried.", "epoch"),
    "StateResolved": _kind(
        "An operator ended a state or gave it to others; `held_by` had its lease.", "epoch how agents held_by reason"
    ),
    "StateRetried": _kind("A state failed and is tried again, by its Retry.", "epoch error cause retry not_before"),
    "StateSucceeded": _kind("A state succeeded.", "epoch source"),
    "StateUntaken": _kind(
        "No agent leased a state in spite of reminders, and the planner was notified.", "epoch reminders"
    ),
    "StateUpdated": _kind("The holder of a state wrote its status or an output, without ending it.", "epoch output"),
    "StatesSkipped": _kind("States were not reached and are skipped.", "states"),
    "TaskHeartbeat": _kind("A heartbeat arrived for a Task that waits for a callback.", "epoch"),
    "TaskLogged": _kind("A function or an agent logged a line.", "epoch number message fields"),
    "TimerRearmed": _kind("A timer of a state was missing and was set again.", "epoch"),
    "TimesHealed": _kind("Times of a state that lay in the future were corrected.", "epoch"),
    "UnitAdded": _kind("A unit of work was added to an open run.", "kind group parent depends_on title reason"),
    "UnitRetried": _kind("A unit that had failed is tried again.", "epoch retry error reason"),
    "UnitRewound": _kind("A unit was taken back, with what followed it.", "epoch was unit output reason"),
}
"""What the history of a run records, by the type of the event. `reason` is what the caller gave."""

OF_HISTORY: Final = ("id", "at", "type", "state", "by")
"""The fields that every event of a history can have: its cursor, time and type, the path of a state, the caller."""

_TEXT: Final = "from"

INBOX: Final[Mapping[str, EventKind]] = {
    "workflow_event": _kind("A state is ready for the agent, or can be taken again; `reason` says why."),
    "lease_lost": _kind("The agent has lost its lease on a state, and must stop working on it.", "epoch"),
    "run_over": _kind("The run has ended while the agent held a state of it.", "status"),
    "run_finished": _kind("The run has ended. For its planner.", "status"),
    "run_stalled": _kind("The run does not continue; `reason` says why. For its planner."),
    "run_blocked": _kind("An issue blocks the run. For its planner.", f"issue text {_TEXT}"),
    "human_task": _kind("A task waits for an answer of this person.", "epoch title"),
    "note": _kind("Somebody left a note. For the planner of the run.", f"note text {_TEXT}"),
    "question": _kind(
        "A worker asks a question. For the planner or the people asked.",
        f"question_id question choices waits_until {_TEXT}",
    ),
    "question_answered": _kind(
        "The question of this worker was answered.",
        f"question_id question answer comment gave_back nobody_answered {_TEXT}",
    ),
    "gate_opened": _kind(
        "An output waits for a verdict of this agent.",
        f"gate kind content_sha256 attempt output author command criteria {_TEXT}",
    ),
    "needs_work": _kind(
        "A gate failed, and the output came back to its author.", f"gate attempt failed_criteria {_TEXT}"
    ),
}
"""What `await_workflow_event` gives an agent, by the type of the event."""

OF_INBOX: Final = (
    *("type", "event_id", "workflow_id", "target_state", "source_state", "reason"),
    *("payload", "provenance", "ts", "control_plane"),
)
"""The fields of every event of an inbox."""

WEBHOOKS: Final[Mapping[str, EventKind]] = {
    "work": _kind("A state was leased for the agent.", "work task_token answer_at"),
    "cancelled": _kind("The work is no longer wanted: stop working on this state.", "status epoch"),
}
"""The types of webhook requests that no event of an inbox has; all others have its type and bring no work."""

OF_WEBHOOKS: Final = ("agent_id", "event_id", "workflow_id", "state", "reason", "payload", "provenance")
"""The members of `data` in every webhook request."""
