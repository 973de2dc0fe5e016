"""The answers of the verbs, refusals included. Values only, no decisions."""

from collections.abc import Mapping
from typing import Literal

from dcf.core.documents.model import Receipt, RunStatus, StateDoc, Status
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class StateRefusal(Refusal):
    """A refusal with the state's document, for callers who may see it."""

    doc: StateDoc


@record(frozen=True, slots=True, kw_only=True)
class HeldUp(StateRefusal):
    """A completion that something holds up for now, with the criteria that its output failed."""

    failed_criteria: tuple[Mapping[str, Json], ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Leased:
    """The caller holds the lease. `given` is the state's input, if it was read. `others` were claimed with it.

    `entry_epoch` is the epoch of what entered the state, or the Parallel or Map that begins with it; for the first
    state of a run, when the run was created.
    """

    outcome: Literal["lease_acquired", "lease_already_held", "lease_renewed"]
    state: str
    doc: StateDoc
    given: Json = None
    entry_epoch: int = 0
    others: tuple["Leased", ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Released:
    """The lease is free, since this call or before."""

    outcome: Literal["lease_released", "lease_already_clear"]
    doc: StateDoc


@record(frozen=True, slots=True, kw_only=True)
class AlreadyCompleted(StateRefusal):
    """The token completed the state before, with other content; `receipt` says what was stored.

    `is_latest` is True if the stored output is still that of this completion.
    """

    receipt: Receipt
    is_latest: bool


@record(frozen=True, slots=True, kw_only=True)
class Updated:
    """A holder's write took effect, now or at an earlier, identical request (`repeated`).

    `next_states` are the Tasks it entered, `claims` the leases on next ones that the caller got. `left` are those of
    the entered ones that the caller may take as well, and that are beyond what it asked for. `owner` held it. A state
    that failed and is tried again may be taken from `retry_at` on.
    """

    status: Status
    doc: StateDoc
    output_written: bool
    run_status: RunStatus = RunStatus.RUNNING
    next_states: tuple[str, ...] = ()
    claims: tuple[Leased, ...] = ()
    left: tuple[str, ...] = ()
    owner: str | None = None
    retry_at: int | None = None
    repeated: bool = False

    @property
    def claimed(self) -> Leased | None:
        """The first of the leases on next states."""
        return self.claims[0] if self.claims else None


@record(frozen=True, slots=True, kw_only=True)
class Created:
    """The run exists. `existed` is True if it did before this call."""

    existed: bool
    meta: Mapping[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class Linked:
    """The run says that it was repeated as the run `to`, since this call or before."""

    to: str
    repeated: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Finalized:
    """The run is closed. `audit` is the record written by the first call."""

    audit: Mapping[str, Json]
    repeated: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Owed:
    """Notifications for these states are due. `fired` is the outcome of the check, if the timer loop made one.

    It is a word of the engine, or of the capability that has an ending for it (`core/extensions.py`).
    `size` is the number of branches or iterations of a Parallel or Map that is to be entered again.
    """

    states: tuple[str, ...] = ()
    fired: str | None = None
    size: int | None = None


@record(frozen=True, slots=True, kw_only=True)
class NothingReady:
    """The agent can take no open state of the run now. `examined` counts the open states that were looked at.

    `is_contested`: others are about to take some that it could have taken.
    """

    examined: int
    is_contested: bool = False
    retry_after_s: float | None = None
