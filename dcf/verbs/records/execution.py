"""The answers of verbs that read a run and write the result of a state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadControlPlane:
    """Documents of the run as they are now; `next_cursor` is set when there are more states.

    Of a run that grows, `units` says what each state is; with include_inputs also the instructions of its worker. In an
    overview `more` counts the open branches and iterations that it leaves out, by Parallel or Map. Of a flow it has
    `source_lines`: the lines of code of the states that failed.
    """

    workflow_id: str
    meta: Mapping[str, Json] | None = None
    states: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    inputs: Mapping[str, Json] = field(default_factory=dict)
    outputs: Mapping[str, Json] = field(default_factory=dict)
    readiness: Mapping[str, bool] | None = None
    provenance: Mapping[str, Json] | None = None
    next_cursor: str | None = None
    units: Mapping[str, Mapping[str, Json]] | None = None
    more: Mapping[str, int] | None = None
    source_lines: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedState:
    """The state after the write, and what it set in motion; `work` is the next piece, `retry_at` when a failed one is.

    `stored` is what an earlier completion had stored. `problems` lists the parts of an output that do not match the
    Task's OutputSchema, `failed_criteria` what a gate found. `note` warns of an error name that the Task does not list.
    """

    workflow_id: str
    state: str
    updated_state: Mapping[str, Json] | None = None
    output_written: bool = False
    run_status: RunStatusName | None = None
    next_states: tuple[str, ...] = ()
    repeated: bool = False
    retry_at: datetime | None = None
    stored: Mapping[str, Json] | None = None
    work: Mapping[str, Json] | None = None
    failed_criteria: tuple[Mapping[str, Json], ...] | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedState:
    """Whether the result of a state was accepted: `code` is ok, or says why not, as `error` and `hint` do in words.

    `note` warns of an error name that the Task does not list.
    """

    state: str
    code: str
    error: str | None = None
    hint: str | None = None
    next_states: tuple[str, ...] = ()
    repeated: bool = False
    note: str | None = None
    problems: tuple[Mapping[str, Json], ...] = ()
    failed_criteria: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedStates:
    """`completed` says of each state, in the order of the call, whether its result was accepted; `work` comes next."""

    workflow_id: str
    run_status: RunStatusName | None = None
    completed: tuple[CompletedState, ...] = ()
    work: tuple[Mapping[str, Json], ...] = ()
