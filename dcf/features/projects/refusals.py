"""The kinds of refusals about projects."""

from typing import Final

from dcf.values.refusal import Refusal

PROJECT_DIFFERS: Final = Refusal.kind(
    "conflict",
    "Project '{project_id}' has another {fields:list} (revision {revision}).",
    "Leave it out, or read the project and pass revision {revision} to replace it.",
)
PATH_TAKEN: Final = Refusal.kind(
    "conflict",
    "The path {place} is one of another project.",
    "Use that project (`get_project(path=PATH)`), or name the machine on which the path is yours.",
)
TOO_MANY_PROJECTS: Final = Refusal.kind(
    "quota_exceeded",
    "There are {used} of {limit} projects {whose}.",
    "Delete projects that are not needed any more (`list_projects`, `delete_project`).",
)
AMBIGUOUS_PATH: Final = Refusal.kind(
    "ambiguous_path",
    "The path {path} is one of {count} projects: {projects:list 10}.",
    "Pass machine as well, or the project's id.",
)
