"""The refusals of looking for work across runs, and of work beyond a limit, each with what to do next.

nothing_ready        nothing_found        no state of any run that this agent can take now
work_limit_reached   work_limit_reached   as much is held as a limit of work in progress allows
"""

from collections.abc import Sequence
from typing import Final

from dcf.features.work.limits import LimitReached
from dcf.values.refusal import Refusal

_TOLD: Final = 3
_NAMED: Final = 5


def nothing_found(agent: str, reasons: Sequence[str]) -> Refusal:
    """Refuse a claim across runs because nothing was found; `reasons` are why states that looked ready were refused."""
    refused = "" if not reasons else f" What looked ready was refused: {' '.join(dict.fromkeys(reasons[:_TOLD]))}"
    return Refusal(
        code="nothing_ready",
        message=f"No run has a state that '{agent}' can take now.{refused}",
        hint="Wait with `await_workflow_event`, or look again after retry_after_s.",
        retry_after_s=5,
    )


def work_limit_reached(limit_reached: LimitReached) -> Refusal:
    """Refuse a lease because as much is held as the limit of the agent or the project allows."""
    limit = limit_reached.limit
    holder = f"Agent '{limit.name}' may hold" if limit.kind == "agent" else f"Project '{limit.name}' may have"
    holders = ", ".join(f"'{state}' of run '{run}'" for run, state in limit_reached.held[:_NAMED])
    more = f" and {len(limit_reached.held) - _NAMED} more" if len(limit_reached.held) > _NAMED else ""
    return Refusal(
        code="work_limit_reached",
        message=f"{holder} {limit.most} states at a time, and these are held: {holders or 'none any more'}{more}.",
        hint="Finish or release one of them, then try again.",
        retry_after_s=5,
    )
