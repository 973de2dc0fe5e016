"""Charges a run with the usage that a holder reports with a write, and blocks it once its budget is used up. Pure.

The charge is part of the write: refused or repeated, nothing is charged. The budget is compared with sums that are
watched, so that the very write that reaches it blocks the run, and leases no further state.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from dcf.core.documents.decision import Decision, More, Snapshot, WriteSet
from dcf.core.documents.model import Meta, RunStatus
from dcf.core.documents.parts import seen_after, written_by
from dcf.core.documents.usage import Budget, Charge, UsageReport, plus
from dcf.core.lifecycle.blocking import has_room
from dcf.features.journal.writing import open_issue
from dcf.values.instants import to_text
from dcf.values.records import record, replace

if TYPE_CHECKING:
    from dcf.values.json_text import Json

Answer = TypeVar("Answer")

_DAY: Final = 10
"""Characters of the day in the text of an instant."""

AUTHOR: Final = "dcf"
"""The author of the journal issue of a used up budget."""


@record(frozen=True, slots=True, kw_only=True)
class Charged:
    """The snapshot on which the write is decided, and what is written with it."""

    snapshot: Snapshot
    charges: list[Charge]
    changes: WriteSet


def charge(snapshot: Snapshot, state: str, usage: UsageReport) -> Charged | More:
    """Return what a report changes: the sums, and where the budget is used up by it, that the run is blocked."""
    meta, holder = snapshot.meta, snapshot.states[state].lease.owner_agent_id
    assert meta is not None, "the control plane checks that the run exists before it decides"
    agent = holder or _only(meta.assigned(state)) or "unknown"
    report = Charge(
        state=state,
        agent=agent,
        day=to_text(snapshot.now)[:_DAY],
        usage=usage,
        ancestors=() if meta.parent is None else meta.parent.ancestors,
        heads_tree=meta.budget is not None and meta.budget.tree,
    )
    changes = WriteSet()
    if meta.budget is None:
        return Charged(snapshot=snapshot, charges=[report], changes=changes)
    if snapshot.usage is None:
        return More(usage=True)
    sums, budget = plus(snapshot.usage, usage), meta.budget
    reached = budget.reached(sums)
    is_blocked = any(blocker.issue == budget.issue for blocker in meta.blocked_by)
    if reached is not None and not is_blocked and has_room(meta):
        after = _used_up(changes, snapshot, meta, budget, reached, state)
        if isinstance(after, More):
            return after
        meta = after
    charged = replace(snapshot, meta=meta, usage=sums, parts=seen_after(snapshot.parts, changes.parts))
    return Charged(snapshot=charged, charges=[report], changes=changes)


def decide_charged(
    snapshot: Snapshot, state: str, usage: UsageReport, decide: Callable[[Snapshot], Decision[Answer]]
) -> Decision[Answer | More]:
    """Decide on a write that reports usage, and return its changes with those of the charge."""
    charged = charge(snapshot, state, usage)
    if isinstance(charged, More):
        return Decision(answer=charged)
    decision = decide(charged.snapshot)
    if _holds_end(decision) and not _is_blocked(snapshot):
        decision = decide(replace(charged.snapshot, meta=snapshot.meta))  # what the end itself uses up holds up nothing
    if decision.changes is None:
        return Decision(answer=decision.answer)
    return replace(decision, changes=with_charge(_noted(decision.changes, state, usage), charged))


def _holds_end(decision: Decision[Answer]) -> bool:
    """Return True if the run would end with this write, were it not blocked."""
    return decision.changes is not None and "held_end" in decision.changes.meta


def _is_blocked(snapshot: Snapshot) -> bool:
    return snapshot.meta is not None and bool(snapshot.meta.blocked_by)


def _noted(changes: WriteSet, state: str, usage: UsageReport) -> WriteSet:
    """Return the changes with the report in the history: in the first event of them that is about the state."""
    at = next((at for at, event in enumerate(changes.events) if event.state == state), None)
    if at is None:
        return changes
    event = changes.events[at]
    noted = replace(event, data={**event.data, "usage": usage.as_json()})
    return replace(changes, events=[*changes.events[:at], noted, *changes.events[at + 1 :]])


def _only(agents: Sequence[str]) -> str | None:
    """Return the only agent that is assigned to a state without a lease, since its task token was handed out."""
    return agents[0] if len(agents) == 1 else None


def _used_up(
    changes: WriteSet, snapshot: Snapshot, meta: Meta, budget: Budget, reached: str, state: str | None = None
) -> Meta | More:
    """Open the issue that asks a person; the budget names it, so that a higher one resolves it."""
    whose = "the run and of all below it" if budget.tree else "the run"
    text = f"The budget of {whose} is used up: {reached}. Set a higher one (`set_budget`), or cancel the run."
    opened = open_issue(
        changes,
        snapshot,
        meta,
        key=f"budget:{snapshot.now}",
        text=text,
        by=AUTHOR,
        state=state,
        details={"budget": budget.as_json(), "reached": reached},
    )
    if isinstance(opened, More):
        return opened
    issue, after = opened
    changes.meta["budget"] = {**budget.as_json(), "issue": issue}
    return after


def with_charge(changes: WriteSet, charged: Charged) -> WriteSet:
    """Return the changes of a write with those of its charge. A run that ends with it is no longer blocked."""
    if "status" in changes.meta:
        return replace(changes, usage=charged.charges)
    return replace(
        changes,
        usage=charged.charges,
        meta={**charged.changes.meta, **changes.meta},  # which knows what the charge blocks
        events=[*changes.events, *charged.changes.events],
        notices=[*changes.notices, *charged.changes.notices],
        parts={**written_by(changes.parts, charged.changes.parts)},
    )


def block_head(snapshot: Snapshot) -> WriteSet | None:
    """Block a run whose budget is one of its tree and is used up, unless it is blocked by it, or has ended.

    The sums must have been read, and the end of the journal.
    """
    meta = snapshot.meta
    assert meta is not None, "the control plane checks that the run exists before it decides"
    budget = meta.budget
    if budget is None or not budget.tree or meta.status is not RunStatus.RUNNING or not has_room(meta):
        return None
    reached = budget.reached(snapshot.usage or {})
    if reached is None or any(blocker.issue == budget.issue for blocker in meta.blocked_by):
        return None
    changes = WriteSet()
    after = _used_up(changes, snapshot, meta, budget, reached)
    assert not isinstance(after, More), "the caller reads the journal"
    return changes


@record(frozen=True, slots=True, kw_only=True)
class SharedBudget:
    """A budget of several runs: of a project, or of a run and all below it."""

    project: str | None = None
    head: str | None = None

    @property
    def text(self) -> str:
        """How the text of an issue about it begins."""
        whose = f"project '{self.project}'" if self.head is None else f"run '{self.head}' and of all below it"
        return f"The budget of {whose} is used up"

    def issues(self, meta: Meta) -> tuple[str, ...]:
        """Return the issues that block the run because this budget is used up."""
        return tuple(blocker.issue for blocker in meta.blocked_by if blocker.text.startswith(self.text))

    def block(self, snapshot: Snapshot, budget: Budget, reached: str) -> WriteSet | None:
        """Block a run of it because it is used up, unless the run is blocked by it already, or has ended."""
        meta = snapshot.meta
        assert meta is not None, "the control plane checks that the run exists before it decides"
        if meta.status is not RunStatus.RUNNING or self.issues(meta) or not has_room(meta):
            return None
        changes = WriteSet()
        named: dict[str, Json] = {"project": self.project} if self.head is None else {"run": self.head}
        remedy = "`put_project`" if self.head is None else f"`set_budget` of run '{self.head}'"
        opened = open_issue(
            changes,
            snapshot,
            meta,
            key=f"project-budget:{snapshot.now}" if self.head is None else f"tree-budget:{self.head}:{snapshot.now}",
            text=f"{self.text}: {reached}. Set a higher one ({remedy}), or cancel the run.",
            by=AUTHOR,
            details={**named, "budget": budget.as_json(), "reached": reached},
        )
        assert not isinstance(opened, More), "the caller reads the journal"
        return changes
