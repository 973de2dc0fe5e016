"""What a client's methods return about work across runs, and about what it used up: frozen records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

WorkStatusName: TypeAlias = Literal["ready", "running", "review", "blocked", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedWork:
    """A state of a run as a piece of work. `holder` has it now; `why` says what it waits for."""

    workflow_id: str
    state: str
    status: WorkStatusName
    attempt: int
    title: str | None = None
    workflow_name: str | None = None
    project: str | None = None
    since: str | None = None
    holder: str | None = None
    lease_expires_at: str | None = None
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    outcome: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedWork:
    """A state that was leased: `work` has its lease_token, its input and what to do."""

    workflow_id: str
    state: str
    work: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSums:
    """Sums of what work used up; `cost` is text, by currency."""

    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost: Mapping[str, str] = field(default_factory=dict)
    reports: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSums:
    """What a run, an agent or a project used up: in all, and of what it consists."""

    total: UsageSums
    states: Mapping[str, UsageSums] = field(default_factory=dict)
    agents: Mapping[str, UsageSums] = field(default_factory=dict)
    models: Mapping[str, UsageSums] | None = None
    days: Mapping[str, UsageSums] = field(default_factory=dict)
    period: UsageSums | None = None
    budget: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBudget:
    """What a run may use up. `used_up` says what of it is, if it is."""

    workflow_id: str
    budget: Mapping[str, Json] | None = None
    used_up: str | None = None
    announced: int | None = None
    repeated: bool = False
