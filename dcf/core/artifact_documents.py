"""Reads and writes the stored records of artifacts and uploads. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from dcf.core.artifacts import Artifact, ArtifactKind, ArtifactPart, Upload, Where
from dcf.values.json_text import Json


def write_artifact(found: Artifact) -> dict[str, Json]:
    """Write the stored record of an artifact."""
    return {
        "id": found.artifact_id,
        **_write_kind(found.kind),
        "size": found.size,
        "sha256": found.sha256,
        "upload": found.upload_id,
        "parts": [_write_part(one) for one in found.parts],
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
        parts=tuple(_read_part(one) for one in document["parts"]),
        created_at=document["at"],
    )


def write_upload(found: Upload) -> dict[str, Json]:
    """Write the stored record of an upload."""
    return {
        "id": found.artifact_id,
        **_write_kind(found.kind),
        "upload": found.upload_id,
        "of": found.of,
        "parts": [_write_part(one) for one in found.parts.values()],
        "at": found.touched_at,
    }


def read_upload(document: Mapping[str, Json]) -> Upload:
    """Read what `write_upload` wrote."""
    parts = [_read_part(one) for one in document["parts"]]
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


def _write_part(part: ArtifactPart) -> list[Json]:
    return [part.number, part.size, part.sha256, str(part.where)]


def _read_part(found: list[Any]) -> ArtifactPart:
    number, size, sha256, where = found
    return ArtifactPart(number=number, size=size, sha256=sha256, where=Where(where))
