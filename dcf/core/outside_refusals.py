"""Every refusal about Tasks that wait for something outside of dcf, with its code and a hint what to do next.

    not_ready            waits_outside                 no agent can take such a state
    not_waiting          no_longer_waits               the state waits for nothing outside

The other refusals are in `refusals`.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.answers import StateRefusal
from dcf.core.model import StateDoc

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
