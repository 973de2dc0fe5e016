"""Lets a run that did not succeed continue (`retry_run`): finds where it stopped, and reopens that in one transaction.

The documents of an ended run are read without a watch, since only follow-up work still changes them: it closes open
states. If the run was retried in between, all of them are read again. This module must not make decisions.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from dcf.asl.places import machine_of
from dcf.asl.state_paths import join, open_scope
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.decision import Decision, More, ReadSet, Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.operations import RunAnswer, RunRequest
from dcf.core.lifecycle import holding, reopening, retrying
from dcf.core.lifecycle.retrying import Halt
from dcf.errors import Conflict, RunOnHold, UnknownRun
from dcf.runs.control_plane import ControlPlane
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

_ALL: Final = 1_000_000
_AT_ONCE: Final = 2_000
"""Documents that are read in one round trip."""

_MOST_TRIES: Final = 10

Retried: TypeAlias = RunAnswer | Refusal


class RunRetrying:
    """Lets runs that did not succeed continue."""

    def __init__(self, plane: ControlPlane) -> None:
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups
        self._store = plane.transactions.store

    def retry(
        self, workflow_id: str, *, reason: str | None = None, request_id: str | None = None, may_release: bool = True
    ) -> Retried:
        """Continue a run that failed, timed out, was cancelled or put on hold. A repetition gets the same answer.

        `may_release`: the caller is an operator, who may release a run that is on hold.
        """
        request = run_request("retry_run", reason, request_id)
        meta = self._store.read(workflow_id, ReadSet()).meta
        if meta is not None and meta.hold is not None:
            return self._release(workflow_id, request, may_release=may_release)
        for _ in range(_MOST_TRIES):
            run = self._transactions.current_run(workflow_id)
            halt = self._halt(workflow_id, run.definition)
            try:
                committed = self._committed(workflow_id, run, halt, request)
            except RunOnHold:
                if may_release:  # this retry evaluated nothing, and the operator's next one may
                    self._store.marks.clear(workflow_id)
                raise
            if not isinstance(committed.answer, _OtherEnd):
                self._follow_ups.after(workflow_id, committed)
                return committed.answer
        raise Conflict("Others kept ending and retrying the run; nothing was written.")

    def _release(self, workflow_id: str, request: RunRequest, *, may_release: bool) -> Retried:
        reads = ReadSet(open_states=(0, _ALL), whole_meta=True, run_receipts=(request.key,))
        decide = partial(holding.release, request=request, may_release=may_release)
        committed = self._transactions.on_run(workflow_id, reads, decide)
        self._follow_ups.deliver(workflow_id, committed)
        assert not isinstance(committed.answer, More), "a release asks for nothing more"
        return committed.answer

    def _committed(
        self, workflow_id: str, run: Run, halt: Halt, request: RunRequest
    ) -> "Committed[Retried | _OtherEnd]":
        def decide(run: Run, snapshot: Snapshot) -> "Decision[Retried | More | _OtherEnd]":
            if not run.is_that_of(snapshot.existing_meta) or retrying.is_outdated(snapshot, halt, request):
                return Decision(answer=_OtherEnd())
            return retrying.retry(snapshot, halt, request, run.definition, run.context)

        reads = _reads(halt, run.definition, request)
        state = next(iter((*halt.plan.states, *halt.plan.scopes)), "")
        return self._transactions.on_ended_run(workflow_id, run, state, reads, decide)

    def _halt(self, workflow_id: str, definition: Definition) -> Halt:
        """Read where the run stopped; return an empty plan for a run that cannot be retried."""
        top = self._store.read(workflow_id, ReadSet(states=definition.paths, whole_meta=True))
        if top.meta is None:
            raise UnknownRun(workflow_id)
        document = top.meta_document or {}
        if retrying.unless_retryable(document, top.meta.status) is not None:
            return Halt(plan=reopening.Plan(), epoch=0, finished_at=None)
        docs = dict(top.states)
        stand = self._descend(workflow_id, definition, docs)
        entries = self._store.read(workflow_id, ReadSet(entries=tuple(stand))).entries if stand else {}
        plan = reopening.plan(definition, docs, entries)
        forgotten = self._forgotten(workflow_id, definition, plan, docs)
        epoch = max(doc.lease.epoch for doc in docs.values())
        return Halt(plan=plan, epoch=epoch, finished_at=document.get("finished_at"), forgotten=forgotten)

    def _descend(self, workflow_id: str, definition: Definition, docs: dict[str, StateDoc]) -> list[str]:
        """Add the documents inside stopped scopes to `docs`. Return all states in which control stopped."""
        standing = reopening.standing(docs)
        for path in standing:  # grows while it is gone through
            scope = docs[path].scope
            if scope is None or not reopening.may_hold_branches(docs[path]):
                continue
            inside = [path for _, paths in reopening.branches(definition, path, scope.size) for path in paths]
            docs.update(self._docs(workflow_id, inside))
            standing += [stand for stands in reopening.halted(definition, path, docs).values() for stand in stands]
        return standing

    def _forgotten(
        self, workflow_id: str, definition: Definition, plan: reopening.Plan, docs: dict[str, StateDoc]
    ) -> tuple[str, ...]:
        """Return the states of branches that start from their beginning, including states in inner scopes."""
        if not plan.dropped:
            return ()
        known = self._store.scopes(workflow_id)
        paths: dict[str, None] = {}
        for branch in plan.dropped:
            nested = [open_scope(path, at) for path, size in _inside(branch, known).items() for at in range(size)]
            for scope in (branch.scope, *nested):
                names = machine_of(definition.machine, scope).states
                paths.update(dict.fromkeys(join(scope, name) for name in names))
        forgotten = self._docs(workflow_id, paths)
        docs.update(forgotten)
        return tuple(forgotten)

    def _docs(self, workflow_id: str, paths: Iterable[str]) -> dict[str, StateDoc]:
        paths_left, docs_found = list(paths), dict[str, StateDoc]()
        for start in range(0, len(paths_left), _AT_ONCE):
            docs_found.update(
                self._store.read(workflow_id, ReadSet(states=tuple(paths_left[start : start + _AT_ONCE]))).states
            )
        return docs_found


def _reads(halt: Halt, definition: Definition, request: RunRequest) -> ReadSet:
    plan = halt.plan
    touched = (*definition.paths, *plan.scopes, *plan.states, *halt.forgotten)
    items = tuple((branch.owner, branch.index) for branch in plan.fresh)
    return ReadSet(
        states=with_scopes(touched),
        scopes=tuple(plan.scopes),
        items=items,
        whole_meta=True,
        run_receipts=(request.key,),
        signals=definition.takes_signals,
    )


def _inside(branch: reopening.BranchPlace, scopes: Mapping[str, int]) -> dict[str, int]:
    return {path: size for path, size in scopes.items() if path.startswith(f"{branch.scope}/")}


class _OtherEnd:
    """Returned in place of an answer: the run was retried or ended again since its halt was read."""
