"""The operations on projects, which runs belong to. A run's project is only named; it need not have been put."""

from collections.abc import Sequence
from functools import partial

from dcf.core.listing.cursors import read_time_and_id
from dcf.errors import UnknownProject
from dcf.features.projects import rules
from dcf.features.projects.model import Project, ProjectPut, ProjectWish, place_of
from dcf.features.projects.refusals import AMBIGUOUS_PATH
from dcf.features.projects.storage import ProjectStore, ProjectUse
from dcf.values.records import record
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class ProjectPage:
    """A page of projects, the newest use first: each with when that was; `total` counts all."""

    projects: list[tuple[Project, int]]
    total: int
    next_cursor: str | None


class Projects:
    """The projects of one Redis."""

    def __init__(self, store: ProjectStore) -> None:
        self._store = store

    def of_run(self, workflow_id: str) -> str | None:
        """Return the project of a run; None if it has none, or there is no such run."""
        return self._store.of_run(workflow_id)

    def put(self, wish: ProjectWish) -> ProjectPut | Refusal:
        """Create a project, or change one. A repetition has no effect."""
        wish = rules.checked_wish(wish)
        return self._store.put(wish.project_id, wish.paths, wish.by, partial(rules.put, wish=wish))

    def read(self, project_id: str) -> Project:
        """Return a project; raise UnknownProject if there is none."""
        projects = self.those([project_id])
        if not projects:
            raise UnknownProject(project_id)
        return projects[0]

    def those(self, project_ids: Sequence[str]) -> list[Project]:
        """Return those of these projects that there are."""
        return self._store.read(project_ids)

    def at(self, path: str, machine: str | None, within: str | None = None) -> Project | Refusal:
        """Return the project that has a path, in a project that the caller is bound to; raise UnknownProject."""
        place = place_of(path, machine)
        projects = [project_id for project_id in self._store.at(place.path, machine) if within in (None, project_id)]
        if len(projects) > 1:
            return AMBIGUOUS_PATH.refuse(path=place.path, count=len(projects), projects=projects)
        if not projects:
            raise UnknownProject(place.path)
        return self.read(projects[0])

    def use_of(self, project_id: str) -> ProjectUse:
        """Return how a project is used."""
        return self._store.use_of(project_id)

    def page(self, cursor: str | None, limit: int) -> ProjectPage:
        """Return a page of all projects."""
        entries, total = self._store.page(read_time_and_id(cursor), limit)
        known = {project.project_id: project for project in self._store.read([name for _, name in entries])}
        is_more = len(entries) == limit
        last = f"{entries[-1][0]}:{entries[-1][1]}" if entries and is_more else None
        return ProjectPage(
            projects=[(known[name], at) for at, name in entries if name in known], total=total, next_cursor=last
        )

    def delete(self, project_id: str) -> bool:
        """Delete a project; its runs stay. Return False if it was gone already."""
        return self._store.delete(project_id)
