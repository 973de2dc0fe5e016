"""Decides who may write about a run, and how long a text may be: of entries, notes, questions and answers. Pure.

Capabilities above the journal ask people and leave notes by the same rules. It must not write.
"""

from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import Meta
from dcf.core.documents.stored_values import object_of
from dcf.errors import InvalidArgument


def check_text(text: str, name: str, longest: int) -> str:
    """Return the text; raise InvalidArgument if it is empty or too long."""
    if not text.strip():
        raise InvalidArgument(f"{name} is empty.", f"Say something in {name}.")
    if len(text) > longest:
        raise InvalidArgument(f"{name} has more than {longest} characters.", "Shorten it.")
    return text


def has_part(snapshot: Snapshot, meta: Meta, agent_id: str, state: str | None) -> bool:
    """Return True if the agent plans the run, is assigned in it, or may take or holds the state that it names.

    The whole meta document must have been read, and the assignment of the state.
    """
    agents = object_of((snapshot.meta_document or {}).get("agents"))
    pools = (pool if isinstance(pool, list) else [pool] for pool in agents.values())
    if agent_id == meta.planner_agent_id or any(agent_id in pool for pool in pools):
        return True
    if state is None:
        return False
    doc = snapshot.states.get(state)
    return meta.may_take(state, agent_id) or (doc is not None and doc.lease.owner_agent_id == agent_id)
