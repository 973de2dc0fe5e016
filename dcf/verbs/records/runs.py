"""The answers of verbs on runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

RunStatusName: TypeAlias = Literal["running", "succeeded", "failed", "cancelled", "partial"]
StateStatusName: TypeAlias = Literal["pending", "running", "succeeded", "failed", "cancelled", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatedRun:
    """A run that was cancelled, paused or resumed. `repeated`: an earlier call with this request id did it.

    `announced` counts the states whose agents are notified.
    """

    workflow_id: str
    run_status: RunStatusName
    paused_at: datetime | None = None
    announced: int | None = None
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedState:
    """A state that was ended by hand or given to other agents, and the Tasks entered by it."""

    workflow_id: str
    state: str
    state_status: StateStatusName
    run_status: RunStatusName
    next_states: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    announced: int | None = None
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run on the list. `states_done` of `states` have ended, None where the workflow has very many.

    `usage` is what its agents reported, in sums.
    """

    workflow_id: str
    workflow_name: str | None = None
    version: str | None = None
    definition: str = ""
    status: RunStatusName | Literal["unreadable"]
    paused: bool = False
    blocked: bool = False
    stuck: bool = False
    states_done: int | None = None
    states: int | None = None
    tags: tuple[str, ...] = ()
    parent: str | None = None
    project: str | None = None
    created_at: datetime | None = None
    finished_at: datetime | None = None
    finalized: bool = False
    hold: bool = False
    usage: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRuns:
    """A page of runs. `counts` are near: an index may be ahead of a run by a moment. `matching` is None if unknown.

    A key that is bound to a project gets no counts.
    """

    runs: tuple[ListedRun, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    matching: int | None = None
    next_cursor: str | None = None
