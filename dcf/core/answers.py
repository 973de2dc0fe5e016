"""The answers of the verbs: what a caller is told, refusals included. Values only, no decisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dcf.core.model import RunStatus, StateDoc, Status
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRefusal(Refusal):
    """A refusal that shows the state as it is to a caller who may see it."""

    doc: StateDoc


@dataclass(frozen=True, slots=True, kw_only=True)
class Leased:
    """The caller holds the lease. `given` is the input of the state, where it was read."""

    outcome: Literal["lease_acquired", "lease_already_held", "lease_renewed"]
    state: str
    doc: StateDoc
    given: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The lease is free, since this call or since before."""

    outcome: Literal["lease_released", "lease_already_clear"]
    doc: StateDoc


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """A holder's write took effect, now or when the same request was made before (`repeated`).

    `next_states` are the Task states entered by it, `claimed` the one that the caller now holds, `owner` who held it.
    """

    status: Status
    doc: StateDoc
    output_written: bool
    run_status: RunStatus = RunStatus.RUNNING
    next_states: tuple[str, ...] = ()
    claimed: Leased | None = None
    owner: str | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The run exists; `existed` when it did before this call."""

    existed: bool
    meta: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalized:
    """The run is closed; `audit` is the record of the first call that closed it."""

    audit: Mapping[str, Json]
    repeated: bool = False


Fired: TypeAlias = Literal["closed", "held", "not_due", "timed_out", "scope", "waited", "exhausted", "reminded"]
"""What the clock found when it looked at an open state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """Notifications for these states are owed now; `fired` says what the clock found, where it was the clock.

    `size` is how many branches or iterations a Parallel or Map had that now is to be entered again.
    """

    states: tuple[str, ...] = ()
    fired: Fired | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingReady:
    """No open state of the run can be taken by this agent now; `examined` open states were looked at."""

    examined: int
    retry_after_s: float | None = None
