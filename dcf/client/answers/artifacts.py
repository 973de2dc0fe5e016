"""What a client's methods return about artifacts: frozen records, as in `records.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
    created_at: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


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
