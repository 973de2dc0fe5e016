"""Artifacts in Redis: their records, what is kept of them in Redis itself, and which bytes are in the artifact store.

One round trip has WATCH and the reads, another MULTI, the record, short content, an event and EXEC. Bytes in the
artifact store are named by run, creation time of the run, artifact and upload. So no two uploads and no two runs share
bytes, and a deletion affects one upload only. `cp:idx:blobs` names a run before the first of its bytes is there, and
until the last is gone. This module must not decide.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from dcf.core.documents.codec import read_meta, read_state
from dcf.errors import StoreUnavailable
from dcf.features.artifacts import quota_storage
from dcf.features.artifacts.keys import BLOBS, UPLOADS, upload_entry
from dcf.features.artifacts.model import (
    UPLOAD_LIFE_S,
    Artifact,
    ArtifactChange,
    ArtifactFound,
    ArtifactPart,
    ArtifactPut,
    ArtifactStands,
    Upload,
    read_artifact,
    read_upload,
    write_artifact,
    write_upload,
)
from dcf.store.access.authors import current_account
from dcf.store.access.quotas import charge
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, Connections, checked, exchange
from dcf.store.connection.documents import micros
from dcf.store.forms.form import DocumentForm
from dcf.store.keys.table import RunKeys, keys_of
from dcf.store.transaction.attempts import Attempts, commit
from dcf.store.transaction.writing import event_commands
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record
from dcf.values.refusal import Refusal

_CREATED = ("created_at",)

_log = logging.getLogger(__name__)

_TOTALS = ""
_META = ("status", "finalized_at", "deleted_at", "created_at", "planner_agent_id", "agents", "definition_sha256")
_SETTLED_S = 600
"""Seconds after the latest write below a name until it is deleted for being of no run: a run may be just being made."""


@record(frozen=True, slots=True, kw_only=True)
class StaleUpload:
    """An upload that may be dropped: its run, artifact and id."""

    workflow_id: str
    artifact_id: str
    upload_id: str

    @property
    def member(self) -> str:
        """Its entry in the index."""
        return upload_entry(self.workflow_id, self.artifact_id, self.upload_id)


class ArtifactStore:
    """The artifacts of one Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0) -> None:
        self._connections = connections
        self._attempts = Attempts(connections=connections, wait_replicas=wait_replicas)

    def transact(
        self,
        workflow_id: str,
        artifact_id: str,
        decide: Callable[[ArtifactFound], ArtifactChange],
        *,
        state: str | None = None,
        content: tuple[str, bytes] | None = None,
    ) -> ArtifactStands | Refusal | None:
        """Read, decide, commit; retry after a lost race. None: there is no such run.

        The event has the attempt of `state`. `content` is the name and the bytes of the content that a decision may
        keep.
        """
        run = keys_of(workflow_id)

        def once(connection: Connection) -> ArtifactStands | Refusal | None:
            stored = _read(self._connections.form, connection, run, artifact_id, state)
            if stored is None:
                self._attempts.let_go(connection, run.barrier)
                return None
            change = self._attempts.result_of(connection, run.barrier, lambda: decide(stored))
            commands = list(_commands(run, artifact_id, stored, change, content))
            if not commands:
                self._attempts.let_go(connection, run.barrier)
                return change.answer
            commit(connection, commands, _announcements(self._connections.form, run, stored, change))
            self._attempts.confirm(connection, run.barrier)
            return change.answer

        return self._attempts.until_done(once)

    def blobs_of_run(self, workflow_id: str) -> str | None:
        """Return what a run's bytes are kept under; None if there is no such run."""
        form = self._connections.form
        (reply,) = self._connections.send(form.members(keys_of(workflow_id).meta, _CREATED))
        values = form.values(_CREATED, reply)
        return None if values is None else blobs_of(workflow_id, values.get("created_at"))

    def read(self, workflow_id: str, artifact_id: str) -> tuple[str, Artifact | None] | None:
        """Return what a run's bytes are kept under, and an artifact of it; None if there is no such run."""
        run, form = keys_of(workflow_id), self._connections.form
        meta, text = self._connections.send(
            form.members(run.meta, _CREATED), ("HGET", run.of("artifacts"), artifact_id)
        )
        known = form.values(_CREATED, meta)
        if known is None:
            return None
        artifact = None if text is None else read_artifact(load(text))
        return blobs_of(workflow_id, known.get("created_at")), artifact

    def content(self, workflow_id: str, names: Sequence[str]) -> list[bytes | None]:
        """Return bytes that are kept in Redis, by name."""
        content: list[bytes | None] = []
        (content,) = self._connections.send(("HMGET", keys_of(workflow_id).of("content"), *names)) if names else ([],)
        return content

    def page(
        self, workflow_id: str, after: tuple[int, str] | None, limit: int
    ) -> tuple[list[tuple[int, Artifact]], list[Upload], Mapping[str, int]] | None:
        """Return a page of artifacts by when they were put, uploads on the first page, and totals; None without run."""
        run, low = keys_of(workflow_id), "-inf" if after is None else str(after[0])
        scan: Command = (
            "ZRANGE",
            run.of("shelf"),
            low,
            "+inf",
            "BYSCORE",
            "LIMIT",
            0,
            limit + _SAME_TIME,
            "WITHSCORES",
        )
        meta, raw, totals, uploads = self._connections.send(
            ("EXISTS", run.meta), scan, ("HGET", run.of("artifacts"), _TOTALS), ("HVALS", run.of("uploads"))
        )
        if not meta:
            return None
        entries = [(int(float(at)), artifact_id.decode()) for artifact_id, at in zip(raw[::2], raw[1::2], strict=True)]
        page = [entry for entry in entries if after is None or entry > after][:limit]
        commands: tuple[Command, ...] = (("HMGET", run.of("artifacts"), *(name for _, name in page)),) if page else ()
        (records,) = self._connections.send(*commands) if commands else ([],)
        shown = [
            (at, read_artifact(load(record)))
            for (at, _), record in zip(page, records, strict=True)
            if record is not None
        ]
        return shown, [] if after else [read_upload(load(upload)) for upload in uploads], _totals(totals)

    def mark_blobs(self, prefix: str) -> None:
        """Note that bytes are about to be written below this name."""
        (clock,) = self._connections.send(("TIME",))
        self._connections.send(("ZADD", BLOBS, micros(clock), prefix))

    def forget_blobs(self, prefix: str) -> None:
        """Note that nothing is below this name now."""
        self._connections.send(("ZREM", BLOBS, prefix))

    def orphans(self, after: int, most: int) -> tuple[list[str], int]:
        """Return names of bytes whose run is gone, among `most` entries of the index, and where to look next."""
        clock, raw = self._connections.send(
            ("TIME",), ("ZRANGE", BLOBS, f"({after}", "+inf", "BYSCORE", "LIMIT", 0, most, "WITHSCORES")
        )
        settled = micros(clock) - _SETTLED_S * SECOND
        entries = [(artifact_id.decode(), int(float(at))) for artifact_id, at in zip(raw[::2], raw[1::2], strict=True)]
        old = [name for name, at in entries if at <= settled]
        replies = self._connections.send(*map(self._creation, old)) if old else []
        names = [name for name, reply in zip(old, replies, strict=True) if not self._is_of(name, reply)]
        return names, entries[-1][1] if len(entries) == most else 0

    def is_gone(self, prefix: str) -> bool:
        """Return True if the run whose bytes are kept below this name is gone."""
        (reply,) = self._connections.send(self._creation(prefix))
        return not self._is_of(prefix, reply)

    def _creation(self, prefix: str) -> Command:
        return self._connections.form.members(RunKeys(prefix.partition("/")[0]).meta, _CREATED)

    def _is_of(self, prefix: str, reply: Reply) -> bool:
        """Return True if this is the creation time of the run whose bytes are kept below the name."""
        values = self._connections.form.values(_CREATED, reply)
        return values is not None and blobs_of(prefix.partition("/")[0], values.get("created_at")) == prefix

    def stale_uploads(self, most: int) -> list[StaleUpload]:
        """Return uploads that may be due to be dropped."""
        (clock,) = self._connections.send(("TIME",))
        (raw,) = self._connections.send(("ZRANGE", UPLOADS, "-inf", micros(clock), "BYSCORE", "LIMIT", 0, most))
        parts = [upload_key.decode().split("/") for upload_key in raw]
        return [StaleUpload(workflow_id=run, artifact_id=name, upload_id=upload_id) for run, name, upload_id in parts]

    def forget_uploads(self, after: int, most: int) -> tuple[int, int]:
        """Take uploads of runs that are gone off the index, out of `most` entries; return how many, and where next."""
        (raw,) = self._connections.send(
            ("ZRANGE", UPLOADS, f"({after}", "+inf", "BYSCORE", "LIMIT", 0, most, "WITHSCORES")
        )
        entries = [entry.decode() for entry in raw[::2]]
        looks: list[Command] = [("EXISTS", RunKeys(entry.partition("/")[0]).meta) for entry in entries]
        runs = self._connections.send(*looks) if looks else []
        stale = [entry for entry, is_there in zip(entries, runs, strict=True) if not is_there]
        if stale:
            self._connections.send(("ZREM", UPLOADS, *stale))
        return len(stale), int(float(raw[-1])) if len(entries) == most else 0

    def settle_upload(self, stale: StaleUpload) -> None:
        """Take an ended upload off the index; an upload under way is looked at again when it is due."""
        run = keys_of(stale.workflow_id)
        clock, text = self._connections.send(("TIME",), ("HGET", run.of("uploads"), stale.artifact_id))
        upload = None if text is None else read_upload(load(text))
        if upload is None or upload.upload_id != stale.upload_id:
            self._connections.send(("ZREM", UPLOADS, stale.member))
        else:
            due = max(upload.touched_at + UPLOAD_LIFE_S * SECOND, micros(clock) + SECOND)
            self._connections.send(("ZADD", UPLOADS, due, stale.member))

    def reserve(self, prefix: str, wish: ArtifactPut) -> Refusal | None:
        """Count the bytes of a put for the caller's key, or refuse them; nothing where there are no quotas."""
        account = current_account()
        return None if account is None else quota_storage.reserve(self._connections, prefix, wish, account)

    def give_back(self, prefix: str, wish: ArtifactPut) -> None:
        """Release the bytes of a put that stored no artifact. If that fails, a later put of the key releases them."""
        account = current_account()
        if account is None:
            return
        try:
            quota_storage.give_back(self._connections, prefix, wish, account)
        except StoreUnavailable as error:
            _log.debug("quota: %s", error.message)


_SAME_TIME = 50
"""Entries that may have the very time of a cursor, and are read besides."""


def blobs_of(workflow_id: str, created_at: Json) -> str:
    """Return what the bytes of a run are kept under; another run of the same id has another name."""
    return f"{workflow_id}/{from_text(created_at) or 0}"


def content_name(artifact_id: str, upload_id: str, number: int) -> str:
    """Return the name of a part, within its run."""
    return f"{artifact_id}/{upload_id}/{number}"


def blob_name(artifact_id: str, upload_id: str, part: ArtifactPart) -> str:
    """Return the name of a part in the artifact store, within its run.

    It follows from the content too: of two who write the same part at once, none has the other's record with its bytes.
    """
    return f"{content_name(artifact_id, upload_id, part.number)}-{part.sha256[:16]}"


def _read(
    form: DocumentForm, connection: Connection, run: RunKeys, artifact_id: str, state: str | None
) -> ArtifactFound | None:
    artifacts, uploads = run.of("artifacts"), run.of("uploads")
    more: list[Command] = [] if state is None else [form.read(run.state(state))]
    opening: list[Command] = [
        ("WATCH", run.meta, artifacts, uploads),
        *(("TIME",), form.members(run.meta, _META)),
        *(("HMGET", artifacts, artifact_id, _TOTALS), ("HGET", uploads, artifact_id)),
        *more,
    ]
    _, clock, meta, (artifact, totals), upload, *states = map(checked, exchange(connection, opening))
    members = form.values(_META, meta)
    if members is None:
        return None
    known = {str(name): value for name, value in members.items()}
    text, counted = form.text(states[0]) if states else None, _totals(totals)
    return ArtifactFound(
        now=micros(clock),
        meta=read_meta(known),
        is_closed=known.get("finalized_at") is not None or known.get("deleted_at") is not None,
        artifact=None if artifact is None else read_artifact(load(artifact)),
        upload=None if upload is None else read_upload(load(upload)),
        count=counted["count"],
        bytes=counted["bytes"],
        attempt=None if text is None else read_state(load(text)).attempts,
        prefix=blobs_of(run.workflow_id, known.get("created_at")),
    )


def _totals(reply: Reply) -> dict[str, int]:
    totals: dict[str, int] = {"count": 0, "bytes": 0} if reply is None else load(reply)
    return totals


def _commands(
    run: RunKeys, artifact_id: str, stored: ArtifactFound, change: ArtifactChange, content: tuple[str, bytes] | None
) -> Iterator[Command]:
    if change.grows or change.counts:
        totals = {"count": stored.count + change.counts, "bytes": stored.bytes + change.grows}
        yield ("HSET", run.of("artifacts"), _TOTALS, dump(totals))
    if change.drops is not None:
        yield ("HDEL", run.of("uploads"), artifact_id)
        if change.artifact is None or change.artifact.upload_id != change.drops.upload_id:
            names = [content_name(artifact_id, change.drops.upload_id, number) for number in change.drops.parts]
            if names:
                yield ("HDEL", run.of("content"), *names)
    if change.upload is not None:
        yield ("HSET", run.of("uploads"), artifact_id, dump(write_upload(change.upload)))
    if change.is_content and content is not None:
        yield ("HSET", run.of("content"), *content)
    if change.artifact is not None:
        yield ("HSET", run.of("artifacts"), artifact_id, dump(write_artifact(change.artifact)))
        yield ("ZADD", run.of("shelf"), change.artifact.created_at, artifact_id)
    if change.event is not None:
        yield from event_commands(run, [change.event])


def _announcements(form: DocumentForm, run: RunKeys, stored: ArtifactFound, change: ArtifactChange) -> list[Command]:
    """Return what is sent before the commit: when the upload is looked at, and the event for the key's account."""
    account, commands = current_account(), list[Command]()
    if change.upload is not None:
        upload = change.upload
        stale = StaleUpload(workflow_id=run.workflow_id, artifact_id=upload.artifact_id, upload_id=upload.upload_id)
        commands.append(("ZADD", UPLOADS, stored.now + UPLOAD_LIFE_S * SECOND, stale.member))
    if account is not None and change.event is not None:
        commands.append(charge(form, run, [], 1, account))
    return commands
