"""Refusals about a run that is paused, or that issues block: of leases, and of an end that it must not have.

run_paused           run_paused                    no new leases until the run is resumed
run_blocked          run_blocked                   no new leases until the issues that block the run are resolved
only_operators_release  run_held                   the run is on hold, and the caller is no operator
issues_open          issues_open                   a run does not succeed while issues block it or it is on hold
states_open          states_open                   a run does not succeed until its states have ended
"""

from collections.abc import Sequence
from typing import Final

from dcf.core.documents.model import Meta
from dcf.core.leasing.blockers import Blocker
from dcf.values.names import escaped
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import clip

_SHOWN: Final = 200
_NAMED: Final = 5

WAITS_FOR_OPERATOR: Final = (
    "Finish or release what you hold, then wait for the workflow event. An operator lets the run continue with "
    "`retry_run`."
)


def only_operators_release() -> Refusal:
    """Refuse to release a held run: its next evaluation may end a process that all callers share."""
    return Refusal(
        code="run_held",
        message="The run is on hold because its evaluations ended processes: only an operator releases it.",
        hint="Ask an operator to call `retry_run`, once the cause is known; `explain_run` names the state.",
    )


def no_leases(meta: Meta) -> Refusal | None:
    """Return why a running run grants no lease: it is paused, or blocked; None if leases are granted."""
    if meta.is_paused:
        return run_paused()
    return run_blocked(meta.blocked_by) if meta.blocked_by else None


def run_paused() -> Refusal:
    """Refuse a new lease because the run is paused."""
    return Refusal(
        code="run_paused",
        message="The run is paused: no lease is granted until it is resumed.",
        hint="Finish or release what you hold, then wait for the workflow event; `resume_run` lets the run continue.",
    )


def run_blocked(blockers: Sequence[Blocker]) -> Refusal:
    """Refuse a new lease because an issue blocks the run."""
    hold = _hold(blockers)
    if hold is not None:
        return Refusal(code="run_blocked", message=f"The run is on hold: {hold.shown_text}", hint=WAITS_FOR_OPERATOR)
    issue, text = _shown(blockers)
    return Refusal(
        code="run_blocked",
        message=f"The run is blocked by {issue}: {text}",
        hint=(
            "Finish or release what you hold, then wait for the workflow event. A person, the planner of the run or "
            "an operator ends it with `resolve_issue`."
        ),
    )


def issues_open(blockers: Sequence[Blocker]) -> Refusal:
    """Refuse that a run succeeds while issues that ask for a person are open, or the run is on hold."""
    hold = _hold(blockers)
    if hold is not None:
        return Refusal(
            code="issues_open",
            message=f"A run does not succeed while it is on hold: {hold.shown_text}",
            hint="An operator releases the run first with `retry_run`. The run can be ended as failed.",
        )
    issue, text = _shown(blockers)
    return Refusal(
        code="issues_open",
        message=f"A run does not succeed while {issue} blocks it: {text}",
        hint=(
            "A person, the planner of the run or an operator resolves it first with `resolve_issue`. "
            "The run can be ended as failed."
        ),
    )


def _hold(blockers: Sequence[Blocker]) -> Blocker | None:
    return next((blocker for blocker in blockers if blocker.is_hold), None)


def _shown(blockers: Sequence[Blocker]) -> tuple[str, str]:
    """Return the first issue with the number of the others, and its text, for a message."""
    first, more = blockers[0], len(blockers) - 1
    others = f" and {more} more" if more else ""
    return f"issue '{first.issue}'{others}", escaped(first.text, _SHOWN)


def states_open(paths: Sequence[str]) -> Refusal:
    """Refuse that a run counts as succeeded while states of it are open."""
    shown = ", ".join(f"'{clip(path)}'" for path in paths[:_NAMED])
    return Refusal(
        code="states_open",
        message=f"A run does not succeed while states of it are open: {shown}{', ...' if paths[_NAMED:] else ''}.",
        hint="Let them end, or finalize the run with another status: failed, partial or cancelled.",
    )
