"""The kinds of refusals of looking for work across runs, and of work beyond a limit."""

from collections.abc import Sequence
from typing import Final

from dcf.features.work.limits import LimitReached
from dcf.values.refusal import Refusal

_TOLD: Final = 3
_NAMED: Final = 5
NOTHING_FOUND: Final = Refusal.kind(
    "nothing_ready",
    "No run has a state that '{agent}' can take now.{refused}",
    "Wait with `await_workflow_event`, or look again after retry_after_s.",
    retry_after_s=5,
)
WORK_LIMIT_REACHED: Final = Refusal.kind(
    "work_limit_reached",
    "{holder} {most} states at a time, and these are held: {holders}{more}.",
    "Finish or release one of them, then try again.",
    retry_after_s=5,
)


def nothing_found(agent: str, reasons: Sequence[str]) -> Refusal:
    """Refuse a claim across runs because nothing was found; `reasons` are why states that looked ready were refused."""
    refused = "" if not reasons else f" What looked ready was refused: {' '.join(dict.fromkeys(reasons[:_TOLD]))}"
    return NOTHING_FOUND.refuse(agent=agent, refused=refused)


def work_limit_reached(limit_reached: LimitReached) -> Refusal:
    """Refuse a lease because as much is held as the limit of the agent or the project allows."""
    limit = limit_reached.limit
    holder = f"Agent '{limit.name}' may hold" if limit.kind == "agent" else f"Project '{limit.name}' may have"
    holders = ", ".join(f"'{state}' of run '{run}'" for run, state in limit_reached.held[:_NAMED])
    more = f" and {len(limit_reached.held) - _NAMED} more" if len(limit_reached.held) > _NAMED else ""
    return WORK_LIMIT_REACHED.refuse(holder=holder, most=limit.most, holders=holders or "none any more", more=more)
