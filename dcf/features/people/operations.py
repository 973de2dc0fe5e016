"""Human tasks: the list of open ones, and the answers of people.

Each names what it reads and the pure decision that is made on it (`features/people/answering.py`,
`features/people/listing.py`). This module must not decide or send Redis commands.
"""

from dataclasses import replace
from typing import Final

from dcf.core.definitions import needs
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.operations import RunDecision
from dcf.errors import StateError
from dcf.features.people import answering
from dcf.features.people.answering import HumanAnswer, Produced
from dcf.features.people.listing import HumanTaskPage, HumanTaskQuery
from dcf.features.people.producers import Producers, led_here
from dcf.features.people.storage import HumanTasks
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.store.events.history import History

_PAGE: Final = 1000

_MOST_RERUNS: Final = 100
"""Most runs, each a rerun of the next, whose histories are read for one answer."""


class People:
    """Lists human tasks and takes answers to them."""

    def __init__(self, plane: ControlPlane, history: History, tasks: HumanTasks) -> None:
        self._plane = plane
        self._history = history
        self._tasks = tasks

    def list_human_tasks(self, query: HumanTaskQuery) -> HumanTaskPage:
        """Return a page of open human tasks, oldest first. Raise UnknownRun for those of a run that does not exist."""
        if query.run is not None:
            self._plane.run(query.run)
        return self._tasks.page(query)

    def answer_human_task(
        self, workflow_id: str, reply: HumanAnswer, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """End a human task with somebody's answer. A repetition with the same request id gets the first answer."""
        path = self._plane.path(workflow_id, reply.state)
        reply = replace(reply, state=path, produced=self._produced(workflow_id, path))
        request = run_request("answer_human_task", reason, request_id, reply.arguments())

        def reads(run: Run) -> ReadSet:
            needed = needs.to_end(run.definition, path)
            return replace(needed, inputs=(*needed.inputs, path), run_receipts=(request.key,))

        def decide(run: Run, snapshot: Snapshot) -> RunDecision:
            return answering.answer(snapshot, request, reply, run.definition, run.context)

        return self._plane.operations.by_definition(workflow_id, reads, within_quota(decide), path)

    def _produced(self, workflow_id: str, path: str) -> Produced | None:
        """Return who did what in the run before a task that some must not answer; None where the task does not say so.

        The whole history is read, and those of the runs that it took results over from. The states before this visit
        have ended, so that no event is missed by reading them first.
        """
        snapshot = self._plane.read(workflow_id, (path,), whole_meta=False)
        doc = snapshot.states.get(path)
        if doc is None or not answering.waits_for_person(doc):
            return None
        try:
            if not answering.described(snapshot, path).excludes_some:
                return None
        except StateError:
            return None  # the decision says what is wrong with it
        by, names, run = dict[str, str](), dict[str, frozenset[str]](), workflow_id
        led = led_here(self._plane.run(workflow_id).definition.machine, path)
        for _ in range(_MOST_RERUNS):
            producers = self._read(run, Producers(path, led))
            by = {**producers.by, **by}
            names |= {key: names.get(key, frozenset()) | more for key, more in producers.names.items()}
            if producers.taken_from is None:
                break
            run = producers.taken_from
        return Produced(epoch=doc.lease.epoch, by=by, names=names)

    def _read(self, workflow_id: str, producers: Producers) -> Producers:
        last, is_more = "0", True
        while is_more:
            page = self._history.after(workflow_id, last, _PAGE)
            for event in page:
                producers.saw(event.type, event.state, event.data, event.by)
                last = event.event_id
            is_more = len(page) == _PAGE
        return producers
