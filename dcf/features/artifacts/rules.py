"""Decides what an artifact that is put changes in its run: kept, begun, continued, refused or dropped. Pure."""

from typing import TYPE_CHECKING

from dcf.core.documents.decision import Event
from dcf.core.listing.runs import agents_in
from dcf.features.artifacts import refusals
from dcf.features.artifacts.model import (
    MOST_ARTIFACTS,
    UPLOAD_LIFE_S,
    Artifact,
    ArtifactChange,
    ArtifactFound,
    ArtifactKind,
    ArtifactLimits,
    ArtifactPart,
    ArtifactPut,
    ArtifactStands,
    Upload,
    Where,
)
from dcf.values.instants import SECOND
from dcf.values.records import replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.values.json_text import Json


def whole(stored: ArtifactFound, wish: ArtifactPut, limits: ArtifactLimits) -> ArtifactChange:
    """Keep an artifact that comes in one piece."""
    known = _known(stored, wish, wish.part.sha256)
    if known is not None:
        return ArtifactChange(answer=known)
    refusal = _unless_admitted(stored, wish) or _unless_room(stored, wish.part, wish.part.size, limits, adds=1)
    if refusal is not None:
        return ArtifactChange(answer=refusal)
    kind = replace(wish.kind, attempt=stored.attempt)
    made = _made(wish.artifact_id, kind, wish.part.sha256, wish.drawn, (wish.part,), stored.now)
    return ArtifactChange(
        answer=ArtifactStands(artifact=made),
        artifact=made,
        drops=stored.upload,
        is_content=wish.part.where is Where.REDIS,
        grows=made.size - (0 if stored.upload is None else stored.upload.size),
        counts=0 if stored.upload is not None else 1,
        event=_told(made),
    )


def begin(stored: ArtifactFound, wish: ArtifactPut, limits: ArtifactLimits) -> ArtifactChange:
    """Begin the upload that a part belongs to, unless it is under way; its answer says whether the part is there."""
    known = _known(stored, wish, wish.whole)
    if known is not None:
        return ArtifactChange(answer=known)
    upload = stored.upload
    if upload is None:
        refusal = _unless_admitted(stored, wish) or _unless_room(stored, wish.part, wish.part.size, limits, adds=1)
        if refusal is not None:
            return ArtifactChange(answer=refusal)
        kind = replace(wish.kind, attempt=stored.attempt)
        fresh = Upload(
            artifact_id=wish.artifact_id, kind=kind, upload_id=wish.drawn, of=wish.of, parts={}, touched_at=stored.now
        )
        return ArtifactChange(answer=ArtifactStands(upload=fresh), upload=fresh, counts=1)
    there = upload.parts.get(wish.part.number)
    if upload.of != wish.of or not upload.kind.is_like(wish.kind) or (there is not None and _differ(there, wish.part)):
        return ArtifactChange(answer=refusals.OTHER_UPLOAD.refuse(artifact_id=wish.artifact_id))
    if there is not None:
        return ArtifactChange(answer=ArtifactStands(upload=upload, existed=there.sender != wish.drawn))
    refusal = _unless_admitted(stored, wish) or _unless_room(stored, wish.part, upload.size + wish.part.size, limits)
    return ArtifactChange(answer=ArtifactStands(upload=upload) if refusal is None else refusal)


def add_part(stored: ArtifactFound, wish: ArtifactPut, limits: ArtifactLimits, upload_id: str) -> ArtifactChange:
    """Note that a part is kept, in the upload under whose id it was; refuse if that upload is no longer under way."""
    begun = begin(stored, wish, limits)
    upload = stored.upload
    is_noted = upload is not None and wish.part.number in upload.parts
    if isinstance(begun.answer, Refusal) or begun.answer.artifact is not None or is_noted:
        return replace(begun, upload=None, counts=0)
    if upload is None or upload.upload_id != upload_id:
        return ArtifactChange(answer=refusals.OTHER_UPLOAD.refuse(artifact_id=wish.artifact_id))
    grown = replace(upload, parts={**upload.parts, wish.part.number: wish.part}, touched_at=stored.now)
    return ArtifactChange(
        answer=ArtifactStands(upload=grown),
        upload=grown,
        is_content=wish.part.where is Where.REDIS,
        grows=wish.part.size,
    )


def finish(stored: ArtifactFound, upload_id: str, sha256: str, expected: str | None) -> ArtifactChange:
    """Make an artifact of an upload whose parts are all there; one with other bytes than expected is dropped."""
    upload = stored.upload
    if upload is None or upload.upload_id != upload_id or not upload.is_complete:
        artifact = stored.artifact
        if artifact is not None and artifact.sha256 == sha256:
            return ArtifactChange(answer=ArtifactStands(artifact=artifact, existed=artifact.upload_id != upload_id))
        if expected not in (None, sha256):  # an earlier try has dropped the upload
            return ArtifactChange(answer=refusals.SHA256_DIFFERS.refuse(expected=str(expected), result=sha256))
        return ArtifactChange(
            answer=refusals.OTHER_UPLOAD.refuse(artifact_id="" if upload is None else upload.artifact_id)
        )
    if expected not in (None, sha256):
        refusal = refusals.SHA256_DIFFERS.refuse(expected=str(expected), result=sha256)
        return ArtifactChange(answer=refusal, drops=upload, grows=-upload.size, counts=-1)
    parts = tuple(upload.parts[number] for number in range(1, upload.of + 1))
    made = _made(upload.artifact_id, upload.kind, sha256, upload_id, parts, stored.now)
    return ArtifactChange(answer=ArtifactStands(artifact=made), artifact=made, drops=upload, event=_told(made))


def drop(stored: ArtifactFound, upload_id: str) -> ArtifactChange:
    """Drop an abandoned upload."""
    upload = stored.upload
    is_due = upload is not None and upload.touched_at + UPLOAD_LIFE_S * SECOND <= stored.now
    if upload is None or upload.upload_id != upload_id or not is_due:
        return ArtifactChange(answer=ArtifactStands(upload=upload, existed=True))
    return ArtifactChange(answer=ArtifactStands(), drops=upload, grows=-upload.size, counts=-1)


def _known(stored: ArtifactFound, wish: ArtifactPut, sha256: str | None) -> ArtifactStands | Refusal | None:
    """Return the artifact that is there, if what is put is a part of it; a refusal if it is something else."""
    artifact = stored.artifact
    if artifact is None:
        return None
    is_same = artifact.kind.is_like(wish.kind) and (sha256 is None or artifact.sha256 == sha256)
    if wish.of > 1 or sha256 is None:
        part = next((part for part in artifact.parts if part.number == wish.part.number), None)
        is_same = is_same and len(artifact.parts) == wish.of and part is not None and not _differ(part, wish.part)
    if not is_same:
        return refusals.OTHER_CONTENT.refuse(artifact_id=wish.artifact_id)
    is_own = any(part.sender == wish.drawn for part in artifact.parts)
    return ArtifactStands(artifact=artifact, existed=not is_own)


def _unless_admitted(stored: ArtifactFound, wish: ArtifactPut) -> Refusal | None:
    if stored.is_closed:
        return refusals.RUN_TAKES_NONE.refuse(status="finalized")
    agent, meta, state = wish.agent_bound, stored.meta, wish.kind.state
    if agent is None or agent == meta.planner_agent_id:
        return None
    assigned = agents_in({name: list(pool) for name, pool in meta.agents.items()})
    may = agent in assigned or not assigned or (state is not None and meta.may_take(state, agent))
    return None if may else refusals.NO_PART_IN_RUN.refuse(agent_id=agent)


def _unless_room(
    stored: ArtifactFound, part: ArtifactPart, size: int, limits: ArtifactLimits, *, adds: int = 0
) -> Refusal | None:
    """Refuse what is too much; `size` is that of the artifact with this part."""
    if size > limits.one:
        return refusals.TOO_LARGE_FOR_ONE.refuse(size=size, limit=limits.one)
    if adds and stored.upload is None and stored.count + adds > MOST_ARTIFACTS:
        return refusals.TOO_MANY_ARTIFACTS.refuse(limit=MOST_ARTIFACTS)
    if stored.bytes + part.size > limits.run:
        return refusals.TOO_LARGE_FOR_RUN.refuse(used=stored.bytes, size=part.size, limit=limits.run)
    if size > limits.inline and not limits.has_store:
        return refusals.NO_STORE.refuse(size=size, limit=limits.inline)
    return None


def _differ(artifact_part: ArtifactPart, other: ArtifactPart) -> bool:
    return (artifact_part.size, artifact_part.sha256) != (other.size, other.sha256)


def _made(
    artifact_id: str, kind: ArtifactKind, sha256: str, upload_id: str, parts: tuple[ArtifactPart, ...], now: int
) -> Artifact:
    return Artifact(
        artifact_id=artifact_id,
        kind=kind,
        size=sum(part.size for part in parts),
        sha256=sha256,
        upload_id=upload_id,
        parts=parts,
        created_at=now,
    )


def _told(made: Artifact) -> Event:
    """Return the event of the run's history."""
    data: dict[str, Json] = {
        "artifact_id": made.artifact_id,
        "name": made.kind.name,
        "content_type": made.kind.content_type,
        "size": made.size,
        "sha256": made.sha256,
    }
    return Event(type="ArtifactPut", state=made.kind.state, data=data)
