"""Artifacts: bytes or text that a run keeps, immutable, with type, size, SHA-256 and where they came from. Pure.

An artifact is put whole, or in parts of any order that any process may send; it is there once all parts are. The
content of an id stays: the same content again is the same artifact, other content is refused. An upload has an id of
its own, under which its parts are kept, so that a dropped upload never touches the parts of the next.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from dcf.core.documents.decision import Event
from dcf.core.documents.model import Meta
from dcf.errors import TooLarge
from dcf.values.json_text import Json, byte_length
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record
from dcf.values.refusal import Refusal

MOST_ARTIFACTS: Final = 1000
"""Artifacts of one run, unfinished uploads included."""

MOST_PARTS: Final = 1000
UPLOAD_LIFE_S: Final = 24 * 3600
"""Seconds after its last part until an unfinished upload is dropped."""

LONGEST_NAME: Final = 300
MOST_METADATA: Final = 16 * 1024


def check_metadata(metadata: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return what is to be kept with an artifact; raise TooLarge for too much of it."""
    if byte_length(dict(metadata)) > MOST_METADATA:
        raise TooLarge(f"The metadata of an artifact has at most {MOST_METADATA} bytes.", "Put it into the content.")
    return metadata


class Where(StrEnum):
    """Where the bytes of a part are: in Redis with the run, or in the artifact store."""

    REDIS = "redis"
    STORE = "store"


@record(frozen=True, slots=True, kw_only=True)
class ArtifactPart:
    """One part of an artifact's bytes; an artifact that was put whole has one.

    `sender` is drawn by the call that sent the part: a call whose answer was lost knows its own part by it.
    """

    number: int
    size: int
    sha256: str
    where: Where
    sender: str = ""


@record(frozen=True, slots=True, kw_only=True)
class ArtifactKind:
    """The type and the origin of an artifact; the same for all its parts.

    `attempt` is that of the state when it was put.
    """

    name: str
    content_type: str
    state: str | None = None
    agent_id: str | None = None
    created_by: str = ""
    attempt: int | None = None
    metadata: Mapping[str, Json]

    def is_like(self, other: "ArtifactKind") -> bool:
        """Return True if name and type are the same; a later put of the same bytes does not change the artifact."""
        return (self.name, self.content_type) == (other.name, other.content_type)


@record(frozen=True, slots=True, kw_only=True)
class Artifact:
    """The stored record of an artifact. `upload_id` says under which name its parts are kept."""

    artifact_id: str
    kind: ArtifactKind
    size: int
    sha256: str
    upload_id: str
    parts: tuple[ArtifactPart, ...]
    created_at: int

    @property
    def is_inline(self) -> bool:
        """True if all its bytes are kept in Redis."""
        return all(part.where is Where.REDIS for part in self.parts)

    as_json = json_method(
        "artifact_id kind.name kind.content_type size sha256 kind.state kind.attempt kind.agent_id kind.created_by "
        "created_at kind.metadata",
        times="created_at",
    )


@record(frozen=True, slots=True, kw_only=True)
class Upload:
    """An artifact that is not whole yet: the parts that are there, of how many."""

    artifact_id: str
    kind: ArtifactKind
    upload_id: str
    of: int
    parts: Mapping[int, ArtifactPart]
    touched_at: int

    @property
    def size(self) -> int:
        """Bytes of the parts that are there."""
        return sum(part.size for part in self.parts.values())

    @property
    def is_complete(self) -> bool:
        """True if all parts are there, and only the digest of the whole is to be found."""
        return len(self.parts) == self.of

    @property
    def missing(self) -> list[int]:
        """The numbers of the parts that are not there yet, the first hundred."""
        return [number for number in range(1, self.of + 1) if number not in self.parts][:100]


@record(frozen=True, slots=True, kw_only=True)
class ArtifactLimits:
    """How much an artifact, and all of a run, may have, and how long content in Redis may be."""

    one: int
    run: int
    inline: int
    has_store: bool


@record(frozen=True, slots=True, kw_only=True)
class ArtifactFound:
    """The data for a decision: the run, the artifact and its upload if there are, and how much the run has of both.

    `prefix` is the prefix of the run's bytes in the artifact store.
    """

    now: int
    meta: Meta
    is_closed: bool
    artifact: Artifact | None = None
    upload: Upload | None = None
    count: int = 0
    bytes: int = 0
    attempt: int | None = None
    prefix: str = ""


@record(frozen=True, slots=True, kw_only=True)
class ArtifactPut:
    """Request to keep one part of an artifact: the only one, or number `number` of `of`.

    `whole` is the SHA-256 of all bytes, if the caller gave it.
    """

    artifact_id: str
    kind: ArtifactKind
    part: ArtifactPart
    of: int
    whole: str | None = None
    agent_bound: str | None = None

    @property
    def drawn(self) -> str:
        """The id of the upload that this may begin: it was drawn as the part's sender."""
        return self.part.sender


@record(frozen=True, slots=True, kw_only=True)
class ArtifactStands:
    """How an artifact stands after a call: kept, or still being uploaded. `existed`: no try of this call wrote it."""

    artifact: Artifact | None = None
    upload: Upload | None = None
    existed: bool = False


@record(frozen=True, slots=True, kw_only=True)
class ArtifactChange:
    """The answer of a decision and what it writes. `is_content`: the part's bytes go into Redis with it.

    `grows` are the bytes that the run has more, `drops` the upload that has ended.
    """

    answer: ArtifactStands | Refusal
    artifact: Artifact | None = None
    upload: Upload | None = None
    drops: Upload | None = None
    is_content: bool = False
    grows: int = 0
    counts: int = 0
    event: Event | None = None


@record(frozen=True, slots=True, kw_only=True)
class PartGiven:
    """One call that puts something: bytes, and which part of what they are. `whole` is the SHA-256 of all bytes."""

    workflow_id: str
    artifact_id: str
    kind: ArtifactKind
    data: bytes
    number: int = 1
    of: int = 1
    whole: str | None = None
    agent_bound: str | None = None


_KIND: Final = "kind.name kind.content_type kind.state kind.agent_id kind.created_by kind.attempt kind.metadata"
_NAMED: Final = {"artifact_id": "id", "upload_id": "upload"}
_ARTIFACT: Final = RecordCodec(
    Artifact, f"artifact_id {_KIND} size sha256 upload_id", named=_NAMED, left_out="none", strict=True
)
_UPLOAD: Final = RecordCodec(Upload, f"artifact_id {_KIND} upload_id of", named=_NAMED, left_out="none", strict=True)


def write_artifact(artifact: Artifact) -> dict[str, Json]:
    """Write the stored record of an artifact."""
    return {**_ARTIFACT.write(artifact), **_write_parts(artifact.parts), "at": artifact.created_at}


def read_artifact(document: Mapping[str, Json]) -> Artifact:
    """Read what `write_artifact` wrote."""
    return _ARTIFACT.read(document, parts=tuple(_read_parts(document)), created_at=document["at"])


def write_upload(upload: Upload) -> dict[str, Json]:
    """Write the stored record of an upload."""
    return {**_UPLOAD.write(upload), **_write_parts(upload.parts.values()), "at": upload.touched_at}


def read_upload(document: Mapping[str, Json]) -> Upload:
    """Read what `write_upload` wrote."""
    parts = {part.number: part for part in _read_parts(document)}
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
