"""The refusals about projects.

conflict             a project says something else, or a path is another project's
quota_exceeded       there are as many projects as there may be
ambiguous_path       several projects have the path, on different machines
"""

from collections.abc import Sequence

from dcf.values.refusal import Refusal


def project_differs(project_id: str, revision: int, fields: Sequence[str]) -> Refusal:
    """Refuse to replace what a caller has not seen."""
    return Refusal(
        code="conflict",
        message=f"Project '{project_id}' has another {', '.join(fields)} (revision {revision}).",
        hint=f"Leave it out, or read the project and pass revision {revision} to replace it.",
    )


def path_taken(path: str, machine: str) -> Refusal:
    """Refuse to take a path from another project, which is not named: the caller may not see it."""
    where = f" on {machine}" if machine else ""
    return Refusal(
        code="conflict",
        message=f"The path {path}{where} is one of another project.",
        hint="Use that project (`get_project(path=PATH)`), or name the machine on which the path is yours.",
    )


def too_many_projects(used: int, limit: int, whose: str) -> Refusal:
    """Refuse because there are as many projects as there may be."""
    return Refusal(
        code="quota_exceeded",
        message=f"There are {used} of {limit} projects {whose}.",
        hint="Delete projects that are not needed any more (`list_projects`, `delete_project`).",
    )


def ambiguous_path(path: str, projects: Sequence[str]) -> Refusal:
    """Refuse to guess which project is meant by a path that several have on different machines."""
    return Refusal(
        code="ambiguous_path",
        message=f"The path {path} is one of {len(projects)} projects: {', '.join(projects[:10])}.",
        hint="Pass machine as well, or the project's id.",
    )
