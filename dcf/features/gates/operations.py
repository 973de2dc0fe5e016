"""Gates of runs: the open verdicts, and giving verdicts. Each names what it reads and the pure decision.

This module must not decide or send Redis commands.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from dcf.core.definitions import needs
from dcf.core.definitions.briefs import instructions_of, shows_input
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.model import Meta, RunStatus
from dcf.core.documents.operations import RunDecision, RunRequest
from dcf.errors import UnknownRun
from dcf.features.gates import overriding, verdicts
from dcf.features.gates.consequences import GateCase, gates_of
from dcf.features.gates.listing import GatePage, GatePlace, GateQuery
from dcf.features.gates.model import RECORDS, Submission, record_of, submission_of
from dcf.features.gates.overriding import Override
from dcf.features.gates.storage import GateLists, place_of, record_in
from dcf.features.gates.submitting import case_of
from dcf.features.gates.verdicts import Ruling
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.store.lists.waiting import WaitingState
from dcf.values.digest import content_fingerprint
from dcf.values.json_text import Json
from dcf.values.records import replace

Decide: TypeAlias = Callable[[Run, Snapshot], RunDecision]


class Gates:
    """Lists what waits for verdicts, and takes them."""

    def __init__(self, plane: ControlPlane, lists: GateLists) -> None:
        self._lists = lists
        self._plane = plane
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
            lambda run, workflow_id: verdicts.decide(workflow_id, request, ruling, run.definition, run.context),
        )

    def override(self, workflow_id: str, wish: Override, *, request_id: str | None = None) -> Operated:
        """Let an output pass. A repetition with the same request id gets the first answer. Raise UnknownRun."""
        wish = replace(wish, state=self._plane.place(workflow_id, wish.state).path)
        request = run_request("override_gate", wish.reason, request_id, wish.arguments())
        return self._on_state(
            workflow_id,
            wish.state,
            request,
            lambda run, workflow_id: overriding.override(workflow_id, request, wish, run.definition, run.context),
        )

    def cases(self, workflow_id: str, states: Sequence[str] | None = None, *, contents: bool = True) -> list[GateCase]:
        """Return the states of a run whose output is judged or was sent back, of all that are open or of these.

        Without `contents` neither outputs are read nor inputs that instructions show.
        """
        run = self._plane.run(workflow_id)
        if not run.definition.is_gated:
            return []
        paths = self._store.open_states(workflow_id) if states is None else tuple(states)
        paths = tuple(path for path in paths if run.definition.gates_of(path))
        shown_paths = paths if contents else ()
        briefed = tuple(path for path in shown_paths if shows_input(run.definition, path))
        reads = ReadSet(states=with_scopes(paths), parts=RECORDS.wanted(paths), outputs=shown_paths, briefed=briefed)
        shown = fenced(self._plane.operations.read(workflow_id, reads))
        return [
            case_of(shown, path, run.definition, shown.outputs.get(path))
            for path in paths
            if path in shown.states and shown.states[path].has(Submission.field)
        ]

    def of_run(self, workflow_id: str, limit: int, after: GatePlace | None, *, contents: bool = True) -> GatePage:
        """Return a page of the states of a run whose output is judged, the longest first. Raise UnknownRun."""
        run = self._plane.run(workflow_id)
        gated = () if not run.definition.is_gated else self._store.open_states(workflow_id)
        paths = tuple(path for path in gated if run.definition.gates_of(path))
        docs = fenced(self._store.read(workflow_id, ReadSet(states=with_scopes(paths)))).states
        judged = {path: docs[path] for path in paths if path in docs and docs[path].is_judged}
        there = {path: place_of(workflow_id, path, doc) for path, doc in judged.items()}
        order = sorted(there, key=lambda path: there[path].order)
        left = [path for path in order if after is None or there[path].order > after.order]
        cases = {
            case.state: case for case in self.cases(workflow_id, left[:limit], contents=contents)
        }  # less what ended meanwhile
        shown = [path for path in left[:limit] if path in cases]
        return GatePage(
            rows=tuple((workflow_id, cases[path]) for path in shown),
            places=tuple(there[path] for path in shown),
            next_place=there[left[limit - 1]] if len(left) > limit else None,
        )

    def waiting_for(self, query: GateQuery, *, contents: bool = True) -> GatePage:
        """Return a page of what waits for the verdicts of an agent or person, across runs, without the outputs.

        Without `contents` no inputs are read that instructions show.
        """
        places, place = self._lists.page(query)
        rows = [(place.workflow_id, case, place.place) for place in places if (case := self._case(place)) is not None]
        shown = [(run, case.state) for run, case, _ in rows if contents and not _is_plain(case)]
        inputs = self._lists.inputs(shown)
        return GatePage(
            rows=tuple((run, replace(case, given=inputs.get((run, case.state)))) for run, case, _ in rows),
            places=tuple(at for *_, at in rows),
            next_place=place,
        )

    def _case(self, waiting_state: WaitingState[GatePlace]) -> GateCase | None:
        try:
            definition = self._plane.run(waiting_state.workflow_id).definition
        except UnknownRun:  # it was deleted meanwhile
            return None
        return GateCase(
            state=waiting_state.path,
            doc=waiting_state.doc,
            meta=Meta(status=RunStatus.RUNNING, definition_sha256=definition.sha256),
            gates=gates_of(definition, waiting_state.path),
            kept=record_in(waiting_state),
            output=None,
            now=0,
            instructions=instructions_of(definition, waiting_state.path),
        )

    def sent_back(self, workflow_id: str, state: str) -> dict[str, Json]:
        """Return why the output of a state was sent back, for its present worker; nothing if it was not."""
        gate_cases = self.cases(workflow_id, (self._plane.path(workflow_id, state),))
        failed = [dict(criterion) for case in gate_cases for criterion in case.kept.failed]
        return {"failed_criteria": failed} if failed else {}

    def _known_by(self, workflow_id: str, ruling: Ruling) -> str:
        """Return the id of a verdict that came without one: that of the submission which it is about."""
        snapshot = self._store.read(
            workflow_id, ReadSet(states=with_scopes([ruling.state]), parts=RECORDS.wanted((ruling.state,)))
        )
        doc = snapshot.states.get(ruling.state)
        gate = record_of(snapshot, ruling.state)
        submission = None if doc is None else submission_of(doc)
        open_gate = None if submission is None else submission.gate(ruling.gate)
        asks = open_gate.asks if open_gate is not None and ruling.verdict == "unavailable" else 0
        return f"verdict-{content_fingerprint([ruling.arguments(), gate.number, asks])}"

    def _on_state(self, workflow_id: str, path: str, request: RunRequest, decide: Decide) -> Operated:
        def reads(run: Run) -> ReadSet:
            return replace(needs.to_end(run.definition, path), run_receipts=(request.key,))

        return self._plane.operations.by_definition(workflow_id, reads, within_quota(decide), path)


def _is_plain(case: GateCase) -> bool:
    """Return True if the instructions of a state have no value of the input."""
    return case.instructions is None or case.instructions.is_plain
