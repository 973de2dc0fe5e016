"""Notifications owed by a run, and the due times of its open states.

Entries are written by transactions and leave only when acknowledged, together with the history entry that says so.
Any number of deliverers may read at once; each entry is handed to one of them, and again to another if it dies.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dcf.core.decision import Event
from dcf.core.model import RunStatus
from dcf.store.connection import Connections, Reply
from dcf.store.keys import RunKeys, decode_state
from dcf.store.writing import event_command
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import load

_GROUP = "relay"
_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """One notification owed. `state` None means the planner."""

    entry_id: str
    type: str
    state: str | None
    epoch: int
    source: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """What a run may need of the clock now: whether it still runs, what is owed, and which states are due."""

    exists: bool
    is_running: bool
    owed: int
    due: tuple[str, ...]
    retention_s: int | None = None
    is_final: bool = False
    is_timed_out: bool = False


class Outbox:
    """The outbox and timers of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def take(self, workflow_id: str, deliverer: str) -> list[OutboxEntry]:
        """Entries nobody has taken yet, now taken by this deliverer."""
        key = RunKeys(workflow_id).outbox
        command = ("XREADGROUP", "GROUP", _GROUP, deliverer, "COUNT", _PAGE, "STREAMS", key, ">")
        reply = self._connections.send_to_group(key, _GROUP, command)
        return [_entry(entry_id, fields) for _, found in reply or () for entry_id, fields in found]

    def take_over(self, workflow_id: str, deliverer: str, idle_s: float) -> list[OutboxEntry]:
        """Entries that another deliverer took and did not settle for this long."""
        key = RunKeys(workflow_id).outbox
        command = ("XAUTOCLAIM", key, _GROUP, deliverer, int(idle_s * 1000), "0-0", "COUNT", _PAGE)
        reply = self._connections.send_to_group(key, _GROUP, command)
        return [_entry(entry_id, fields) for entry_id, fields in (reply[1] if reply else ()) if fields]

    def postpone(self, workflow_id: str, entry: OutboxEntry, deliverer: str, idle_s: float) -> None:
        """Count an entry that could not be delivered as idle for so long already, so that it is soon taken over."""
        key = RunKeys(workflow_id).outbox
        self._connections.send(
            ("XCLAIM", key, _GROUP, deliverer, 0, entry.entry_id, "IDLE", int(idle_s * 1000), "JUSTID")
        )

    def settle(self, workflow_id: str, entry: OutboxEntry, event: Event | None) -> None:
        """Take out an entry that is dealt with; the history says how."""
        run = RunKeys(workflow_id)
        told = [] if event is None else [event_command(run, event)]
        self._connections.send(
            ("MULTI",),
            ("XACK", run.outbox, _GROUP, entry.entry_id),
            ("XDEL", run.outbox, entry.entry_id),
            *told,
            ("EXEC",),
        )

    def attention(self, workflow_id: str) -> Attention:
        """Look at a run as the clock does."""
        run = RunKeys(workflow_id)
        clock, status, owed, due = self._connections.send(
            ("TIME",),
            ("JSON.GET", run.meta, "$.status", "$.retention_s", "$.finalized_at", "$.deadline"),
            ("XLEN", run.outbox),
            ("ZRANGE", run.timers, 0, _PAGE - 1, "WITHSCORES"),
        )
        return _attention(clock, status, owed, due)

    def expire(
        self, workflow_id: str, states: Iterable[str], scopes: Iterable[str], branches: Iterable[str], seconds: int
    ) -> None:
        """Give every key of a finished run the same remaining life, in one transaction and once only."""
        keys = RunKeys(workflow_id).every(states, scopes, branches)
        self._connections.send(("MULTI",), *(("EXPIRE", key, seconds, "NX") for key in keys), ("EXEC",))


def _entry(entry_id: bytes, fields: list[bytes]) -> OutboxEntry:
    named = dict(zip(map(bytes.decode, fields[::2]), map(bytes.decode, fields[1::2]), strict=True))
    return OutboxEntry(
        entry_id=entry_id.decode(),
        type=named.get("type", ""),
        state=named.get("state"),
        epoch=int(named.get("epoch", 0)),
        source=named.get("source"),
        reason=named.get("reason", ""),
    )


def _attention(clock: Reply, meta: Reply, owed: int, timers: list[bytes]) -> Attention:
    now = int(clock[0]) * SECOND + int(clock[1])
    found = {} if meta is None else {path[2:]: values[0] for path, values in load(meta).items() if values}
    deadline = from_text(found.get("deadline"))
    due = [decode_state(part.decode()) for part, at in zip(timers[::2], timers[1::2], strict=True) if float(at) <= now]
    return Attention(
        exists=meta is not None,
        is_running=found.get("status") == RunStatus.RUNNING,
        owed=owed,
        due=tuple(due),
        retention_s=found.get("retention_s"),
        is_final=found.get("finalized_at") is not None,
        is_timed_out=deadline is not None and deadline <= now,
    )
