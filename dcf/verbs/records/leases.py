"""The answers of verbs on the leases of states."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquiredLease:
    """The lease and the state as they are now. `work` is what to do: token, input, instructions, who wrote them.

    If it has a `task_token`: hand that out and complete the state, which then waits for send_task_success with it.
    """

    workflow_id: str
    state: str
    lease: Mapping[str, Json] | None = None
    updated_state: Mapping[str, Json] | None = None
    ready: bool | None = None
    work: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedState:
    """The lease and the state as they are now, and `work`. With claim_next, `more_work` has the others.

    Until a call has its lease_token, the same caller gets the same work again: the answer may have been lost.
    """

    workflow_id: str
    state: str
    lease: Mapping[str, Json] | None = None
    updated_state: Mapping[str, Json] | None = None
    ready: bool | None = None
    work: Mapping[str, Json] | None = None
    more_work: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewedLease:
    """The lease and the state as they are now."""

    workflow_id: str
    state: str
    lease: Mapping[str, Json] | None = None
    updated_state: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedState:
    """The lease and the state as they are now.

    `status` is `lease_released`, `lease_already_clear` if it had no lease, or `failed` (DCF.AccountLimit) if it waited
    too long for usage limits.
    """

    workflow_id: str
    state: str
    status: str
    lease: Mapping[str, Json] | None = None
    updated_state: Mapping[str, Json] | None = None

    @property
    def outcome(self) -> str:
        """The result: the status of the lease."""
        return self.status
