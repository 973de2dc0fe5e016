"""Writing who was made for a run into its meta document: one transaction that changes `agents` and nothing else."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from dcf.core.decision import Changes, Decision, Event, Reads, Snapshot
from dcf.core.model import RunStatus
from dcf.store.runs import RunStore

_TOLD: Final = 50
"""Assignments that one entry of the history shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """What became of an assignment: `run` is the run's status, None where there is no such run.

    `kept` are states that somebody else is assigned to, which stays so.
    """

    run: RunStatus | None
    kept: tuple[str, ...] = field(default=())


def assign(store: RunStore, workflow_id: str, agents: Mapping[str, str], replaceable: Collection[str]) -> Assigned:
    """Assign agents to states that have none, or one of `replaceable`; a run that is over stays as it is."""
    decide = partial(_decide, agents=agents, replaceable=frozenset(replaceable))
    return store.transact(workflow_id, Reads(whole_meta=True), decide)


def _decide(snapshot: Snapshot, *, agents: Mapping[str, str], replaceable: frozenset[str]) -> Decision[Assigned]:
    meta, document = snapshot.meta, snapshot.meta_document
    if meta is None or document is None:
        return Decision(answer=Assigned(run=None))
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=Assigned(run=meta.status))
    current = document.get("agents")
    current = current if isinstance(current, dict) else {}
    fresh, kept = dict[str, str](), list[str]()
    for state, agent_id in agents.items():
        pool = meta.agents.get(state, ())
        if agent_id in pool:
            continue
        if pool and not replaceable.issuperset(pool):
            kept.append(state)
        else:
            fresh[state] = agent_id
    answer = Assigned(run=meta.status, kept=tuple(kept))
    if not fresh:
        return Decision(answer=answer, repeats=True)
    told = {"agents": fresh} if len(fresh) <= _TOLD else {"count": len(fresh)}
    event = Event(type="AgentsAssigned", data=told)
    return Decision(answer=answer, changes=Changes(meta={"agents": {**current, **fresh}}, events=[event]))
