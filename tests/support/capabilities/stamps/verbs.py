"""The verb that stamps an output. It calls and describes."""

from typing import TYPE_CHECKING, Annotated

from dcf.values.refusal import Refusal
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Argument, Command, verb
from dcf.verbs.description.words import RunId
from tests.support.capabilities.stamps.records import StampedOutput

if TYPE_CHECKING:
    from dcf.application.application import Application


@verb(
    toolset="gates",
    scope="work",
    lists=("worker",),
    says=lambda answer: f"Stamped, after {answer['lines']} lines.",
    codes=("unknown_run", "unknown_state", "not_waiting", "not_allowed"),
    in_refusals={"lines": 0},
    command=Command(name="gates stamp"),
)
def stamp_output(
    on: "Application",
    workflow_id: RunId,
    state: Annotated[str, Argument(means="Name of the state.", example="A")],
    by: Annotated[str, Argument(means="Who stamps.", example="rita")],
) -> StampedOutput | Refusal:
    """Stamp an output that waits for it."""
    from tests.support.capabilities.stamps.operations import Stamps  # noqa: PLC0415 - a command needs no store

    answer = Stamps(on.control_plane).stamp(workflow_id, state, by)
    return answer if isinstance(answer, Refusal) else StampedOutput(lines=len(answer))


add_tools(__name__)
