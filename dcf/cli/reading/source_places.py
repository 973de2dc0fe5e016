"""Prints the lines of Python that states of a run come from, where its workflow was written as a flow."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.text import Text

from dcf.cli.reading.views import console
from dcf.cli.text import clean
from dcf.values.json_text import Json

_FAILED: Final = ("failed", "timed_out")


def print_places(document: Json, states: Iterable[str]) -> None:
    """Print the place and the code of each state."""
    from dcf.core.definitions.sources import line_of

    lines = [line_of(document, state) for state in states] if isinstance(document, Mapping) else []
    for line in dict.fromkeys(filter(None, lines)):
        console().print(Text(f"  at {clean(line)}", style="dim"), soft_wrap=True)


def failed_states(states: Mapping[str, Mapping[str, Json]]) -> list[str]:
    """Return the states that failed."""
    return [path for path, state in states.items() if state.get("status") in _FAILED]


def failed_in(trace: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return the states that failed in a simulation, the last one first."""
    return [str(event["path"]) for event in reversed(trace) if event.get("event") == "failed"]
