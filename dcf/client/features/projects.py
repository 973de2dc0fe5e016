"""The verbs of a client for projects, which runs belong to; described as in `verbs.py`."""

from collections.abc import Mapping, Sequence
from typing import Any

from dcf.client.answers.projects import DeletedProject, ListedProject, MadeProject, ReadProject
from dcf.client.arguments import given, json_text
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.verbs import ask

_PAGE = 200


def put_project(
    project: str,
    *,
    name: str | None = None,
    paths: Sequence[str | Mapping[str, str]] | None = None,
    forget_paths: Sequence[str | Mapping[str, str]] | None = None,
    git: Mapping[str, Any] | None = None,
    description: str | None = None,
    features: Sequence[Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    max_in_progress: int | None = None,
    budget: Mapping[str, Any] | None = None,
    revision: int | None = None,
    reason: str | None = None,
) -> Conversation[MadeProject]:
    """Make a project known, or add to it; the same again changes nothing.

    A path is a text, or `{"path": "/srv/shop", "machine": "ci-1"}`. What is there is replaced with its `revision`.
    `max_in_progress` (0: any number) and `budget` (`{}`: anything) limit its runs together.
    """
    return ask(
        MadeProject,
        "put_project",
        project=project,
        name=name,
        paths_json=None if paths is None else json_text(list(paths), "paths"),
        forget_paths_json=None if forget_paths is None else json_text(list(forget_paths), "forget_paths"),
        git_json=None if git is None else json_text(dict(git), "git"),
        description=description,
        features_json=None if features is None else json_text(list(features), "features"),
        metadata_json=None if metadata is None else json_text(dict(metadata), "metadata"),
        max_in_progress=max_in_progress,
        budget_json=None if budget is None else json_text(dict(budget), "budget"),
        revision=revision,
        reason=reason,
    )


def get_project(
    project: str | None = None, *, path: str | None = None, machine: str | None = None
) -> Conversation[ReadProject]:
    """Return a project by its id, or by a directory of it, with how its runs stand."""
    return ask(ReadProject, "get_project", project=project, path=path, machine=machine)


def list_projects() -> Stream[ListedProject]:
    """Yield all projects, those that were used last first."""
    cursor = None
    while True:
        page = accepted((yield ToolCall("list_projects", {"limit": _PAGE, **given(cursor=cursor)})))
        for one in page["projects"]:
            yield Item(read(ListedProject, one))
        cursor = page["next_cursor"]
        if cursor is None:
            return


def delete_project(project: str, *, reason: str | None = None) -> Conversation[DeletedProject]:
    """Forget a project; its runs stay."""
    return ask(DeletedProject, "delete_project", project=project, reason=reason)
