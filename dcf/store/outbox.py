"""Notifications owed by a run, and the due times of its open states.

Entries are written by transactions and leave only when acknowledged, together with the history entry that says so.
Any number of deliverers may read at once; each entry is handed to one of them, and again to another if it dies.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dcf.core.decision import Event, Notice
from dcf.core.listings import needs_clock
from dcf.core.model import RunStatus
from dcf.store.connection import Command, Connection, Connections, Reply, checked, exchange
from dcf.store.keys import RunKeys, decode_state
from dcf.store.told import PLANNER, Announcement, FailedAnnouncement, told_command
from dcf.store.writing import event_command, notice_command
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import load

_GROUP = "relay"
_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """One notification owed.

    `state` None means the planner, and `about` is then the state that it is about, if any; `agent_id` names whom to
    tell in place of those assigned.
    """

    entry_id: str
    type: str
    state: str | None
    epoch: int
    source: str | None
    reason: str
    agent_id: str | None = None
    about: str | None = None

    @property
    def number(self) -> int:
        """How many announcements came before it: reminders are counted in their type."""
        tail = self.type.rpartition("-")[2]
        return int(tail) if tail.isdecimal() else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingOutcome:
    """What is written when somebody was told, or could not be: history, further notices, how the state was told of."""

    events: tuple[Event, ...] = ()
    notices: tuple[Notice, ...] = ()
    told: Announcement | None = None
    failed: FailedAnnouncement | None = None


NOTHING_TOLD = TellingOutcome()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """What a run may need of the clock at this time of the server: whether it still runs, what is owed, what is due.

    `is_final` says that it was finalized, `is_left_open` that its open states were to stay as they are.
    """

    now: int
    exists: bool
    is_running: bool
    owed: int
    due: tuple[str, ...]
    retention_s: int | None = None
    is_final: bool = False
    is_left_open: bool = False
    is_timed_out: bool = False

    @property
    def is_over(self) -> bool:
        """Whether the clock has nothing left to do, unless the run is finalized later, which lists it again."""
        return self.exists and not needs_clock(is_running=self.is_running, owed=self.owed)


class Outbox:
    """The outbox and timers of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def take(self, workflow_id: str, deliverer: str, most: int = _PAGE) -> list[OutboxEntry]:
        """Entries nobody has taken yet, now taken by this deliverer."""
        key = RunKeys(workflow_id).outbox
        command = ("XREADGROUP", "GROUP", _GROUP, deliverer, "COUNT", most, "STREAMS", key, ">")
        reply = self._connections.send_to_group(key, _GROUP, command)
        return [_entry(entry_id, fields) for _, found in reply or () for entry_id, fields in found]

    def take_over(self, workflow_id: str, deliverer: str, idle_s: float, most: int = _PAGE) -> list[OutboxEntry]:
        """Entries that another deliverer took and did not settle for this long."""
        key = RunKeys(workflow_id).outbox
        command = ("XAUTOCLAIM", key, _GROUP, deliverer, int(idle_s * 1000), "0-0", "COUNT", most)
        reply = self._connections.send_to_group(key, _GROUP, command)
        return [_entry(entry_id, fields) for entry_id, fields in (reply[1] if reply else ()) if fields]

    def begin_anew(self, workflow_id: str, deliverer: str) -> None:
        """Count what was taken as taken now: by a clock that stepped back it may have been taken in the future."""
        key = RunKeys(workflow_id).outbox
        command = ("XAUTOCLAIM", key, _GROUP, deliverer, 0, "0-0", "COUNT", _PAGE, "JUSTID")
        self._connections.send_to_group(key, _GROUP, command)

    def postpone(
        self,
        workflow_id: str,
        entry: OutboxEntry,
        deliverer: str,
        idle_s: float,
        outcome: TellingOutcome = NOTHING_TOLD,
    ) -> None:
        """Count an entry that could not be delivered as idle for so long already, so that it is soon taken over."""
        run = RunKeys(workflow_id)
        later = ("XCLAIM", run.outbox, _GROUP, deliverer, 0, entry.entry_id, "IDLE", int(idle_s * 1000), "JUSTID")
        self._connections.send(later, *_written(run, entry, outcome))

    def settle(self, workflow_id: str, entry: OutboxEntry, outcome: TellingOutcome = NOTHING_TOLD) -> None:
        """Take out an entry that is dealt with; the history says how."""
        run = RunKeys(workflow_id)
        self._connections.send(
            ("MULTI",),
            ("XACK", run.outbox, _GROUP, entry.entry_id),
            ("XDEL", run.outbox, entry.entry_id),
            *_written(run, entry, outcome),
            ("EXEC",),
        )

    def attention(self, workflow_id: str) -> Attention:
        """Look at a run as the clock does."""
        return read_attention(self._connections.send(*attention_commands(RunKeys(workflow_id))))

    def expire(
        self, workflow_id: str, states: Iterable[str], scopes: Iterable[str], branches: Iterable[str], seconds: int
    ) -> None:
        """Give every key of a run the same remaining life, in one transaction and once only, if it is finalized.

        Looked at and done over one connection, so that what one server says never ends another's run.
        """
        run = RunKeys(workflow_id)
        commands: list[Command] = [("EXPIRE", key, seconds, "NX") for key in run.every(states, scopes, branches)]
        self._connections.over_one(lambda connection: _expire(connection, run, commands))


def _written(run: RunKeys, entry: OutboxEntry, outcome: TellingOutcome) -> Iterator[Command]:
    for event in outcome.events:
        yield event_command(run, event)
    for notice in outcome.notices:
        yield notice_command(run, notice)
    for found in (outcome.told, outcome.failed):
        if found is not None:
            yield told_command(run, entry.state or PLANNER, found)


def _entry(entry_id: bytes, fields: list[bytes]) -> OutboxEntry:
    named = dict(zip(map(bytes.decode, fields[::2]), map(bytes.decode, fields[1::2]), strict=True))
    return OutboxEntry(
        entry_id=entry_id.decode(),
        type=named.get("type", ""),
        state=named.get("state"),
        epoch=int(named.get("epoch", 0)),
        source=named.get("source"),
        reason=named.get("reason", ""),
        agent_id=named.get("agent_id"),
        about=named.get("about"),
    )


def _expire(connection: Connection, run: RunKeys, commands: list[Command]) -> None:
    opening: list[Command] = [("WATCH", run.meta), ("JSON.GET", run.meta, "$.finalized_at")]
    _, found = map(checked, exchange(connection, opening))
    is_final = found is not None and load(found) not in ([], [None])
    for reply in exchange(connection, [("MULTI",), *commands, ("EXEC",)] if is_final else [("UNWATCH",)]):
        checked(reply)


def attention_commands(run: RunKeys) -> list[Command]:
    """List what to ask of a run to know what it needs of the clock."""
    return [
        ("TIME",),
        ("JSON.GET", run.meta, "$.status", "$.retention_s", "$.finalized_at", "$.deadline", "$.left_open"),
        ("XLEN", run.outbox),
        ("ZRANGE", run.timers, 0, _PAGE - 1, "WITHSCORES"),
    ]


def read_attention(replies: list[Reply]) -> Attention:
    """Understand the replies to `attention_commands`."""
    clock, meta, owed, timers = replies
    now = int(clock[0]) * SECOND + int(clock[1])
    found = {} if meta is None else {path[2:]: values[0] for path, values in load(meta).items() if values}
    deadline = from_text(found.get("deadline"))
    due = [decode_state(part.decode()) for part, at in zip(timers[::2], timers[1::2], strict=True) if float(at) <= now]
    return Attention(
        now=now,
        exists=meta is not None,
        is_running=found.get("status") == RunStatus.RUNNING,
        owed=owed,
        due=tuple(due),
        retention_s=found.get("retention_s"),
        is_final=found.get("finalized_at") is not None,
        is_left_open=found.get("left_open") is True,
        is_timed_out=deadline is not None and deadline <= now,
    )
