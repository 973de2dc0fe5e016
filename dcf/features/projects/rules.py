"""Decides what a put of a project writes, and refuses what would take something from somebody. Pure."""

from typing import Final

from dcf.errors import InvalidArgument, TooLarge
from dcf.features.projects.model import (
    MOST_BYTES,
    MOST_OF_ONE,
    MOST_PATHS,
    MOST_PROJECTS,
    Project,
    ProjectFound,
    ProjectPut,
    ProjectWish,
)
from dcf.features.projects.refusals import PATH_TAKEN, PROJECT_DIFFERS, TOO_MANY_PROJECTS
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_text import byte_length
from dcf.values.records import replace
from dcf.values.refusal import Refusal

_LONGEST_NAME: Final = 200


_LONGEST_DESCRIPTION: Final = 20_000


_MOST_FEATURES: Final = 200


def put(project_found: ProjectFound, wish: ProjectWish) -> ProjectPut | Refusal:
    """Return the project as it is to be stored; refuse what would take something from somebody."""
    taken = next((place for place, holder in project_found.holders.items() if holder != wish.project_id), None)
    if taken is not None:
        return PATH_TAKEN.refuse(place=f"{taken.path} on {taken.machine}" if taken.machine else taken.path)
    before = project_found.project
    if before is None:
        return _created(project_found, wish)
    project = _wanted(before, wish)
    replaced = [name for name in _GUARDED if _differs(before, project, name)]
    if replaced and wish.revision != before.revision:
        return PROJECT_DIFFERS.refuse(project_id=before.project_id, revision=before.revision, fields=replaced)
    if project == before:
        return ProjectPut(project=before, existed=True, changed=False)
    check_sizes(project)
    changed = replace(project, revision=before.revision + 1, updated_at=project_found.now)
    return ProjectPut(project=changed, existed=True, changed=True)


def check_sizes(project: Project) -> None:
    """Raise TooLarge or InvalidArgument where a project says too much."""
    sized = [project.description, dict(project.git), list(project.features), dict(project.metadata)]
    if byte_length(sized) > MOST_BYTES:
        raise TooLarge(
            f"A project says at most {MOST_BYTES} bytes of itself.", "Put long texts into artifacts or findings."
        )
    if len(project.paths) > MOST_PATHS:
        raise InvalidArgument(f"A project has at most {MOST_PATHS} paths.", "Take some away with `forget_paths_json`.")


def checked_wish(wish: ProjectWish) -> ProjectWish:
    """Return the wish; raise InvalidArgument where one of its parts is not what it should be."""
    check_id(wish.project_id, "project")
    if wish.name is not None:
        check_name(wish.name, "name", _LONGEST_NAME)
    if wish.description is not None and len(wish.description) > _LONGEST_DESCRIPTION:
        raise TooLarge(f"A description has at most {_LONGEST_DESCRIPTION} characters.", "Shorten it.")
    if wish.features is not None and len(wish.features) > _MOST_FEATURES:
        raise InvalidArgument(f"A project has at most {_MOST_FEATURES} features.", "Leave some out.")
    return wish


_GUARDED: Final = ("name", "description", "features", "metadata")
"""Fields that only a caller that has seen the present values may replace."""


def _created(project_found: ProjectFound, wish: ProjectWish) -> ProjectPut | Refusal:
    if project_found.count >= MOST_PROJECTS:
        return TOO_MANY_PROJECTS.refuse(used=project_found.count, limit=MOST_PROJECTS, whose="in all")
    if project_found.own_count >= MOST_OF_ONE:
        return TOO_MANY_PROJECTS.refuse(used=project_found.own_count, limit=MOST_OF_ONE, whose="of yours")
    made = Project(
        project_id=wish.project_id,
        name=wish.name or wish.project_id,
        paths=wish.paths,
        description=wish.description,
        git=wish.git or {},
        features=tuple(wish.features or ()),
        metadata=wish.metadata or {},
        created_at=project_found.now,
        created_by=wish.by,
        updated_at=project_found.now,
    )
    check_sizes(made)
    return ProjectPut(project=made, existed=False, changed=True)


def _wanted(before: Project, wish: ProjectWish) -> Project:
    forgotten = set(wish.forget)
    paths = [path for path in before.paths if path not in forgotten]
    return replace(
        before,
        name=before.name if wish.name is None else wish.name,
        description=before.description if wish.description is None else wish.description,
        git=before.git if wish.git is None else wish.git,
        features=before.features if wish.features is None else tuple(wish.features),
        metadata=before.metadata if wish.metadata is None else wish.metadata,
        paths=tuple(dict.fromkeys((*paths, *wish.paths))),
    )


def _differs(before: Project, project: Project, name: str) -> bool:
    known, wished = getattr(before, name), getattr(project, name)
    return bool(known != wished and known not in (None, (), {}))
