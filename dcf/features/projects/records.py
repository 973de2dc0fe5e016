"""The answers of verbs on projects. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPath:
    """A directory of a project; `machine` is None where the path is the same on all."""

    path: str
    machine: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProject:
    """A project on the list."""

    project: str
    name: str
    paths: tuple[ProjectPath, ...] = ()
    git: Mapping[str, Json] = field(default_factory=dict)
    revision: int
    created_at: datetime
    created_by: str
    updated_at: datetime
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDetails:
    """A project whole. `revision` is what replaces its name, description, features or metadata.

    `max_in_progress` and `budget` limit its runs together; None: nothing does.
    """

    project: str
    name: str
    paths: tuple[ProjectPath, ...] = ()
    description: str | None = None
    git: Mapping[str, Json] = field(default_factory=dict)
    features: tuple[Json, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)
    revision: int
    created_at: datetime
    created_by: str
    updated_at: datetime
    max_in_progress: int | None = None
    budget: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeProject:
    """The project. `changed`: this call changed it; `existed`: it was there before."""

    project: ProjectDetails
    existed: bool
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectOverview:
    """How a project is used: its runs by status, the newest ones, agents of these."""

    runs: int
    runs_by_status: Mapping[str, int] = field(default_factory=dict)
    newest_runs: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadProject:
    """The project, and an overview: its runs by status, the newest ones, agents of these, when it was last used."""

    project: ProjectDetails
    overview: ProjectOverview


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProjects:
    """A page of projects, and how many there are in all."""

    projects: tuple[ListedProject, ...] = ()
    total: int = 0
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedProject:
    """The project is gone; `existed` is false if it was gone before."""

    project: str = ""
    existed: bool
