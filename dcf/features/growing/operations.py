"""Open runs: opened without a graph, and given units while they are open.

Each operation names what it reads and the pure decision that is made on it. This module must not decide or send Redis
commands.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from dcf.core.definitions.model import Definition
from dcf.core.documents.answers import Created
from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest
from dcf.core.documents.parts import WHOLE
from dcf.core.documents.refusals import RUN_OVER
from dcf.core.listing.runs import agents_ever
from dcf.features.growing import adding, closing, repairs
from dcf.features.growing.adding import Added, AddUnits
from dcf.features.growing.closing import Close, Seal
from dcf.features.growing.counts import GROWTH
from dcf.features.growing.definition import units_of
from dcf.features.growing.model import Units, shown_unit
from dcf.features.growing.opening import OpenRequest, nested_request, note_nested, open_run
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.store.transaction.runs import Committed  # noqa: TC001 - the annotation of a variable
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal


class Growing:
    """Opens runs that grow, adds units to them, seals, takes back and closes."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups
        self._store = plane.transactions.store

    def open_run(self, open_request: OpenRequest) -> Created | Refusal:
        """Open a run without units. Repeating the same request returns the run that exists.

        A commit of its own notes it in the run around it: a repetition writes the note that a crashed process did not.
        """
        wish = open_request.wish
        refusal = (
            None if open_request.nested_in is None else self._unless_around(wish.workflow_id, *open_request.nested_in)
        )
        if refusal is not None:
            return refusal
        committed = self._store.create(
            wish.workflow_id, ReadSet(whole_meta=True), partial(open_run, request=open_request), wish.size
        )
        answer = self._follow_ups.after_creation(wish, committed)
        if open_request.nested_in is not None and isinstance(answer, Created):
            request = nested_request(wish.workflow_id)
            around, unit = open_request.nested_in
            self._transactions.on_run(
                around,
                ReadSet(run_receipts=(request.key,)),
                lambda snapshot: note_nested(snapshot, request, wish.workflow_id, unit),
            )
        return answer

    def _unless_around(self, workflow_id: str, around: str, unit: str | None) -> Refusal | None:
        """Refuse to open a run within an ended one, unless it exists already. Raise UnknownRun or UnknownState."""
        if unit is not None:
            self._plane.place(around, unit)
        outer = self._plane.operations.read(around, ReadSet()).existing_meta
        if outer.status is RunStatus.RUNNING or self._store.read(workflow_id, ReadSet()).meta is not None:
            return None
        return RUN_OVER.refuse(status=outer.status)

    def add_units(
        self, workflow_id: str, wish: AddUnits, *, reason: str | None = None, request_id: str | None = None
    ) -> Added | Refusal:
        """Add units, and lease those that the caller claims, in one transaction. A refused call has no effect."""
        request = run_request("add_units", reason, request_id, wish.arguments())

        def reads(run: Run) -> ReadSet:
            units = units_of(run.definition)
            if units is None:
                return ReadSet()
            return ReadSet(
                states=adding.to_add(units, wish),
                inputs=wish.claimed,
                agents=(*wish.claimed, *wish.joined),
                run_receipts=(request.key,),
                parts=GROWTH.wanted(WHOLE),
            )

        def decide(run: Run, snapshot: Snapshot) -> Decision[Added | Refusal | More]:
            return adding.add_units(snapshot, request, wish, run.definition)

        committed: Committed[Added | Refusal]
        committed = self._transactions.by_definition(workflow_id, reads, within_quota(decide))
        self._transactions.forget(workflow_id)
        return self._plane.operations.answer(workflow_id, committed)

    def seal_group(
        self, workflow_id: str, wish: Seal, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Allow no further units in a group, or in the run. It ends when all of it has ended well."""
        if wish.group is not None:
            self._plane.place(workflow_id, wish.group)
        request = run_request("seal_group", reason, request_id, wish.arguments())
        decide = partial(closing.seal, request=request, wish=wish)
        return self._on_units(workflow_id, request, lambda units: closing.to_seal(units, wish), decide)

    def retry_unit(
        self, workflow_id: str, name: str, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Let a unit that failed be taken again."""
        name = self._plane.place(workflow_id, name).path
        request = run_request("retry_unit", reason, request_id, {"unit": name})
        decide = partial(repairs.retry_unit, request=request, name=name)
        return self._on_units(workflow_id, request, lambda units: (name,) if name in units.by_name else (), decide)

    def rewind_unit(
        self, workflow_id: str, name: str, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Reopen a unit and everything that followed it."""
        name = self._plane.place(workflow_id, name).path
        request = run_request("rewind_unit", reason, request_id, {"unit": name})
        decide = partial(repairs.rewind_unit, request=request, name=name)
        return self._on_units(workflow_id, request, lambda units: repairs.to_rewind(units, name), decide, outputs=True)

    def close_run(
        self, workflow_id: str, wish: Close, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """End a run, with what is to be kept of it."""
        request = run_request("close_run", reason, request_id, wish.arguments())
        decide = partial(closing.close, request=request, wish=wish)
        answer = self._on_units(workflow_id, request, lambda units: tuple(units.by_name), decide)
        if isinstance(answer, RunAnswer):
            self._follow_ups.skip_unreached(workflow_id)  # an earlier call may have closed it and died before this
        return answer

    def is_member(self, workflow_id: str, agent_id: str) -> bool:
        """Return True for an agent that may change a run's units: its planner, and the agents of its units.

        Such an agent is assigned to a unit, or works on it now. In a run without a planner every agent may.
        """
        snapshot = self._plane.operations.read(workflow_id, ReadSet(whole_meta=True))
        planner = snapshot.existing_meta.planner_agent_id
        if planner in (None, agent_id) or agent_id in agents_ever(snapshot.meta_document or {}):
            return True
        docs = self._store.read(workflow_id, ReadSet(states=self._store.open_states(workflow_id))).states
        return any(doc.lease.owner_agent_id == agent_id for doc in docs.values())

    def facts_of(
        self, workflow_id: str, names: Collection[str], *, whole: bool = False
    ) -> dict[str, dict[str, Json]] | None:
        """Return the facts of these units apart from their states; None for a run without units."""
        units = units_of(self._transactions.run_with(workflow_id, *names).definition)
        if units is None:
            return None
        return {name: shown_unit(units.by_name[name], whole=whole) for name in names if name in units.by_name}

    def _on_units(
        self,
        workflow_id: str,
        request: RunRequest,
        states: Callable[[Units], tuple[str, ...]],
        decide: "Decide",
        *,
        outputs: bool = False,
    ) -> Operated:
        def reads(run: Run) -> ReadSet:
            units = units_of(run.definition)
            paths = () if units is None else states(units)
            return ReadSet(
                states=paths,
                outputs=paths if outputs else (),
                run_receipts=(request.key,),
                parts={} if units is None else GROWTH.wanted(WHOLE),
                whole_meta=True,
            )

        def decided(run: Run, snapshot: Snapshot) -> RunDecision:
            return decide(snapshot, definition=run.definition)

        return self._plane.operations.by_definition(workflow_id, reads, decided)


class Decide(Protocol):
    """A decision on a request about units."""

    def __call__(self, snapshot: Snapshot, /, *, definition: Definition) -> RunDecision:
        """Return what is decided."""
