"""Methods of the clients for the verbs of the toolset projects. Derived from their descriptions."""

from collections.abc import Mapping, Sequence

from dcf.client.arguments import JsonObject, array_text, object_text
from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.features.projects.records import DeletedProject, ListedProject, MadeProject, ReadProject
from dcf.values.json_text import Json


def put_project(
    project: str,
    *,
    name: str | None = None,
    paths: Sequence[str | Mapping[str, str]] | None = None,
    forget_paths: Sequence[str | Mapping[str, str]] | None = None,
    git: JsonObject | None = None,
    description: str | None = None,
    features: Sequence[Json] | None = None,
    metadata: JsonObject | None = None,
    max_in_progress: int | None = None,
    budget: JsonObject | None = None,
    revision: int | None = None,
    reason: str | None = None,
) -> Conversation[MadeProject]:
    """Make a project known, or add to it: call this once where you begin to work in a directory.

    A repeated call has no effect. Paths are added, git facts replaced; another name, description, feature list or
    metadata replaces what is there only with the revision that `get_project` showed.
    """
    return call_tool(
        MadeProject,
        "put_project",
        project=project,
        name=name,
        paths_json=array_text(paths, "paths"),
        forget_paths_json=array_text(forget_paths, "forget_paths"),
        git_json=object_text(git, "git"),
        description=description,
        features_json=array_text(features, "features"),
        metadata_json=object_text(metadata, "metadata"),
        max_in_progress=max_in_progress,
        budget_json=object_text(budget, "budget"),
        revision=revision,
        reason=reason,
    )


def get_project(
    project: str | None = None, *, path: str | None = None, machine: str | None = None
) -> Conversation[ReadProject]:
    """Read a project by its id, or by a directory that you work in, with how its runs stand."""
    return call_tool(ReadProject, "get_project", project=project, path=path, machine=machine)


def list_projects(*, project: str | None = None) -> Stream[ListedProject]:
    """List projects, those that were used last first. Pages are read as they are needed."""
    return call_pages(ListedProject, "list_projects", "projects", limit=100, project=project)


def delete_project(project: str, *, reason: str | None = None) -> Conversation[DeletedProject]:
    """Forget a project and its indexed files; its runs, and what else names it, stay. Repeated, it finds it gone."""
    return call_tool(DeletedProject, "delete_project", project=project, reason=reason)
