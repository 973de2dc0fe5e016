"""The answers of verbs on skills."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedManifest:
    """The verdict, the seed's pattern A: exit_code is 0 valid, 1 schema, 2 static checks, 4 other."""

    ok: bool
    exit_code: int
    schema_errors: tuple[str, ...] = ()
    static_errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    problems: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSkills:
    """The skills, sorted by name and version; a broken manifest is an item with `errors`."""

    ok: bool
    exit_code: int
    available_skills: tuple[Mapping[str, Json], ...] = ()
    warnings: tuple[str, ...] = ()
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSkill:
    """The skills that the agent got; `already_loaded` when it had the skill before this call.

    An agent that is not given texts and tools where it lives reads them here: follow `directives`, know `texts`, and
    call the tools at `mcp_servers` over a connection of your own.
    """

    ok: bool
    exit_code: int
    manifest_id: str
    agent_id: str
    already_loaded: bool = False
    added: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    directives: str | None = None
    texts: tuple[str, ...] | None = None
    mcp_servers: tuple[Mapping[str, Json], ...] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloadedSkill:
    """The tools that were removed."""

    manifest_id: str | None = None
    agent_id: str
    removed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
