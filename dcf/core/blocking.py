"""Blocks a run by an issue, and lets it go on once the issue is resolved. Pure.

Both add to the changes of another decision, so that a gate or a budget blocks the run in the transaction in which it
finds the reason. They need meta, which every transaction reads and watches; unblocking also needs the open states.
"""

from typing import Final

from dcf.core.blockers import MOST_BLOCKERS, Blocker, write_blockers
from dcf.core.decision import Changes, Event, Notice, Snapshot
from dcf.core.halting import announce_ready
from dcf.core.model import Meta, RunStatus
from dcf.core.notices import NoticeKind
from dcf.values.json_text import Json
from dcf.values.records import replace

UNBLOCKED: Final = "unblocked"
"""Reason of the notices of a run whose last blocking issue was resolved."""


def has_room(meta: Meta) -> bool:
    """Return True if one more issue may block the run."""
    return len(meta.blocked_by) < MOST_BLOCKERS


def block(writes: Changes, meta: Meta, blocker: Blocker, by: str) -> Meta:
    """Let nobody get a lease from now on, until this issue is resolved. Return meta as it is from now on.

    The planner is told, unless it raised the issue itself. An issue that blocks the run already changes nothing.
    """
    if any(one.issue == blocker.issue for one in meta.blocked_by):
        return meta
    blocked_by = (*meta.blocked_by, blocker)
    writes.meta["blocked_by"] = write_blockers(blocked_by)
    data: dict[str, Json] = {"issue": blocker.issue, "text": blocker.as_json()["text"]}
    writes.events.append(Event(type="RunBlocked", data={**data, "agent": by}))
    if meta.planner_agent_id not in (None, by):
        writes.notices.append(_notice(blocker, {**data, "from": by}))
    return replace(meta, blocked_by=blocked_by)


def _notice(blocker: Blocker, content: dict[str, Json]) -> Notice:
    kind = NoticeKind.BLOCKED.value
    return Notice(type=f"{kind}.{blocker.issue}", state=None, epoch=blocker.since, reason=kind, content=content)


def unblock(writes: Changes, snapshot: Snapshot, meta: Meta, issue: str, **told: Json) -> int:
    """End that this issue blocks the run. If no other does, tell the agents of what can be taken; return of how many.

    The open states must have been read.
    """
    left = tuple(one for one in meta.blocked_by if one.issue != issue)
    if left == meta.blocked_by:
        return 0
    writes.meta["blocked_by"] = write_blockers(left)
    writes.events.append(Event(type="RunUnblocked", data={"issue": issue, "still_blocked": bool(left), **told}))
    after = replace(meta, blocked_by=left)
    return (
        0
        if after.is_halted or meta.status is not RunStatus.RUNNING
        else announce_ready(writes, snapshot, after, UNBLOCKED)
    )
