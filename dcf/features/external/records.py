"""The answers of the verbs on signals and callbacks. Imports the standard library only, since clients read it too."""

from dataclasses import dataclass
from datetime import datetime

from dcf.verbs.records.runs import RunStatusName, StateStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class SentSignal:
    """The outcome of a signal: `kept` for a state to come, or the `state` that it ended. It is the run's `number`th."""

    workflow_id: str
    run_status: RunStatusName
    signal: str
    number: int
    kept: bool
    state: str | None = None
    state_status: StateStatusName | None = None
    next_states: tuple[str, ...] = ()
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTask:
    """A Task that was ended by its task token."""

    workflow_id: str
    state: str
    state_status: StateStatusName
    run_status: RunStatusName
    next_states: tuple[str, ...] = ()
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LivingTask(EndedTask):
    """A Task whose task token's holder is at work: when the next heartbeat is due, and when it times out."""

    heartbeat_due: datetime | None = None
    deadline: datetime | None = None
