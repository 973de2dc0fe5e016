"""The answers about usage and budgets. Loads the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSums:
    """Sums of what work used up; `cost` is text, by currency. Tokens of caches are not in `tokens_in`."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_cache_written: int = 0
    seconds: float = 0.0
    cost: Mapping[str, str] = field(default_factory=dict)
    reports: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSums:
    """The usage of a run, an agent or a project: in all, and its parts. Money is text, by currency.

    `tree` has the sums of a run and all runs below it, if these reported some, and `children` those of each child run
    with all below it. `next_cursor` is there where a run has more states, or child runs, than one answer shows.
    """

    total: UsageSums
    tree: UsageSums | None = None
    children: Mapping[str, UsageSums] = field(default_factory=dict)
    states: Mapping[str, UsageSums] = field(default_factory=dict)
    agents: Mapping[str, UsageSums] = field(default_factory=dict)
    models: Mapping[str, UsageSums] | None = None
    budget: Mapping[str, Json] | None = None
    days: Mapping[str, UsageSums] = field(default_factory=dict)
    period: UsageSums | None = None
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBudget:
    """The budget of a run. `used_up` names the limit that is reached, if one is.

    `repeated`: an earlier call with this request id set it. `announced` counts the states whose agents are notified.
    """

    workflow_id: str
    budget: Mapping[str, Json] | None = None
    used_up: str | None = None
    run_status: RunStatusName | None = None
    paused_at: datetime | None = None
    announced: int | None = None
    repeated: bool = False
    hint: str | None = None
