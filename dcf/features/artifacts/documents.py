"""Reads and writes the stored records of artifacts and uploads. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from dcf.features.artifacts.model import Artifact, ArtifactKind, ArtifactPart, Upload, Where
from dcf.values.json_text import Json


def write_artifact(found: Artifact) -> dict[str, Json]:
    """Write the stored record of an artifact."""
    return {
        "id": found.artifact_id,
        **_write_kind(found.kind),
        "size": found.size,
        "sha256": found.sha256,
        "upload": found.upload_id,
        **_write_parts(found.parts),
        "at": found.created_at,
    }


def read_artifact(document: Mapping[str, Json]) -> Artifact:
    """Read what `write_artifact` wrote."""
    return Artifact(
        artifact_id=document["id"],
        kind=_read_kind(document),
        size=document["size"],
        sha256=document["sha256"],
        upload_id=document["upload"],
        parts=tuple(_read_parts(document)),
        created_at=document["at"],
    )


def write_upload(found: Upload) -> dict[str, Json]:
    """Write the stored record of an upload."""
    return {
        "id": found.artifact_id,
        **_write_kind(found.kind),
        "upload": found.upload_id,
        "of": found.of,
        **_write_parts(found.parts.values()),
        "at": found.touched_at,
    }


def read_upload(document: Mapping[str, Json]) -> Upload:
    """Read what `write_upload` wrote."""
    parts = _read_parts(document)
    return Upload(
        artifact_id=document["id"],
        kind=_read_kind(document),
        upload_id=document["upload"],
        of=document["of"],
        parts={one.number: one for one in parts},
        touched_at=document["at"],
    )


def _write_kind(kind: ArtifactKind) -> dict[str, Json]:
    return {name: value for name, value in asdict(kind).items() if value is not None}


def _read_kind(document: Mapping[str, Json]) -> ArtifactKind:
    known: dict[str, Any] = {one.name: document[one.name] for one in fields(ArtifactKind) if one.name in document}
    return ArtifactKind(**known)


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
