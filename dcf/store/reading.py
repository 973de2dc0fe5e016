"""Turns `Reads` into one packet of commands, and the replies into a `Snapshot`: one function per row.

A reply is found by its command and a document by its key, so the functions are independent. Of the meta document only
paths are read unless all of it is requested, since meta grows with the workflow.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from dcf.asl.state_paths import name_of
from dcf.asl.steps import Entry
from dcf.core import codec
from dcf.core.decision import Changes, Reads, Snapshot, Tally
from dcf.core.model import Meta, Receipt, StateInput
from dcf.core.scopes import with_scopes
from dcf.store.connection import Command, Reply
from dcf.store.keys import RunKeys, encode_state, receipt_field
from dcf.store.open_states import assigned, page_command, texts_of, with_page
from dcf.store.state_texts import read_text
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, load

_FEW: Final = 8
"""Most assignments that are read one by one; for more, all are read."""

_TIME: Final[Command] = ("TIME",)
_TALLY: Final = ("done", "failed", "failure")
_META_PATHS: Final = (
    "$.status",
    "$.definition_sha256",
    "$.created_at",
    "$.started_at",
    "$.planner_agent_id",
    "$.created_by",
    "$.max_attempts",
    "$.clock_due_at",
)


class Replies:
    """The replies to one packet, by command."""

    def __init__(self, commands: list[Command], keys: list[str], replies: Sequence[Reply]) -> None:
        self._by_command = dict(zip(commands, replies, strict=True))
        found = self._by_command[_mget(keys)] if keys else ()
        self._by_key = dict(zip(keys, found, strict=True))

    def of(self, command: Command) -> Reply:
        """Return the reply to a command."""
        return self._by_command[command]

    def texts(self, keys: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """Yield the texts of the documents that exist, each with the name of its key."""
        for name, key in keys.items():
            found = self._by_key[key]
            if found is not None:
                yield name, found

    def present(self, keys: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
        """Yield the documents that exist, each with the name of its key. A document may be null."""
        for name, key in keys.items():
            found = self._by_key[key]
            if found is not None:
                yield name, load(found)[0]


class Asked(NamedTuple):
    """What one row of a snapshot needs: its commands, documents by key, and a function from replies to the row."""

    understand: Callable[[Replies], object]
    commands: tuple[Command, ...] = ()
    keys: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()


Ask: TypeAlias = Callable[[RunKeys, Any], Asked]
"""Function from a row of `Reads` to what that row of the snapshot needs."""


class Reading:
    """The first packet of a transaction, and the parser of its replies."""

    def __init__(self, run: RunKeys, reads: Reads) -> None:
        self.run = run
        self._rows = _meta(run, reads)
        self._rows |= {row: ask(run, wanted) for row, ask in READS.items() if (wanted := getattr(reads, row))}
        self._page = page_command(run, reads)
        self._watched = frozenset(reads.states)
        self._keys = list(dict.fromkeys(key for asked in self._rows.values() for key in asked.keys))
        self._commands = self._list_commands()

    def opening(self) -> list[Command]:
        """Return WATCH and the reads."""
        return [("WATCH", *(key for asked in self._rows.values() for key in asked.watched)), *self._commands]

    def commands(self) -> list[Command]:
        """Return the reads without WATCH."""
        return self._commands

    def snapshot(self, replies: Sequence[Reply]) -> Snapshot:
        """Parse the replies to `commands`, or to `opening`, whose first reply is that of WATCH."""
        found = self._told_apart(replies)
        rows: dict[str, Any] = {row: asked.understand(found) for row, asked in self._rows.items()}
        seconds, micros = found.of(_TIME)
        snapshot = Snapshot(now=int(seconds) * SECOND + int(micros), **rows)
        return snapshot if self._page is None else with_page(snapshot, found.of(self._page))

    def guards(self, replies: Sequence[Reply], changes: Changes) -> dict[str, bytes]:
        """Return documents that the changes rest on and that are not watched, by key, as they were read.

        Those are the changed states of a page, and the scopes around them. They were not known when WATCH was sent.
        """
        if self._page is None:
            return {}
        texts = texts_of(self._told_apart(replies).of(self._page))
        unwatched = (path for path in with_scopes(changes.states) if path in texts and path not in self._watched)
        return {self.run.state(path): texts[path] for path in unwatched}

    def _told_apart(self, replies: Sequence[Reply]) -> Replies:
        return Replies(self._commands, self._keys, replies[-len(self._commands) :])

    def _list_commands(self) -> list[Command]:
        own = [command for asked in self._rows.values() for command in asked.commands]
        shared = [_mget(self._keys)] if self._keys else []
        page = [] if self._page is None else [self._page]
        return list(dict.fromkeys([_TIME, *own, *shared, *page]))


def _mget(keys: list[str]) -> Command:
    return ("JSON.MGET", *keys, "$")


def _meta(run: RunKeys, reads: Reads) -> dict[str, Asked]:
    """Read the part of meta that decisions need, or all of it."""
    command, names = _meta_command(run, reads), _assigned_names(reads)
    if reads.whole_meta:
        return {
            "meta": Asked(
                commands=(command,), watched=(run.meta,), understand=lambda found: _whole_meta(found.of(command))
            ),
            "meta_document": Asked(commands=(command,), understand=lambda found: _root(found.of(command))),
        }

    def understand(replies: Replies) -> Meta | None:
        reply = replies.of(command)
        if reply is None:
            return None
        found = load(reply)
        fields: dict[str, Json] = {path[2:]: _first(found, path) for path in _META_PATHS}
        every = found.get("$.agents")
        fields["agents"] = {name: assigned(every or found.get(_agent_path(name)), name) for name in names}
        return codec.read_meta(fields)

    return {"meta": Asked(commands=(command,), watched=(run.meta,), understand=understand)}


def _meta_command(run: RunKeys, reads: Reads) -> Command:
    """Read each assignment by its path, or all of them if that is less work."""
    if reads.whole_meta:
        return ("JSON.GET", run.meta, "$")
    names = _assigned_names(reads)
    agents = ("$.agents",) if len(names) > _FEW else tuple(dict.fromkeys(map(_agent_path, names)))
    return ("JSON.GET", run.meta, *_META_PATHS, *agents)


def _states(run: RunKeys, paths: tuple[str, ...]) -> Asked:
    keys = {path: run.state(path) for path in paths}
    return Asked(
        keys=tuple(keys.values()),
        watched=tuple(keys.values()),
        understand=lambda found: {
            path: doc for path, text in found.texts(keys) if (doc := read_text(text)) is not None
        },
    )


def _documents(key: Callable[[RunKeys, str], str]) -> Ask:
    """Read one document for each path."""

    def ask(run: RunKeys, paths: tuple[str, ...]) -> Asked:
        keys = {path: key(run, path) for path in paths}
        return Asked(keys=tuple(keys.values()), understand=lambda found: dict(found.present(keys)))

    return ask


def _entries(run: RunKeys, paths: tuple[str, ...]) -> Asked:
    inputs = {path: run.input(path) for path in paths}
    entries = {path: run.entry(path) for path in paths}

    def understand(found: Replies) -> dict[str, Entry]:
        # No entry, or null, is stored for a state that sees its whole raw input and needs nothing else kept.
        plain = {path: _plain(given) for path, given in found.present(inputs)}
        return plain | {path: codec.read_entry(entry) for path, entry in found.present(entries) if entry is not None}

    return Asked(keys=(*inputs.values(), *entries.values()), understand=understand)


def _scopes(run: RunKeys, paths: tuple[str, ...]) -> Asked:
    """Read the records of opening scopes: the entry, or the input alone if that is enough."""
    inputs = {path: run.input(path) for path in paths}
    entries = {path: run.entry(path) for path in paths}

    def understand(found: Replies) -> dict[str, StateInput]:
        effective: dict[str, Json] = dict.fromkeys(inputs) | dict(found.present(inputs))
        kept = {path: codec.read_entry(entry) for path, entry in found.present(entries) if entry is not None}
        return {
            path: StateInput(entry=kept.get(path) or _plain(given), effective=given)
            for path, given in effective.items()
        }

    return Asked(keys=(*inputs.values(), *entries.values()), understand=understand)


def _audit(run: RunKeys, _: bool) -> Asked:
    keys = {"audit": run.audit}
    return Asked(
        keys=(run.audit,), watched=(run.audit,), understand=lambda found: dict(found.present(keys)).get("audit")
    )


def _timers(run: RunKeys, paths: tuple[str, ...]) -> Asked:
    command: Command = ("ZMSCORE", run.timers, *map(encode_state, paths))

    def understand(found: Replies) -> dict[str, int]:
        scores = zip(paths, found.of(command), strict=True)
        return {path: int(float(score)) for path, score in scores if score is not None}

    return Asked(commands=(command,), understand=understand)


def _item_path(index: int) -> str:
    return f"$[{index}]"  # nosemgrep: jsonpaths-are-not-formatted - an index is a number


def _items(run: RunKeys, wanted: tuple[tuple[str, int], ...]) -> Asked:
    commands: dict[tuple[str, int], Command] = {
        (path, index): ("JSON.GET", run.items(path), _item_path(index)) for path, index in wanted
    }
    return Asked(
        commands=tuple(commands.values()),
        understand=lambda found: {item: _root(found.of(command)) for item, command in commands.items()},
    )


def _tallies(run: RunKeys, paths: tuple[str, ...]) -> Asked:
    commands: dict[str, Command] = {path: ("HMGET", run.join(path), *_TALLY) for path in paths}
    return Asked(
        commands=tuple(commands.values()),
        understand=lambda found: {path: _tally(found.of(command)) for path, command in commands.items()},
    )


def _receipts(run: RunKeys, wanted: tuple[tuple[str, str], ...]) -> Asked:
    command: Command = ("HMGET", run.receipts, *(receipt_field(path, request) for path, request in wanted))

    def understand(found: Replies) -> dict[tuple[str, str], Receipt | None]:
        kept = zip(wanted, found.of(command), strict=True)
        return {place: None if reply is None else codec.read_receipt(load(reply)) for place, reply in kept}

    return Asked(commands=(command,), understand=understand)


READS: Final[Mapping[str, Ask]] = {
    "states": _states,
    "inputs": _documents(RunKeys.input),
    "entries": _entries,
    "outputs": _documents(RunKeys.output),
    "audit": _audit,
    "scopes": _scopes,
    "timers": _timers,
    "items": _items,
    "tallies": _tallies,
    "receipts": _receipts,
}
"""Function for each row of `Reads` and `Snapshot`, except meta and pages of open states."""


def _assigned_names(reads: Reads) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(name_of, reads.agents)))


def _agent_path(state: str) -> str:
    """Return the JSONPath of a state's assignment. RedisJSON understands no other escapes than these two.

    It drops spaces at the beginning of a quoted name (2.8.3), so for such a state all assignments are read.
    """
    if state.startswith(" "):
        return "$.agents"
    quoted = state.replace("\\", "\\\\").replace('"', '\\"')
    return f'$.agents["{quoted}"]'  # nosemgrep: jsonpaths-are-not-formatted - quoted just now


def _plain(raw: Json) -> Entry:
    return Entry(raw=raw, variables={}, entered_at="")


def _tally(reply: list[bytes | None]) -> Tally:
    done, failed, failure = reply
    error, cause = (None, None) if failure is None else load(failure)
    return Tally(done=int(done or 0), failed=int(failed or 0), error=error, cause=cause)


def _whole_meta(reply: Reply) -> Meta | None:
    return None if reply is None else codec.read_meta(load(reply)[0])


def _root(reply: Reply) -> Json:
    """Return the single value that a path matched; None if there is none."""
    found = [] if reply is None else load(reply)
    return found[0] if found else None


def _first(found: Mapping[str, Json], path: str) -> Json:
    values = found.get(path)
    return values[0] if values else None
