"""The kinds of refusals about a run that is paused, or that issues block: of leases, and of ends.

An issue blocks the run until it is resolved. A run on hold is blocked by its own evaluations, until an operator
releases it.
"""

from collections.abc import Sequence
from typing import Final

from dcf.core.documents.model import Meta
from dcf.core.leasing.blockers import Blocker
from dcf.values.refusal import Refusal, RefusalKind

WAITS_FOR_OPERATOR: Final = (
    "Finish or release what you hold, then wait for the workflow event. An operator lets the run continue with "
    "`retry_run`."
)
ONLY_OPERATORS_RELEASE: Final = Refusal.kind(
    "run_held",
    "The run is on hold because its evaluations ended processes: only an operator releases it.",
    "Ask an operator to call `retry_run`, once the cause is known; `explain_run` names the state.",
)
RUN_PAUSED: Final = Refusal.kind(
    "run_paused",
    "The run is paused: no lease is granted until it is resumed.",
    "Finish or release what you hold, then wait for the workflow event; `resume_run` lets the run continue.",
)
ON_HOLD: Final = Refusal.kind("run_blocked", "The run is on hold: {hold.shown_text}", WAITS_FOR_OPERATOR)
RUN_BLOCKED: Final = Refusal.kind(
    "run_blocked",
    "The run is blocked by {issue}: {text:escaped 200}",
    "Finish or release what you hold, then wait for the workflow event. A person, the planner of the run or "
    "an operator ends it with `resolve_issue`.",
)
STILL_ON_HOLD: Final = Refusal.kind(
    "issues_open",
    "A run does not succeed while it is on hold: {hold.shown_text}",
    "An operator releases the run first with `retry_run`. The run can be ended as failed.",
)
ISSUES_OPEN: Final = Refusal.kind(
    "issues_open",
    "A run does not succeed while {issue} blocks it: {text:escaped 200}",
    "A person, the planner of the run or an operator resolves it first with `resolve_issue`. "
    "The run can be ended as failed.",
)
STATES_OPEN: Final = Refusal.kind(
    "states_open",
    "A run does not succeed while states of it are open: {paths:named}.",
    "Let them end, or finalize the run with another status: failed, partial or cancelled.",
)


def no_leases(meta: Meta) -> Refusal | None:
    """Return why a running run grants no lease: it is paused, or blocked; None if leases are granted."""
    if meta.is_paused:
        return RUN_PAUSED.refuse()
    return run_blocked(meta.blocked_by) if meta.blocked_by else None


def run_blocked(blockers: Sequence[Blocker]) -> Refusal:
    """Refuse a new lease because an issue blocks the run."""
    return _refused(ON_HOLD, RUN_BLOCKED, blockers)


def issues_open(blockers: Sequence[Blocker]) -> Refusal:
    """Refuse that a run succeeds while issues that ask for a person are open, or the run is on hold."""
    return _refused(STILL_ON_HOLD, ISSUES_OPEN, blockers)


def _refused(on_hold: RefusalKind[Refusal], blocked: RefusalKind[Refusal], blockers: Sequence[Blocker]) -> Refusal:
    """Refuse because of the hold if there is one, or else the first issue, with the number of the others."""
    hold = next((blocker for blocker in blockers if blocker.is_hold), None)
    if hold is not None:
        return on_hold.refuse(hold=hold)
    first, more = blockers[0], len(blockers) - 1
    others = f" and {more} more" if more else ""
    return blocked.refuse(issue=f"issue '{first.issue}'{others}", text=first.text)
