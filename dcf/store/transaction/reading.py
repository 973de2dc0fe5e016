"""Turns `ReadSet` into one packet of commands, and the replies into a `Snapshot`: one function per row.

A reply is found by its command and a document by its key, so the functions are independent. Of the meta document only
paths are read unless all of it is requested, since meta grows with the workflow.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from json import JSONDecodeError
from operator import attrgetter
from typing import Any, Final, TypeAlias

from dcf.asl.state_paths import name_of
from dcf.asl.steps import Entry
from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents import codec
from dcf.core.documents.decision import OtherRun, ReadSet, Snapshot, Tally, WriteSet
from dcf.core.documents.model import Meta, StateDoc, StateInput
from dcf.core.documents.operations import read_run_receipt
from dcf.core.documents.signals import read_signals
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.faults import no_json
from dcf.store.extensions import PARTS
from dcf.store.forms.form import DocumentForm, Member
from dcf.store.keys.parts import encode_state, receipt_field
from dcf.store.keys.table import RunKeys, keys_of
from dcf.store.transaction.first_packet import TIME, Asked, Replies, Understand
from dcf.store.transaction.guards import Unchanged
from dcf.store.transaction.open_states import add_page, page_command, ready_in, texts_of
from dcf.store.transaction.state_texts import read_text
from dcf.store.transaction.usage_sums import read_sums
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, load
from dcf.values.records import replace

_FEW: Final = 8
"""Most assignments that are read one by one; for more, all are read."""

_TALLY: Final = ("done", "failed", "failure")
_META_FIELDS: Final = (
    *("status", "definition_sha256", "created_at", "started_at", "paused_at", "blocked_by", "planner_agent_id"),
    *("created_by", "max_attempts", "clock_due_at", "parent", "budget"),
)
_FINALIZED: Final = "finalized_at"
"""Only the keys of a finalized run expire. RedisJSON keeps an expiry, and reading a member costs it 2 µs."""


Ask: TypeAlias = Callable[[Asked, RunKeys, Any], Understand]
"""Function that asks for a row of `ReadSet`, and returns how its row of the snapshot is understood."""


class Reading:
    """The first packet of a transaction, and the parser of its replies."""

    def __init__(self, form: DocumentForm, run: RunKeys, reads: ReadSet) -> None:
        self.form = form
        self.run = run
        self.reads = reads
        self._watched = reads.states
        self._marks = bool(reads.seeker.mark)
        self._asked = commands = Asked(form)
        self._rows = _whole_meta(commands, run) if reads.whole_meta else {"meta": _meta(commands, run, reads.agents)}
        for (row, ask), needed in zip(READS.items(), _ROWS(reads), strict=True):
            if needed:
                self._rows[row] = ask(commands, run, needed)
        self._parts: dict[Any, Understand] = {}
        for part, needed in reads.parts.items():
            self._parts[part] = PARTS.rows[part].ask(commands, run, needed)
        commands.complete()
        self._page = None if reads.open_states is None else page_command(form, run, reads.open_states, reads)
        self.has_page = self._page is not None
        if self._page is not None:
            commands.add(self._page)

    def opening(self) -> list[Command]:
        """Return WATCH and the reads."""
        return [("WATCH", *self._asked.watched), *self._asked.commands]

    def commands(self) -> list[Command]:
        """Return the reads without WATCH."""
        return list(self._asked.commands)

    def snapshot(self, replies: Sequence[Reply], *, passed: int = 0) -> Snapshot:
        """Parse the replies to `commands`, or to `opening`, whose first reply is that of WATCH.

        `passed` microseconds are added to the server's time, for replies that came a while ago.
        """
        answers = self._by_command(replies)
        try:
            rows: dict[str, Any] = {row: understand(answers) for row, understand in self._rows.items()}
            if self._parts:
                rows["parts"] = {part: understand(answers) for part, understand in self._parts.items()}
            if self._page is not None:
                add_page(rows, answers.of[self._page])
        except JSONDecodeError:
            raise no_json() from None
        seconds, micros = answers.of[TIME]
        return Snapshot(now=int(seconds) * SECOND + int(micros) + passed, **rows)

    def guards(self, replies: Sequence[Reply], changes: WriteSet) -> Unchanged | None:
        """Return the documents that the changes rest on and that are not watched, as they were read, if any.

        Those are the changed states of a page, and the scopes around them. They were not known when WATCH was sent.
        """
        if self._page is None:
            return None
        texts = texts_of(self._by_command(replies).of[self._page])
        unwatched = [path for path in with_scopes(changes.states) if path in texts and path not in self._watched]
        form = self.form
        unchanged: dict[Command, Reply] = {
            form.read(self.run.state(path)): form.reply_of(texts[path]) for path in unwatched
        }
        return Unchanged(replies=unchanged) if unchanged else None

    def all_unchanged(self, replies: Sequence[Reply], now: int) -> Unchanged:
        """Return the condition that all of this would be read again, at this server time or a little later."""
        replies_now = self._by_command(replies).of
        return Unchanged(replies={command: reply for command, reply in replies_now.items() if command != TIME}, now=now)

    def unmarked(self, replies: Sequence[Reply], changes: WriteSet) -> list[Command]:
        """Return the command that removes the marks on states of a page that the changes do not take after all."""
        if self._page is None or not self._marks:
            return []
        ready = ready_in(self._by_command(replies).of[self._page])
        left = [self.run.taking(path) for path in ready if path not in changes.states]
        return [("DEL", *left)] if left else []

    def _by_command(self, replies: Sequence[Reply]) -> Replies:
        return Replies(self._asked, replies[-len(self._asked.commands) :])


def _whole_meta(request: Asked, run: RunKeys) -> dict[str, Understand]:
    """Read all of meta: the part that decisions need, and the document."""
    command = request.form.read(run.meta)
    request.add(command)
    request.watched.append(run.meta)

    def document(replies: Replies) -> Json:
        text = request.form.text(replies.of[command])
        return None if text is None else load(text)

    def understand(replies: Replies) -> Meta | None:
        return None if request.form.text(replies.of[command]) is None else codec.read_meta(document(replies))

    return {"meta": understand, "meta_document": document}


def _meta(request: Asked, run: RunKeys, paths: tuple[str, ...]) -> Understand:
    """Read the part of meta that decisions need, with the assignments of these states.

    Each assignment is read by its path, or all of them if that is less work.
    """
    names = dict.fromkeys(map(name_of, paths))
    agents: list[Member] = ["agents"] if len(names) > _FEW else [("agents", name) for name in names]
    members: list[Member] = [*_META_FIELDS, *([_FINALIZED] if request.form.drops_expiry else ()), *agents]
    command = request.form.members(run.meta, members)
    request.add(command)
    request.watched.append(run.meta)

    def understand(replies: Replies) -> Meta | None:
        member_values = request.form.values(members, replies.of[command])
        if member_values is None:
            return None
        every = member_values.get("agents")
        pools = every if isinstance(every, dict) else {name: member_values.get(("agents", name)) for name in names}
        own = {name: codec.read_assignment(pools.get(name)) for name in names}
        return replace(_read_fields(map(member_values.get, (*_META_FIELDS, _FINALIZED))), agents=own)

    return understand


def _read_fields(document: Iterable[Json]) -> Meta:
    """Return the part of meta without assignments, from its members. It seldom changes."""
    values = [*document]
    try:
        return _fields_read(*values)
    except TypeError:  # an object, as the parent of a child run is, or what somebody made a list
        return _fields_read.__wrapped__(*values)


@lru_cache(maxsize=256, typed=True)
def _fields_read(*values: Json) -> Meta:
    return codec.read_meta(dict(zip((*_META_FIELDS, _FINALIZED), values, strict=True)), {})


def _states(request: Asked, run: RunKeys, paths: tuple[str, ...]) -> Understand:
    keys = {path: run.state(path) for path in paths}
    request.documents(keys)
    request.watched += keys.values()

    def understand(replies: Replies) -> dict[str, StateDoc]:
        docs: dict[str, StateDoc] = {}
        for path, key in keys.items():
            text = replies.texts[key]
            doc = None if text is None else read_text(text)
            if doc is not None:
                docs[path] = doc
        return docs

    return understand


def _documents(key: Callable[[RunKeys, str], str]) -> Ask:
    """Read one document for each path."""

    def ask(request: Asked, run: RunKeys, paths: tuple[str, ...]) -> Understand:
        keys = {path: key(run, path) for path in paths}
        request.documents(keys)
        return lambda answers: answers.present(keys)

    return ask


def _entries(request: Asked, run: RunKeys, paths: tuple[str, ...]) -> Understand:
    inputs = {path: run.input(path) for path in paths}
    entries = {path: run.entry(path) for path in paths}
    request.documents(inputs)
    request.documents(entries)

    def understand(replies: Replies) -> dict[str, Entry]:
        # No entry, or null, is stored for a state that sees its whole raw input and needs nothing else kept.
        plain = {path: _plain(text) for path, text in replies.present(inputs).items()}
        entry_texts = replies.present(entries).items()
        return plain | {path: codec.read_entry(entry) for path, entry in entry_texts if entry is not None}

    return understand


def _scopes(request: Asked, run: RunKeys, paths: tuple[str, ...]) -> Understand:
    """Read the records of opening scopes: the entry, or the input alone if that is enough."""
    inputs = {path: run.input(path) for path in paths}
    entries = {path: run.entry(path) for path in paths}
    request.documents(inputs)
    request.documents(entries)

    def understand(replies: Replies) -> dict[str, StateInput]:
        effective: dict[str, Json] = dict.fromkeys(inputs) | replies.present(inputs)
        stored = {
            path: codec.read_entry(entry) for path, entry in replies.present(entries).items() if entry is not None
        }
        return {
            path: StateInput(entry=stored.get(path) or _plain(value), effective=value)
            for path, value in effective.items()
        }

    return understand


def _timers(request: Asked, run: RunKeys, paths: tuple[str, ...]) -> Understand:
    command: Command = ("ZMSCORE", run.timers, *map(encode_state, paths))
    request.add(command)

    def understand(replies: Replies) -> dict[str, int]:
        scores = zip(paths, replies.of[command], strict=True)
        return {path: int(float(score)) for path, score in scores if score is not None}

    return understand


def _items(request: Asked, run: RunKeys, items: tuple[tuple[str, int], ...]) -> Understand:
    commands: dict[tuple[str, int], Command] = {
        (path, index): request.form.element(run.items(path), index) for path, index in items
    }
    request.commands.update(dict.fromkeys(commands.values()))
    return lambda answers: {item: request.form.item(answers.of[command]) for item, command in commands.items()}


def _tallies(request: Asked, run: RunKeys, paths: tuple[str, ...]) -> Understand:
    commands: dict[str, Command] = {path: ("HMGET", run.join(path), *_TALLY) for path in paths}
    request.commands.update(dict.fromkeys(commands.values()))
    return lambda answers: {path: _tally(answers.of[command]) for path, command in commands.items()}


def fields_of_hash(key: Callable[[RunKeys], str], field: Callable[[Any], str], read: Callable[[Json], object]) -> Ask:
    """Return what asks for these fields of a hash, each JSON text."""

    def ask(request: Asked, run: RunKeys, expected: tuple[Any, ...]) -> Understand:
        if not expected:
            return lambda _: {}
        command: Command = ("HMGET", key(run), *map(field, expected))
        request.add(command)

        def understand(replies: Replies) -> dict[Any, object]:
            stored = zip(expected, replies.of[command], strict=True)
            return {place: None if reply is None else read(load(reply)) for place, reply in stored}

        return understand

    return ask


def document_of_run(kind: str, read: Callable[[Json], object]) -> Ask:
    """Return what asks for a document of the run, which is watched."""

    def ask(request: Asked, run: RunKeys, _: object) -> Understand:
        keys = {kind: run.of(kind)}
        request.documents(keys)
        request.watched += keys.values()
        return lambda result: read(result.present(keys).get(kind))

    return ask


def _usage(request: Asked, run: RunKeys, _: bool) -> Understand:
    command: Command = ("HGETALL", run.usage)
    request.add(command)
    request.watched.append(run.usage)
    return lambda answers: read_sums(answers.of[command])


def _other(request: Asked, _: RunKeys, other_run: OtherRun) -> Understand:
    reading = Reading(request.form, keys_of(other_run.run), other_run.reads)
    commands = reading.commands()
    request.commands.update(dict.fromkeys(commands))
    return lambda answers: reading.snapshot([answers.of[command] for command in commands])


READS: Final[Mapping[str, Ask]] = {
    "states": _states,
    "inputs": _documents(RunKeys.input),
    "entries": _entries,
    "outputs": _documents(RunKeys.output),
    "briefed": _documents(RunKeys.input),
    "audit": document_of_run("audit", lambda document: document),
    "scopes": _scopes,
    "timers": _timers,
    "items": _items,
    "tallies": _tallies,
    "receipts": fields_of_hash(lambda run: run.receipts, lambda place: receipt_field(*place), codec.read_receipt),
    "run_receipts": fields_of_hash(lambda run: run.receipts, lambda known: receipt_field("", known), read_run_receipt),
    "signals": document_of_run("signals", read_signals),
    "usage": _usage,
    "other": _other,
}
"""Function for each row of `ReadSet` and `Snapshot`, except meta, pages of open states and parts."""

_ROWS: Final = attrgetter(*READS)


def _plain(raw: Json) -> Entry:
    return Entry(raw=raw, variables={}, entered_at="")


def _tally(reply: list[bytes | None]) -> Tally:
    done, failed, failure = reply
    error, cause = (None, None) if failure is None else load(failure)
    return Tally(done=int(done or 0), failed=int(failed or 0), error=error, cause=cause)
