"""Repeats a run: from its beginning, or from a state of its workflow, with the input that this state had in it.

Pure. The documents of the earlier run say what the new run takes over. The earlier run changes only by a link.
"""

from collections.abc import Mapping
from typing import Any, Final

from dcf.asl.state_paths import join
from dcf.asl.tasks.extensions import LANGUAGE
from dcf.asl.tasks.gates import Gate
from dcf.core.definitions.model import Definition
from dcf.core.documents.answers import Linked
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import Lease, StateDoc, Status
from dcf.core.documents.operations import RunRequest
from dcf.core.documents.refusals import GREW, INSIDE_A_SCOPE, NOT_FROM_THERE
from dcf.core.lifecycle.creation import Beginning, Create
from dcf.errors import CapabilityMissing
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal

_MOST_LINKS: Final = 100
"""Most reruns that a run names; its history has all of them."""


@record(frozen=True, slots=True, kw_only=True)
class Rerun:
    """Request to repeat a run as a new one.

    `run_input` is in a tuple if it is another than before. `agents` are assigned in place of those before.
    """

    workflow_id: str
    run_input: tuple[Json, ...] = ()
    from_state: str | None = None
    agents: Mapping[str, tuple[str, ...]]
    created_by: str | None = None
    reason: str | None = None


def request_to_rerun(of: str, rerun: Rerun, request_id: str) -> RunRequest:
    """Return the request that this is; another with the same id is refused."""
    agents: Json = {state: list(pool) for state, pool in rerun.agents.items()}
    arguments = {"of": of, "input": list(rerun.run_input), "from": rerun.from_state, "agents": agents}
    return RunRequest(verb="rerun", request_id=request_id, reason=rerun.reason, arguments=arguments)


def repeated(snapshot: Snapshot, of: str, rerun: Rerun, definition: Definition) -> Create | Refusal:
    """Return the wish to create the new run, or why it cannot begin where it should."""
    document, meta = snapshot.meta_document or {}, snapshot.existing_meta
    if definition.units is not None:
        return GREW.refuse()
    begin = None if rerun.from_state is None else _beginning(snapshot, rerun.from_state, definition)
    if isinstance(begin, Refusal):
        return begin
    return Create(
        workflow_id=rerun.workflow_id,
        definition=definition,
        run_input=rerun.run_input[0] if rerun.run_input else document.get("input"),
        agents={**_assigned(meta.agents, definition), **rerun.agents},
        planner_agent_id=_text(document.get("planner_agent_id")),
        retention_s=_number(document.get("retention_s")),
        max_attempts=meta.max_attempts,
        created_by=rerun.created_by,
        tags=tuple(tag for tag in document.get("tags") or () if isinstance(tag, str)),
        rerun_of=of,
        project=_text(document.get("project")),
        definition_ref=document.get("definition_ref"),
        begin=begin,
        gates=_gates(document.get("gates")),
    )


def _gates(written: Json) -> tuple[Gate, ...]:
    """Return the gates that the run was started with. Raise CapabilityMissing if no capability reads them."""
    if not written:
        return ()
    if LANGUAGE.gates_of_run is None:
        raise CapabilityMissing("No capability of this server reads the gates with which the run was started.")
    return LANGUAGE.gates_of_run(written)


def link(snapshot: Snapshot, to: str, asked: Rerun) -> Decision[Linked]:
    """Write into a run that it was repeated as another run. A repetition of this call does not write."""
    document = snapshot.meta_document or {}
    known = [run for run in document.get("reruns") or () if isinstance(run, str)]
    if to in known:
        return Decision(answer=Linked(to=to, repeated=True))
    data: dict[str, Json] = {"run": to}
    data |= {} if asked.from_state is None else {"from": asked.from_state}
    data |= {} if asked.reason is None else {"reason": asked.reason}
    changes = WriteSet(meta={"reruns": [*known, to][-_MOST_LINKS:]}, events=[Event(type="RunRerun", data=data)])
    return Decision(answer=Linked(to=to), changes=changes)


def _beginning(snapshot: Snapshot, state: str, definition: Definition) -> Beginning | Refusal:
    """Return where the new run begins, and what it takes over from before that."""
    path = join("", state)
    if state not in definition.machine.states:
        return INSIDE_A_SCOPE.refuse(state=state)
    doc, entry = snapshot.states[path], snapshot.entries.get(path)
    source = _source(doc)
    if not doc.is_ready or entry is None:
        why = "its input was not recorded" if doc.is_ready else "the run never entered it"
        return NOT_FROM_THERE.refuse(state=state, why=why)
    before = _before(snapshot.states, path)
    return Beginning(
        state=state,
        source=source,
        raw=entry.raw,
        variables=entry.variables,
        states={path: _taken_over(doc) for path, doc in before.items()},
        outputs={path: snapshot.outputs[path] for path in before if path in snapshot.outputs},
    )


def _before(states: Mapping[str, StateDoc], state: str) -> dict[str, StateDoc]:
    """Return the states through which control came, as far as their documents are still of the same visit."""
    state_docs: dict[str, StateDoc] = {}
    here = states[state]
    while (source := _source(here)) is not None and source in states and source != state and source not in state_docs:
        before = states[source]
        if not before.status.is_terminal or before.lease.epoch != here.waits_for[source]:
            break  # it was entered again since
        state_docs[source] = here = before
    return state_docs


def _source(doc: StateDoc) -> str | None:
    """Return the state from which control came; None for the first state, and for a state that was never entered."""
    return next((source for source, epoch in doc.waits_for.items() if epoch), None)


def _taken_over(doc: StateDoc) -> StateDoc:
    """Return the document of a state that ended in the earlier run, without what belongs to its holder or inside it."""
    return StateDoc(
        status=doc.status if doc.status is Status.FAILED else Status.SUCCEEDED,
        attempts=doc.attempts,
        lease=Lease(epoch=doc.lease.epoch),
        started_at=doc.started_at,
        finished_at=doc.finished_at,
        last_error=doc.last_error,
        waits_for=doc.waits_for,
    )


def _assigned(agents: Mapping[str, tuple[str, ...]], definition: Definition) -> dict[str, tuple[str, ...]]:
    return {state: pool for state, pool in agents.items() if pool and state in definition.skills}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) else None
