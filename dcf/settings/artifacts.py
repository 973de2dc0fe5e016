"""The settings of artifacts: where they are kept, and how much. A part of `dcf.settings.process`."""

from pydantic import BaseModel, Field

from dcf.core.access.quotas import DEFAULTS


class ArtifactSettings(BaseModel):
    """The fields of `Settings` about artifacts."""

    artifact_store: str | None = Field(default=None, pattern=r"^(dir:/.+|s3://.+)$")
    """where artifacts go that are too long for Redis: dir:/srv/artifacts, or s3://bucket/prefix"""

    artifact_inline_bytes: int = Field(default=64 * 1024, ge=0, le=1024 * 1024)
    """bytes of an artifact that is kept in Redis"""

    artifact_max_bytes: int = Field(default=64 * 1024 * 1024, ge=1024, le=999_999_999)
    """bytes of one artifact"""

    artifact_run_bytes: int = Field(default=256 * 1024 * 1024, ge=1024, le=1024**4)
    """bytes of all artifacts of a run"""

    quota_artifact_bytes: int = Field(default=DEFAULTS.artifact_bytes, ge=0, le=2**50)
    """bytes of artifacts that one API key may hold"""
