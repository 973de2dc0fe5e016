"""Marks risky evaluations in Redis before they are made, and puts a run on hold whose evaluations end processes.

A step without a risky evaluation sends no command for this. The first risky step of a state is decided twice: once to
find out, and again with the mark. Later ones are marked at once: one round trip more than other steps.
"""

import logging
import os
import secrets
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Final

from dcf.asl.state_paths import name_of
from dcf.core.completing.evaluation_marks import Leave, Mark, may_evaluate
from dcf.core.documents.decision import ReadSet
from dcf.core.lifecycle import holding
from dcf.errors import Conflict, DcfError, RunOnHold
from dcf.store.transaction.runs import RunStore
from dcf.values.names import escaped

_log = logging.getLogger(__name__)

_MOST_KNOWN: Final = 4096


class Evaluations:
    """The risky evaluations of this process."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._process = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._known: dict[tuple[str, str], None] = {}

    def of(self, workflow_id: str, paths: Sequence[str], definition: str) -> "Evaluation":
        """Return the evaluation of a step about these states, which is marked already if such steps were risky."""
        state = paths[0] if paths else ""
        case = (definition, name_of(state))
        evaluation = Evaluation(self, workflow_id, state, case)
        if case in self._known:
            evaluation.begin()
        return evaluation

    def marked(self, workflow_id: str, state: str, case: tuple[str, str]) -> tuple[str, ...]:
        """Mark an evaluation, and return the marks to take off with its outcome: also those of earlier deaths.

        Raise Conflict while others evaluate for this state, and RunOnHold after too many deaths.
        """
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[case] = None
        wish = Mark(mark_id=secrets.token_hex(8), state=state, process=self._process, since=0)
        own, marks = self._store.marks.put(workflow_id, wish)
        ruled = may_evaluate(own, marks)
        if ruled.leave is Leave.GO:
            return (own.mark_id, *(mark.mark_id for mark in ruled.deaths))
        self._store.marks.remove(workflow_id, (own.mark_id,))
        if ruled.leave is Leave.WAIT:
            raise Conflict(f"Others evaluate expressions of state '{escaped(state)}', or died over it just now.")
        decide = partial(holding.hold, state=state, deaths=ruled.deaths)
        raise RunOnHold(self._store.transact(workflow_id, ReadSet(), decide).text)

    def end(self, workflow_id: str, marks: Sequence[str]) -> None:
        """Take marks off that no write took off. While Redis does not answer they stay, and count as a death."""
        try:
            self._store.marks.remove(workflow_id, marks)
        except DcfError as error:
            _log.debug("evaluation of run %s: %s", workflow_id, error.message)


class Evaluation(AbstractContextManager["Evaluation"]):
    """The evaluations of a step. `marks` are those that the write of its outcome takes off; none: nothing is risked."""

    __slots__ = ("_all", "_case", "_state", "_workflow_id", "marks")

    def __init__(self, every: Evaluations, workflow_id: str, state: str, case: tuple[str, str]) -> None:
        self._all, self._case = every, case
        self._workflow_id, self._state = workflow_id, state
        self.marks: tuple[str, ...] = ()

    def begin(self) -> None:
        """Mark it, so that the step may make risky evaluations."""
        self.marks = self._all.marked(self._workflow_id, self._state, self._case)

    def written(self) -> None:
        """Note that the outcome was written, and the marks taken off with it."""
        self.marks = ()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the marks off that are left: nothing was written."""
        if self.marks:
            self._all.end(self._workflow_id, self.marks)
