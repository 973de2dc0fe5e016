"""Limits of work in progress: how many states an agent may hold at a time, and all agents of a project. Data."""

from typing import Final, Literal, TypeAlias

from dcf.values.records import record

MOST_IN_PROGRESS: Final = 1000
"""Largest limit."""

LimitKind: TypeAlias = Literal["agent", "project"]


@record(frozen=True, slots=True, kw_only=True)
class WorkLimit:
    """At most `most` states are held at a time by an agent, or in a project."""

    kind: LimitKind
    name: str
    most: int

    @property
    def field(self) -> str:
        """The name under which it is kept."""
        return f"{self.kind}:{self.name}"

    @property
    def told(self) -> str:
        """The limit of an agent, in words."""
        return f"may hold {self.most} states at a time" if self.most else "may hold any number of states"


@record(frozen=True, slots=True, kw_only=True)
class LeaseSlot:
    """A slot that is reserved for a lease: for a state of a run, or for whichever state this token claims."""

    workflow_id: str
    state: str | None = None
    token: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """A limit leaves no room. `held` are the runs and states that fill it."""

    limit: WorkLimit
    held: tuple[tuple[str, str], ...]
