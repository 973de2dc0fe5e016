"""Projects in Redis. So far: which project a run belongs to, by its meta document, which never changes that."""

from dcf.store.connection import Connections
from dcf.store.keys import RunKeys
from dcf.values.json_text import load


class ProjectStore:
    """The projects of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def of_run(self, workflow_id: str) -> str | None:
        """Return the project of a run; None if it has none, or there is no such run."""
        (found,) = self._connections.send(("JSON.GET", RunKeys(workflow_id).meta, "$.project"))
        values = [] if found is None else load(found)
        return values[0] if values and isinstance(values[0], str) else None
