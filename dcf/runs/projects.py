"""Projects: what runs belong to. So far, which one a run belongs to."""

from dcf.store.projects import ProjectStore


class Projects:
    """The projects of one Redis."""

    def __init__(self, store: ProjectStore) -> None:
        self._store = store

    def of_run(self, workflow_id: str) -> str | None:
        """Return the project of a run; None if it has none, or there is no such run."""
        return self._store.of_run(workflow_id)
