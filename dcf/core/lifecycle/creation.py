"""Creates a run: all its documents in one transaction. A repeated request finds the existing run.

Pure. The start state is entered like any other, so a workflow of Pass and Choice states has ended when it is created,
unless it evaluates what is risky: that is put off to a step of its own.
"""

from collections.abc import Mapping

from dcf.asl import engine
from dcf.asl.expressions.risks import Unmarked
from dcf.asl.state_paths import join
from dcf.asl.steps import Advance
from dcf.asl.surroundings import Clock
from dcf.asl.tasks.gates import Gate
from dcf.core.completing.transition import Transition, clock_of
from dcf.core.definitions.context import context_of
from dcf.core.definitions.model import Definition
from dcf.core.documents import refusals
from dcf.core.documents.answers import Created
from dcf.core.documents.codec import whole_meta
from dcf.core.documents.decision import Decision, Event, Notice, Snapshot
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.core.documents.notices import NoticeKind
from dcf.core.documents.parents import Parent
from dcf.core.documents.signals import NO_SIGNALS
from dcf.core.leasing.attention import START_DELAY
from dcf.core.lifecycle.kickoff import deadline
from dcf.values.instants import to_text
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where a run begins that takes over what an earlier one did.

    It enters `state` with the input `raw` and the variables, as if from `source`; `states` and their `outputs` have
    ended in the earlier run.
    """

    state: str
    source: str | None
    raw: Json
    variables: Mapping[str, Json]
    states: Mapping[str, StateDoc]
    outputs: Mapping[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class Create:
    """Request to create a run.

    `retention_s` is how many seconds its keys are kept after its end; None: without a limit. `created_by` names the
    caller, `rerun_of` the run that it repeats, from its beginning or as `begin` says. `secret` is what its task tokens
    are made with; it is kept only where the workflow has some. `parent` is the state of another run that starts it,
    `project` its project, which never changes. `gates` are added to those of every Task of the run.
    `definition_ref` pins a definition of the catalogue that it is carried out by: its kind, name, version and hash.
    """

    workflow_id: str
    definition: Definition
    run_input: Json
    agents: Mapping[str, tuple[str, ...]]
    planner_agent_id: str | None
    retention_s: int | None
    max_attempts: int
    created_by: str | None = None
    tags: tuple[str, ...] = ()
    rerun_of: str | None = None
    secret: str = ""
    begin: Beginning | None = None
    parent: Parent | None = None
    gates: tuple[Gate, ...] = ()
    project: str | None = None
    definition_ref: Mapping[str, Json] | None = None

    def size(self) -> int:
        """Return how many bytes of the caller's it stores."""
        return byte_length(self.definition.document) + byte_length(self.run_input)


def create(snapshot: Snapshot, request: Create) -> Decision[Created | Refusal]:
    """Write every document of a new run. An identical run that exists is returned; a different one is a conflict.

    Tasks without agents in the request get the agents that the workflow itself names.
    """
    if snapshot.meta_document is not None:
        return Decision(answer=_existing(snapshot.meta_document, request))
    definition, now, begin = request.definition, snapshot.now, request.begin
    meta = Meta(
        status=RunStatus.RUNNING,
        definition_sha256=definition.sha256,
        max_attempts=request.max_attempts,
        parent=request.parent,
    )
    unvisited = _unvisited(definition) | ({} if begin is None else dict(begin.states))
    step = Transition(
        now=now,
        epoch=now,
        meta=meta,
        stateful=definition.stateful,
        revisits=definition.revisits,
        starting=True,
        visited_before=unvisited,
        signals=NO_SIGNALS,
    )
    step.writes.events.append(created_event(request))
    step.writes.notices.extend(_to_parent(request.parent))
    context = context_of(request.workflow_id, definition.name, request.run_input, to_text(now), request.secret)
    context = context.risking(may_risk=False)
    step.apply(_begun(request, context, clock_of(now, now)))
    step.writes.outputs.update({} if begin is None else begin.outputs)
    document = meta_document(request, now) | step.writes.meta
    seeded = replace(
        step.writes,
        meta_document=document,
        meta={},
        definition=definition.document,
        secret=request.secret or None,
        states=unvisited | step.writes.states,
        timers=_first_looks(step, now + START_DELAY),
        listed=True,
    )
    return replace(step.decision(Created(existed=False, meta=document)), changes=seeded)


def _begun(request: Create, context: Mapping[str, Json], clock: Clock) -> Advance:
    """Return the first steps. Risky evaluations are postponed: there is no run yet that could be put on hold."""
    machine, begin = request.definition.machine, request.begin
    first: tuple[str, str | None, Json, Mapping[str, Json]] = (machine.start_at, None, request.run_input, {})
    if begin is not None:
        first = (begin.state, begin.source, begin.raw, begin.variables)
    try:
        return engine.enter(machine, *first, context, clock)
    except Unmarked:
        return engine.put_off(machine, *first, clock.now)


def created_event(request: Create) -> Event:
    """Return the first event of a run."""
    data: dict[str, Json] = {"definition_sha256": request.definition.sha256}
    if request.rerun_of is not None:
        data["rerun_of"] = request.rerun_of
    if request.parent is not None:
        data["parent"] = {"run": request.parent.run, "state": request.parent.state}
    if request.begin is not None:
        data |= {"from": request.begin.state, "kept": list(request.begin.states)}
    return Event(type="RunCreated", data=data)


def _to_parent(parent: Parent | None) -> list[Notice]:
    """Return the first notification of a child to its parent: that it was started."""
    if parent is None:
        return []
    kind = NoticeKind.CHILD_STARTED.value
    return [Notice(type=kind, state=None, epoch=parent.epoch, reason=kind)]


def _existing(meta: Mapping[str, Json], request: Create) -> Created | Refusal:
    sha256 = request.definition.sha256
    if meta.get("project") != request.project:  # nothing is said of a run that the caller may not see
        return taken_elsewhere(request)
    if meta.get("definition_sha256") != sha256:
        return refusals.OTHER_DEFINITION.refuse(
            workflow_id=request.workflow_id, stored=meta.get("definition_sha256"), sent=sha256
        )
    if meta.get("input") != request.run_input:
        return refusals.OTHER_INPUT.refuse(workflow_id=request.workflow_id)
    if (meta.get("gates") or []) != [gate.as_json() for gate in request.gates]:
        return refusals.OTHER_GATES.refuse(workflow_id=request.workflow_id)
    return Created(existed=True, meta=whole_meta(meta))


def _first_looks(step: Transition, at: int) -> dict[str, int | None]:
    """Return the timers of a new run, with those of Tasks no later than `at`: then the start of the run is checked."""
    tasks = {path for path, doc in step.writes.states.items() if doc.kind is None}
    return {
        path: min(due, at) if due is not None and path in tasks else due for path, due in step.writes.timers.items()
    }


def _unvisited(definition: Definition) -> dict[str, StateDoc]:
    """Return each state's initial document, which waits for its direct predecessors; entering the state replaces it."""
    machine = definition.machine
    return {
        join("", name): StateDoc(waits_for={join("", before): 0 for before in machine.upstream(name)})
        for name in machine.states
    }


def meta_document(request: Create, now: int) -> dict[str, Json]:
    """Return the meta document of a new run."""
    definition = request.definition
    machine = definition.machine
    return (
        {
            "workflow_id": request.workflow_id,
            "workflow_name": definition.name,
            "schema_version": definition.schema_version,
            "definition_sha256": definition.sha256,
            "workflow_version": definition.version,
            "created_at": to_text(now),
            "start_at": machine.start_at,
            "terminal_states": list(machine.terminal_states),
            "states": list(machine.states),
            "agents": {**definition.bound, **{state: _assignment(pool) for state, pool in request.agents.items()}},
            "skills": {state: list(skills) for state, skills in definition.skills.items() if skills},
            "deps": definition.deps,
            "status": RunStatus.RUNNING.value,
            "planner_agent_id": request.planner_agent_id,
            "created_by": request.created_by,
            "max_attempts": request.max_attempts,
            "retention_s": request.retention_s,
            "input": request.run_input,
            "deadline": None,
            "started_at": None,
            "finished_at": None,
            "finalized_at": None,
            "finalize_note": None,
            "clock_due_at": to_text(now),
        }
        | _rare(request)
        | deadline(now, machine.timeout_s)
    )


def _rare(request: Create) -> dict[str, Json]:
    """Return the fields that few runs have."""
    rare: dict[str, Json] = {"tags": list(request.tags)} if request.tags else {}
    rare |= {} if request.rerun_of is None else {"rerun_of": request.rerun_of}
    rare |= {"gates": [gate.as_json() for gate in request.gates]} if request.gates else {}
    assigned = {**request.definition.bound, **request.agents}
    rare |= {"for_anybody": True} if any(not assigned.get(task) for task in request.definition.skills) else {}
    rare |= {} if request.project is None else {"project": request.project}
    rare |= {} if request.definition_ref is None else {"definition_ref": dict(request.definition_ref)}
    return rare if request.parent is None else {**rare, "parent": request.parent.as_json()}


def taken_elsewhere(request: Create) -> Refusal:
    """Refuse an id that a run of another project has, in the same words whatever that run is."""
    runs = "the runs without a project" if request.project is None else f"the project '{request.project}'"
    return refusals.OTHER_PROJECT.refuse(workflow_id=request.workflow_id, runs=runs)


def _assignment(pool: tuple[str, ...]) -> Json:
    return pool[0] if len(pool) == 1 else list(pool)
