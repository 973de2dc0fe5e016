"""The index of when the timer loop must check each live run. A read costs by the number of due runs, not of live ones.

An entry may be early, never late or missing. Every transaction that needs an earlier check enters its time just before
its commit. Only the timer loop sets a later time, in a transaction that fails if the run changed. It writes the time to
meta as well (`clock_due_at`). All transactions of a run watch meta. So a transaction that entered its time before the
timer loop did, and has not committed yet, runs again. A transaction that needs no earlier check sees that in meta, and
does not write to the index.
"""

from collections.abc import Sequence
from typing import Final

from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.retention import KEEP_ALL, RetentionPolicy
from dcf.core.listing.runs import Facet
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, Connections, checked, exchange
from dcf.store.events.outbox import Attention, attention_commands, read_attention
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.index import BLOCKED
from dcf.store.lists.shards import in_shard, shard_of
from dcf.store.transaction.writing import due_command
from dcf.values.instants import to_text
from dcf.values.json_text import dump
from dcf.values.records import record

_PAGE: Final = 500
_MOST_RUNS: Final = 500
"""Runs of each key of due times that one look takes, those due first; the others follow at the next."""

_MOST_NAMES: Final = 100
"""Names of another index that one look takes; the others follow at the next."""


@record(frozen=True, slots=True, kw_only=True)
class DueNow:
    """The due entries: ids of runs, and names of another index, such as that of schedules."""

    runs: list[str]
    names: list[str]


class DueRuns:
    """Live runs by when the timer loop must check them."""

    def __init__(self, connections: Connections, policy: RetentionPolicy = KEEP_ALL) -> None:
        self._connections = connections
        self._policy = policy

    def at(self, now: int, spare: int = 0, listed_in: str | None = None) -> DueNow:
        """Return runs that the timer loop must check by this server time, those due first, in one packet.

        There may be more. `spare`: number of runs that stay due whatever happens; they must not delay the others.
        `listed_in` is the key of another index by time, of which the names due are returned too.
        """
        due = ("-inf", now, "BYSCORE", "LIMIT", 0, _MOST_RUNS + spare)
        commands: list[Command] = [("ZRANGE", shard, *due) for shard in keys.every_due()]
        timed: list[Command] = []
        if listed_in is not None:
            timed.append(("ZRANGE", listed_in, "-inf", now, "BYSCORE", "LIMIT", 0, _MOST_NAMES))
        pages = [[name.decode() for name in page] for page in self._connections.send(*commands, *timed)]
        runs = [name for page in pages[: len(commands)] for name in page]
        return DueNow(runs=runs, names=[name for page in pages[len(commands) :] for name in page])

    def settle(self, workflow_id: str) -> None:
        """Set the time of the run's next check, or remove the entry; leave the run due if it changes in between."""
        shard = shard_of(workflow_id, self._connections.shards)
        settling = _Settling(form=self._connections.form, run=RunKeys(workflow_id), policy=self._policy, shard=shard)
        self._connections.over_one(settling.in_steps if shard else settling.at_once)

    def check(self, workflow_ids: Sequence[str], now: int) -> None:
        """Bring live runs forward that are noted too late or not at all: by an older version, which has no index."""
        for start in range(0, len(workflow_ids), _PAGE):
            runs = list(map(RunKeys, workflow_ids[start : start + _PAGE]))
            form = self._connections.form
            checks = [
                (("ZSCORE", keys.due(run.workflow_id), run.workflow_id), *attention_commands(form, run)) for run in runs
            ]
            replies = iter(self._connections.ask(*(command for commands in checks for command in commands)))
            latest = {
                run: _latest(form, [next(replies) for _ in own], now) for run, own in zip(runs, checks, strict=True)
            }
            late = [due_command(run, at) for run, at in latest.items() if at is not None]
            if late:
                self._connections.send(*late)

    def bring_forward(self, workflow_ids: Sequence[str], at: int) -> None:
        """Make runs due at this time, unless they are due before."""
        for start in range(0, len(workflow_ids), _PAGE):
            page = workflow_ids[start : start + _PAGE]
            self._connections.send(*(("ZADD", keys.due(name), "LT", at, name) for name in page))


def _latest(form: DocumentForm, replies: list[Reply], now: int) -> int | None:
    """Return the latest time of a run's next check; None if it is noted in time."""
    if any(isinstance(reply, Exception) for reply in replies):
        return now  # damaged by hand: the check of the run reports it
    noted, *rest = replies
    seen = read_attention(form, rest)
    at = now if seen.next_due is None or seen.next_due <= seen.now else seen.next_due
    return at if noted is None or float(noted) > at else None


def _outlived(seen: Attention) -> list[str]:
    """Return the lists that a run no longer belongs on: those of other statuses, of stuck runs, of blocked ones.

    A running run can be on the list of another status only if it was retried. A transaction that lists the run at the
    same time, for a change of its status, runs again: this is written with meta, which all transactions of the run
    watch.
    """
    if not seen.exists or (seen.is_running and not seen.is_retried):
        return []
    others = [keys.runs_by(Facet.STATUS, status) for status in RunStatus if status != seen.status]
    return others if seen.is_running else [*others, keys.STUCK, keys.HELD, BLOCKED]


_TAKEN_OFF: Final = """
local listed = redis.call('ZSCORE', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
return listed
"""
"""Lua script that takes a name off a list, and returns the score that it had."""


@record(frozen=True, slots=True, kw_only=True)
class _Next:
    """The time of a run's next check, None for never; and the lists that the run no longer belongs on."""

    seen: Attention
    at: int | None
    outlived: list[str]

    def covers(self, later: "_Next") -> bool:
        """Return True if this is still enough, by what was found later."""
        is_in_time = self.at is None if later.at is None else self.at is not None and self.at <= later.at
        return is_in_time and self.outlived == later.outlived


@record(frozen=True, slots=True, kw_only=True)
class _Settling:
    """Sets the time of a run's next check."""

    form: DocumentForm
    run: RunKeys
    policy: RetentionPolicy
    shard: str

    def at_once(self, connection: Connection) -> None:
        """Set it in one transaction, which fails if the run changed."""
        watched_states = self._watched(connection)
        commands = [self._entered(watched_states.at)]
        commands += [("ZREM", listed, self.run.workflow_id) for listed in watched_states.outlived]
        _checked(connection, [("MULTI",), *commands, *self._noted(watched_states), ("EXEC",)])

    def in_steps(self, connection: Connection) -> None:
        """Do so where the index and the lists are in other slots than the run, so that no transaction has them all.

        First meta gets the new time, then the index: so the entry is early in between, and never later than meta says.
        A transaction that read meta before may have entered an earlier time, which this overwrites. If it has
        committed, the second read of the run sees that; if not, the second write of meta makes it run again. A process
        that dies before the second write, just as another changes the run, leaves the entry late. The next timer loop
        that starts checks all runs.
        """
        watched_states = self._watched(connection)
        if self._changed_before(watched_states, connection):
            return  # it stays due
        taken = [("EVAL", _TAKEN_OFF, 1, listed, self.run.workflow_id) for listed in watched_states.outlived]
        _, *scores = _checked(connection, [self._entered(watched_states.at), *taken])
        again = self._watched(connection)
        if not self._changed_before(watched_states, connection) and watched_states.covers(again):
            return
        listed = zip(watched_states.outlived, scores, strict=True)
        back: list[Command] = [
            ("ZADD", index, "NX", at, self.run.workflow_id) for index, at in listed if at is not None
        ]
        _checked(connection, [due_command(self.run, again.seen.now), *back])

    def _changed_before(self, result: _Next, connection: Connection) -> bool:
        """Write the time to meta, unless the run changed since it was watched; return True if it did."""
        own = self._noted(result) or [("EXISTS", self.run.meta)]
        return _checked(connection, [("MULTI",), *own, ("EXEC",)])[-1] is None

    def _watched(self, connection: Connection) -> _Next:
        """Watch the run, and find the time of its next check."""
        run = self.run
        watch: Command = ("WATCH", run.meta, run.timers, run.outbox)
        live: Command = ("ZSCORE", in_shard(keys.LIVE, self.shard), run.workflow_id)
        _, is_live, *replies = _checked(connection, [watch, live, *attention_commands(self.form, run)])
        seen = read_attention(self.form, replies)
        # An ended run that is still listed ended after the last check: the next check takes it off the live list.
        at = seen.next_due or (seen.retention_due(self.policy) if is_live is None else seen.now)
        return _Next(seen=seen, at=at, outlived=[in_shard(index, self.shard) for index in _outlived(seen)])

    def _entered(self, at: int | None) -> Command:
        index, name = keys.due(self.run.workflow_id), self.run.workflow_id
        return ("ZREM", index, name) if at is None else ("ZADD", index, at, name)

    def _noted(self, result: _Next) -> list[Command]:
        """Return the commands that write the time to meta, if the run is there."""
        text = dump(None if result.at is None else to_text(result.at))
        return [self.form.put_member(self.run.meta, "clock_due_at", text)] if result.seen.exists else []


def _checked(connection: Connection, commands: list[Command]) -> list[Reply]:
    return [checked(reply) for reply in exchange(connection, commands)]
