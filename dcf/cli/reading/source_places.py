"""Prints the lines of Python that states of a run come from, where its workflow was written as a flow."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from dcf.cli.reading.views import console
from dcf.cli.text import clean
from dcf.errors import DcfError
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.application.application import Application


def lines_of(document: Json, states: Mapping[str, Json]) -> list[str]:
    """Return the place and the code of each state, or of the expression that its cause says failed there."""
    from dcf.core.definitions.sources import line_of

    is_read = isinstance(document, Mapping)
    lines = [line_of(document, state, cause) for state, cause in states.items()] if is_read else []
    return list(dict.fromkeys(line for line in lines if line))


def print_places(document: Json, states: Mapping[str, Json]) -> None:
    """Print the place and the code of each state."""
    print_lines({}, lines_of(document, states))


def print_lines(failed: Mapping[str, str], more: Iterable[str] = ()) -> None:
    """Print lines of code, those of failed states by path first."""
    for line in dict.fromkeys([*failed.values(), *more]):
        console().print(Text(f"  at {clean(line)}", style="dim"), soft_wrap=True)


def document_of(application: "Application", workflow_id: str) -> Mapping[str, Json]:
    """Return the workflow of a run; an empty one if it cannot be read, which is no reason not to show the run."""
    try:
        return application.control_plane.run(workflow_id).definition.document
    except DcfError:
        return {}


def with_place(event: Mapping[str, Json], document: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return an event with the line of Python that its state comes from, if there is one."""
    from dcf.core.definitions.sources import place_of

    state = event.get("state")
    place = place_of(document, state, event.get("cause")) if isinstance(state, str) else None
    return event if place is None else {**event, "source": place}


def failed_in(trace: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return the states that failed in a simulation with their causes, the last one first."""
    failed = [event for event in reversed(trace) if event.get("event") == "failed"]
    return {str(event["path"]): event.get("cause") for event in failed}
