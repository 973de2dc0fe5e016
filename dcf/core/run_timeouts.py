"""Pauses a run that grows when its time is up, and begins its time anew when it is resumed. Pure.

A workflow whose TimeoutSeconds have passed fails (`progress.time_out_run`). A run that grows is not lost by that:
nobody gets a lease in it until somebody resumes it, and its time begins again with that.
"""

from typing import Final

from dcf.core.decision import Changes, Decision, Event, Notice, Snapshot
from dcf.core.kickoff import deadline
from dcf.core.model import RunStatus
from dcf.core.notices import NoticeKind
from dcf.core.stored_values import count_of
from dcf.values.instants import from_text, to_text
from dcf.values.json_text import Json

_TEXT: Final = "The time of the run is up: it is paused. resume_run gives it as much time again; close_run ends it."


def pause_overdue(snapshot: Snapshot) -> Decision[RunStatus | None]:
    """Pause the run if its time is up. None: it is not, or the run has ended, or is paused already."""
    meta, limit = snapshot.meta, from_text((snapshot.meta_document or {}).get("deadline"))
    if meta is None or meta.status is not RunStatus.RUNNING or limit is None or limit > snapshot.now:
        return Decision(answer=None)
    told = Notice(
        type=f"{NoticeKind.NOTE}.timeout-{limit}",
        state=None,
        epoch=snapshot.now,
        reason=NoticeKind.NOTE.value,
        content={"from": "dcf", "text": _TEXT},
    )
    paused: dict[str, Json] = {} if meta.is_paused else {"paused_at": to_text(snapshot.now)}
    return Decision(
        answer=meta.status,
        changes=Changes(
            meta={"deadline": None, "timed_out_at": to_text(snapshot.now), **paused},
            events=[Event(type="RunTimedOut", data={"deadline": to_text(limit)})],
            notices=[told] if meta.has_planner else [],
        ),
    )


def restarted(snapshot: Snapshot) -> dict[str, Json]:
    """Return the fields of meta of a run that is resumed: its time begins anew, if it has a limit."""
    document = snapshot.meta_document or {}
    timeout_s = count_of(document.get("timeout_s"))
    return deadline(snapshot.now, timeout_s) if timeout_s else {}
