"""The verbs on projects, which runs belong to: put, get, list and delete. They call and describe."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from dcf.core.access.model import Scope
from dcf.core.documents.usage import read_budget_change
from dcf.errors import InvalidArgument
from dcf.features.projects.model import ProjectPlace, ProjectWish, read_places
from dcf.features.projects.records import DeletedProject, ListedProjects, MadeProject, ReadProject
from dcf.features.work.limits import MOST_IN_PROGRESS, WorkLimit
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.callers import current_caller, require
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import ID, PageLimit, PrintedCursor, ProjectId, Reason

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.projects.operations import Projects
    from dcf.features.projects.storage import ProjectUse


def _said_of_put(answer: Mapping[str, Any]) -> str:
    done = "is created" if not answer["existed"] else "is changed" if answer["changed"] else "is as it was"
    return f"Project '{answer['project']['project']}' {done}."


@verb(
    toolset="projects",
    scope="work",
    lists=("operator",),
    audit=("project", "reason"),
    says=_said_of_put,
    command=Command(
        name="projects add",
        example='dcf projects add shop --path /srv/shop --description "The web shop"',
        show="dcf.cli.features.projects:show_put",
    ),
    codes=("conflict",),
)
def put_project(
    on: "Application",
    project: ProjectId,
    *,
    name: Annotated[
        str | None,
        Argument(
            means="Its name; need not be unique.",
            min_length=1,
            max_length=200,
            spelling="Its name, which need not be unique; default: the id.",
        ),
    ] = None,
    paths: Annotated[
        Sequence[Any] | None,
        Argument(
            means='Its directories: ["/srv/shop"] or [{"path": "/srv/shop", "machine": "ci-1"}].',
            form="places",
            tool="paths_json",
            option="--path",
            spelling="A directory of it, PATH or MACHINE=PATH; may be repeated.",
        ),
    ] = None,
    forget_paths: Annotated[
        Sequence[Any] | None,
        Argument(
            means="Directories to remove.",
            form="places",
            tool="forget_paths_json",
            option="--forget-path",
            spelling="A directory to remove; may be repeated.",
            listed=False,
        ),
    ] = None,
    git: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means="Git facts as you see them: remote, branch, commit.",
            form="object",
            tool="git_json",
            spelling="Git facts: JSON, a file, or -.",
        ),
    ] = None,
    description: Annotated[str | None, Argument(means="Its purpose.", max_length=20_000)] = None,
    features: Annotated[
        Sequence[Json] | None,
        Argument(
            means="Its features: names, or objects of yours.",
            form="array",
            tool="features_json",
            spelling="Its features: a JSON array, a file, or -.",
            listed=False,
        ),
    ] = None,
    metadata: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means="Whatever else is to be kept.",
            form="object",
            tool="metadata_json",
            spelling="Whatever else is to be kept: JSON, a file, or -.",
            listed=False,
        ),
    ] = None,
    max_in_progress: Annotated[
        int | None,
        Argument(means="Most states held in it at a time; 0: any number.", ge=0, le=MOST_IN_PROGRESS, listed=False),
    ] = None,
    budget: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means="Its limits, as set_budget has them; {}: anything.",
            form="object",
            tool="budget_json",
            spelling="Its limits: JSON of tokens, cost and currency, seconds, a file, or -. Limits left out"
            " stay, null takes one away, {} all.",
            listed=False,
        ),
    ] = None,
    revision: Annotated[
        int | None, Argument(means="The one you saw, to replace what is there.", ge=1, le=1_000_000)
    ] = None,
    reason: Reason = None,
) -> Answered[MadeProject] | Refusal:
    """Make a project known, or add to it: call this once where you begin to work in a directory.

    A repeated call has no effect. Paths are added, git facts replaced; another name, description, feature list or
    metadata replaces what is there only with the revision that `get_project` showed.
    """
    wish = ProjectWish(
        project_id=project,
        name=name,
        paths=_places(paths, "paths_json"),
        forget=_places(forget_paths, "forget_paths_json"),
        description=description,
        git=git,
        features=features,
        metadata=metadata,
        revision=revision,
        by=current_caller().name,
    )
    limits = _limits(project, max_in_progress, budget, reason)
    answer = on.projects.put(wish)
    if isinstance(answer, Refusal):
        return answer
    for limit in limits:
        limit(on)
    shown = answer.project.as_json() | _limits_shown(on, project)
    return Answered(MadeProject, {"project": shown, "existed": answer.existed, "changed": answer.changed})


@verb(
    toolset="projects",
    scope="read",
    lists=("member", "operator"),
    effect="reads",
    says=lambda answer: f"Project '{answer['project']['project']}'.",
    command=Command(
        name="projects show",
        before="dcf.cli.features.projects:with_machine",
        show="dcf.cli.features.projects:show_project",
    ),
    codes=("ambiguous_path", "unknown_project"),
)
def get_project(
    on: "Application",
    project: Annotated[ProjectId | None, Argument(means="Id of the project, or give path.", of_context=False)] = None,
    *,
    path: Annotated[
        str | None,
        Argument(
            means="A directory of the project.",
            min_length=1,
            max_length=1000,
            spelling="A directory of the project, PATH or MACHINE=PATH.",
        ),
    ] = None,
    machine: Annotated[str | None, Argument(means="The machine that the path is on.", pattern=ID)] = None,
) -> Answered[ReadProject] | Refusal:
    """Read a project by its id, or by a directory that you work in, with how its runs stand."""
    if path is not None:
        project_read = on.projects.at(path, machine, project)
        if isinstance(project_read, Refusal):
            return project_read
    elif project is not None:
        project_read = on.projects.read(project)
    else:
        raise InvalidArgument("Neither project nor path was given.", "Pass the project's id, or a directory of it.")
    shown = project_read.as_json() | _limits_shown(on, project_read.project_id)
    return Answered(
        ReadProject, {"project": shown, "overview": _overview_of(on.projects.use_of(project_read.project_id))}
    )


@verb(
    toolset="projects",
    scope="read",
    lists=("operator",),
    effect="reads",
    says=lambda answer: f"{len(answer['projects'])} of {answer['total']} projects.",
    pages="projects",
    command=Command(name="projects ls", show="dcf.cli.features.projects:show_list"),
    in_refusals={"projects": ()},
)
def list_projects(
    on: "Application",
    *,
    project: Annotated[ProjectId | None, Argument(means="Only this one.", listed=False)] = None,
    limit: Annotated[
        PageLimit, Argument(means="Items of one page; fewer come if they are large.", plain=True, spelling="How many.")
    ] = 50,
    cursor: PrintedCursor = None,
) -> Answered[ListedProjects]:
    """List projects, those that were used last first.

    Call again with next_cursor until it is null.
    """
    if project is not None:
        return Answered(ListedProjects, _only(on.projects, project))
    page = on.projects.page(cursor, limit)
    rows = [_row(item.as_json(), at) for item, at in page.projects]
    return Answered(ListedProjects, {"projects": rows, "total": page.total, "next_cursor": page.next_cursor})


@verb(
    toolset="projects",
    scope="plan",
    lists=("operator",),
    effect="destroys",
    audit=("project", "reason"),
    says=lambda answer: "deleted" if answer["existed"] else "was gone already",
    command=Command(
        name="projects delete",
        question=lambda call: f"Forget project {call['project']}? Its runs stay.",
        show="dcf.cli.features.projects:show_deleted",
    ),
)
def delete_project(
    on: "Application",
    project: ProjectId,
    *,
    reason: Reason = None,  # noqa: ARG001 - the audit trail notes it
) -> DeletedProject:
    """Forget a project and its indexed files; its runs, and what else names it, stay. Repeated, it finds it gone."""
    on.project_files.index(project, ())
    return DeletedProject(project=project, existed=on.projects.delete(project))


def _overview_of(use: "ProjectUse") -> dict[str, Json]:
    """Return how a project is used, as callers see it."""
    return {
        "runs": use.runs,
        "runs_by_status": dict(use.by_status),
        "newest_runs": list(use.newest[:10]),
        "agents": list(use.agents[:50]),
        "last_used_at": None if use.last_used is None else to_text(use.last_used),
    }


def _places(paths: Sequence[Any] | None, name: str) -> tuple[ProjectPlace, ...]:
    return () if paths is None else read_places(paths, name=name)


def _limits(
    project: str, most: int | None, budget: Mapping[str, Json] | None, reason: str | None
) -> "list[Callable[[Application], None]]":
    """Return what sets the limits that are asked for; only who plans may."""
    limits: list[Callable[[Application], None]] = []
    if most is not None:
        require(Scope.PLAN, "max_in_progress")
        limit = WorkLimit(kind="project", name=project, most=most)
        limits.append(lambda on: on.limits.put(limit))
    if budget is not None:
        require(Scope.PLAN, "budget_json")
        change = read_budget_change(budget)
        limits.append(lambda on: on.usages.set_project_budget(project, change, reason=reason))
    return limits


def _limits_shown(on: "Application", project: str) -> dict[str, Json]:
    """Return the limits of a project, where it has any."""
    most, budget = on.limits.of("project", project), on.limits.budget_of(project)
    shown: dict[str, Json] = {} if most is None else {"max_in_progress": most}
    return shown if budget is None else shown | {"budget": budget.as_json()}


def _only(projects: "Projects", project_id: str) -> dict[str, Json]:
    projects_read = projects.those([project_id])
    used = projects.use_of(project_id).last_used if projects_read else None
    rows = [_row(item.as_json(), used) for item in projects_read]
    return {"projects": rows, "total": len(rows)}


def _row(shown: dict[str, Json], used: int | None) -> dict[str, Json]:
    """Return a line of the list: without what may be long."""
    values = {name: value for name, value in shown.items() if name not in {"description", "features", "metadata"}}
    return values | {"last_used_at": None if used is None else to_text(used)}


add_tools(__name__)
