"""Closes a run together with the agents that were made for it. The run is closed even if its agents cannot be deleted.

It must not decide: `core/lifecycle/finalization.py` closes the run, `workers.py` deletes the agents,
`core/lifecycle/dismissals.py` counts them in the run's audit record.
"""

from functools import partial
from typing import TYPE_CHECKING

from dcf.core.documents.decision import ReadSet
from dcf.core.lifecycle.dismissals import Dismissed, count, is_counted, read_dismissed
from dcf.core.lifecycle.finalization import Finalize
from dcf.errors import DcfError
from dcf.runs.control_plane import ControlPlane
from dcf.runs.views.reading import RunViews
from dcf.store.connection.reserve import with_reserve
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal
from dcf.workforce.crew.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dcf.values.json_text import Json


@record(frozen=True, slots=True, kw_only=True)
class RunClosed:
    """A run that is closed: its audit record, the outcome for each of its agents, and warnings."""

    audit: "Mapping[str, Json]"
    agents: tuple[Dismissed, ...]
    warnings: tuple[str, ...]


class Closing:
    """Closes runs."""

    def __init__(self, plane: ControlPlane, views: RunViews, workers: Workers) -> None:
        self._plane = plane
        self._views = views
        self._workers = workers

    def close(
        self, request: Finalize, *, delete_agents: bool = True, preserve_planner: bool = True
    ) -> RunClosed | Refusal:
        """Finalize a run and delete its own agents. A second call returns the first result and deletes what is left."""
        run = request.workflow_id
        answer = with_reserve(partial(self._plane.finalize, run, replace(request, deletes_agents=delete_agents)))
        if isinstance(answer, Refusal):
            return answer
        closed = RunClosed(audit=answer.audit, agents=read_dismissed(answer.audit), warnings=())
        if delete_agents and not (answer.repeated and is_counted(answer.audit)):
            closed = self._without_agents(run, closed, preserve_planner=preserve_planner, again=answer.repeated)
        first = ("The run was finalized before; this is the first result.",) if answer.repeated else ()
        return replace(closed, warnings=first + closed.warnings)

    def _without_agents(self, workflow_id: str, closed: RunClosed, *, preserve_planner: bool, again: bool) -> RunClosed:
        """Delete the agents and count them. A failure is a warning: the run is closed, and this can be repeated."""
        try:
            dismissed = self._dismissed(workflow_id, preserve_planner=preserve_planner, again=again)
        except DcfError as error:
            audit = self._counted(workflow_id, (), f"{error.code}: {error.message}")
            warning = f"The run's agents could not be deleted: {error.message} Repeat the call to delete them."
            return RunClosed(audit=audit, agents=read_dismissed(audit), warnings=(warning,))
        try:
            audit = self._counted(workflow_id, dismissed)
        except DcfError as error:
            warning = (
                f"The audit record does not count the run's agents: {error.message} Repeat the call to count them."
            )
            return replace(closed, agents=dismissed, warnings=(warning,))
        return replace(closed, audit=audit, agents=read_dismissed(audit))

    def _counted(
        self, workflow_id: str, dismissed: "Sequence[Dismissed]", error: str | None = None
    ) -> "Mapping[str, Json]":
        decide = partial(count, dismissed=dismissed, error=error)
        counted = with_reserve(partial(self._plane.transactions.on_run, workflow_id, ReadSet(audit=True), decide))
        return counted.answer

    def _dismissed(self, workflow_id: str, *, preserve_planner: bool, again: bool) -> tuple[Dismissed, ...]:
        planner = self._views.read(workflow_id).planner_agent_id
        spare = (planner,) if preserve_planner and planner is not None else ()
        return tuple(self._workers.delete_workers(workflow_id, spare, again=again))
