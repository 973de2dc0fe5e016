"""What a client's methods return about gates: frozen records, as in `records.py`."""

from dataclasses import dataclass

from dcf.client.records import RunStatusName
from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingGate:
    """An output that waits for a verdict: of which gate, by whom it was made, and what it is judged by.

    `output` is left out of lists across runs, and where it is long; ask for its run and state.
    """

    workflow_id: str
    state: str
    name: str
    kind: str
    content_sha256: str
    author: str
    attempt: int
    asked: str
    since: str
    criteria: tuple[str, ...] = ()
    command: str | None = None
    timeout_s: int | None = None
    instructions: str | None = None
    output: Json = None
    output_left_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedGate:
    """A verdict as it was worked out, and what followed; `waits_for` names the gates that still wait."""

    workflow_id: str
    state: str
    gate: str
    verdict: str
    state_status: str
    content_sha256: str | None = None
    waits_for: tuple[str, ...] = ()
    run_status: RunStatusName = "running"
    next_states: tuple[str, ...] = ()
    repeated: bool = False
