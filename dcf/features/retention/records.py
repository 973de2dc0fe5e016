"""The answers about runs that have ended. Loads the standard library only, since clients read it too."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRun:
    """A run that is gone; `existed` is False if it was gone before."""

    workflow_id: str
    existed: bool
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRun:
    """A run that is on hold or released; `changed` is False if it was so before.

    `repeated`: an earlier call with this request id did it.
    """

    workflow_id: str
    hold: bool
    changed: bool
    repeated: bool = False
    hint: str | None = None
