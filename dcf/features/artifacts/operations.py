"""The operations on artifacts: put, read, list, and delete abandoned uploads and bytes of deleted runs.

Short content is kept in Redis with its record, in one transaction. Longer content is written to the artifact store
first and named by a record afterwards, so that a record always has its bytes. If a process dies in between, its bytes
are below a name in `cp:idx:blobs` or `cp:idx:uploads`, and the processes of the timer loop delete them.
"""

import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from dcf.core.listing.cursors import read_time_and_id
from dcf.errors import DcfError, StoreUnavailable, UnknownRun
from dcf.features.artifacts import refusals, rules
from dcf.features.artifacts.model import (
    Artifact,
    ArtifactChange,
    ArtifactFound,
    ArtifactLimits,
    ArtifactPart,
    ArtifactPut,
    ArtifactStands,
    PartGiven,
    Upload,
    Where,
)
from dcf.features.artifacts.storage import ArtifactStore, StaleUpload, blob_name, content_name
from dcf.ports import BlobStore
from dcf.runs.control_plane import ControlPlane
from dcf.values.digest import sha256_of
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

_log = logging.getLogger(__name__)

Decide: TypeAlias = Callable[[ArtifactFound], ArtifactChange]

_CLEAN_EVERY_S = 60.0
_CLEANED_AT_ONCE = 20
_LOOKED_AT_ONCE = 200


@record(frozen=True, slots=True, kw_only=True)
class ArtifactRead:
    """Bytes of an artifact from `offset` on."""

    artifact: Artifact
    offset: int
    data: bytes


@record(frozen=True, slots=True, kw_only=True)
class ArtifactPage:
    """A page of a run's artifacts by when they were put; unfinished uploads are on the first."""

    artifacts: Sequence[Artifact]
    uploads: Sequence[Upload]
    count: int
    bytes: int
    next_cursor: str | None


class Artifacts:
    """The artifacts of runs."""

    def __init__(
        self, plane: ControlPlane, store: ArtifactStore, blobs: BlobStore | None, limits: ArtifactLimits
    ) -> None:
        self._plane = plane
        self._store = store
        self._blobs = blobs
        self.limits = limits
        self._looked_until = 0
        self._uploads_until = 0
        self._clean_at = 0.0

    def put(self, part_given: PartGiven) -> ArtifactStands | Refusal:
        """Keep an artifact, or one part of it. A repetition is not an error and has no effect. Raise UnknownRun."""
        state = part_given.kind.state
        path = None if state is None else self._plane.place(part_given.workflow_id, state).path
        part_given = _with_state(part_given, path)
        sha256 = sha256_of(part_given.data)
        if part_given.of == 1 and part_given.whole not in (None, sha256):
            return refusals.SHA256_DIFFERS.refuse(expected=str(part_given.whole), result=sha256)
        is_short = len(part_given.data) <= self.limits.inline and part_given.of == 1
        where = Where.STORE if self.limits.has_store and not is_short else Where.REDIS
        size, sender = len(part_given.data), secrets.token_hex(8)
        part = ArtifactPart(number=part_given.number, size=size, sha256=sha256, where=where, sender=sender)
        wish = ArtifactPut(
            artifact_id=part_given.artifact_id,
            kind=part_given.kind,
            part=part,
            of=part_given.of,
            whole=part_given.whole,
            agent_bound=part_given.agent_bound,
        )
        return self._put_whole(part_given, wish) if part_given.of == 1 else self._put_part(part_given, wish)

    def read(self, workflow_id: str, artifact_id: str, offset: int, length: int | None) -> ArtifactRead | Refusal:
        """Return bytes of an artifact, checked by the digests of its parts. Raise UnknownRun."""
        stored = self._store.read(workflow_id, artifact_id)
        if stored is None:
            raise UnknownRun(workflow_id)
        prefix, artifact = stored
        if artifact is None:
            return refusals.UNKNOWN_ARTIFACT.refuse(artifact_id=artifact_id)
        end = artifact.size if length is None else min(artifact.size, offset + length)
        pieces, begins = list[bytes](), 0
        for part in artifact.parts:
            ends = begins + part.size
            if begins < end and offset < ends:
                data = self._bytes_of(workflow_id, prefix, artifact.artifact_id, artifact.upload_id, part)
                if data is None:
                    return refusals.DAMAGED.refuse(artifact_id=artifact_id)
                pieces.append(data[max(0, offset - begins) : end - begins])
            begins = ends
        return ArtifactRead(artifact=artifact, offset=offset, data=b"".join(pieces))

    def page(self, workflow_id: str, cursor: str | None, limit: int) -> ArtifactPage:
        """Return a page of a run's artifacts. Raise UnknownRun."""
        page = self._store.page(workflow_id, read_time_and_id(cursor), limit)
        if page is None:
            raise UnknownRun(workflow_id)
        entries, uploads, totals = page
        last = f"{entries[-1][0]}:{entries[-1][1].artifact_id}" if len(entries) == limit else None
        return ArtifactPage(
            artifacts=[entry for _, entry in entries],
            uploads=uploads,
            count=totals["count"],
            bytes=totals["bytes"],
            next_cursor=last,
        )

    def forget_run(self, prefix: str) -> None:
        """Delete the bytes of a deleted run; if the store does not answer, the timer loop deletes them later."""
        try:
            self._delete_orphan(prefix)
        except StoreUnavailable as error:
            _log.warning("artifacts of %s: %s", prefix, error.message)

    def step(self) -> None:
        """Clean up, a little every minute. A store that does not answer is left until the next time."""
        if time.monotonic() < self._clean_at:
            return
        self._clean_at = time.monotonic() + _CLEAN_EVERY_S
        try:
            self.clean()
        except DcfError as error:
            _log.warning("artifacts: %s: %s", error.code, error.message)

    def clean(self) -> int:
        """Drop abandoned uploads, and the uploads and bytes of deleted runs; return how many in all.

        A few at a time, for the timer loop; each look continues where the last one ended.
        """
        done = 0
        for stale in self._store.stale_uploads(_CLEANED_AT_ONCE):
            done += self._drop(stale)
        forgotten, self._uploads_until = self._store.forget_uploads(self._uploads_until, _LOOKED_AT_ONCE)
        done += forgotten
        orphans, self._looked_until = self._store.orphans(self._looked_until, _LOOKED_AT_ONCE)
        for prefix in orphans[:_CLEANED_AT_ONCE] if self._blobs is not None else ():
            self._delete_orphan(prefix)
            done += 1
        return done

    def _drop(self, stale: StaleUpload) -> int:
        """Drop an abandoned upload, and delete its bytes unless an artifact was made of them."""
        run, name = stale.workflow_id, stale.artifact_id
        answer = self._store.transact(run, name, partial(rules.drop, upload_id=stale.upload_id))
        stored = None if answer is None else self._store.read(run, name)
        if stored is not None and isinstance(answer, ArtifactStands):
            prefix, artifact = stored
            goes_on = answer.upload is not None and answer.upload.upload_id == stale.upload_id
            is_made = artifact is not None and artifact.upload_id == stale.upload_id
            if not goes_on and not is_made and self._blobs is not None:
                self._blobs.delete(f"{prefix}/{name}/{stale.upload_id}")
        self._store.settle_upload(stale)
        return 0 if isinstance(answer, ArtifactStands) and answer.existed else 1

    def _put_whole(self, part_given: PartGiven, wish: ArtifactPut) -> ArtifactStands | Refusal:
        content = (content_name(wish.artifact_id, wish.drawn, wish.part.number), part_given.data)
        if wish.part.where is Where.REDIS:
            return self._counted(part_given, wish, partial(rules.whole, wish=wish, limits=self.limits), content)
        seen = self._look(part_given, wish, partial(rules.whole, wish=wish, limits=self.limits))
        if isinstance(seen, ArtifactStands | Refusal):
            return seen
        name = f"{seen}/{blob_name(wish.artifact_id, wish.drawn, wish.part)}"
        self._write(seen, name, part_given.data)
        answer = self._counted(part_given, wish, partial(rules.whole, wish=wish, limits=self.limits), None)
        if isinstance(answer, Refusal) or answer.existed:
            self._discard(f"{seen}/{wish.artifact_id}/{wish.drawn}")
        return answer

    def _put_part(self, part_given: PartGiven, wish: ArtifactPut) -> ArtifactStands | Refusal:
        begun = self._on(part_given, wish, partial(rules.begin, wish=wish, limits=self.limits))
        if isinstance(begun, Refusal) or begun.artifact is not None or begun.upload is None:
            return begun
        upload = begun.upload
        if not begun.existed:
            added = self._add(part_given, wish, upload.upload_id)
            if isinstance(added, Refusal) or added.upload is None:
                return added
            upload = added.upload
        return (
            self._finish(part_given, upload)
            if upload.is_complete
            else ArtifactStands(upload=upload, existed=begun.existed)
        )

    def _add(self, part_given: PartGiven, wish: ArtifactPut, upload_id: str) -> ArtifactStands | Refusal:
        add = partial(rules.add_part, wish=wish, limits=self.limits, upload_id=upload_id)
        if wish.part.where is Where.REDIS:
            name = content_name(wish.artifact_id, upload_id, wish.part.number)
            return self._counted(part_given, wish, add, (name, part_given.data))
        prefix = self._store.blobs_of_run(part_given.workflow_id)
        if prefix is None:
            raise UnknownRun(part_given.workflow_id)
        self._write(prefix, f"{prefix}/{blob_name(wish.artifact_id, upload_id, wish.part)}", part_given.data)
        return self._counted(part_given, wish, add, None)

    def _finish(self, part_given: PartGiven, upload: Upload) -> ArtifactStands | Refusal:
        """Work out the digest of the whole, part by part, and make the artifact."""
        prefix = self._store.blobs_of_run(part_given.workflow_id) or ""
        whole = hashlib.sha256()
        for number in range(1, upload.of + 1):
            data = self._bytes_of(
                part_given.workflow_id, prefix, part_given.artifact_id, upload.upload_id, upload.parts[number]
            )
            if data is None:
                return refusals.DAMAGED.refuse(artifact_id=part_given.artifact_id)
            whole.update(data)
        made = partial(rules.finish, upload_id=upload.upload_id, sha256=whole.hexdigest(), expected=part_given.whole)
        answer = self._store.transact(part_given.workflow_id, part_given.artifact_id, made)
        if answer is None:
            raise UnknownRun(part_given.workflow_id)
        if isinstance(answer, Refusal) and answer.code == "sha256_differs":
            self._discard(f"{prefix}/{part_given.artifact_id}/{upload.upload_id}")
        return answer

    def _look(self, part_given: PartGiven, wish: ArtifactPut, made: Decide) -> ArtifactStands | Refusal | str:
        """Return what would be answered if nothing is to be written; else what the run's bytes are kept under."""
        prefix = ""

        def dry(stored: ArtifactFound) -> ArtifactChange:
            nonlocal prefix
            change = made(stored)
            prefix = stored.prefix if change.artifact is not None else ""
            return ArtifactChange(answer=change.answer)

        answer = self._on(part_given, wish, dry)
        return prefix or answer

    def _counted(
        self, part_given: PartGiven, wish: ArtifactPut, made: Decide, content: tuple[str, bytes] | None
    ) -> ArtifactStands | Refusal:
        """Carry out a decision that keeps bytes, counted for the caller's key before."""
        prefix = self._store.blobs_of_run(part_given.workflow_id)
        if prefix is None:
            raise UnknownRun(part_given.workflow_id)
        full = self._store.reserve(prefix, wish)
        if full is not None:
            return full
        answer = self._on(part_given, wish, made, content)
        if isinstance(answer, Refusal) or answer.existed:
            self._store.give_back(prefix, wish)
        return answer

    def _on(
        self, part_given: PartGiven, wish: ArtifactPut, made: Decide, content: tuple[str, bytes] | None = None
    ) -> ArtifactStands | Refusal:
        answer = self._store.transact(
            part_given.workflow_id, wish.artifact_id, made, state=part_given.kind.state, content=content
        )
        if answer is None:
            raise UnknownRun(part_given.workflow_id)
        return answer

    def _write(self, prefix: str, name: str, data: bytes) -> None:
        assert self._blobs is not None, "a part is kept there only if there is a store"
        self._store.mark_blobs(prefix)
        self._blobs.write(name, data)

    def _discard(self, prefix: str) -> None:
        """Delete bytes that no record names; where the store does not answer, they go with their run."""
        try:
            if self._blobs is not None:
                self._blobs.delete(prefix)
        except StoreUnavailable as error:
            _log.warning("artifacts: %s", error.message)

    def _delete_orphan(self, prefix: str) -> None:
        if self._blobs is not None and self._store.is_gone(prefix):
            self._blobs.delete(prefix)
            self._store.forget_blobs(prefix)

    def _bytes_of(
        self, workflow_id: str, prefix: str, artifact_id: str, upload_id: str, part: ArtifactPart
    ) -> bytes | None:
        """Return the bytes of a part; None if they are not what was put."""
        if part.where is Where.REDIS:
            (data,) = self._store.content(workflow_id, [content_name(artifact_id, upload_id, part.number)])
        elif self._blobs is None:
            raise StoreUnavailable(
                "The content is in an artifact store, and this server has none.",
                "Set DCF_ARTIFACT_STORE as on the server that kept it.",
            )
        else:
            data = self._blobs.read(f"{prefix}/{blob_name(artifact_id, upload_id, part)}")
        return data if data is not None and sha256_of(data) == part.sha256 else None


def _with_state(part_given: PartGiven, path: str | None) -> PartGiven:
    return (
        replace(part_given, kind=replace(part_given.kind, state=path)) if path != part_given.kind.state else part_given
    )
