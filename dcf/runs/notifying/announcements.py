"""Turns an outbox entry into an event: its recipients, its content, and whether it is outdated. Pure.

An entry without a state goes to the planner; `about` then names the state that it reports on.
"""

from collections.abc import Mapping
from math import gcd
from typing import Final
from zlib import crc32

from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.core.documents.notices import TO_ANYBODY, TO_HOLDERS, NoticeKind, talk_kind
from dcf.core.lifecycle.inspection import is_ready
from dcf.runs.notifying.contents import NOTICES
from dcf.store.events.outbox import OutboxEntry
from dcf.store.keys.table import RunKeys
from dcf.values.instants import to_text
from dcf.values.json_text import Json

_MOST_OF_POOL: Final = 16
"""Most members of a pool that one event may reach; of a larger pool, reminders reach the others."""

_HUMAN: Final = "human_task"
"""Type of the events that tell people of a task."""

_ALWAYS_TRUE: Final = frozenset({NoticeKind.FINISHED.value}) | TO_HOLDERS

_OF_STATES: Final = frozenset({"workflow_event", "lease_lost", _HUMAN})
"""Types of the events that are about a state; all others are about the run, and `target_state` is what it is about."""


def event_id_of(workflow_id: str, entry: OutboxEntry, *, is_over: bool = False) -> str:
    """Return the id of an event, by which receivers drop duplicates.

    The part before the epoch names the subject of the event: an inbox keeps only the newest event of each subject. The
    end of a run is one subject, whichever of its states an agent holds.
    """
    return f"{workflow_id}:{_thing(entry, is_over=is_over)}:{entry.epoch}:{entry.type}"


def _thing(entry: OutboxEntry, *, is_over: bool) -> str:
    if entry.type in TO_HOLDERS:
        return "run-over" if is_over else f"{entry.state}:stop"
    about = entry.state or entry.about or "run"
    return about if talk_kind(entry.type) is None else f"{about}?{entry.type}"  # each note and question is a thing


def recipients(workflow_id: str, entry: OutboxEntry, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the possible recipients, in the order to try: the named agent, the planner, or the assigned agents.

    The first member of a pool depends on the event, and changes with each reminder of it.
    """
    if entry.agent_id is not None:
        return (entry.agent_id,)
    if entry.state is None:
        planner = snapshot.existing_meta.planner_agent_id
        return () if planner is None else (planner,)
    pool = snapshot.existing_meta.assigned(entry.state)
    if len(pool) < 2:  # noqa: PLR2004 - nothing to choose
        return pool
    event = crc32(f"{workflow_id}:{entry.state}:{entry.epoch}".encode())
    first = (event + entry.number * _step(len(pool))) % len(pool)
    return (*pool[first:], *pool[:first])[:_MOST_OF_POOL]


def _step(size: int) -> int:
    """Return by how many members of a pool a reminder begins later than the one before.

    In a large pool the step is as long as possible, so that no member waits longer than needed. It has no divisor in
    common with the size, so every member is the first at some time: of members on remote platforms only the first is
    notified.
    """
    if size <= _MOST_OF_POOL:
        return 1
    return next(step for step in range(_MOST_OF_POOL, 0, -1) if gcd(step, size) == 1)


def is_outdated(entry: OutboxEntry, snapshot: Snapshot) -> bool:
    """Return True if the state or the run has moved on since the entry was written, so that it is no longer true."""
    meta = snapshot.meta
    goes_on = meta is not None and meta.status is RunStatus.RUNNING
    if entry.type in _ALWAYS_TRUE:
        return entry.type in TO_HOLDERS and entry.state is None and goes_on  # the run was retried
    kind = talk_kind(entry.type)
    if kind is not None:
        return NOTICES.contents[kind].is_moot(entry, snapshot)
    if meta is None or not goes_on:
        return True
    state = entry.state or entry.about
    if state is None:
        return entry.type.startswith(NoticeKind.UNSTARTED) and meta.is_started
    if entry.type.startswith(TO_ANYBODY) and meta.assigned(state):
        return True  # an agent was assigned since
    doc = snapshot.states.get(state)
    return doc is None or doc.lease.epoch != entry.epoch or _is_done(entry, meta, doc, snapshot)


def _is_done(entry: OutboxEntry, meta: Meta, doc: StateDoc, snapshot: Snapshot) -> bool:
    """Return True if the state, in the same visit, does not wait any more for whom the entry is for."""
    if entry.type in NOTICES.contents:
        return NOTICES.contents[entry.type].is_moot(entry, snapshot)
    is_repeated = entry.state is not None and entry.number < doc.reminders  # a later reminder says the same
    return is_repeated or not is_ready(meta, doc, snapshot.now)


def event_of(
    run: RunKeys,
    entry: OutboxEntry,
    now: int,
    payload: Json,
    mark: Mapping[str, Json],
    doc: StateDoc | None = None,
    status: RunStatus = RunStatus.RUNNING,
) -> dict[str, Json]:
    """Return the event to deliver, in the seed's format, with its id and the mark of who sent it.

    `status` is that of the run now: the end of a run is one event for an agent, whichever of its states it holds.
    `doc` is the document of its state, from which platforms take their fields.
    """
    is_over = status is not RunStatus.RUNNING
    event: dict[str, Json] = {
        "type": "workflow_event",
        "event_id": event_id_of(run.workflow_id, entry, is_over=is_over),
        "workflow_id": run.workflow_id,
        "target_state": entry.state or entry.about,
        "source_state": entry.source,
        "reason": entry.reason,
        "payload": {} if payload is None else payload,
        "provenance": dict(mark),
        "ts": to_text(now),
        "control_plane": {"meta_key": run.meta},
    }
    if entry.type == NoticeKind.FINISHED:
        return event | {"type": "run_finished", "reason": "run_finished", "status": entry.reason}
    kind = talk_kind(entry.type)
    if kind is not None:
        content = dict(entry.content or {})
        # The texts are others', so the event names who wrote them, and says that they are data.
        return {**event, "type": kind, **content, "provenance": {**mark, "from": content.get("from", "dcf")}}
    if entry.state is None:
        return event | {"type": "run_stalled"}
    if entry.type in TO_HOLDERS:
        if is_over:
            return event | {"type": "run_over", "status": status.value}
        return event | {"type": "lease_lost", "epoch": entry.epoch}
    if entry.type.startswith(TO_ANYBODY):
        event |= {"unassigned": True}
    event["control_plane"] = keys_of_state(run, entry.state)
    if entry.type == NoticeKind.ASKED:
        event |= {"type": _HUMAN, "epoch": entry.epoch, **NOTICES.contents[entry.type].fields(doc)}
    return event


def keys_of_state(run: RunKeys, state: str) -> dict[str, Json]:
    """Return the keys of a state's documents, which its events have: agents may read these documents."""
    return {
        "meta_key": run.meta,
        "state_key": run.state(state),
        "input_key": run.input(state),
        "output_key": run.output(state),
    }


def entry_of(event: Mapping[str, Json]) -> OutboxEntry | None:
    """Return the outbox entry that an event was made from; None if dcf did not make the event."""
    event_id, state = event.get("event_id"), event.get("target_state")
    parts = event_id.rsplit(":", 2) if isinstance(event_id, str) else []
    if len(parts) < 3 or not parts[1].isdecimal() or not (state is None or isinstance(state, str)):  # noqa: PLR2004
        return None
    for_planner = event.get("type") not in _OF_STATES
    return OutboxEntry(
        entry_id="",
        type=parts[2],
        state=None if for_planner else state,
        about=state if for_planner else None,
        epoch=int(parts[1]),
        source=None,
        reason=str(event.get("reason")),
    )
