"""Turns `Changes` of a run into the commands of one MULTI: one function per kind of write, in one table.

All documents go into a single JSON.MSET, however many states a transition changes. Index entries are not part of the
transaction. They are sent just before it, so that nothing is committed without its index entry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dcf.core import codec
from dcf.core.decision import Changes, Event, Notice, Packed, Snapshot, Tally
from dcf.core.model import Receipt, StateInput
from dcf.store import keys
from dcf.store.authors import current_author
from dcf.store.connection import Command, Reply
from dcf.store.event_fields import write_event
from dcf.store.keys import RunKeys, encode_state, receipt_field
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, dump

Writer: TypeAlias = Callable[[RunKeys, Any], Iterable[Command]]
"""Function that returns the commands of one non-empty row of `Changes`."""

Announcer: TypeAlias = Callable[[RunKeys, Any, int], Iterable[Command]]
"""Function that returns the index commands of one row of `Changes`, at a server time."""

_ASSIGNED_LIFE_S: Final = 30 * 24 * 3600

_ADD: Final = "HINCRBY"

_OF_MANY_KEYS: Final = frozenset({"DEL", "JSON.MSET"})
"""Commands that take any number of keys; a transaction sends each of them at most once."""


def commit_commands(run: RunKeys, changes: Changes) -> list[Command]:
    """Return the commands that make the changes, in an order that reads well in MONITOR."""
    commands: list[Any] = []
    merged: dict[Any, list[Any]] = {}
    for row, write in WRITES.items():
        found = getattr(changes, row)
        for command in write(run, found) if found else ():
            verb = command[0]
            if verb not in _OF_MANY_KEYS:
                commands.append(command)
            elif verb in merged:
                merged[verb] += command[1:]
            else:
                merged[verb] = [*command]
                commands.append(merged[verb])
    return list(map(tuple, commands))


def announcements(run: RunKeys, changes: Changes, seen: Snapshot) -> list[Command]:
    """Return the commands that add the run to indexes; `seen` is what the changes were decided by."""
    entered = ((announce, getattr(changes, row)) for row, announce in ANNOUNCES.items())
    commands = [command for announce, found in entered if found for command in announce(run, found, seen.now)]
    at = changes.due(seen.now, None if seen.meta is None else seen.meta.clock_due_at)
    return commands if at is None else [*commands, due_command(run, at)]


def due_command(run: RunKeys, at: int) -> Command:
    """Return the command that makes the clock look at the run at this time, or at an earlier one that it has noted."""
    return ("ZADD", keys.due(run.workflow_id), "LT", at, run.workflow_id)


def read_counts(run: RunKeys, changes: Changes, commands: list[Command], results: list[Reply]) -> dict[str, Tally]:
    """Return the counts after the commit of the scopes that it added to."""
    if not changes.ended:
        return {}
    counted = {
        command[:3]: int(result) for command, result in zip(commands, results, strict=True) if command[0] == _ADD
    }
    return {
        path: Tally(done=counted[_ADD, run.join(path), "done"], failed=counted.get((_ADD, run.join(path), "failed"), 0))
        for path in changes.ended
    }


def event_command(run: RunKeys, event: Event) -> Command:
    """Return the command that adds an entry to the run's history; its author is the caller, if there was one."""
    return ("XADD", run.events, "*", *write_event(event, current_author()))


def notice_command(run: RunKeys, notice: Notice) -> Command:
    """Return the command that adds a notification to the outbox."""
    fields: list[str | int] = ["type", notice.type, "epoch", notice.epoch, "reason", notice.reason]
    who = {"state": notice.state, "source": notice.source, "agent_id": notice.agent_id, "about": notice.about}
    fields += [part for name, value in who.items() if value is not None for part in (name, value)]
    return ("XADD", run.outbox, "*", *fields)


def _documents(key: Callable[[RunKeys, str], str], write: Callable[[Any], Json] = lambda value: value) -> Writer:
    """Return a writer of one document per path."""

    def commands(run: RunKeys, documents: Mapping[str, Any]) -> Iterator[Command]:
        for path, document in documents.items():
            yield ("JSON.MSET", key(run, path), "$", dump(write(document)))

    return commands


def _document(key: Callable[[RunKeys], str]) -> Writer:
    """Return a writer of one document of the run."""

    def commands(run: RunKeys, document: Mapping[str, Json]) -> Iterator[Command]:
        yield ("JSON.MSET", key(run), "$", dump(dict(document)))

    return commands


def _deleted(key: Callable[[RunKeys, str], str]) -> Writer:
    """Return a writer that deletes one key per path."""

    def commands(run: RunKeys, paths: Sequence[str]) -> Iterator[Command]:
        for path in paths:
            yield ("DEL", key(run, path))

    return commands


def _packed(run: RunKeys, packed: Packed) -> Iterator[Command]:
    """Write documents as JSON strings of their text."""
    yield ("JSON.MSET", run.definition, "$", dump(dump(dict(packed.definition))))
    yield ("JSON.MSET", run.meta, "$.deps", dump(dump(dict(packed.deps))))


def _meta(run: RunKeys, fields: Mapping[str, Json]) -> Iterator[Command]:
    for field, value in fields.items():
        path = f"$.{field}"  # nosemgrep: jsonpaths-are-not-formatted - fields of our own
        yield ("JSON.MSET", run.meta, path, dump(value))


def _inputs(run: RunKeys, inputs: Mapping[str, StateInput]) -> Iterator[Command]:
    for path, given in inputs.items():
        yield ("JSON.MSET", run.input(path), "$", dump(given.effective))
        if given.must_keep_entry:
            yield ("JSON.MSET", run.entry(path), "$", dump(codec.write_entry(given.entry)))
        elif given.revisits:
            # The entry of an earlier visit must not count for this one; null costs no further command, unlike DEL.
            yield ("JSON.MSET", run.entry(path), "$", "null")


def _ended(run: RunKeys, ended: Mapping[str, Tally]) -> Iterator[Command]:
    for path, tally in ended.items():
        yield (_ADD, run.join(path), "done", tally.done)
        if tally.failed:
            yield (_ADD, run.join(path), "failed", tally.failed)
            yield ("HSET", run.join(path), "failure", dump([tally.error, tally.cause]))


def _events(run: RunKeys, events: Sequence[Event]) -> Iterator[Command]:
    for event in events:
        yield event_command(run, event)


def _notices(run: RunKeys, notices: Sequence[Notice]) -> Iterator[Command]:
    for notice in notices:
        yield notice_command(run, notice)


def _timers(run: RunKeys, timers: Mapping[str, int | None]) -> Iterator[Command]:
    gone = [encode_state(path) for path, due in timers.items() if due is None]
    if gone:
        yield ("ZREM", run.timers, *gone)
    due = [part for path, at in timers.items() if at is not None for part in (at, encode_state(path))]
    if due:
        yield ("ZADD", run.timers, *due)


def _claims(run: RunKeys, claims: Mapping[str, str | None]) -> Iterator[Command]:
    for mark, path in claims.items():
        yield ("HDEL", run.claims, mark) if path is None else ("HSET", run.claims, mark, encode_state(path))


def _sizes(run: RunKeys, sizes: Mapping[str, int]) -> Iterator[Command]:
    for path, size in sizes.items():
        yield ("ZADD", run.scopes, "GT", size, encode_state(path))


def _receipts(run: RunKeys, receipts: Mapping[tuple[str, str], Receipt]) -> Iterator[Command]:
    for (path, request), receipt in receipts.items():
        yield ("HSET", run.receipts, receipt_field(path, request), dump(codec.write_receipt(receipt)))


def _listed(run: RunKeys, _: bool, now: int) -> Iterator[Command]:
    yield ("ZADD", keys.RUNS, "NX", now, run.workflow_id)  # NX: a listed run keeps its place
    yield ("ZADD", keys.LIVE, now, run.workflow_id)


def _assigned(run: RunKeys, agent_ids: Sequence[str], now: int) -> Iterator[Command]:
    for key in map(keys.assigned, agent_ids):
        yield ("ZADD", key, now // SECOND, run.workflow_id)
        yield ("EXPIRE", key, _ASSIGNED_LIFE_S)


ANNOUNCES: Final[Mapping[str, Announcer]] = {"listed": _listed, "assigned": _assigned}
"""Index entries by row of `Changes`; sent before the transaction."""

WRITES: Final[Mapping[str, Writer]] = {
    "opened": _deleted(RunKeys.join),
    "dropped": _deleted(RunKeys.output),
    "meta_document": _document(lambda run: run.meta),
    "definition": _document(lambda run: run.definition),
    "packed": _packed,
    "meta": _meta,
    "states": _documents(RunKeys.state, codec.write_state),
    "inputs": _inputs,
    "outputs": _documents(RunKeys.output),
    "items": _documents(RunKeys.items),
    "results": _documents(RunKeys.results),
    "audit": _document(lambda run: run.audit),
    "ended": _ended,
    "events": _events,
    "notices": _notices,
    "timers": _timers,
    "claims": _claims,
    "sizes": _sizes,
    "receipts": _receipts,
}
"""Writer of each row of `Changes`, in the order of writing."""
