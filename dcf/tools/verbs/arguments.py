"""The arguments that verbs about new runs share, and how they are read."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from dcf.features.gates.gate import Gate
from dcf.features.gates.syntax import MOST_GATES, gates_given
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, check, parse
from dcf.verbs.answers.beginnings import AGENTS_MAP, WORKFLOW, WORKFLOW_FORMS
from dcf.verbs.description.verb import Argument
from dcf.verbs.description.words import ID, JsonValue

Workflow = Annotated[
    Mapping[str, Any], Argument(means=WORKFLOW_FORMS, example=WORKFLOW, form="workflow", tool="workflow_json")
]
RunInput = Annotated[
    JsonValue,
    Argument(
        means="Input of the run: any JSON value, or JSON text; default {}.",
        form="json",
        bytes_setting="max_output_bytes",
        tool="input_json",
        label="Input, as JSON",
    ),
]
Assigned = Annotated[
    Mapping[str, Any] | None,
    Argument(
        means=AGENTS_MAP,
        spelling="STATE=AGENT, or AGENT for all other Tasks; may be repeated: several agents are a pool.",
        form="assignment",
        tool="agents_map_json",
        option="--assign",
    ),
]
PlannerId = Annotated[str | None, Argument(means="Agent to notify when the run ends.", pattern=ID)]
Expiry = Annotated[
    int | None, Argument(means="Seconds that the run's keys outlive its finalization.", ge=1, le=31_536_000)
]
RunGates = Annotated[
    list[dict[str, Any]] | None,
    Argument(
        means="Gates of every Task of the run, as in the field Gates of a Task.",
        form="records",
        max_length=MOST_GATES,
        listed=False,
    ),
]
EMPTY: Final[Mapping[str, Json]] = {"problems": [], "warnings": [], "defaulted": []}
"""The empty lists in the refusal of a new run."""


def read_input(run_input: Json) -> Json:
    """Return the input of a run; without one an empty object."""
    return {} if run_input is MISSING else run_input


def read_agents(agents: Mapping[str, Any] | str | None) -> Json:
    """Return who does what, as JSON; the workflow says which Tasks there are."""
    return {} if agents is None else parse(agents, name="agents_map_json")


def read_gates(gates: list[dict[str, Any]] | None) -> tuple[Gate, ...]:
    """Return the gates of a whole run."""
    return () if gates is None else gates_given(check(gates, name="gates"))
