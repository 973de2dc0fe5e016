"""Every refusal about Tasks that wait for something outside of dcf, with its code and a hint what to do next.

    not_ready            waits_outside                 no agent can take such a state
    not_waiting          no_longer_waits               the state waits for nothing outside
    unknown_signal       no_such_signal                no state of the workflow waits for it
    signals_full         signals_full, too_large_signal  the run keeps as many signals as it may
    conflict             states_moved, run_moved       states began and ceased to wait all the time; another run moved
    forbidden            starts_nothing                the key of who created the run may start no others
    task_token_unknown   task_token_unknown            no task token, or of no run that exists
    task_token_outdated  task_token_outdated           its visit of the state is over, or the run is
    task_token_used      task_token_used               it ended the state before, with other content

The other refusals are in `refusals`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.values.refusal import Refusal

_NAMED: Final = 10

AWAITED: Final[Mapping[str, str]] = {
    "Callback": "a callback",
    "Human": "a person",
    "Signal": "a signal",
    "Child": "a child run",
    "Gate": "the verdicts of its gates",
}
"""The event for which a state waits, in words, by the type in its document."""


def waits_outside(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse a lease because the state waits for something outside."""
    return StateRefusal(
        code="not_ready",
        message=f"State '{state}' waits for {AWAITED.get(doc.kind or '', 'something outside')}; no agent takes it.",
        hint="Work on other states; `explain_run` says what this one waits for and how it is ended.",
        doc=doc,
    )


def no_longer_waits(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to end a state that does not wait for anything outside."""
    return StateRefusal(
        code="not_waiting",
        message=f"State '{state}' is {doc.status.value} and waits for nothing outside.",
        hint="`read_workflow_control_plane` shows it: what it waited for has come, or control has not reached it.",
        doc=doc,
    )


def no_such_signal(name: str, known: Sequence[str]) -> Refusal:
    """Refuse a signal for which no state of the workflow ever waits."""
    awaited = f"it waits for {', '.join(known[:_NAMED])}" if known else "none of its Tasks has the Resource dcf:signal"
    return Refusal(
        code="unknown_signal",
        message=f"No state of this workflow waits for a signal '{name}': {awaited}.",
        hint="Send a signal that a Task of the workflow waits for, by its name.",
    )


def signals_full(most: int) -> Refusal:
    """Refuse to keep one more signal."""
    return Refusal(
        code="signals_full",
        message=f"The run keeps {most} signals that no state has taken, which is as many as it may.",
        hint="Send it again once states have taken some; `explain_run` says what the run waits for.",
    )


def too_large_signal(most: int) -> Refusal:
    """Refuse to keep a signal that makes the payloads together too large."""
    return Refusal(
        code="signals_full",
        message=f"The payloads of the signals that the run keeps would be more than {most} bytes.",
        hint="Send a smaller payload, or again once states have taken some of them.",
    )


def states_moved() -> Refusal:
    """Refuse a signal because states began and ceased to wait for it all the time."""
    return Refusal(
        code="conflict",
        message="States kept beginning and ceasing to wait for the signal; nothing was written.",
        hint="Send it again with the same `request_id`.",
    )


def run_moved(run: str) -> Refusal:
    """Refuse a decision that rests on another run, because that run has changed."""
    return Refusal(
        code="conflict",
        message=f"Run '{run}' has changed since this call read it; nothing was written.",
        hint="Read that run again, and repeat the call if you still want it.",
    )


def starts_nothing(name: str) -> Refusal:
    """Refuse to start a child run for a run whose creator may not start runs, or no longer may."""
    return Refusal(
        code="forbidden",
        message=f"{name} created the run and may not start runs: it is revoked or expired, or has no scope plan.",
        hint="Start the run again with a key that is valid and has the scope plan.",
    )


def task_token_unknown() -> Refusal:
    """Refuse a text that is no task token of an existing run. The answer hides whether the text or the run is wrong."""
    return Refusal(
        code="task_token_unknown",
        message="Unknown task token: no existing run has issued it.",
        hint="Send the whole `task_token`, as you received it. A deleted or expired run accepts no task tokens.",
    )


def task_token_outdated(state: str, why: str) -> Refusal:
    """Refuse a task token whose visit of the state has ended."""
    return Refusal(
        code="task_token_outdated",
        message=f"This task token is no longer valid for state '{state}': {why}.",
        hint="Nothing was stored. A retry of the state hands out another token; use that one.",
    )


def task_token_used(state: str) -> Refusal:
    """Refuse a task token that has ended the state with other content."""
    return Refusal(
        code="task_token_used",
        message=f"This task token has ended state '{state}' before, with another result.",
        hint="Nothing of this call was stored: a token serves once. Only the same call may be repeated.",
    )
