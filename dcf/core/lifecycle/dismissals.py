"""Counts in the audit record of a run the agents that were made for it, and were deleted or not. Pure.

The record is written before they are deleted, since a run is closed even where no agent can be. Until they are counted
its counts are null. Each call of finalize counts what it deleted; an agent that is deleted stays so.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dcf.core.documents.decision import Decision, Snapshot, WriteSet
from dcf.core.documents.stored_values import object_of
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Dismissed:
    """An agent that was created for a run, and whether it is deleted now."""

    state: str
    agent_id: str
    deleted: bool
    error: str | None = None

    as_json = json_method()


_DISMISSED: Final = RecordCodec(Dismissed, strict=True, added="error")

NONE_TO_DELETE: Final[Mapping[str, Json]] = {"to_delete": 0, "deleted": 0, "delete_errors": 0}
"""The counts of a run whose agents are not to be deleted."""

UNCOUNTED: Final[Mapping[str, Json]] = dict.fromkeys(NONE_TO_DELETE)
"""The counts until the agents are counted."""


def read_dismissed(audit: Mapping[str, Json]) -> tuple[Dismissed, ...]:
    """Return the agents that an audit record names."""
    listed: Any = object_of(audit.get("agents")).get("each")
    return tuple(map(_DISMISSED.read, listed or ()))


def is_counted(audit: Mapping[str, Json]) -> bool:
    """Return True if the agents were counted, and all of them are deleted."""
    return "each" in object_of(audit.get("agents")) and all(agent.deleted for agent in read_dismissed(audit))


def count(snapshot: Snapshot, dismissed: Sequence[Dismissed], error: str | None) -> Decision[Mapping[str, Json]]:
    """Add these agents to the counts of the audit record. The answer is the record.

    `error` says why the platform could not delete agents at all. The audit record must have been read.
    """
    audit = snapshot.audit
    assert audit is not None, "agents are counted once the run is finalized"
    each = {agent.agent_id: agent for agent in read_dismissed(audit)}
    deleted = {name for name, agent in each.items() if agent.deleted}
    each |= {agent.agent_id: agent for agent in dismissed if agent.agent_id not in deleted}
    counted = {**audit, "agents": _counts(tuple(each.values())) if error is None else _uncounted(audit, error)}
    if counted == audit:
        return Decision(answer=audit)
    changes = WriteSet(
        meta={"agents_counted_at": to_text(snapshot.now)},  # so that of two that count at once one comes later
        audit=counted,
        listed=True,  # for the clock, which lets its keys expire
    )
    return Decision(answer=counted, changes=changes)


def _counts(each: Sequence[Dismissed]) -> dict[str, Json]:
    deleted = sum(agent.deleted for agent in each)
    counts: dict[str, Json] = {"to_delete": len(each), "deleted": deleted, "delete_errors": len(each) - deleted}
    return {**counts, "each": [agent.as_json() for agent in each]}


def _uncounted(audit: Mapping[str, Json], error: str) -> dict[str, Json]:
    return {**object_of(audit.get("agents")), "error": error}
