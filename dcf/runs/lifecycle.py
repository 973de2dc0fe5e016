"""The operations on a whole run, and on a state by hand: cancel, pause, resume, resolve.

Each names the documents that it reads and the pure decision about them (`core/lifecycle/halting.py`,
`core/completing/resolving.py`). This module must not make decisions or send Redis commands.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from dcf.asl.machine import Task
from dcf.core.completing import resolving
from dcf.core.completing.resolving import Resolve
from dcf.core.definitions import needs
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest
from dcf.core.documents.premises import Premise, resting_on, with_premise
from dcf.core.lifecycle import halting
from dcf.errors import InvalidArgument
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.store.connection.reserve import frees_memory
from dcf.values.identifiers import check_agents
from dcf.values.records import replace

_ALL: Final = 1_000_000


class Lifecycle:
    """Cancel, pause and resume runs, and resolve single states of them.

    Every request may name its `request_id`, by which a repetition is known, and a `reason` for the history.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    @frees_memory
    def cancel(
        self,
        workflow_id: str,
        *,
        reason: str | None = None,
        request_id: str | None = None,
        premise: Premise | None = None,
    ) -> Operated:
        """End a run now: its holders are told to stop, and the run no longer changes.

        If there is a premise and it does not hold, nothing is written.
        """
        request = run_request("cancel_run", reason, request_id)

        def decide(snapshot: Snapshot, request: RunRequest) -> RunDecision:
            return resting_on(premise, snapshot, lambda: halting.cancel(snapshot, request))

        reads = with_premise(ReadSet(run_receipts=(request.key,)), premise)
        answer = self._on_run(workflow_id, reads, request, decide)
        if isinstance(answer, RunAnswer):
            self._plane.follow_ups.skip_unreached(workflow_id)  # an earlier cancel may have died before this
        return answer

    def pause(self, workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Operated:
        """Grant no lease on a state of the run from now on."""
        request = run_request("pause_run", reason, request_id)
        reads = ReadSet(run_receipts=(request.key,), whole_meta=True)
        return self._on_run(workflow_id, reads, request, halting.pause)

    def resume(self, workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> Operated:
        """Let a paused run continue."""
        request = run_request("resume_run", reason, request_id)
        reads = ReadSet(run_receipts=(request.key,), open_states=(0, _ALL), whole_meta=True)
        return self._on_run(workflow_id, reads, request, halting.resume)

    def resolve(
        self, workflow_id: str, wish: Resolve, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """End a state by hand, or give it to other agents. Raise UnknownState or InvalidArgument.

        A Task that is not open may be given to agents too, one inside a Parallel or Map by its own name.
        """
        if wish.how is None and wish.agents and self._is_inside(workflow_id, wish.state):
            return self._assign_ahead(
                workflow_id, wish, run_request("resolve_state", reason, request_id, wish.arguments())
            )
        place = self._plane.place(workflow_id, wish.state)
        wish = replace(wish, state=place.path)
        if wish.how is None and not wish.agents:
            raise InvalidArgument(
                "Nothing is asked for: an epoch says only which visit of the state is meant.",
                "Give an output, an error, skip, or agents to assign.",
            )
        if wish.agents:
            # Of a Task that agents do not work on, the decision says so.
            tasks = {place.name} if isinstance(place.state, Task) else set()
            check_agents({place.name: list(wish.agents)}, tasks, name="agents")
        request = run_request("resolve_state", reason, request_id, wish.arguments())
        answer = self._resolved(workflow_id, request, wish)
        if isinstance(answer, RunAnswer) and wish.agents and "/" in wish.state:
            self._plane.announce_again(workflow_id, (place.name,))  # the other iterations
        return answer

    def _is_inside(self, workflow_id: str, name: str) -> bool:
        """Return True for the name of a Task inside a Parallel or Map; states of the workflow itself go by path."""
        definition = self._plane.run(workflow_id).definition
        return name in definition.skills and name not in definition.machine.states

    def _assign_ahead(self, workflow_id: str, wish: Resolve, request: RunRequest) -> Operated:
        check_agents({wish.state: list(wish.agents)}, {wish.state}, name="agents")
        reads = ReadSet(run_receipts=(request.key,), whole_meta=True)
        decide = partial(resolving.assign_ahead, wish=wish)
        answer = self._on_run(workflow_id, reads, request, decide)
        if isinstance(answer, RunAnswer):
            self._plane.announce_again(workflow_id, (wish.state,))
        return answer

    def _resolved(self, workflow_id: str, request: RunRequest, wish: Resolve) -> Operated:
        def reads(run: Run) -> ReadSet:
            return replace(needs.to_end(run.definition, wish.state), run_receipts=(request.key,), whole_meta=True)

        def decide(run: Run, snapshot: Snapshot) -> RunDecision:
            return resolving.resolve(snapshot, request, wish, run.definition, run.context)

        decided = within_quota(decide) if wish.how == "output" else decide
        return self._plane.operations.by_definition(workflow_id, reads, decided, wish.state)

    def _on_run(
        self,
        workflow_id: str,
        reads: ReadSet,
        request: RunRequest,
        decide: Callable[[Snapshot, RunRequest], RunDecision],
    ) -> Operated:
        return self._plane.operations.on_run(workflow_id, reads, lambda snapshot: decide(snapshot, request))
