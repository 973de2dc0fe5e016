"""Artifacts: bytes or text that a run keeps, immutable, with type, size, SHA-256 and where they came from. Pure.

An artifact is put whole, or in parts of any order that any process may send; it is there once all parts are. The
content of an id stays: the same content again is the same artifact, other content is refused. An upload has an id of
its own, under which its parts are kept, so that a dropped upload never touches the parts of the next.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from dcf.core.documents.decision import Event
from dcf.core.documents.model import Meta
from dcf.errors import TooLarge
from dcf.values.instants import to_text
from dcf.values.json_text import Json, byte_length
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

    def as_json(self) -> dict[str, Json]:
        """Return it as callers see it."""
        kind = self.kind
        return {
            "artifact_id": self.artifact_id,
            "name": kind.name,
            "content_type": kind.content_type,
            "size": self.size,
            "sha256": self.sha256,
            "state": kind.state,
            "attempt": kind.attempt,
            "agent_id": kind.agent_id,
            "created_by": kind.created_by,
            "created_at": to_text(self.created_at),
            "metadata": dict(kind.metadata),
        }


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
        return sum(one.size for one in self.parts.values())

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
