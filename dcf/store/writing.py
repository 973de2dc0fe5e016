"""Changes of a run as the commands of one MULTI: one function for each kind of write, in one table.

All documents go in a single JSON.MSET: one command, however many states a transition touches.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dcf.core import codec
from dcf.core.decision import Changes, Event, Notice, Tally
from dcf.core.model import StateInput
from dcf.store.authors import current_author
from dcf.store.connection import Command, Reply
from dcf.store.keys import RunKeys, encode_state
from dcf.values.json_text import Json, dump

Writer: TypeAlias = Callable[[RunKeys, Any], Iterable[Command]]
"""Makes the commands of one row of `Changes` that is not empty."""

_ADD: Final = "HINCRBY"

_OF_MANY_KEYS: Final = frozenset({"DEL", "JSON.MSET"})
"""Commands that take any number of keys; a transaction sends each of them once."""


def commit_commands(run: RunKeys, changes: Changes) -> list[Command]:
    """List the commands that make the changes so, in the order in which they are best read in a monitor."""
    commands: list[list[Any]] = []
    merged: dict[str, list[Any]] = {}
    for row, write in WRITES.items():
        found = getattr(changes, row)
        for verb, *arguments in write(run, found) if found else ():
            if verb in merged:
                merged[verb] += arguments
                continue
            commands.append([verb, *arguments])
            if verb in _OF_MANY_KEYS:
                merged[verb] = commands[-1]
    return list(map(tuple, commands))


def read_counts(run: RunKeys, changes: Changes, commands: list[Command], results: list[Reply]) -> dict[str, Tally]:
    """Tell how the scopes stand whose counts the commit added to."""
    counted = {
        command[:3]: int(result) for command, result in zip(commands, results, strict=True) if command[0] == _ADD
    }
    return {
        path: Tally(done=counted[_ADD, run.join(path), "done"], failed=counted.get((_ADD, run.join(path), "failed"), 0))
        for path in changes.ended
    }


def event_command(run: RunKeys, event: Event) -> Command:
    """One entry of the run's history; `by` says whose call it came from, if it was one."""
    fields: list[str] = ["type", event.type]
    author = current_author()
    if author is not None:
        fields += ["by", author]
    if event.state is not None:
        fields += ["state", event.state]
    if event.data:
        fields += ["data", dump(dict(event.data))]
    return ("XADD", run.events, "*", *fields)


def _documents(key: Callable[[RunKeys, str], str], write: Callable[[Any], Json] = lambda value: value) -> Writer:
    """Write one document for each path."""

    def commands(run: RunKeys, documents: Mapping[str, Any]) -> Iterator[Command]:
        for path, document in documents.items():
            yield ("JSON.MSET", key(run, path), "$", dump(write(document)))

    return commands


def _document(key: Callable[[RunKeys], str]) -> Writer:
    """Write one document of the run."""

    def commands(run: RunKeys, document: Mapping[str, Json]) -> Iterator[Command]:
        yield ("JSON.MSET", key(run), "$", dump(dict(document)))

    return commands


def _deleted(key: Callable[[RunKeys, str], str]) -> Writer:
    """Delete one key for each path."""

    def commands(run: RunKeys, paths: Sequence[str]) -> Iterator[Command]:
        for path in paths:
            yield ("DEL", key(run, path))

    return commands


def _meta(run: RunKeys, fields: Mapping[str, Json]) -> Iterator[Command]:
    for field, value in fields.items():
        yield ("JSON.MSET", run.meta, f"$.{field}", dump(value))  # nosemgrep: jsonpaths-are-not-formatted - our own


def _inputs(run: RunKeys, inputs: Mapping[str, StateInput]) -> Iterator[Command]:
    for path, given in inputs.items():
        yield ("JSON.MSET", run.input(path), "$", dump(given.effective))
        if given.must_keep_entry:
            yield ("JSON.MSET", run.entry(path), "$", dump(codec.write_entry(given.entry)))


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
        fields: list[str | int] = ["type", notice.type, "epoch", notice.epoch, "reason", notice.reason]
        if notice.state is not None:
            fields += ["state", notice.state]
        if notice.source is not None:
            fields += ["source", notice.source]
        yield ("XADD", run.outbox, "*", *fields)


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


WRITES: Final[Mapping[str, Writer]] = {
    "opened": _deleted(RunKeys.join),
    "dropped": _deleted(RunKeys.output),
    "meta_document": _document(lambda run: run.meta),
    "definition": _document(lambda run: run.definition),
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
}
"""How each row of `Changes` is written, in this order."""
