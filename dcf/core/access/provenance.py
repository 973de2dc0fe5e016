"""Marks on text that an agent reads and another wrote: who wrote it, and that it is data and no instruction. Pure.

A model cannot distinguish an instruction from a quotation. So each answer that contains inputs, outputs, causes of
errors or payloads also contains this mark; the text itself is never changed.
"""

from typing import Final

from dcf.core.documents.model import Meta, StateDoc
from dcf.values.json_text import Json

TRUST: Final = "untrusted data"
_NAMED: Final = 5


def marked(source: Json) -> dict[str, Json]:
    """Return the mark for a text of this source."""
    return {"from": source, "trust": TRUST}


def mark_of_input(path: str, doc: StateDoc) -> dict[str, Json]:
    """Return the mark of a state's input, and of its last error if it has one: which states wrote them, or who else."""
    before = [f"state {name}" for name in doc.waits_for]
    more = [f"{len(before) - _NAMED} more"] if len(before) > _NAMED else []
    first = "the Parallel or Map around it" if "/" in path else "the input of the run"
    holder = [] if doc.last_error is None else ["an earlier holder of this state"]
    return marked([*(before[:_NAMED] or [first]), *more, *holder])


def mark_of_event(author: str | None, meta: Meta) -> dict[str, Json]:
    """Return the mark of an event: who sent it, and who created its run; without an author it is the creator's."""
    run_by = meta.created_by or meta.planner_agent_id
    return {"from": author or run_by or "dcf", "run_by": run_by, "trust": TRUST}
