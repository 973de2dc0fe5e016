"""Gates of runs: what waits for a verdict, and the verdicts. Each names what it reads and the pure decision.

This module decides nothing and sends no Redis command.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from dcf.core import needs, verdicts
from dcf.core.decision import Decision, Reads, Snapshot
from dcf.core.gates import NO_GATES
from dcf.core.gating import case_of
from dcf.core.judging import Judgement
from dcf.core.operations import RunAnswer, RunDecision, RunRequest
from dcf.core.refusals import unless_full
from dcf.core.scopes import fenced, with_scopes
from dcf.core.verdicts import Ruling
from dcf.errors import UnknownRun
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.store.authors import current_account
from dcf.values.digest import content_fingerprint
from dcf.values.records import replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.runs import Committed

Operated: TypeAlias = RunAnswer | Refusal
Decide: TypeAlias = Callable[[Run, Snapshot], RunDecision]


class Gates:
    """Lists what waits for verdicts, and takes them."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups
        self._store = plane.transactions.store

    def decide(
        self, workflow_id: str, ruling: Ruling, *, reason: str | None = None, request_id: str | None = None
    ) -> Operated:
        """Give a verdict. The same verdict on the same submission is applied once. Raise UnknownRun, UnknownState."""
        ruling = replace(ruling, state=self._plane.place(workflow_id, ruling.state).path)
        known_by = request_id or self._known_by(workflow_id, ruling)
        request = run_request("decide_gate", reason, known_by, ruling.arguments())
        return self._on_state(
            workflow_id,
            ruling.state,
            request,
            lambda run, found: verdicts.decide(found, request, ruling, run.definition, run.context),
        )

    def cases(self, workflow_id: str, states: Sequence[str] | None = None) -> list[Judgement]:
        """Return the states of a run whose output is judged or was sent back, of all that are open or of these."""
        run = self._plane.run(workflow_id)
        if not run.definition.is_gated:
            return []
        paths = self._store.open_states(workflow_id) if states is None else tuple(states)
        paths = tuple(path for path in paths if run.definition.gates_of(path))
        found = self._store.read(workflow_id, Reads(states=with_scopes(paths), gates=paths, outputs=paths))
        if found.meta is None:
            raise UnknownRun(workflow_id)
        shown = fenced(found)
        return [
            case_of(shown, path, run.definition, shown.outputs.get(path))
            for path in paths
            if path in shown.states and shown.states[path].gated is not None
        ]

    def _known_by(self, workflow_id: str, ruling: Ruling) -> str:
        """Return the id of a verdict that came without one: that of the submission which it is about."""
        found = self._store.read(workflow_id, Reads(states=with_scopes([ruling.state]), gates=(ruling.state,)))
        doc = found.states.get(ruling.state)
        kept = found.gates.get(ruling.state) or NO_GATES
        one = None if doc is None or doc.gated is None else doc.gated.gate(ruling.gate)
        asks = one.asks if one is not None and ruling.verdict == "unavailable" else 0
        return f"verdict-{content_fingerprint([ruling.arguments(), kept.number, asks])}"

    def _on_state(self, workflow_id: str, path: str, request: RunRequest, decide: Decide) -> Operated:
        def reads(run: Run) -> Reads:
            return replace(needs.to_end(run.definition, path), run_receipts=(request.key,))

        def guarded(run: Run, snapshot: Snapshot) -> RunDecision:
            decision = decide(run, snapshot)
            full = None if decision.changes is None else unless_full(current_account())
            return decision if full is None else Decision(answer=full)

        committed: Committed[Operated] = self._transactions.by_definition(workflow_id, reads, guarded, path)
        self._follow_ups.after(workflow_id, committed)
        return committed.answer
