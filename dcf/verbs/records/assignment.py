"""The answer to an agent that asks for its work."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName


@dataclass(frozen=True, slots=True, kw_only=True)
class MyAssignment:
    """`next` are the calls to make, in order; `states` have input, skills and lease (never its token).

    They also have `instructions`, the `output_schema` to match and the names of `errors` where there are any. Of a long
    input, `input_left_out` says how to read it. `context` and `tools` are what your record holds; without a
    run, `candidates` are the runs you work for. Long values come last, where a platform may cut them.
    """

    agent_id: str
    workflow_id: str | None = None
    run_status: RunStatusName | None = None
    hint: str | None = None
    next: tuple[Mapping[str, Json], ...] = ()
    candidates: tuple[str, ...] = ()
    loaded_skills: tuple[Mapping[str, Json], ...] = ()
    tools: tuple[Mapping[str, Json], ...] = ()
    more_states: int = 0
    states: tuple[Mapping[str, Json], ...] = ()
    context: tuple[Mapping[str, Json], ...] = ()
