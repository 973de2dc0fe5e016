"""How work orders of the profile `openfactory` stand, who may move them, and in which words refusals say so. Pure."""

from collections.abc import Mapping
from typing import Final

from dcf.profiles.growing_runs import Grown, RunUnit

MOVES: Final[Mapping[str, tuple[str, ...]]] = {
    "backlog": (),
    "ready": ("in_progress",),
    "in_progress": ("in_review",),
    "in_review": ("in_progress", "done"),
    "done": (),
}
"""The moves that update_work_order_status makes."""

FROM: Final = {status: [before for before, after in MOVES.items() if status in after] for status in MOVES}
"""The states from which each is reached."""

WORDS: Final = (
    (r"This token does not hold state (\0): it is now leased to (\0)", r"Work order \1 is now in progress at \2"),
    (r"^The verdict of gate (\0) is given by", r"The verdict \1 on this work order is given by"),
    (r"\bState\b", "Work order"),
    (r"\bthe state that\b|\bthis state\b|\bthe state\b", "the work order"),
    (r"\bstate(?= \0)", "work order"),
    (r"\brun\b", "project"),
)
"""Words of dcf, and those of the profile."""

ADVICE: Final = {
    "not_a_reviewer": "It stays in_review until then; list_work_orders has your other work orders.",
    "author_may_not_review": "Another reviewer gives it; list_work_orders has your other work orders.",
    "owner_mismatch": "Choose another one: list_work_orders lists those that are ready for you.",
}
"""The advice after a refusal, by its code."""


def status_of(unit: RunUnit) -> str:
    """Return how a work order stands."""
    if unit.status == "succeeded":
        return "done"
    reported = unit.output.get("status") if isinstance(unit.output, Mapping) else None
    is_handed_in = unit.status == "running" and reported == "in_review" and not unit.facts.get("gates")
    if unit.doc.get("type") == "Gate" or is_handed_in:
        return "in_review"
    if unit.status == "running":
        return "in_progress"
    return "ready" if unit.status == "pending" and all((unit.doc.get("waits_for") or {}).values()) else "backlog"


def way_out(run: Grown, unit: RunUnit, status: str) -> str:
    """Return what may happen to a work order next."""
    open_ = [run.units[name] for name in unit.depends_on if name in run.units and not run.units[name].has_ended]
    if status == "backlog" and open_:
        return f"It becomes ready when {' and '.join(repr(order.title) for order in open_)} is done."
    allowed = MOVES[status]
    return f"It may become {', '.join(allowed)}." if allowed else "This tool does not change it."


def is_of_another(agent: str, unit: RunUnit, before: str, status: str) -> bool:
    """Return True for what only the holder of an order may report of it; without reviewers that is its end as well."""
    is_report = before in {"in_progress", "in_review"} and unit.doc.get("type") != "Gate"
    is_report = is_report or before == status == "in_review"
    return is_report and unit.holder not in {agent, None}


def is_for_its_judge(agent: str, unit: RunUnit) -> bool:
    """Return True for an order that only this agent may accept, so that it cannot carry it out."""
    gates = unit.facts.get("gates") or ()
    return any([*(gate.get("reviewers") or ()), *(gate.get("people") or ())] == [agent] for gate in gates)
