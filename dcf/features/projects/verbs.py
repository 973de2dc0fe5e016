"""Tools on projects, which runs belong to: put, get, list and delete. They only parse arguments, call and format."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.usage import read_budget_change
from dcf.errors import InvalidArgument
from dcf.features.projects.model import ProjectPlace, ProjectWish, read_places
from dcf.features.projects.operations import Projects
from dcf.features.projects.storage import ProjectUse
from dcf.features.work.limits import MOST_IN_PROGRESS, WorkLimit
from dcf.values.instants import to_text
from dcf.values.json_text import Json, parse, parse_object
from dcf.values.refusal import Refusal
from dcf.verbs.answers.paging import Limit
from dcf.verbs.callers import current_caller, require
from dcf.verbs.registry import ID_PATTERN, Answer, Arguments, JsonArray, JsonObject, ProjectId, refused, tool
from dcf.verbs.run_requests import Reason
from dcf.verbs.unlisted import UNLISTED

_Path = Annotated[str | None, Field(min_length=1, max_length=1000, description="A directory of the project.")]


class PutProject(Arguments):
    """Make a project known, or add to it: call this once where you begin to work in a directory.

    The same call again changes nothing. Paths are added, git facts replaced; another name, description, feature list or
    metadata replaces what is there only with the revision that get_project showed.
    """

    project: ProjectId
    name: str | None = Field(default=None, min_length=1, max_length=200, description="Its name; need not be unique.")
    paths_json: JsonArray | None = Field(
        default=None, description='Its directories: ["/srv/shop"] or [{"path": "/srv/shop", "machine": "ci-1"}].'
    )
    forget_paths_json: JsonArray | None = Field(
        default=None, description="Directories that are not its any more.", json_schema_extra=UNLISTED
    )
    git_json: JsonObject | None = Field(default=None, description="Git facts as you see them: remote, branch, commit.")
    description: str | None = Field(default=None, max_length=20_000, description="What it is about.")
    features_json: JsonArray | None = Field(
        default=None, description="Its features: names, or objects of yours.", json_schema_extra=UNLISTED
    )
    metadata_json: JsonObject | None = Field(
        default=None, description="Whatever else is to be kept.", json_schema_extra=UNLISTED
    )
    max_in_progress: int | None = Field(
        default=None,
        ge=0,
        le=MOST_IN_PROGRESS,
        description="Most states held in it at a time; 0: any number.",
        json_schema_extra=UNLISTED,
    )
    budget_json: JsonObject | None = Field(
        default=None, description="What it may use up, as set_budget has it; {}: anything.", json_schema_extra=UNLISTED
    )
    revision: int | None = Field(
        default=None, ge=1, le=1_000_000, description="The one you saw, to replace what is there."
    )
    reason: Reason = None


class ProjectAnswer(Answer):
    """The project. `changed`: this call changed it; `existed`: it was there before."""

    project: dict[str, Any] | None = None
    existed: bool | None = None
    changed: bool | None = None


@tool(
    toolset="projects",
    scope=Scope.WORK,
    profiles=("operator",),
    arguments=PutProject,
    answer=ProjectAnswer,
    audit=("project", "reason"),
)
def put_project(app: Application, args: PutProject) -> ProjectAnswer:
    """Create a project, or change one."""
    wish = ProjectWish(
        project_id=args.project,
        name=args.name,
        paths=() if args.paths_json is None else _places(args.paths_json, "paths_json"),
        forget=() if args.forget_paths_json is None else _places(args.forget_paths_json, "forget_paths_json"),
        description=args.description,
        git=_object(args.git_json, "git_json"),
        features=None if args.features_json is None else _list(args.features_json, "features_json"),
        metadata=_object(args.metadata_json, "metadata_json"),
        revision=args.revision,
        by=current_caller().name,
    )
    limits = _limits(args)
    answer = app.projects.put(wish)
    if isinstance(answer, Refusal):
        return refused(ProjectAnswer, answer)
    for limit in limits:
        limit(app)
    done = "is created" if not answer.existed else "is changed" if answer.changed else "is as it was"
    return ProjectAnswer(
        status=f"Project '{args.project}' {done}.",
        project=answer.project.as_json() | limits_shown(app, args.project),
        existed=answer.existed,
        changed=answer.changed,
    )


def _limits(args: PutProject) -> list[Callable[[Application], None]]:
    """Return what sets the limits that are asked for; only who plans may."""
    found: list[Callable[[Application], None]] = []
    if args.max_in_progress is not None:
        require(Scope.PLAN, "max_in_progress")
        limit = WorkLimit(kind="project", name=args.project, most=args.max_in_progress)
        found.append(lambda app: app.limits.put(limit))
    if args.budget_json is not None:
        require(Scope.PLAN, "budget_json")
        change = read_budget_change(parse(args.budget_json, name="budget_json"))
        found.append(lambda app: app.usages.set_project_budget(args.project, change, reason=args.reason))
    return found


def limits_shown(app: Application, project: str) -> dict[str, Json]:
    """Return the limits of a project, where it has any."""
    most, budget = app.limits.of("project", project), app.limits.budget_of(project)
    shown: dict[str, Json] = {} if most is None else {"max_in_progress": most}
    return shown if budget is None else shown | {"budget": budget.as_json()}


class GetProject(Arguments):
    """Read a project by its id, or by a directory that you work in, with how its runs stand."""

    project: ProjectId | None = Field(default=None, description="Id of the project, or give path.")
    path: _Path = None
    machine: str | None = Field(
        default=None,
        pattern=ID_PATTERN,
        description="The machine that the path is on.",
    )


class ProjectRead(ProjectAnswer):
    """The project, and an overview: its runs by status, the newest ones, agents of these, when it was last used."""

    overview: dict[str, Any] | None = None

    only_when_set = ("existed", "changed")


@tool(
    toolset="projects",
    scope=Scope.READ,
    profiles=("member", "operator"),
    arguments=GetProject,
    answer=ProjectRead,
    read_only=True,
)
def get_project(app: Application, args: GetProject) -> ProjectRead:
    """Return a project with its overview."""
    if args.path is not None:
        found = app.projects.at(args.path, args.machine, args.project)
        if isinstance(found, Refusal):
            return refused(ProjectRead, found)
    elif args.project is not None:
        found = app.projects.read(args.project)
    else:
        raise InvalidArgument("Neither project nor path was given.", "Pass the project's id, or a directory of it.")
    return ProjectRead(
        status=f"Project '{found.project_id}'.",
        project=found.as_json() | limits_shown(app, found.project_id),
        overview=overview_of(app.projects.use_of(found.project_id)),
    )


class ListProjects(Arguments):
    """List projects, those that were used last first. Call again with next_cursor until it is null."""

    project: ProjectId | None = Field(default=None, description="Only this one.", json_schema_extra=UNLISTED)
    limit: Limit = 50
    cursor: str | None = Field(default=None, max_length=100, description="next_cursor of the answer before.")


class ProjectsListed(Answer):
    """A page of projects, and how many there are in all."""

    projects: list[dict[str, Any]] = Field(default_factory=list)
    total: int | None = None
    next_cursor: str | None = None


@tool(
    toolset="projects",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ListProjects,
    answer=ProjectsListed,
    read_only=True,
)
def list_projects(app: Application, args: ListProjects) -> ProjectsListed:
    """List projects."""
    if args.project is not None:
        return _only(app.projects, args.project)
    page = app.projects.page(args.cursor, args.limit)
    shown = [_row(one.as_json(), at) for one, at in page.projects]
    return ProjectsListed(
        status=f"{len(shown)} of {page.total} projects.",
        projects=shown,
        total=page.total,
        next_cursor=page.next_cursor,
    )


class DeleteProject(Arguments):
    """Forget a project; its runs, and what else names it, stay. Repeated, it finds that it is gone."""

    project: ProjectId
    reason: Reason = None


class ProjectDeleted(Answer):
    """The project is gone; `existed` is false if it was gone before."""

    existed: bool | None = None


@tool(
    toolset="projects",
    scope=Scope.PLAN,
    profiles=("operator",),
    arguments=DeleteProject,
    answer=ProjectDeleted,
    destructive=True,
    audit=("project", "reason"),
)
def delete_project(app: Application, args: DeleteProject) -> ProjectDeleted:
    """Forget a project."""
    existed = app.projects.delete(args.project)
    return ProjectDeleted(status="deleted" if existed else "was gone already", existed=existed)


def overview_of(use: ProjectUse) -> dict[str, Json]:
    """Return how a project is used, as callers see it."""
    return {
        "runs": use.runs,
        "runs_by_status": dict(use.by_status),
        "newest_runs": list(use.newest[:10]),
        "agents": list(use.agents[:50]),
        "last_used_at": None if use.last_used is None else to_text(use.last_used),
    }


def _only(projects: Projects, project_id: str) -> ProjectsListed:
    found = projects.those([project_id])
    used = projects.use_of(project_id).last_used if found else None
    shown = [_row(one.as_json(), used) for one in found]
    return ProjectsListed(status=f"{len(shown)} of {len(shown)} projects.", projects=shown, total=len(shown))


def _row(shown: dict[str, Json], used: int | None) -> dict[str, Json]:
    """Return a line of the list: without what may be long."""
    kept = {name: value for name, value in shown.items() if name not in {"description", "features", "metadata"}}
    return kept | {"last_used_at": None if used is None else to_text(used)}


def _places(given: JsonArray, name: str) -> tuple[ProjectPlace, ...]:
    return read_places(parse(given, name=name), name=name)


def _object(given: JsonObject | None, name: str) -> dict[str, Json] | None:
    return None if given is None else parse_object(given, name=name)


def _list(given: JsonArray, name: str) -> list[Json]:
    found = parse(given, name=name)
    if not isinstance(found, list):
        raise InvalidArgument(f"{name} is no array.", f'Send {name} as ["A", "B"].')
    return found
