"""The outbox of a run (its undelivered notifications), and the timers of its open states.

Transactions write the entries. An entry is removed only when it is acknowledged, together with the history entry that
says so. Any number of deliverers may read at once: each entry goes to one of them, and to another if that one dies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from dcf.core.documents.decision import Event, Notice, Snapshot
from dcf.core.documents.model import RunStatus
from dcf.core.documents.premises import Premise
from dcf.core.leasing.attention import NEVER
from dcf.core.lifecycle.retention import RetentionPolicy
from dcf.core.listing.checks import needs_clock
from dcf.errors import StoreUnavailable
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, Connections, all_checked, checked, exchange
from dcf.store.connection.documents import micros
from dcf.store.events.notified import PLANNER, Announcement, FailedAnnouncement, announcement_command, unless_gone
from dcf.store.extensions import every_key
from dcf.store.forms.form import DocumentForm
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys, keys_of
from dcf.store.transaction.reading import Reading
from dcf.store.transaction.writing import event_commands, notice_command
from dcf.values.instants import from_text
from dcf.values.json_text import Json, load
from dcf.values.records import record

_GROUP = "relay"
_PAGE = 100
_META_FIELDS = (
    *("status", "retention_s", "finalized_at", "deadline", "left_open", "retried"),
    *("finished_at", "hold", "deleted_at"),
)
_ENDED = ("finalized_at", "hold")
_FIRST = b"0-0"
"""Cursor of XAUTOCLAIM: where it begins, and what it returns at the end."""


@record(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """One notification that is not delivered yet.

    `state` None means a notification to the planner; `about` is then the state it is about, if any. `agent_id` names
    the recipient if it is not the assigned agents. `content` are further fields of the event.
    """

    entry_id: str
    type: str
    state: str | None
    epoch: int
    source: str | None
    reason: str
    agent_id: str | None = None
    about: str | None = None
    content: Mapping[str, Json] | None = None

    @property
    def number(self) -> int:
        """Number of announcements before this one; the type of a reminder has it."""
        tail = self.type.rpartition("-")[2]
        return int(tail) if tail.isdecimal() else 0


@record(frozen=True, slots=True, kw_only=True)
class TellingOutcome:
    """What to write after a delivery, successful or not: history events, further notices, the record in `notified`."""

    events: tuple[Event, ...] = ()
    notices: tuple[Notice, ...] = ()
    told: Announcement | None = None
    failed: FailedAnnouncement | None = None


NOTHING_TOLD = TellingOutcome()

Handled: TypeAlias = Sequence[tuple[OutboxEntry, TellingOutcome]]
"""Entries that are done with, each with what to write of it."""


@record(frozen=True, slots=True, kw_only=True)
class Attention:
    """The facts about a run for the timer loop at this server time: its status, its outbox, its due states.

    `next_due` is when the timer loop must check the run again; None if it has nothing left to do. `is_final`: the run
    was finalized. `is_left_open`: it was finalized without closing its open states. `is_retried`: it had ended, and
    continues. `is_held`: it must be kept. `is_deleted`: its keys are being removed.
    """

    now: int
    next_due: int | None
    exists: bool
    is_running: bool
    owed: int
    due: tuple[str, ...]
    retention_s: int | None = None
    is_final: bool = False
    is_left_open: bool = False
    is_timed_out: bool = False
    status: str | None = None
    is_retried: bool = False
    finished_at: int | None = None
    is_held: bool = False
    is_deleted: bool = False

    @property
    def is_over(self) -> bool:
        """Return True if the timer loop has nothing left to do. Finalizing a run later lists it again."""
        return self.exists and not needs_clock(is_running=self.is_running, owed=self.owed)

    def retention_due(self, policy: RetentionPolicy) -> int | None:
        """Return when dcf is to finalize an ended run, or to remove its keys; None for neither."""
        if self.is_deleted:
            return self.now
        if not self.exists or self.is_running:
            return None
        return None if self.is_final or self.is_held else policy.finalizes_at(self.finished_at)


class Outbox:
    """The outbox and timers of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def take(self, workflow_id: str, deliverer: str, most: int = _PAGE) -> list[OutboxEntry]:
        """Take entries for this deliverer that no deliverer has taken yet."""
        key = RunKeys(workflow_id).outbox
        command = ("XREADGROUP", "GROUP", _GROUP, deliverer, "COUNT", most, "STREAMS", key, ">")
        reply = self._connections.send_to_group(key, _GROUP, command)
        return [_entry(entry_id, fields) for _, entries in reply or () for entry_id, fields in entries]

    def take_over(self, workflow_id: str, deliverer: str, idle_s: float, most: int = _PAGE) -> list[OutboxEntry]:
        """Take over entries that another deliverer took and did not settle for `idle_s` seconds."""
        key = RunKeys(workflow_id).outbox
        command = ("XAUTOCLAIM", key, _GROUP, deliverer, int(idle_s * 1000), "0-0", "COUNT", most)
        reply = self._connections.send_to_group(key, _GROUP, command)
        return [_entry(entry_id, fields) for entry_id, fields in (reply[1] if reply else ()) if fields]

    def left(self, workflow_id: str) -> list[OutboxEntry]:
        """Return all entries, those too that a deliverer has taken and not settled."""
        (entries,) = self._connections.send(("XRANGE", RunKeys(workflow_id).outbox, "-", "+"))
        return [_entry(entry_id, fields) for entry_id, fields in entries]

    def reset_taken(self, workflow_id: str, deliverer: str) -> None:
        """Set the time of all taken entries to now. After the clock stepped back, theirs may lie in the future."""
        key, start = RunKeys(workflow_id).outbox, _FIRST
        while True:
            command = ("XAUTOCLAIM", key, _GROUP, deliverer, 0, start, "COUNT", _PAGE, "JUSTID")
            reply = self._connections.send_to_group(key, _GROUP, command)
            start = _FIRST if reply is None else reply[0]
            if start == _FIRST:
                return

    def postpone(
        self,
        workflow_id: str,
        entry: OutboxEntry,
        deliverer: str,
        idle_s: float,
        outcome: TellingOutcome = NOTHING_TOLD,
    ) -> None:
        """Set the idle time of an entry that could not be delivered, so that it is soon taken over."""
        run = RunKeys(workflow_id)
        later = ("XCLAIM", run.outbox, _GROUP, deliverer, 0, entry.entry_id, "IDLE", int(idle_s * 1000), "JUSTID")
        self._connections.send(later, *_recorded(run, [(entry, outcome)]))

    def settle(self, workflow_id: str, handled: Handled) -> None:
        """Remove entries that were handled, and record the outcomes in the history, in one transaction.

        It is not idempotent: after a lost answer, what it removed is not recorded again.
        """
        if not handled:
            return
        run = RunKeys(workflow_id)
        try:
            self._connections.over_one(lambda connection: _settle(connection, run, handled))
        except StoreUnavailable:
            self._connections.over_one(lambda connection: _settle(connection, run, _left(connection, run, handled)))

    def settle_if(self, workflow_id: str, entry: OutboxEntry, premise: Premise) -> None:
        """Remove an entry if the server that is to remove it shows that it was done; else it stays for another try."""
        reading = Reading(self._connections.form, keys_of(premise.other.run), premise.other.reads)
        removal = _removed(RunKeys(workflow_id), [(entry, NOTHING_TOLD)])

        def settle(connection: Connection) -> None:
            other = reading.snapshot(all_checked(exchange(connection, reading.commands())))
            if premise.holds(Snapshot(now=other.now, other=other)):
                all_checked(exchange(connection, removal))

        self._connections.over_one(settle)

    def attention(self, workflow_id: str) -> Attention:
        """Return what the run needs of the clock."""
        form = self._connections.form
        return read_attention(form, self._connections.send(*attention_commands(form, RunKeys(workflow_id))))

    def expire(
        self, workflow_id: str, states: Iterable[str], scopes: Iterable[str], branches: Iterable[str], seconds: int
    ) -> None:
        """Give all keys of a finalized run the same expiry, in one transaction, once.

        The check and the write use one connection, so that both reach the same server.
        """
        run = RunKeys(workflow_id)
        commands: list[Command] = [("EXPIRE", key, seconds, "NX") for key in every_key(run, states, scopes, branches)]
        self._connections.over_one(lambda connection: _expire(self._connections.form, connection, run, commands))

    def keep(self, workflow_id: str, states: Iterable[str], scopes: Iterable[str], branches: Iterable[str]) -> None:
        """Take the expiry off all keys of a run, in one transaction."""
        keys = every_key(RunKeys(workflow_id), states, scopes, branches)
        commands: list[Command] = [("PERSIST", key) for key in keys]
        self._connections.send(("MULTI",), *commands, ("EXEC",))


def _left(connection: Connection, run: RunKeys, handled: Handled) -> Handled:
    """Return those of the entries that are still there."""
    looks: list[Command] = [("XRANGE", run.outbox, entry.entry_id, entry.entry_id) for entry, _ in handled]
    replies = all_checked(exchange(connection, looks))
    return [entry for entry, reply in zip(handled, replies, strict=True) if reply]


def _settle(connection: Connection, run: RunKeys, handled: Handled) -> None:
    if handled:
        all_checked(exchange(connection, _removed(run, handled)))


def _removed(run: RunKeys, handled: Handled) -> list[Command]:
    """Return the transaction that removes entries and records their outcomes."""
    entry_ids = [entry.entry_id for entry, _ in handled]
    return [
        ("MULTI",),
        ("XACK", run.outbox, _GROUP, *entry_ids),
        ("XDEL", run.outbox, *entry_ids),
        *_recorded(run, handled),
        ("EXEC",),
    ]


def _recorded(run: RunKeys, handled: Handled) -> list[Command]:
    """Return the commands that record outcomes, of a run that is still there; none if there is nothing to record."""
    written = list(_written(run, handled))
    return [*written, unless_gone(run)] if written else []


def _written(run: RunKeys, handled: Handled) -> Iterator[Command]:
    yield from event_commands(run, [event for _, outcome in handled for event in outcome.events])
    for entry, outcome in handled:
        for notice in outcome.notices:
            yield notice_command(run, notice)
        for attempt in (outcome.told, outcome.failed):
            if attempt is not None:
                yield announcement_command(run, entry.state or PLANNER, attempt)


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
        content=load(named["content"]) if "content" in named else None,
    )


def _expire(form: DocumentForm, connection: Connection, run: RunKeys, commands: list[Command]) -> None:
    opening: list[Command] = [("WATCH", run.meta), form.members(run.meta, _ENDED)]
    _, facts_reply = map(checked, exchange(connection, opening))
    facts = form.values(_ENDED, facts_reply) or {}
    may_expire = facts.get("finalized_at") is not None and facts.get("hold") is not True
    for reply in exchange(connection, [("MULTI",), *commands, ("EXEC",)] if may_expire else [("UNWATCH",)]):
        checked(reply)


def attention_commands(form: DocumentForm, run: RunKeys) -> list[Command]:
    """Return the commands that read what a run needs of the clock."""
    return [
        ("TIME",),
        form.members(run.meta, _META_FIELDS),
        ("XLEN", run.outbox),
        ("ZRANGE", run.timers, 0, _PAGE - 1, "WITHSCORES"),
    ]


def read_attention(form: DocumentForm, replies: list[Reply]) -> Attention:
    """Parse the replies to `attention_commands`."""
    clock, meta, owed, timers = replies
    now = micros(clock)
    known = form.values(_META_FIELDS, meta)
    facts = known or {}
    deadline = from_text(facts.get("deadline"))
    due = [decode_state(part.decode()) for part, at in zip(timers[::2], timers[1::2], strict=True) if float(at) <= now]
    is_running = facts.get("status") == RunStatus.RUNNING
    times = [] if deadline is None else [deadline]
    times += [now] if owed else []
    times += [int(float(timers[1]))] if timers else []
    return Attention(
        now=now,
        next_due=min(times, default=NEVER) if needs_clock(is_running=is_running, owed=owed) else None,
        exists=known is not None,
        is_running=is_running,
        owed=owed,
        due=tuple(due),
        retention_s=facts.get("retention_s"),
        is_final=facts.get("finalized_at") is not None,
        is_left_open=facts.get("left_open") is True,
        is_timed_out=deadline is not None and deadline <= now,
        status=facts.get("status"),
        is_retried=bool(facts.get("retried")),
        finished_at=from_text(facts.get("finished_at")),
        is_held=facts.get("hold") is True,
        is_deleted=facts.get("deleted_at") is not None,
    )
