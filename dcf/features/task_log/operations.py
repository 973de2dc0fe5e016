"""Writes lines of task functions into the history of a run. Decides nothing (`features/task_log/rules.py`)."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.decision import ReadSet
from dcf.features.task_log import rules
from dcf.features.task_log.rules import LogEvent, Logged
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import within_quota
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed


class TaskLog:
    """The lines of the functions that work on states."""

    def __init__(self, plane: ControlPlane) -> None:
        self._transactions = plane.transactions

    def log_event(self, workflow_id: str, request: LogEvent) -> Logged | Refusal:
        """Write a line as the lease holder. A key that has reached its quota of bytes cannot write."""
        path = self._transactions.path(workflow_id, request.state)
        placed = replace(request, state=path)

        reads = ReadSet(states=with_scopes([path]))
        decide = within_quota(partial(rules.log_event, request=placed))
        done: Committed[Logged | Refusal] = self._transactions.on_state(workflow_id, path, reads, decide)
        return done.answer
