"""Blocks a run by an issue, and lets it continue once the issue is resolved. Pure.

Both add to the changes of another decision, so that a gate or a budget blocks the run in the transaction in which it
finds the reason. They need meta, which every transaction reads and watches; unblocking also needs the open states and
the whole meta document. A run whose work is done while it is blocked does not succeed: `Transition.succeed_run` keeps
its output in the field `held_end`, and the end comes when the last issue is resolved.
"""

from typing import Final

from dcf.core.completing.transition import Transition
from dcf.core.documents.decision import Event, Notice, Remaining, Snapshot, WriteSet
from dcf.core.documents.model import Meta, RunStatus
from dcf.core.documents.notices import NoticeKind
from dcf.core.documents.stored_values import object_of
from dcf.core.leasing.blockers import MOST_BLOCKERS, Blocker, write_blockers
from dcf.core.leasing.halting import announce_ready
from dcf.values.json_text import Json
from dcf.values.records import record, replace

UNBLOCKED: Final = "unblocked"
"""Reason of the notices of a run whose last blocking issue was resolved."""


def has_room(meta: Meta) -> bool:
    """Return True if one more issue may block the run."""
    return len(meta.blocked_by) < MOST_BLOCKERS


def block(writes: WriteSet, meta: Meta, blocker: Blocker, by: str) -> Meta:
    """Let the run grant no lease until this issue is resolved. Return meta as it is from now on.

    The planner is notified, unless it raised the issue itself. An issue that already blocks the run has no effect.
    """
    if any(other.issue == blocker.issue for other in meta.blocked_by):
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


@record(frozen=True, slots=True, kw_only=True)
class Unblocked:
    """The effect of resolving an issue: the agents of `announced` states are notified, or the run has ended."""

    announced: int = 0
    run_status: RunStatus = RunStatus.RUNNING
    has_ended: bool = False

    @property
    def remaining(self) -> Remaining:
        """The work that is left after the commit."""
        return Remaining(run_over=self.has_ended)


def unblock(writes: WriteSet, snapshot: Snapshot, meta: Meta, issue: str, **event_data: Json) -> Unblocked:
    """Remove an issue that blocks the run. After the last one, notify the agents of ready states, or end the run.

    The open states and the whole meta document must have been read.
    """
    left = tuple(blocker for blocker in meta.blocked_by if blocker.issue != issue)
    if left == meta.blocked_by:
        return Unblocked(run_status=meta.status)
    writes.meta["blocked_by"] = write_blockers(left)
    writes.events.append(Event(type="RunUnblocked", data={"issue": issue, "still_blocked": bool(left), **event_data}))
    after = replace(meta, blocked_by=left)
    if left or meta.status is not RunStatus.RUNNING:
        return Unblocked(run_status=meta.status)
    if _is_held(snapshot):
        return _end(writes, snapshot, after)
    return Unblocked(announced=0 if after.is_halted else announce_ready(writes, snapshot, after, UNBLOCKED))


def _is_held(snapshot: Snapshot) -> bool:
    """Return True if the work of the run is done: a unit that was taken back since is open again."""
    assert snapshot.meta_document is not None, "a transaction that unblocks a run reads its whole meta document"
    return snapshot.meta_document.get("held_end") is not None and not any(
        not doc.status.is_terminal for doc in snapshot.states.values()
    )


def _end(writes: WriteSet, snapshot: Snapshot, meta: Meta) -> Unblocked:
    step = Transition(now=snapshot.now, epoch=snapshot.now, meta=meta, writes=writes)
    writes.meta["held_end"] = None
    step.succeed_run(object_of((snapshot.meta_document or {}).get("held_end")).get("output"))
    return Unblocked(run_status=step.run_status, has_ended=True)
