"""Prints the lines of Python that states of a run come from, where its workflow was written as a flow."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from dcf.cli.reading.views import console
from dcf.cli.text import clean
from dcf.errors import DcfError
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.application.application import Application

_FAILED: Final = ("failed", "timed_out")


def print_places(document: Json, states: Iterable[str]) -> None:
    """Print the place and the code of each state."""
    from dcf.core.definitions.sources import line_of

    lines = [line_of(document, state) for state in states] if isinstance(document, Mapping) else []
    print_lines({}, filter(None, lines))


def print_lines(failed: Mapping[str, str], more: Iterable[str] = ()) -> None:
    """Print lines of code, those of failed states by path first."""
    for line in dict.fromkeys([*failed.values(), *more]):
        console().print(Text(f"  at {clean(line)}", style="dim"), soft_wrap=True)


def lines_in(document: Mapping[str, Json], states: Mapping[str, Mapping[str, Json]]) -> dict[str, dict[str, str]]:
    """Return the lines of code of the states that failed, as `dcf show --json` has them; nothing for a document."""
    from dcf.core.definitions.sources import SOURCE, line_of

    if SOURCE not in document:
        return {}
    lines = {state: line_of(document, state) for state in failed_states(states)}
    return {"source_lines": {state: line for state, line in lines.items() if line is not None}}


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
    place = place_of(document, state) if isinstance(state, str) else None
    return event if place is None else {**event, "source": place}


def failed_states(states: Mapping[str, Mapping[str, Json]]) -> list[str]:
    """Return the states that failed."""
    return [path for path, state in states.items() if state.get("status") in _FAILED]


def failed_in(trace: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return the states that failed in a simulation, the last one first."""
    return [str(event["path"]) for event in reversed(trace) if event.get("event") == "failed"]
