"""The kinds of refusals about Tasks that wait for something outside of dcf. The others are in `documents/refusals`."""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.values.refusal import Refusal

AWAITED: Final[Mapping[str, str]] = {
    "Callback": "a callback",
    "Human": "a person",
    "Signal": "a signal",
    "Child": "a child run",
    "Gate": "the verdicts of its gates",
}
"""The event for which a state waits, in words, by the type in its document."""
WAITS_OUTSIDE: Final = StateRefusal.kind(
    "not_ready",
    "State '{state}' waits for {awaited}; no agent takes it.",
    "Work on other states; `explain_run` says what this one waits for and how it is ended.",
)
NO_LONGER_WAITS: Final = StateRefusal.kind(
    "not_waiting",
    "State '{state}' is {doc.status.value} and waits for nothing outside.",
    "`read_workflow_control_plane` shows it: what it waited for has come, or control has not reached it.",
)
NO_SUCH_SIGNAL: Final = Refusal.kind(
    "unknown_signal",
    "No state of this workflow waits for a signal '{name}': it waits for {known:list 10}.",
    "Send a signal that a Task of the workflow waits for, by its name.",
)
NO_SIGNAL_AWAITED: Final = Refusal.kind(
    "unknown_signal",
    "No state of this workflow waits for a signal '{name}': none of its Tasks has the Resource dcf:signal.",
    "Send a signal that a Task of the workflow waits for, by its name.",
)
SIGNALS_FULL: Final = Refusal.kind(
    "signals_full",
    "The run keeps {most} signals that no state has taken, which is as many as it may.",
    "Send it again once states have taken some; `explain_run` says what the run waits for.",
)
TOO_LARGE_SIGNAL: Final = Refusal.kind(
    "signals_full",
    "The payloads of the signals that the run keeps would be more than {most} bytes.",
    "Send a smaller payload, or again once states have taken some of them.",
)
STATES_MOVED: Final = Refusal.kind(
    "conflict",
    "States kept beginning and ceasing to wait for the signal; nothing was written.",
    "Send it again with the same `request_id`.",
)
RUN_MOVED: Final = Refusal.kind(
    "conflict",
    "Run '{run}' has changed since this call read it; nothing was written.",
    "Read that run again, and repeat the call if you still want it.",
)
STARTS_NOTHING: Final = Refusal.kind(
    "forbidden",
    "{name} created the run and may not start runs: it is revoked or expired, or has no scope plan.",
    "Start the run again with a key that is valid and has the scope plan.",
)
TASK_TOKEN_UNKNOWN: Final = Refusal.kind(
    "task_token_unknown",
    "Unknown task token: no existing run has issued it.",
    "Send the whole `task_token`, as you received it. A deleted or expired run accepts no task tokens.",
)
TASK_TOKEN_OUTDATED: Final = Refusal.kind(
    "task_token_outdated",
    "This task token is no longer valid for state '{state}': {why}.",
    "Nothing was stored. A retry of the state hands out another token; use that one.",
)
TASK_TOKEN_USED: Final = Refusal.kind(
    "task_token_used",
    "This task token has ended state '{state}' before, with another result.",
    "Nothing of this call was stored: a token serves once. Only the same call may be repeated.",
)


def waits_outside(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse a lease because the state waits for something outside."""
    return WAITS_OUTSIDE.refuse(state=state, doc=doc, awaited=AWAITED.get(doc.kind or "", "something outside"))
