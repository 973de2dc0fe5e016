"""The verb that stamps an output. It calls and describes."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from dcf.values.refusal import Refusal
from dcf.verbs.derived_tools import tool_of
from dcf.verbs.description.verb import Argument, Verb
from dcf.verbs.description.words import RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """How many lines the book had before."""

    lines: int


def stamp_output(
    on: Any,
    workflow_id: RunId,
    state: Annotated[str, Argument(means="Name of the state.", example="A")],
    by: Annotated[str, Argument(means="Who stamps.", example="rita")],
) -> Stamped | Refusal:
    """Stamp an output that waits."""
    answer = on.stamps.stamp(workflow_id, state, by)
    return answer if isinstance(answer, Refusal) else Stamped(lines=len(answer))


STAMP_OUTPUT: Final = tool_of(
    Verb(
        function=stamp_output,
        toolset="gates",
        scope="work",
        says=lambda answer: f"Stamped, after {answer['lines']} lines.",
        codes=("not_waiting",),
        in_refusals={"lines": 0},
    )
)
