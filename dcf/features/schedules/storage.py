"""Schedules in Redis: a document each, written together with the indexes that name it, by compare-and-set.

The first round trip has WATCH, TIME and the reads, the second MULTI, the document, the index entries and EXEC, so that
an index is never behind a document. This module must not decide.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from dcf.core.documents.model import RunStatus
from dcf.errors import StoreUnsuitable
from dcf.features.schedules import keys
from dcf.features.schedules.model import Schedule, read_schedule, write_schedule
from dcf.features.schedules.ticking import Running, looked_at
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, Connections, checked, exchange
from dcf.store.connection.documents import micros
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import companions
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.attempts import Attempts, Ground, commit
from dcf.values.json_text import dump, load
from dcf.values.records import record
from dcf.values.refusal import Refusal

_AUTHOR = ("created_by",)
_STATUS = ("status",)

Answer = TypeVar("Answer")


@record(frozen=True, slots=True, kw_only=True)
class ScheduleFound:
    """The data for a decision: the schedule (None: there is none), the server's time, and its runs in progress.

    `count` is how many schedules there are, `own_count` how many of the author that was asked about. `refusal` says why
    what it depends on could not be written.
    """

    now: int
    schedule: Schedule | None
    running: Running
    count: int
    own_count: int
    refusal: Refusal | None = None


@record(frozen=True, slots=True, kw_only=True)
class ScheduleChange(Generic[Answer]):
    """The answer of a decision, and if `is_changed` the schedule to write; None deletes it.

    `is_whole`: its document is written even without a change, so that a process that has read it cannot write.
    """

    answer: Answer
    schedule: Schedule | None = None
    is_changed: bool = True
    is_whole: bool = False


class ScheduleStore:
    """The schedules of one Redis."""

    def __init__(
        self,
        connections: Connections,
        *,
        wait_replicas: int = 0,
        before_commit: Callable[[], None] | None = None,
        clock: Callable[[int], int] | None = None,
    ) -> None:
        self._connections = connections
        self._before_commit = before_commit
        self._clock = clock
        self._attempts = Attempts(connections=connections, wait_replicas=wait_replicas)

    def names(self) -> list[str]:
        """Return the names of all schedules, in their order."""
        (replies,) = self._connections.send(("ZRANGE", keys.SCHEDULES, 0, -1))
        return sorted(name.decode() for name in replies)

    def read(self, names: Sequence[str]) -> tuple[dict[str, Schedule], int]:
        """Return those of these schedules that there are, and the server's time."""
        form = self._connections.form
        reads = [form.read(keys.schedule(name)) for name in names]
        clock, *replies = self._attempts.surely([("TIME",), *reads], companions.barrier(keys.SCHEDULES))
        schedules = {name: _schedule(form, name, reply) for name, reply in zip(names, replies, strict=True)}
        return {name: schedule for name, schedule in schedules.items() if schedule is not None}, micros(clock)

    def transact(
        self,
        name: str,
        decide: Callable[[ScheduleFound], ScheduleChange[Answer]],
        *,
        runs: Sequence[str] | None = (),
        author: str | None = None,
        ground: Ground | None = None,
    ) -> Answer:
        """Read, decide, commit; retry after a lost race. Raise UnknownOutcome if the outcome stays unknown.

        `runs` are those whose status is read; None: all that the schedule names. `author` is who creates the schedule:
        then the indexes are watched too, so that no two pass a limit at once. `ground` is made sure of in
        each attempt.
        """
        barrier = companions.barrier(keys.schedule(name))

        def once(connection: Connection) -> Answer:
            refusal = None if ground is None else ground(connection)
            current = replace(_read(self._connections.form, connection, name, runs, author), refusal=refusal)
            current = current if self._clock is None else replace(current, now=self._clock(current.now))
            change = self._attempts.result_of(connection, barrier, lambda: decide(current))
            if change.is_changed:
                if self._before_commit is not None:
                    self._before_commit()
                commit(connection, _commands(self._connections.form, name, current.schedule, change, current.now))
                self._attempts.confirm(connection, barrier)
            else:
                self._attempts.let_go(connection, barrier)
            return change.answer

        return self._attempts.until_done(once)

    def delete(self, name: str) -> bool:
        """Delete a schedule, a damaged one too; return False if it was gone already."""
        key, existed = keys.schedule(name), False

        def once(connection: Connection) -> bool:
            nonlocal existed
            form = self._connections.form
            opening: list[Command] = [("WATCH", key), form.members(key, _AUTHOR)]
            _, reply = map(checked, exchange(connection, opening))
            author_fields = form.values(_AUTHOR, reply)
            existed = existed or author_fields is not None
            indexes = [keys.SCHEDULES, keys.TROUBLED]
            indexes += [keys.schedules_of(str(author)) for author in (author_fields or {}).values()]
            commit(connection, [("DEL", key), *(("ZREM", index, name) for index in indexes)])
            self._attempts.confirm(connection, companions.barrier(key))
            return existed

        return self._attempts.until_done(once)


def _read(
    form: DocumentForm, connection: Connection, name: str, runs: Sequence[str] | None, author: str | None
) -> ScheduleFound:
    key, own = keys.schedule(name), keys.schedules_of(author or "")
    watched = (key,) if author is None else (key, keys.SCHEDULES, own)
    counts: list[Command] = [] if author is None else [("ZCARD", keys.SCHEDULES), ("ZCARD", own)]
    opening: list[Command] = [("WATCH", *watched), ("TIME",), form.read(key), *_statuses(form, runs or ()), *counts]
    _, clock, document, *rest = map(checked, exchange(connection, opening))
    schedule = _schedule(form, name, document)
    count, own_count = rest[len(runs or ()) :] or (0, 0)
    running = dict(_running(form, runs or (), rest))
    if runs is None and schedule is not None and schedule.runs:
        replies = list(map(checked, exchange(connection, _statuses(form, schedule.runs))))
        running = dict(_running(form, schedule.runs, replies))
    return ScheduleFound(now=micros(clock), schedule=schedule, running=running, count=count, own_count=own_count)


def _statuses(form: DocumentForm, runs: Iterable[str]) -> list[Command]:
    return [form.members(RunKeys(run).meta, _STATUS) for run in runs]


def _running(form: DocumentForm, runs: Sequence[str], replies: Sequence[Reply]) -> Iterable[tuple[str, bool | None]]:
    for run, reply in zip(runs, replies, strict=False):
        status_fields = form.values(_STATUS, reply)
        yield run, status_fields["status"] == RunStatus.RUNNING if status_fields else None


def _schedule(form: DocumentForm, name: str, reply: Reply) -> Schedule | None:
    try:
        text = form.text(reply)
        return None if text is None else read_schedule(load(text))
    except (KeyError, TypeError, ValueError, AttributeError):
        problem = f"The document of schedule '{name}' is damaged."
        raise StoreUnsuitable(problem, "Delete the schedule and create it.") from None


def _commands(
    form: DocumentForm, name: str, before: Schedule | None, change: ScheduleChange[Answer], now: int
) -> list[Command]:
    after = change.schedule
    key, left = keys.schedule(name), before is not None and (after is None or _moves(before, after))
    commands: list[Command] = []
    if left and before is not None:
        commands.append(("ZREM", keys.schedules_of(before.created_by), name))
    if after is None:
        indexes = (keys.SCHEDULES, keys.TROUBLED)
        return [("DEL", key), *commands, *(("ZREM", index, name) for index in indexes)]
    next_look: Command = ("ZADD", keys.SCHEDULES, looked_at(after, now), name)
    if not change.is_whole and before is not None and _says_the_same(before, after):
        return [next_look]  # a waiting schedule is looked at every two seconds, and its document may be long
    if before is None or _moves(before, after):
        commands.append(("ZADD", keys.schedules_of(after.created_by), after.created_at, name))
    trouble: Command = ("ZREM", keys.TROUBLED, name)
    if after.is_troubled:
        trouble = ("ZADD", keys.TROUBLED, now, name)
    written = form.put(key, dump(write_schedule(after)))
    return [written, next_look, *commands, trouble]


def _says_the_same(before: Schedule, after: Schedule) -> bool:
    return before.seen_at <= after.seen_at and replace(after, seen_at=before.seen_at) == before


def _moves(before: Schedule, after: Schedule) -> bool:
    return before.created_by != after.created_by
