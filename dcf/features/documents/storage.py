"""Transactions for manual changes of single documents, each applied exactly once even if the connection breaks.

The same loop as `documents`, with a receipt: a small key written in the same EXEC, by which a repetition finds that the
change was made. For a document of a run, the documents that the decision reads are watched too, and the change is
written to the run's history. Any other document is written by one script, which keeps its owner's quotas (`quotas`).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Generic, TypeVar

from dcf.core.access.model import LOCAL
from dcf.core.documents.decision import Event
from dcf.core.listing.runs import listed_at
from dcf.errors import NotFound
from dcf.store.access.authors import current_account
from dcf.store.access.counting import CountedDocument, held_document_command, hold, new_mark, owned, settle
from dcf.store.access.quotas import DocumentWrite, charge, document_command, receipt_command, refusal_in
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, Connections, checked, exchange
from dcf.store.connection.documents import micros
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import companions
from dcf.store.keys.documents import RunDocument, document_of
from dcf.store.keys.parts import encode_state
from dcf.store.lists.shards import shard_of
from dcf.store.transaction.attempts import Attempts, commit, commit_one
from dcf.store.transaction.writing import due_command, event_commands, facet_commands
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record
from dcf.values.refusal import Refusal

Answer = TypeVar("Answer")

DOCUMENT_LIFE_S: Final = 30 * 24 * 3600
"""Seconds for which a document is kept after its last write, unless a caller asked for another time."""

_NO_KEY: Final = b"none"


@record(frozen=True, slots=True, kw_only=True)
class DocumentContext:
    """Context of a run's document: the run's meta (None: no run), the state's document, and its timer."""

    meta: Mapping[str, Json] | None = None
    state: Json = None
    due: int | None = None


@record(frozen=True, slots=True, kw_only=True)
class Found:
    """The content of a key: the document (MISSING if there is none), and the stored result of this change, if any.

    `is_foreign`: it can be read, but no tool has written it, and its meaning is not known.
    """

    now: int
    document: Json
    receipt: Json = None
    around: DocumentContext
    is_foreign: bool = False


@record(frozen=True, slots=True, kw_only=True)
class EditedDocument:
    """What to write in one transaction: the document (MISSING deletes it), the receipt and, for a run, the event.

    `life_s` is for how long the receipt is kept; `keep_s` is for the document: 0 without a limit, None as before.
    `look_now` makes the timer loop look at the state at once.
    """

    document: Json
    receipt: Json
    life_s: int
    keep_s: int | None = None
    event: Event | None = None
    look_now: bool = False


@record(frozen=True, slots=True, kw_only=True)
class EditOutcome(Generic[Answer]):
    """The answer of a decision. Nothing is written if `written` is None."""

    answer: Answer
    written: EditedDocument | None = None


class Edits:
    """Reads and changes documents by key, for tools."""

    def __init__(
        self,
        connections: Connections,
        *,
        wait_replicas: int = 0,
        deadline_s: float = 10.0,
        keep_s: int = DOCUMENT_LIFE_S,
    ) -> None:
        self._connections = connections
        self._keep_s = keep_s
        self._attempts = Attempts(connections=connections, deadline_s=deadline_s, wait_replicas=wait_replicas)

    def read(self, key: str) -> Json:
        """Return the document; MISSING if there is no such key. Raise NotFound if the key has another type."""
        form = self._connections.form
        (kind,) = self._connections.send(("TYPE", key))
        reply = self._connections.send(form.read(key))[0] if form.is_document(key, kind) else None
        return _document(form, key, kind, reply)

    def transact(self, key: str, request: str, decide: Callable[[Found], EditOutcome[Answer]]) -> Answer | Refusal:
        """Read, decide, commit; retry after a lost race. Refuse what is beyond the quotas of the caller's key.

        Raise UnknownOutcome if the outcome stays unknown.
        """
        return self._attempts.until_done(lambda connection: self._once(connection, key, request, decide))

    def _once(
        self, connection: Connection, key: str, request: str, decide: Callable[[Found], EditOutcome[Answer]]
    ) -> Answer | Refusal:
        subject = _Subject(
            form=self._connections.form,
            shards=self._connections.shards,
            key=key,
            receipt=companions.edit(key, request),
            of=document_of(key),
        )
        replies = exchange(connection, subject.opening())
        result = self._attempts.result_of(connection, subject.barrier, partial(subject.found, replies))
        outcome = self._attempts.result_of(connection, subject.barrier, partial(decide, result))
        if outcome.written is None:
            self._attempts.let_go(connection, subject.barrier)
            return outcome.answer
        refusal = None
        if result.is_foreign:
            self._attempts.let_go(connection, subject.barrier)
            raise _no_document(subject.key)
        if subject.of is None:
            refusal = self._write(connection, subject, outcome.written)
        else:
            commands = subject.commands(outcome.written, result.around)
            announced = subject.announcements(outcome.written, result, self._connections.shards)
            commit(connection, commands, [*announced, *_charges(subject, outcome.written)])
        self._attempts.confirm(connection, subject.barrier)
        return outcome.answer if refusal is None else refusal

    def _write(self, connection: Connection, subject: "_Subject", written: EditedDocument) -> Refusal | None:
        write = DocumentWrite(
            text=None if written.document is MISSING else dump(written.document),
            life_s=written.keep_s,
            default_life_s=self._keep_s,
            receipt=dump(written.receipt),
            receipt_life_s=written.life_s,
        )
        if self._connections.shards > 1:
            return self._write_held(connection, subject, write)
        command = document_command(self._connections.form, subject.key, subject.receipt, write, current_account())
        return refusal_in(commit_one(connection, command))

    def _write_held(self, connection: Connection, subject: "_Subject", write: DocumentWrite) -> Refusal | None:
        """Do the same on a cluster: count the document, write it, and count the document that resulted."""
        if write.text is None:
            self._delete_counted(connection, subject, write)
            return None
        account, was, mark = current_account(), owned(self._connections, subject.key), new_mark()
        owner = LOCAL if account is None else account.key_id
        size = len(write.text.encode())
        life_s = write.life_s if write.life_s is not None else write.default_life_s if was is None else was.life_s
        receipt = (subject.receipt, len(write.receipt.encode()) + len(subject.receipt), write.receipt_life_s)
        counted = CountedDocument(key=subject.key, owner=owner, size=size, life_s=life_s, receipt=receipt)
        refusal = hold(self._connections, counted, account, mark)
        if refusal is not None:
            return refusal
        checked(
            commit_one(connection, held_document_command(self._connections.form, subject.receipt, write, counted, mark))
        )
        settle(self._connections, subject.key, owner, size, mark)
        if was is not None and was.owner != owner:
            settle(self._connections, subject.key, was.owner, None, was.mark)
        return None

    def _delete_counted(self, connection: Connection, subject: "_Subject", write: DocumentWrite) -> None:
        """Delete a document on a cluster, and count it no more. A Redis that is full can still do it."""
        account, was = current_account(), owned(self._connections, subject.key)
        removed = CountedDocument(key=subject.key, owner=LOCAL, size=0, life_s=0)
        checked(
            commit_one(connection, held_document_command(self._connections.form, subject.receipt, write, removed, ""))
        )
        if was is not None:
            settle(self._connections, subject.key, was.owner, None, was.mark)
        if account is not None:
            counted = receipt_command(subject.receipt, write.receipt, write.receipt_life_s, account)
            self._connections.ask(counted)  # a Redis that is full refuses it


@record(frozen=True, slots=True, kw_only=True)
class _Subject:
    form: DocumentForm
    shards: int
    key: str
    receipt: str
    of: RunDocument | None

    @property
    def barrier(self) -> str:
        """Return the key of the small write that waits for replicas."""
        return companions.barrier(self.key) if self.of is None else self.of.run.barrier

    def opening(self) -> list[Command]:
        """Return the commands that watch and read. The replies always come in this order."""
        run = self.of.run if self.of is not None else None
        watched = [self.key, *([run.meta] if run is not None else ()), *self._state_key()]
        reads: list[Command] = [("TIME",), ("TYPE", self.key), self.form.read(self.key), ("GET", self.receipt)]
        reads += self._register()
        if run is not None and self.of is not None:
            reads += [self.form.read(run.meta)]
            reads += map(self.form.read, self._state_key())
            reads += [("ZSCORE", run.timers, encode_state(self.of.state))] if self.of.state is not None else []
        return [("WATCH", *watched), *reads]

    def _register(self) -> list[Command]:
        """Return the command that asks whether a tool has written what is at the key, where its type does not tell."""
        if self.of is not None or self.form.has_type:
            return []
        return [("HGET", companions.register(self.key, self.shards), self.key)]

    def _state_key(self) -> list[str]:
        if self.of is None or self.of.state is None:
            return []
        return [self.of.run.state(self.of.state)]

    def found(self, replies: list[Reply]) -> Found:
        """Parse the replies to `opening`."""
        clock, kind, document, receipt, *more = replies[1:]
        checked(clock)
        registered, around = (more[:1], more[1:]) if self._register() else ([b""], more)
        value_there = _document(self.form, self.key, checked(kind), document)
        return Found(
            now=micros(clock),
            document=value_there,
            is_foreign=value_there is not MISSING and checked(registered[0]) is None,
            receipt=None if checked(receipt) is None else load(receipt),
            around=_surroundings(self.form, [checked(reply) for reply in around]),
        )

    def announcements(self, written: EditedDocument, result: Found, shards: int) -> list[Command]:
        """Return the commands that make the clock look at the run at once, and list it under what its meta now says."""
        if self.of is None:
            return []
        meta = written.document if self.of.kind == "meta" and isinstance(written.document, dict) else {}
        created_at = listed_at(meta.get("created_at"), result.now)
        shard = shard_of(self.of.run.workflow_id, shards)
        return [*facet_commands(self.of.run, meta, created_at, shard), due_command(self.of.run, 1)]

    def commands(self, written: EditedDocument, around: DocumentContext) -> list[Command]:
        """Return the commands that write the document, the receipt and the event."""
        commands: list[Command] = [self.form.put(self.key, dump(written.document))]
        if self.of is not None:
            commands += [
                # Decisions on a state's data watch the state's document. Rewriting it makes them read again.
                self.form.put(key, dump(around.state))
                for key in self._state_key()
                if key != self.key and around.state is not None
            ]
            if written.event is not None:
                commands += event_commands(self.of.run, [written.event])
            if written.look_now and self.of.state is not None:
                commands.append(("ZADD", self.of.run.timers, "XX", "LT", 1, encode_state(self.of.state)))
        return [*commands, ("SET", self.receipt, dump(written.receipt), "EX", written.life_s)]


def _charges(subject: _Subject, written: EditedDocument) -> list[Command]:
    """Return what counts an edit of a run's document for the caller's key."""
    account = current_account()
    if account is None or subject.of is None:
        return []
    counted = receipt_command(subject.receipt, dump(written.receipt), written.life_s, account)
    return [counted, charge(subject.form, subject.of.run, [], 1, account)]


def _document(form: DocumentForm, key: str, kind: Reply, reply: Reply) -> Json:
    if kind == _NO_KEY:
        return MISSING
    if not form.is_document(key, kind):
        raise _no_document(key)
    # The document may have been deleted between the two commands.
    text = form.text(checked(reply))
    try:
        return MISSING if text is None else load(text)
    except ValueError:
        raise _no_document(key) from None


def _no_document(key: str) -> NotFound:
    return NotFound(f"The key '{key[:200]}' holds no JSON document.", "Name the key of a JSON document.")


def _surroundings(form: DocumentForm, replies: list[Reply]) -> DocumentContext:
    if not replies:
        return DocumentContext()
    document, *more = replies
    state_text, due = more or (None, None)
    meta, state = form.text(document), form.text(state_text)
    return DocumentContext(
        meta=None if meta is None else load(meta),
        state=None if state is None else load(state),
        due=None if due is None else int(float(due)),
    )
