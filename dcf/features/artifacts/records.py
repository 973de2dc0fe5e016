"""The answers of the verbs of artifacts. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

ContentEncodingName: TypeAlias = Literal["text", "base64"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptArtifact:
    """An artifact of a run: what it is, and where it came from."""

    artifact_id: str
    name: str
    content_type: str
    size: int
    sha256: str
    state: str | None = None
    attempt: int | None = None
    agent_id: str | None = None
    created_by: str = ""
    created_at: datetime | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactUpload:
    """An artifact of which parts are missing: how many of them are there, and the numbers of the first that are not."""

    artifact_id: str
    name: str
    content_type: str
    of: int
    parts: int
    bytes: int
    missing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PutArtifact:
    """The artifact, or of an upload that is not whole the parts that are missing. `existed`: it was there before."""

    workflow_id: str
    artifact: KeptArtifact | None = None
    upload: ArtifactUpload | None = None
    existed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactContent:
    """Content as text or, in `encoding` base64, bytes; `length` bytes from `offset` on."""

    workflow_id: str
    artifact: KeptArtifact
    content: str
    encoding: ContentEncodingName
    offset: int
    length: int
    next_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadArtifact:
    """An artifact with its bytes: all of them, or those from `offset` on that were asked for."""

    artifact: KeptArtifact
    content: bytes
    offset: int = 0

    @property
    def text(self) -> str:
        """The content as text in UTF-8; raise UnicodeDecodeError if it is none."""
        return self.content.decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedArtifacts:
    """A page of artifacts, with `total` and `total_bytes` of the run; of `uploads` parts are missing."""

    workflow_id: str
    artifacts: tuple[KeptArtifact, ...] = ()
    uploads: tuple[ArtifactUpload, ...] = ()
    total: int = 0
    total_bytes: int = 0
    next_cursor: str | None = None
