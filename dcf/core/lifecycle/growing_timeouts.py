"""Pauses an open run when its time is up, and restarts its time when it is resumed. Pure.

A workflow whose TimeoutSeconds have passed fails (`progress.time_out_run`). An open run is not lost by that: no lease
is granted in it until it is resumed (`resume_run`), and then its time begins again. While the run is paused, for
whatever reason, its time does not pass.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.decision import Decision, Event, Notice, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.notices import NoticeKind
from dcf.core.documents.stored_values import count_of
from dcf.core.lifecycle.kickoff import deadline
from dcf.values.instants import from_text, to_text
from dcf.values.json_text import Json

BECAUSE: Final = "paused_because"
"""The field of meta that says why a run is paused, if the call that paused it gave a reason."""

NOT_PAUSED: Final[Mapping[str, Json]] = {"paused_at": None, BECAUSE: None}
"""The fields of meta of a run that is not paused, or that has ended."""

TIMED_OUT: Final = "timeout"
"""Why an open run is paused when its time has passed."""

_TEXT: Final = "The time of the run is up: it is paused. `resume_run` gives it as much time again; `close_run` ends it."


def pause_overdue(snapshot: Snapshot) -> Decision[RunStatus | None]:
    """Pause the run if its time is up, and tell its planner. None: it is not, or the run has ended, or is paused."""
    meta, limit = snapshot.meta, from_text((snapshot.meta_document or {}).get("deadline"))
    if meta is None or meta.status is not RunStatus.RUNNING or meta.is_paused:
        return Decision(answer=None)
    if limit is None or limit > snapshot.now:
        return Decision(answer=None)
    notice = Notice(
        type=f"{NoticeKind.NOTE}.timeout-{limit}",
        state=None,
        epoch=snapshot.now,
        reason=NoticeKind.NOTE.value,
        content={"from": "dcf", "text": _TEXT},
    )
    return Decision(
        answer=meta.status,
        changes=WriteSet(
            meta=paused(snapshot, to_text(snapshot.now), TIMED_OUT),
            events=[Event(type="RunTimedOut", data={"deadline": to_text(limit)})],
            notices=[notice] if meta.has_planner else [],
        ),
    )


def paused(snapshot: Snapshot, since: Json, reason: str | None) -> dict[str, Json]:
    """Return the fields of meta of a run that is paused."""
    members: dict[str, Json] = {} if reason is None else {BECAUSE: reason}
    return {"paused_at": since, **members} | ({} if _limit(snapshot) is None else {"deadline": None})


def resumed(snapshot: Snapshot) -> dict[str, Json]:
    """Return the fields of meta of a run that is resumed: its time begins again, if it has a limit."""
    limit = _limit(snapshot)
    return {**NOT_PAUSED} | ({} if limit is None else deadline(snapshot.now, limit))


def _limit(snapshot: Snapshot) -> int | None:
    """Return the seconds after which an open run is paused; None for a run without that limit."""
    return count_of((snapshot.meta_document or {}).get("timeout_s")) or None
