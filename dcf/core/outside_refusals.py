"""Every refusal about Tasks that wait for something outside of dcf, with its code and a hint what to do next.

    not_ready            waits_outside                 no agent can take such a state
    not_waiting          no_longer_waits               the state waits for nothing outside
    task_token_unknown   task_token_unknown            no task token, or of no run that exists
    task_token_outdated  task_token_outdated           its visit of the state is over, or the run is
    task_token_used      task_token_used               it ended the state before, with other content

The other refusals are in `refusals`.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.answers import StateRefusal
from dcf.core.model import StateDoc
from dcf.values.refusal import Refusal

AWAITED: Final[Mapping[str, str]] = {
    "Callback": "a callback",
    "Human": "a person",
    "Signal": "a signal",
    "Child": "a child run",
}
"""What a state waits for, in words, by the type that its document has."""


def waits_outside(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse a lease because the state waits for something outside."""
    return StateRefusal(
        code="not_ready",
        message=f"State '{state}' waits for {AWAITED.get(doc.kind or '', 'something outside')}; no agent takes it.",
        hint="Work on other states; explain_run says what this one waits for and how it is ended.",
        doc=doc,
    )


def no_longer_waits(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to end a state that does not wait for anything outside."""
    return StateRefusal(
        code="not_waiting",
        message=f"State '{state}' is {doc.status.value} and waits for nothing outside.",
        hint="Read the run (read_workflow_control_plane): what it waited for has come, or control has not reached it.",
        doc=doc,
    )


def task_token_unknown() -> Refusal:
    """Refuse a text that is no task token, or none of a run that exists; which of these is not told."""
    return Refusal(
        code="task_token_unknown",
        message="This is no task token of a run that exists.",
        hint="Send the token as it was handed out, whole; a run that was deleted or has expired takes none any more.",
    )


def task_token_outdated(state: str, why: str) -> Refusal:
    """Refuse a task token whose visit of the state is over."""
    return Refusal(
        code="task_token_outdated",
        message=f"This task token serves state '{state}' no more: {why}.",
        hint="Nothing was stored. A retry of the state hands out another token; use that one.",
    )


def task_token_used(state: str) -> Refusal:
    """Refuse a task token that has ended the state with other content."""
    return Refusal(
        code="task_token_used",
        message=f"This task token has ended state '{state}' before, with another result.",
        hint="Nothing of this call was stored: a token serves once. Only the same call may be repeated.",
    )
