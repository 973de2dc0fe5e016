"""Writes the assigned agents into a run's meta document, in one transaction that changes only `agents`."""

from collections.abc import Collection, Mapping
from dataclasses import field
from functools import partial
from typing import Final

from dcf.core.documents.decision import Decision, Event, ReadSet, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import reassigned
from dcf.store.transaction.runs import RunStore
from dcf.values.json_text import Json
from dcf.values.records import record

_TOLD: Final = 50
"""Most assignments in one history entry."""


@record(frozen=True, slots=True, kw_only=True)
class Assigned:
    """Result of an assignment. `run` is the run's status; None if there is no such run.

    `fresh` are states that got another agent. `kept` are states that keep the agents assigned before.
    """

    run: RunStatus | None
    fresh: tuple[str, ...] = field(default=())
    kept: tuple[str, ...] = field(default=())


def assign(
    store: RunStore, workflow_id: str, agents: Mapping[str, tuple[str, ...]], replaceable: Collection[str]
) -> Assigned:
    """Assign agents, one or a pool, to states that have none, or one of `replaceable`. An ended run is not changed.

    The index of runs by agent is written first, even if the run does not exist yet.
    """
    decide = partial(_decide, agents=agents, replaceable=frozenset(replaceable))
    return store.transact(workflow_id, ReadSet(whole_meta=True), decide)


def _decide(
    snapshot: Snapshot, *, agents: Mapping[str, tuple[str, ...]], replaceable: frozenset[str]
) -> Decision[Assigned]:
    meta, document, noted = (
        snapshot.meta,
        snapshot.meta_document,
        tuple(dict.fromkeys(agent for pool in agents.values() for agent in pool)),
    )
    if meta is None or document is None:
        return Decision(answer=Assigned(run=None), changes=WriteSet(assigned=noted))
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=Assigned(run=meta.status))
    current = document.get("agents")
    current = current if isinstance(current, dict) else {}
    fresh, unchanged = dict[str, Json](), list[str]()
    for state, expected in agents.items():
        pool = meta.agents.get(state, ())
        if set(expected) <= set(pool):
            continue
        if pool and not replaceable.issuperset(pool):
            unchanged.append(state)
        else:
            fresh[state] = expected[0] if len(expected) == 1 else list(expected)
    answer = Assigned(run=meta.status, fresh=tuple(fresh), kept=tuple(unchanged))
    if not fresh:
        return Decision(answer=answer, changes=WriteSet(assigned=noted))
    data = {"agents": fresh} if len(fresh) <= _TOLD else {"count": len(fresh)}
    event = Event(type="AgentsAssigned", data=data)
    changes = WriteSet(meta=reassigned(document, {**current, **fresh}), events=[event], assigned=noted)
    return Decision(answer=answer, changes=changes)
