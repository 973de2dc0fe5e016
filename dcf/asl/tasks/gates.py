"""Gates as the engine knows them: checks that the output of a Task must pass before it counts. Pure.

The capability that reads gates (`asl/tasks/extensions.py`) knows their criteria and their judges.
"""

from typing import Final, Protocol

from dcf.values.json_text import Json

GATES: Final = "Gates"
"""The field of a Task that lists them."""


class Gate(Protocol):
    """One check, which has a name of its own in its Task."""

    @property
    def name(self) -> str:
        """Its name: a gate of a Task replaces the gate of the run that has the same name."""

    def as_json(self) -> dict[str, Json]:
        """Return it as it is written in a workflow."""
