"""The answers of the verbs about gates. Imports the standard library only, since clients read it too."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName

VerdictName: TypeAlias = Literal["pass", "fail", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingGate:
    """An output that waits for a verdict: of which gate, by whom it was made, and what it is judged by.

    `output` is left out of lists across runs, and where it is long (`output_left_out`): ask for its run and state.
    """

    workflow_id: str
    state: str
    name: str
    kind: str
    content_sha256: str
    author: str
    attempt: int
    asked: str
    since: datetime
    criteria: tuple[str, ...] = ()
    command: str | None = None
    timeout_s: int | None = None
    instructions: str | None = None
    output: Json = None
    output_left_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingGates:
    """Outputs that wait, the longest first: each with run, state, name of the gate, kind, author and content_sha256."""

    gates: tuple[WaitingGate, ...] = ()
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedGate:
    """The verdict as it was worked out, and what followed: `waits_for` names gates that still wait."""

    workflow_id: str
    state: str
    gate: str
    verdict: str
    content_sha256: str | None = None
    state_status: str
    waits_for: tuple[str, ...] = ()
    run_status: RunStatusName = "running"
    next_states: tuple[str, ...] = ()
    repeated: bool = False
