"""The index of when the clock must look at each live run, or schedule. A look costs what is due, not what is alive.

An entry may be early, never late or missing. Every transaction that needs an earlier look enters its time just before
its commit. Only the clock sets a later time, in a transaction that fails if the run changed. It writes the time to meta
as well (`clock_due_at`). All transactions of a run watch meta, so one that entered its time before the clock did, and
has not committed yet, runs again. And one that needs no earlier look finds that in meta, and enters nothing.
"""

from collections.abc import Sequence
from typing import Final

from dcf.core.catalog import Facet
from dcf.core.model import RunStatus
from dcf.core.retention import KEEP_ALL, RetentionPolicy
from dcf.store import keys, schedule_keys
from dcf.store.connection import Command, Connection, Connections, Reply, checked, exchange
from dcf.store.index import BLOCKED
from dcf.store.keys import RunKeys
from dcf.store.outbox import Attention, attention_commands, read_attention
from dcf.store.writing import due_command
from dcf.values.instants import to_text
from dcf.values.json_text import dump
from dcf.values.records import record

_PAGE: Final = 500
_MOST_RUNS: Final = 500
"""Runs of each key of due times that one look takes, those due first; the others follow at the next."""

_MOST_SCHEDULES: Final = 100
"""Schedules of one look; the others follow at the next."""


@record(frozen=True, slots=True, kw_only=True)
class DueNow:
    """What the clock must look at: ids of runs, names of schedules."""

    runs: list[str]
    schedules: list[str]


class DueRuns:
    """Live runs by when the clock must look at them."""

    def __init__(self, connections: Connections, policy: RetentionPolicy = KEEP_ALL) -> None:
        self._connections = connections
        self._policy = policy

    def at(self, now: int, spare: int = 0) -> DueNow:
        """Return runs and schedules that the clock must look at by this server time, those due first, in one packet.

        There may be more. `spare`: so many runs stay due whatever is done; they must not keep others from their turn.
        """
        due = ("-inf", now, "BYSCORE", "LIMIT", 0, _MOST_RUNS + spare)
        asked: list[Command] = [("ZRANGE", shard, *due) for shard in keys.every_due()]
        timed: Command = ("ZRANGE", schedule_keys.SCHEDULES, "-inf", now, "BYSCORE", "LIMIT", 0, _MOST_SCHEDULES)
        *shards, schedules = self._connections.send(*asked, timed)
        runs = [name.decode() for found in shards for name in found]
        return DueNow(runs=runs, schedules=[name.decode() for name in schedules])

    def settle(self, workflow_id: str) -> None:
        """Set when the clock must look at the run next, or remove it; leave it due if it changes meanwhile."""
        self._connections.over_one(lambda connection: _settle(connection, RunKeys(workflow_id), self._policy))

    def check(self, workflow_ids: Sequence[str], now: int) -> None:
        """Bring live runs forward that are noted too late or not at all: by an older version, which has no index."""
        for start in range(0, len(workflow_ids), _PAGE):
            runs = list(map(RunKeys, workflow_ids[start : start + _PAGE]))
            asked = [(("ZSCORE", keys.due(run.workflow_id), run.workflow_id), *attention_commands(run)) for run in runs]
            replies = iter(self._connections.ask(*(command for commands in asked for command in commands)))
            latest = {run: _latest([next(replies) for _ in own], now) for run, own in zip(runs, asked, strict=True)}
            late = [due_command(run, at) for run, at in latest.items() if at is not None]
            if late:
                self._connections.send(*late)

    def bring_forward(self, workflow_ids: Sequence[str], at: int) -> None:
        """Make runs due at this time, unless they are due before."""
        for start in range(0, len(workflow_ids), _PAGE):
            page = workflow_ids[start : start + _PAGE]
            self._connections.send(*(("ZADD", keys.due(name), "LT", at, name) for name in page))


def _latest(replies: list[Reply], now: int) -> int | None:
    """Return when the clock must look at a run at the latest; None if it is noted in time."""
    if any(isinstance(reply, Exception) for reply in replies):
        return now  # damaged by hand: the look at it says so
    noted, *rest = replies
    seen = read_attention(rest)
    at = now if seen.next_due is None or seen.next_due <= seen.now else seen.next_due
    return at if noted is None or float(noted) > at else None


def _outlived(seen: Attention) -> list[str]:
    """Return the lists that a run no longer belongs on: those of other statuses, of stuck runs, of blocked ones.

    A running one can be on another only if it was retried. Whoever lists the run meanwhile, for a change of its status,
    runs again: this is written with meta, which all transactions of the run watch.
    """
    if not seen.exists or (seen.is_running and not seen.is_retried):
        return []
    others = [keys.runs_by(Facet.STATUS, status) for status in RunStatus if status != seen.status]
    return others if seen.is_running else [*others, keys.STUCK, BLOCKED]


def _settle(connection: Connection, run: RunKeys, policy: RetentionPolicy) -> None:
    watch: Command = ("WATCH", run.meta, run.timers, run.outbox)
    live: Command = ("ZSCORE", keys.LIVE, run.workflow_id)
    _, is_live, *replies = (checked(reply) for reply in exchange(connection, [watch, live, *attention_commands(run)]))
    seen, index = read_attention(replies), keys.due(run.workflow_id)
    # A run that is over but still listed was not when the clock looked: the next look takes it off the live list.
    at = seen.next_due or (seen.retention_due(policy) if is_live is None else seen.now)
    commands: list[Command] = [("ZREM", index, run.workflow_id) if at is None else ("ZADD", index, at, run.workflow_id)]
    commands += [("ZREM", listed, run.workflow_id) for listed in _outlived(seen)]
    if seen.exists:
        commands.append(("JSON.SET", run.meta, "$.clock_due_at", dump(None if at is None else to_text(at))))
    for reply in exchange(connection, [("MULTI",), *commands, ("EXEC",)]):
        checked(reply)
