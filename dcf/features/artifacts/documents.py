"""Reads and writes the stored records of artifacts and uploads. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.features.artifacts.model import Artifact, ArtifactPart, Upload, Where
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec

_KIND: Final = "kind.name kind.content_type kind.state kind.agent_id kind.created_by kind.attempt kind.metadata"
_NAMED: Final = {"artifact_id": "id", "upload_id": "upload"}
_ARTIFACT: Final = RecordCodec(
    Artifact, f"artifact_id {_KIND} size sha256 upload_id", named=_NAMED, left_out="none", strict=True
)
_UPLOAD: Final = RecordCodec(Upload, f"artifact_id {_KIND} upload_id of", named=_NAMED, left_out="none", strict=True)


def write_artifact(found: Artifact) -> dict[str, Json]:
    """Write the stored record of an artifact."""
    return {**_ARTIFACT.write(found), **_write_parts(found.parts), "at": found.created_at}


def read_artifact(document: Mapping[str, Json]) -> Artifact:
    """Read what `write_artifact` wrote."""
    return _ARTIFACT.read(document, parts=tuple(_read_parts(document)), created_at=document["at"])


def write_upload(found: Upload) -> dict[str, Json]:
    """Write the stored record of an upload."""
    return {**_UPLOAD.write(found), **_write_parts(found.parts.values()), "at": found.touched_at}


def read_upload(document: Mapping[str, Json]) -> Upload:
    """Read what `write_upload` wrote."""
    parts = {one.number: one for one in _read_parts(document)}
    return _UPLOAD.read(document, parts=parts, touched_at=document["at"])


def _write_parts(parts: Iterable[ArtifactPart]) -> dict[str, Json]:
    """Write parts, and their senders as a list of their own, which an older version ignores."""
    written = list(parts)
    return {
        "parts": [[part.number, part.size, part.sha256, str(part.where)] for part in written],
        "by": [part.sender for part in written],
    }


def _read_parts(document: Mapping[str, Json]) -> list[ArtifactPart]:
    parts = document["parts"]
    senders = document.get("by") or [""] * len(parts)
    return [
        ArtifactPart(number=number, size=size, sha256=sha256, where=Where(where), sender=sender)
        for (number, size, sha256, where), sender in zip(parts, senders, strict=True)
    ]
