"""The answers of the generators of skills and of the stub server's configuration."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenManifests:
    """The manifests, each with manifestId, skillName, skillVersion and path.

    `exit_code` is 0, or 4 when nothing was written.
    """

    ok: bool
    exit_code: int
    warnings: tuple[str, ...] = ()
    written_files: tuple[str, ...] = ()
    manifests: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenStubConfig:
    """The configuration, and how much is in it. `exit_code` is 0, or 4 when nothing was written."""

    ok: bool
    exit_code: int
    written_file: str
    tool_count: int
    case_count: int
    warnings: tuple[str, ...] = ()
