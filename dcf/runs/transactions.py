"""Carries out decisions on runs: reads what the run's definition calls for, decides, commits. Caches definitions.

Repeats a decision that asked for more documents, or that used the definition of an expired run. It must not decide.
"""

import dataclasses
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

from dcf.asl.expressions.risks import Unmarked
from dcf.asl.machine import Place
from dcf.asl.state_paths import ancestors, join
from dcf.asl.surroundings import RunContext
from dcf.asl.tasks.extensions import LANGUAGE
from dcf.core.definitions import needs
from dcf.core.definitions.context import context_of
from dcf.core.definitions.model import Definition, gives_tokens
from dcf.core.definitions.scopes import fenced
from dcf.core.definitions.unread import read_stored, unless_unread
from dcf.core.documents.answers import Created
from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.model import Meta, StateDoc
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.retention import is_being_deleted
from dcf.errors import RunOnHold, StoreUnsuitable, UnknownRun, UnknownState
from dcf.runs.evaluations import Evaluation, Evaluations
from dcf.runs.kept_scopes import KeptScopes
from dcf.runs.loading import RUNS
from dcf.store.transaction.runs import Committed, RunStore
from dcf.values.digest import content_fingerprint
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.task_tokens import SECRET_BYTES

Answer = TypeVar("Answer")

_CACHED_RUNS = 1024


@record(frozen=True, slots=True, kw_only=True)
class Run:
    """The fixed part of a run, which a process may cache. Its `context` gives no leave for risky evaluations."""

    definition: Definition
    sha256: str
    created_at: str
    context: RunContext
    project: str | None = None

    def is_that_of(self, meta: Meta) -> bool:
        """Return True if `meta` is of this very run, not of a later one created under the same name."""
        return meta.definition_sha256 == self.sha256 and meta.created_at == self.created_at

    def at_step(self, *, may_risk: bool) -> "Run":
        """Return the run for one step, which may spend so much on evaluations as a step may."""
        return replace(self, context=self.context.risking(may_risk=may_risk))


ByRun: TypeAlias = Callable[[Run, Snapshot], Decision[Answer | More]]


def _nothing(_: Run, __: object) -> None:
    """Read nothing ahead."""


def with_secret(wish: Create) -> Create:
    """Return the request with a secret for the run's task tokens, if its workflow has any."""
    return replace(wish, secret=secrets.token_hex(SECRET_BYTES)) if gives_tokens(wish.definition) else wish


class Transactions:
    """Transactions on the runs of one store."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self._runs: dict[str, Run] = {}
        self._definitions: dict[tuple[str, str | None], Definition] = {}
        self._scopes = KeptScopes()
        self._is_grown, self._grown = RUNS.growing.is_grown, RUNS.growing.definitions(store)
        self._evaluations = Evaluations(store)

    def run(self, workflow_id: str) -> Run:
        """Return the fixed part of a run, from the cache or the store. Compare it with `meta` before using it."""
        known = self._runs.get(workflow_id)
        return known if known is not None else self.load(workflow_id)

    def run_with(self, workflow_id: str, *paths: str) -> Run:
        """Return the fixed part of a run that has these states: the cached part of an open run may lack them."""
        known = self.run(workflow_id)
        units = known.definition.units
        return known if units is None or all(path in units.by_name for path in paths) else self.load(workflow_id)

    def current_run(self, workflow_id: str) -> Run:
        """Return the fixed part of the run that exists now, even if an earlier run of that name was cached."""
        known = self._runs.get(workflow_id)
        if known is not None:
            meta = self.store.read(workflow_id, ReadSet()).meta
            if meta is not None and known.is_that_of(meta):
                return known
        return self.load(workflow_id)

    def keep(self, request: Create, created: Created) -> None:
        """Cache the fixed part of a run that was just created."""
        self._add(request.workflow_id, request.definition, {**created.meta, "secret": request.secret})

    def forget(self, workflow_id: str) -> None:
        """Read the fixed part of a run again next time: this process has changed it."""
        self._runs.pop(workflow_id, None)

    def path(self, workflow_id: str, state: str) -> str:
        """Return the path that a caller means. A state's name is its path, unless the name looks like a path."""
        return state if "/" not in state and "%" not in state else self.place(workflow_id, state).path

    def place(self, workflow_id: str, state: str) -> Place:
        """Return a state's position in its workflow. Raise UnknownState if there is none of this name or path."""
        for run in (self.run, self.load):  # the cached one may be an earlier run of that name
            definition = run(workflow_id).definition
            place_found = needs.place_of(definition, join("", state) if state in definition.machine.states else state)
            if place_found is not None:
                return place_found
        raise UnknownState(workflow_id, state)

    def on_run(
        self, workflow_id: str, reads: ReadSet, decide: Callable[[Snapshot], Decision[Answer]]
    ) -> Committed[Answer]:
        """Decide on a run that must exist. The decision sees states in ended scopes as cancelled."""
        return self.store.commit(workflow_id, reads, lambda snapshot: decide(self._present(workflow_id, snapshot)))

    def if_read(
        self, workflow_id: str, path: str, decide: Callable[[Snapshot], Decision[Answer]]
    ) -> Callable[[Snapshot], Decision[Answer]]:
        """Return a decision about a state that raises CapabilityMissing if this process cannot decide about it.

        It looks at the definition only if the document of the state has fields that this process does not read.
        """

        def guarded(snapshot: Snapshot) -> Decision[Answer]:
            doc = snapshot.states.get(path)
            if doc is not None and doc.extra:
                unless_unread(self.run(workflow_id).definition, path)
            return decide(snapshot)

        return guarded

    def on_state(
        self, workflow_id: str, path: str, reads: ReadSet, decide: Callable[[Snapshot], Decision[Answer | More]]
    ) -> Committed[Answer]:
        """Decide on a state of the workflow, opened or not; again, with more documents, if the decision asks so."""

        def guarded(snapshot: Snapshot) -> Decision[Answer | More]:
            if path not in snapshot.states:
                return decide(self._with_document(workflow_id, path, self.load(workflow_id), snapshot))
            return decide(snapshot)

        while True:
            committed = self.on_run(workflow_id, reads, guarded)
            if not isinstance(committed.answer, More):
                return cast("Committed[Answer]", committed)
            reads = needs.add(reads, committed.answer)

    def by_definition(
        self,
        workflow_id: str,
        reads: Callable[[Run], ReadSet],
        decide: ByRun[Answer],
        *paths: str,
        ahead: Callable[[Run, Answer], ReadSet | None] = _nothing,
    ) -> Committed[Answer]:
        """Read by the run's definition and decide. Decide again, with more documents, if the decision asks for them.

        `paths` are the states that the decision is about; they must exist. Raise CapabilityMissing if this process
        cannot decide about one of them. `ahead` tells what the transaction that probably follows will read.
        """
        run = self.run(workflow_id)
        with self._evaluations.of(workflow_id, paths, run.sha256) as evaluation:
            needed = reads(run)
            reading = self._scopes.without(workflow_id, needed)
            while True:
                guarded = partial(self._guarded, workflow_id, paths, run, needed.scopes, _risking(evaluation, decide))
                following = partial(self._following, workflow_id, partial(ahead, run))
                committed: Committed[Any] = self.store.commit(workflow_id, reading, guarded, following)
                if isinstance(committed.answer, _Risky):
                    evaluation.begin()
                elif isinstance(committed.answer, _Outdated):
                    run = self.load(workflow_id)
                    reading = needed = reads(run)
                elif isinstance(committed.answer, More):
                    reading = needs.add(reading, committed.answer)
                else:
                    if committed.seen is not None:
                        evaluation.written()
                    return committed

    def on_ended_run(
        self, workflow_id: str, run: Run, state: str, reads: ReadSet, decide: ByRun[Answer]
    ) -> Committed[Answer]:
        """Decide by the definition on a run that has ended, with what the decision risks marked for this state."""
        with self._evaluations.of(workflow_id, (state,), run.sha256) as evaluation:
            risked = _risking(evaluation, decide)
            while True:
                committed: Committed[Any] = self.on_run(workflow_id, reads, partial(risked, run))
                if isinstance(committed.answer, _Risky):
                    evaluation.begin()
                elif isinstance(committed.answer, More):
                    reads = needs.add(reads, committed.answer)
                else:
                    if committed.seen is not None:
                        evaluation.written()
                    return committed

    def load(self, workflow_id: str) -> Run:
        """Read the fixed part of a run from the store."""
        definition = self.store.definition(workflow_id)
        if definition is None:
            self._runs.pop(workflow_id, None)
            raise UnknownRun(workflow_id)
        document, facts = definition
        if self._is_grown(document):
            return self._add(workflow_id, self._grown.definition(workflow_id, document, facts), facts)
        name = document.get("workflow_id") if isinstance(document, dict) else None
        known = self._definitions.get((str(facts.get("definition_sha256")), name))
        is_known = known is not None and known.document == document  # parsing one of 1,000 states takes 50 ms
        return self._add(workflow_id, known if known is not None and is_known else read_stored(document), facts)

    def _add(self, workflow_id: str, definition: Definition, facts: Mapping[str, Json]) -> Run:
        created_at = str(facts.get("created_at") or "")
        secret = str(facts.get("secret") or "")
        context = context_of(workflow_id, definition.name, facts.get("input"), created_at, secret)
        context = context.risking(may_risk=False)
        sha256 = str(facts.get("definition_sha256"))
        if max(len(self._runs), len(self._definitions)) >= _CACHED_RUNS:
            self._runs.clear()
            self._definitions.clear()
        # Runs of the same workflow share one definition, and with it what was worked out for its states.
        definition, known_by = _with_gates(definition, facts.get("gates"))
        shared = definition
        if definition.units is None:
            shared = self._definitions.setdefault((known_by, definition.workflow_id), definition)
        project = facts.get("project")
        run = Run(definition=shared, sha256=sha256, created_at=created_at, context=context, project=project)
        self._runs[workflow_id] = run
        return run

    def _following(self, workflow_id: str, ahead: Callable[[Answer], ReadSet | None], answer: object) -> ReadSet | None:
        """Return what will probably be read next. Only an answer is committed, never `More` or `_Outdated`."""
        reads = ahead(cast("Answer", answer))
        return None if reads is None else self._scopes.without(workflow_id, reads)

    def _guarded(
        self,
        workflow_id: str,
        paths: tuple[str, ...],
        run: Run,
        scopes: tuple[str, ...],
        decide: ByRun[Answer],
        snapshot: Snapshot,
    ) -> "Decision[Answer | More | _Outdated]":
        snapshot = self._present(workflow_id, snapshot)
        assert snapshot.meta is not None, "just checked"
        if not run.is_that_of(snapshot.meta):
            return Decision(answer=_Outdated())
        if run.definition.unread:
            for path in paths:
                unless_unread(run.definition, path)
        for path in paths:
            if path in snapshot.states:
                continue
            snapshot = self._with_document(workflow_id, path, run, snapshot)
        if scopes:
            completed = self._scopes.add_to(workflow_id, snapshot, scopes)
            if isinstance(completed, More):
                return Decision(answer=completed)
            snapshot = completed
        return decide(run, snapshot)

    def _present(self, workflow_id: str, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot of a run that must exist, with the states in ended scopes shown as cancelled.

        If an earlier run of this name was cached, it is forgotten.
        """
        meta, known = snapshot.meta, self._runs.get(workflow_id)
        if meta is None:
            raise UnknownRun(workflow_id)
        if known is not None and (known.sha256 != meta.definition_sha256 or known.created_at != meta.created_at):
            self._runs.pop(workflow_id, None)
        return fenced(snapshot)

    def _with_document(self, workflow_id: str, path: str, run: Run, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with a document of a state that has none: an unopened one.

        Raise UnknownState, or UnknownRun while the run is being deleted.
        """
        if needs.place_of(run.definition, path) is None:
            raise UnknownState(workflow_id, path)
        if "/" not in path:
            meta = self.store.read(workflow_id, ReadSet(whole_meta=True)).meta_document
            if meta is None or is_being_deleted(meta):
                raise UnknownRun(workflow_id)
            raise StoreUnsuitable(
                f"The document of state '{path}' of run '{workflow_id}' is missing or is no JSON.",
                "Look at the key with TYPE, JSON.GET or GET; somebody changed it by hand.",
            )
        unopened = StateDoc(waits_for={ancestors(path)[-1]: 0})
        return replace(snapshot, states={**snapshot.states, path: unopened})


def _with_gates(definition: Definition, written: Json) -> tuple[Definition, str]:
    """Return the definition with the gates that its run was started with, and what it is shared by with other runs."""
    if not written:
        return definition, definition.sha256
    known_by = f"{definition.sha256}+{content_fingerprint(written)}"
    if LANGUAGE.gates_of_run is None:
        unread = {name: (*definition.unread.get(name, ()), "the gates of the run") for name in definition.skills}
        return dataclasses.replace(definition, unread=unread), known_by
    return dataclasses.replace(definition, run_gates=LANGUAGE.gates_of_run(written)), known_by


def _risking(evaluation: Evaluation, decide: ByRun[Answer]) -> "_ByRisk[Answer]":
    """Return the decision with what it risks marked: the outcome takes the marks off. Raise RunOnHold in a held run."""

    def risked(run: Run, snapshot: Snapshot) -> "Decision[Answer | More | _Risky]":
        hold = None if snapshot.meta is None else snapshot.meta.hold
        if not evaluation.marks:
            try:
                return decide(run.at_step(may_risk=False), snapshot)
            except Unmarked:
                if hold is not None:
                    raise RunOnHold(hold.text) from None
                return Decision(answer=_Risky())
        if hold is not None:
            raise RunOnHold(hold.text)
        decision = decide(run.at_step(may_risk=True), snapshot)
        if decision.changes is None:
            return decision
        return replace(decision, changes=replace(decision.changes, evaluated=evaluation.marks))

    return risked


_ByRisk: TypeAlias = "Callable[[Run, Snapshot], Decision[Answer | More | _Risky]]"


class _Risky:
    """Returned in place of an answer: the decision needs a risky evaluation, which is not marked yet."""


class _Outdated:
    """Returned in place of an answer: the run is not the one whose definition and input were cached."""
