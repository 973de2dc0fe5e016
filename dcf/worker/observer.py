"""The observer of a worker. Apart from `worker`, so that reports of it need not import a worker."""

from typing import Protocol

from dcf.worker.calls import Work
from dcf.worker.results import Result


class Witness(Protocol):
    """Observes a worker. Several threads call its methods."""

    def taken(self, work: Work) -> None:
        """Hear that the worker holds the lease of a state."""

    def ended(self, work: Work, result: Result) -> None:
        """Hear that a result was accepted."""

    def lost(self, work: Work, why: str) -> None:
        """Hear that a state was taken and no result of it was accepted."""
