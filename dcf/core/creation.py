"""Creates a run: all its documents in one transaction. A repeated request finds the existing run.

Pure. The start state is entered like any other, so a workflow of Pass and Choice states has ended when it is created.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dcf.asl import engine
from dcf.asl.state_paths import join
from dcf.core.answers import Created
from dcf.core.attention import NEVER, START_DELAY
from dcf.core.codec import whole_meta
from dcf.core.context import context_of
from dcf.core.decision import Decision, Event, Snapshot
from dcf.core.definition import Definition
from dcf.core.kickoff import deadline
from dcf.core.model import Meta, RunStatus, StateDoc
from dcf.core.refusals import conflict
from dcf.core.transition import Transition, clock_of
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Request to create a run.

    `retention_s` is how many seconds its keys are kept after its end; None keeps them for good. `created_by` names the
    caller.
    """

    workflow_id: str
    definition: Definition
    run_input: Json
    agents: Mapping[str, tuple[str, ...]]
    planner_agent_id: str | None
    retention_s: int | None
    max_attempts: int
    created_by: str | None = None


def create(snapshot: Snapshot, request: Create) -> Decision[Created | Refusal]:
    """Write every document of a new run. An identical run that exists is returned; a different one is a conflict."""
    if snapshot.meta_document is not None:
        return Decision(answer=_existing(snapshot.meta_document, request))
    definition, now = request.definition, snapshot.now
    meta = Meta(status=RunStatus.RUNNING, definition_sha256=definition.sha256, max_attempts=request.max_attempts)
    unvisited = _unvisited(definition)
    step = Transition(
        now=now,
        epoch=now,
        meta=meta,
        stateful=definition.stateful,
        revisits=definition.revisits,
        starting=True,
        visited_before=unvisited,
    )
    step.writes.events.append(Event(type="RunCreated", data={"definition_sha256": definition.sha256}))
    context = context_of(request.workflow_id, definition.name, request.run_input, to_text(now))
    step.apply(engine.start(definition.machine, request.run_input, context, clock_of(now, now)))
    document = _meta_document(request, now) | step.writes.meta
    seeded = replace(
        step.writes,
        meta_document=document,
        meta={},
        definition=definition.document,
        states=unvisited | step.writes.states,
        timers=_first_looks(step, now + START_DELAY if request.planner_agent_id else NEVER),
        listed=True,
    )
    return replace(step.decision(Created(existed=False, meta=document)), changes=seeded)


def _existing(meta: Mapping[str, Json], request: Create) -> Created | Refusal:
    sha256 = request.definition.sha256
    if meta.get("definition_sha256") != sha256:
        return conflict(
            f"Run '{request.workflow_id}' exists with another definition "
            f"(stored {meta.get('definition_sha256')}, given {sha256})."
        )
    if meta.get("input") != request.run_input:
        return conflict(f"Run '{request.workflow_id}' exists with another input.")
    return Created(existed=True, meta=whole_meta(meta))


def _first_looks(step: Transition, at: int) -> dict[str, int | None]:
    """Have the clock look whether the run was started: where it has a planner, who can be told that it was not."""
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


def _meta_document(request: Create, now: int) -> dict[str, Json]:
    definition = request.definition
    machine = definition.machine
    return {
        "workflow_id": request.workflow_id,
        "workflow_name": definition.name,
        "schema_version": definition.schema_version,
        "definition_sha256": definition.sha256,
        "workflow_version": definition.version,
        "created_at": to_text(now),
        "start_at": machine.start_at,
        "terminal_states": list(machine.terminal_states),
        "states": list(machine.states),
        "agents": {state: _assignment(pool) for state, pool in request.agents.items()},
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
    } | deadline(now, machine.timeout_s)


def _assignment(pool: tuple[str, ...]) -> Json:
    return pool[0] if len(pool) == 1 else list(pool)
