"""The refusals of looking for work across runs, and of work beyond a limit, each with what to do next.

nothing_ready        nothing_found        no state of any run that this agent can take now
"""

from collections.abc import Sequence
from typing import Final

from dcf.values.refusal import Refusal

_TOLD: Final = 3


def nothing_found(agent: str, reasons: Sequence[str]) -> Refusal:
    """Refuse a claim across runs because nothing was found; `reasons` are why states that looked ready were refused."""
    told = "" if not reasons else f" What looked ready was refused: {' '.join(dict.fromkeys(reasons[:_TOLD]))}"
    return Refusal(
        code="nothing_ready",
        message=f"No run has a state that '{agent}' can take now.{told}",
        hint="Wait with await_workflow_event, or look again after retry_after_s.",
        retry_after_s=5,
    )
