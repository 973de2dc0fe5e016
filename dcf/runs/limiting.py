"""Limits around grants of leases: the type of what the control plane asks before it grants one."""

from collections.abc import Callable, Sequence
from typing import Protocol

from dcf.core.completing.batch import Answers
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased, NothingReady
from dcf.core.leasing.lease import Acquire
from dcf.values.refusal import Refusal


class LeaseLimits(Protocol):
    """Lets as many leases be granted as its limits leave room for. Without any limit the control plane asks no more."""

    @property
    def are_any(self) -> bool:
        """True if there is any limit."""

    def acquire(
        self, workflow_id: str, project: str | None, request: Acquire, grant: Callable[[], Leased | Refusal]
    ) -> Leased | Refusal:
        """Have a lease granted, if the limits leave room for it."""

    def claim(
        self,
        workflow_id: str,
        project: str | None,
        wish: Acquire,
        grant: Callable[[Acquire], Leased | NothingReady | Refusal],
    ) -> Leased | NothingReady | Refusal:
        """Have as many leases claimed as the limits leave room for."""

    def update_all(
        self,
        project: str | None,
        requests: Sequence[Update],
        write: Callable[[Sequence[Update]], Answers],
        claim: Callable[[Acquire], Leased | NothingReady | Refusal],
    ) -> Answers:
        """Have writes applied, and then claim the next states that they ask for, if these count under a limit."""
