"""Explains why a run does not move: reads the facts, and lets `core.diagnosis` judge them. Never changes a run.

`dcf why`, `dcf show`, `dcf ls --stuck` and the tool `explain_run` all ask here, so that they agree. At most four round
trips to Redis, however many states a run has; one more each where states wait for signals and for accounts,
and those of a child run.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from dcf.asl.machine import Machine, Task
from dcf.asl.places import machine_of
from dcf.asl.state_paths import ancestors, join, open_scope
from dcf.core.definitions import needs
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.definitions.sources import place_of
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.leasing.blockers import word_of
from dcf.core.leasing.rearming import is_listed
from dcf.errors import InvalidDefinition, NotFound, StoreUnsuitable, UnknownRun
from dcf.features.diagnosis.facts import PATIENCE, Facts, Signs, Telling
from dcf.features.diagnosis.judging import diagnose, explain_state, with_child
from dcf.features.diagnosis.model import Cause, RunFinding
from dcf.features.diagnosis.storage import MOST, RunSigns, RunSignsReader
from dcf.runs.control_plane import ControlPlane
from dcf.store.events.notified import Told
from dcf.values.instants import SECOND
from dcf.values.record_json.codec import json_method
from dcf.values.records import record, replace

_INTERVALS = 3

_MOST_AWAITED = 50


@record(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a run, or one state of it, is where it is at `now`; no finding: nothing holds it up.

    `word` is the status for people. `unread` counts the open states beyond those that were looked at.
    """

    workflow_id: str
    status: RunStatus
    word: str
    now: int
    findings: tuple[RunFinding, ...]
    unread: int = 0

    @property
    def is_stuck(self) -> bool:
        """True if somebody has to act before the run continues."""
        return any(finding.stuck for finding in self.findings)

    as_json = json_method(
        "workflow_id word now is_stuck findings unread",
        named={"word": "run_status", "now": "at", "is_stuck": "stuck", "unread": "unread_states"},
        times="now",
    )


KindsOf: TypeAlias = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the kinds of the platforms of agents."""

SignsOf: TypeAlias = Callable[[Collection[tuple[str, int]], int], Signs]
"""Returns what accounts tell about limits until these times."""


class Diagnosis:
    """Explains runs; a clock is expected to look every `pulse_interval_s` seconds."""

    def __init__(
        self,
        plane: ControlPlane,
        signs: RunSignsReader,
        pulse_interval_s: float,
        kinds_of: KindsOf | None = None,
        signs_of: SignsOf | None = None,
    ) -> None:
        """Read the signs; `kinds_of` tells the kinds of agents' platforms, where there are others than inboxes.

        `signs_of` reads the reasons of limits from accounts, and how many states wait for them.
        """
        self._kinds_of: KindsOf = kinds_of or (lambda _: {})
        self._signs_of: SignsOf = signs_of or (lambda _, __: {})
        self._plane = plane
        self._signs = signs
        self._patience = max(PATIENCE, int(_INTERVALS * pulse_interval_s * SECOND))

    def explain(self, workflow_id: str, state: str | None = None) -> Explanation:
        """Return why the run, or one state of it, is where it is. Raise UnknownRun or UnknownState."""
        signs = self._signs.run(workflow_id)
        meta = signs.snapshot.meta
        if meta is None:
            raise UnknownRun(workflow_id)
        path, definition = None, self._definition(workflow_id, signs)
        facts = self._facts(workflow_id, signs, definition)
        if not isinstance(definition, str):
            path = None if state is None else self._plane.path(workflow_id, state)
            if meta.status is RunStatus.RUNNING and facts.refusal is None:
                others = _without(facts.due, definition, signs.scopes)
                facts = self._with_states(workflow_id, facts, path, others)
        findings = diagnose(facts) if path is None else explain_state(facts, path, self._before(workflow_id, path))
        # Causes of the other child runs are found by asking about their states.
        child = next((finding for finding in findings if finding.cause is Cause.WAITING_FOR_CHILD), None)
        findings = tuple(self._with_child(finding) if finding is child else finding for finding in findings)
        if not isinstance(definition, str):
            findings = tuple(_with_function(_with_place(finding, definition), definition) for finding in findings)
        return Explanation(
            workflow_id=workflow_id,
            status=meta.status,
            word=word_of(facts.document),
            now=facts.now,
            findings=findings,
            unread=signs.unread,
        )

    def first_line(self, workflow_id: str) -> str | None:
        """Return the first finding as one sentence, for a list of runs; None if nothing holds the run up."""
        findings = self.explain(workflow_id).findings
        return findings[0].sentence if findings else None

    def _with_child(self, finding: RunFinding) -> RunFinding:
        """Return the finding with the first one of the child run that is waited for."""
        try:
            child = self.explain(str(finding.evidence["run"]))
        except NotFound:
            return with_child(finding, "it has not been started yet.")
        why = child.findings[0].sentence if child.findings else None
        return with_child(finding, why)

    def _facts(self, workflow_id: str, signs: RunSigns, definition: Definition | str) -> Facts:
        meta = signs.snapshot.existing_meta
        return Facts(
            workflow_id=workflow_id,
            now=signs.snapshot.now,
            meta=meta,
            document=signs.snapshot.meta_document or {},
            looked_at=signs.looked_at,
            patience=self._patience,
            due={} if isinstance(definition, str) else _known(signs.due, definition),
            refusal=signs.refusal,
            troubled={trouble.kind: trouble for trouble in signs.troubled},
            unreadable=definition if isinstance(definition, str) else None,
            unread=signs.unread,
        )

    def _definition(self, workflow_id: str, signs: RunSigns) -> Definition | str:
        """Return the workflow of the run, or what is wrong with what is stored of it."""
        if not signs.has_definition:
            return "Its key does not exist."
        try:
            transactions, meta = self._plane.transactions, signs.snapshot.meta
            known = transactions.run(workflow_id)
            is_current = meta is not None and known.is_that_of(meta)  # without another round trip
            return (known if is_current else transactions.load(workflow_id)).definition
        except (NotFound, InvalidDefinition, StoreUnsuitable) as error:
            return error.message

    def _with_states(self, workflow_id: str, facts: Facts, target: str | None, without: Iterator[str]) -> Facts:
        """Return the facts with the open states, and the `target` state if it has ended.

        The first states `without` a timer are read, to find those that must have one.
        """
        assigned = [*dict.fromkeys(agent for path in facts.due for agent in facts.meta.assigned(path))]
        paths = with_scopes(facts.due if target is None else (*facts.due, target))
        others = tuple(islice(without, max(0, MOST - len(facts.due))))
        signs = self._signs.states(workflow_id, paths, assigned, others)
        snapshot, listed = fenced(signs.snapshot), frozenset(paths)
        untimed = frozenset(
            path
            for path in others
            if path not in snapshot.timers and path in snapshot.states and is_listed(snapshot.states[path])
        )
        states = {
            path: doc
            for path, doc in snapshot.states.items()
            if path in untimed or (path in listed and (path != target or path in facts.due or doc.status.is_terminal))
        }
        still_open = [path for path, doc in states.items() if not doc.status.is_terminal]
        telling = {
            path: _telling(records, states[path].lease.epoch) for path, records in signs.told.items() if path in states
        }
        around = frozenset(owner for path in still_open if "/" in path for owner in ancestors(path))
        return replace(
            facts,
            now=signs.snapshot.now,
            states=states,
            around=around,
            telling=telling,
            seen=signs.seen,
            platforms=self._kinds_of(assigned),
            awaited=self._awaited(workflow_id, states),
            untimed=untimed,
            signs=self._of_accounts(states, signs.snapshot.now),
        )

    def _of_accounts(self, states: Mapping[str, StateDoc], now: int) -> Signs:
        """Return what accounts tell about the limits of parked states; without such a state nothing is read."""
        limits = {(met.account, met.until) for doc in states.values() if (met := doc.limit(now)) and met.account}
        return self._signs_of([*limits][:_MOST_AWAITED], now) if limits else {}

    def _awaited(self, workflow_id: str, states: Mapping[str, StateDoc]) -> dict[str, str]:
        """Return the names of the signals that states wait for: of some of them, since findings name few."""
        waiting = [path for path, doc in states.items() if doc.waits_outside and doc.kind == "Signal"][:_MOST_AWAITED]
        if not waiting:
            return {}
        inputs = self._plane.transactions.store.read(workflow_id, ReadSet(inputs=tuple(waiting))).inputs
        names = {path: unit_input.get("name") for path, unit_input in inputs.items() if isinstance(unit_input, dict)}
        return {path: name for path, name in names.items() if isinstance(name, str)}

    def _before(self, workflow_id: str, path: str) -> Iterable[str]:
        """Return the states that may lead to this one: those before it, and before the scopes around it."""
        place = self._plane.place(workflow_id, path)
        yield from (join(place.scope, name) for name in _leading(place.machine, place.name))
        if place.scope:
            owner = ancestors(path)[-1]
            yield owner
            yield from self._before(workflow_id, owner)


def _with_place(finding: RunFinding, definition: Definition) -> RunFinding:
    """Return the finding with the line of code that its state comes from, if the definition says which."""
    place = (
        None
        if finding.state is None
        else place_of(definition.document, finding.state, finding.evidence.get("last_error"))
    )
    return finding if place is None else replace(finding, evidence={**finding.evidence, "source": place})


def _with_function(finding: RunFinding, definition: Definition) -> RunFinding:
    """Return the finding with the function of a state that is not claimed: workers without the function release it."""
    if finding.state is None or finding.cause is not Cause.NOT_TAKEN:
        return finding
    place = needs.place_of(definition, finding.state)
    function = place.state.served_by.function if place is not None and isinstance(place.state, Task) else None
    if function is None:
        return finding
    sentence = f"{finding.sentence.removesuffix('.')}; only a worker that has the function {function} does it."
    return replace(finding, sentence=sentence, evidence={**finding.evidence, "function": function})


def _known(due: Mapping[str, int], definition: Definition) -> dict[str, int]:
    """Return the states that there are in the workflow; a list may have others by mistake."""
    return {path: at for path, at in due.items() if needs.place_of(definition, path) is not None}


def _without(due: Mapping[str, int], definition: Definition, scopes: Mapping[str, int]) -> Iterator[str]:
    """Yield the states of a run that no timer names: those of the workflow first, then those in its scopes."""
    yield from (path for path in definition.paths if path not in due)
    for owner, size in scopes.items():
        if needs.place_of(definition, owner) is None:
            continue  # a list may have others by mistake
        for branch in (open_scope(owner, index) for index in range(size)):
            names = machine_of(definition.machine, branch).states
            yield from (path for path in (join(branch, name) for name in names) if path not in due)


def _leading(machine: Machine, name: str) -> Mapping[str, None]:
    """Return the names of all states from which this one can be reached."""
    leading: dict[str, None] = {}
    pending = deque(machine.upstream(name))
    while pending:
        path = pending.popleft()
        if path not in leading:
            leading[path] = None
            pending.extend(machine.upstream(path))
    return leading


def _telling(attempts: Told, epoch: int) -> Telling:
    """Return how the agents of a state were notified of it in the visit of this epoch."""
    sent, trouble = attempts.sent, attempts.trouble(epoch)
    mine = sent if sent is not None and sent.epoch == epoch else None
    return Telling(
        times={} if mine is None else mine.by_agent,
        agent_id=None if mine is None else mine.agent_id,
        at=None if mine is None else mine.at,
        failed_agent_id=None if trouble is None else trouble.agent_id,
        failed_at=None if trouble is None else trouble.at,
        failure=None if trouble is None else trouble.reason,
        error=None if trouble is None else trouble.error,
    )
