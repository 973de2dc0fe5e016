"""Closes a run together with the agents that were made for it. The run is closed even if its agents cannot be deleted.

It decides nothing: `core/finalization.py` closes the run, `workers.py` deletes the agents.
"""

from functools import partial
from typing import TYPE_CHECKING

from dcf.core.finalization import Finalize
from dcf.errors import DcfError
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views import RunViews
from dcf.store.reserve import with_reserve
from dcf.values.records import record
from dcf.workforce.crew.workers import Dismissed, Workers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dcf.values.json_text import Json


@record(frozen=True, slots=True, kw_only=True)
class RunClosed:
    """A run that is closed: its audit record, what became of its agents, and what is left to be said."""

    audit: "Mapping[str, Json]"
    agents: tuple[Dismissed, ...]
    warnings: tuple[str, ...]


class Closing:
    """Closes runs."""

    def __init__(self, plane: ControlPlane, views: RunViews, workers: Workers) -> None:
        self._plane = plane
        self._views = views
        self._workers = workers

    def close(self, request: Finalize, *, delete_agents: bool = True, preserve_planner: bool = True) -> RunClosed:
        """Finalize a run and delete its own agents. A second call returns the first result and deletes what is left."""
        answer = with_reserve(partial(self._plane.finalize, request.workflow_id, request))
        warnings = ["The run was finalized before; this is the first result."] if answer.repeated else []
        agents: tuple[Dismissed, ...] = ()
        if delete_agents:
            try:
                agents = self._dismissed(request.workflow_id, preserve_planner=preserve_planner)
            except DcfError as error:  # the run is closed, and this can be repeated
                again = "Repeat the call to delete them."
                warnings.append(f"The run's agents could not be deleted: {error.message} {again}")
        return RunClosed(audit=answer.audit, agents=agents, warnings=tuple(warnings))

    def _dismissed(self, workflow_id: str, *, preserve_planner: bool) -> tuple[Dismissed, ...]:
        planner = self._views.read(workflow_id).planner_agent_id
        spare = (planner,) if preserve_planner and planner is not None else ()
        return tuple(self._workers.delete_workers(workflow_id, spare))
