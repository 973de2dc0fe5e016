"""What a client's methods return about signals: frozen records, as in `records.py`."""

from dataclasses import dataclass

from dcf.client.records import RunStatusName, StateStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class SentSignal:
    """What became of a signal: `kept` for a state to come, or the `state` that it ended. It is the run's `number`th."""

    workflow_id: str
    run_status: RunStatusName
    signal: str
    number: int
    kept: bool
    state: str | None = None
    state_status: StateStatusName | None = None
    next_states: tuple[str, ...] = ()
    repeated: bool = False
    next: str | None = None
