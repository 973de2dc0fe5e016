"""The address of a run's page: a tab, a state, and the parameters of the tab. All links are built from it."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from dcf.asl.state_paths import join
from dcf.core.definitions import needs
from dcf.core.definitions.model import Definition
from dcf.errors import InvalidArgument, UnknownState
from dcf.values.records import record
from dcf.web.templating import query, run_link

TABS: Final = ("graph", "timeline", "table", "events")
_OF_TABS: Final = ("inside", "part", "row", "sort", "idle", "type", "before", "after")
_MOST_DIGITS: Final = 9


@record(frozen=True, slots=True, kw_only=True)
class RunAddress:
    """`state` is the path of the chosen state. `more` are the other parameters of the tab, as they were given."""

    workflow_id: str
    tab: str
    state: str | None
    more: Mapping[str, str]

    def get(self, name: str) -> str | None:
        """Return a parameter of the tab; None if it was not given."""
        return self.more.get(name) or None

    def number(self, name: str) -> int:
        """Return a parameter that counts, 0 if it was not given; raise InvalidArgument if it is no number."""
        text = self.more.get(name) or "0"
        if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
            raise InvalidArgument(f"'{name}' is no number.", "Follow the links of the page.")
        return int(text)

    def to_state(self, path: str | None) -> str:
        """Return the address of the same view with this state chosen, or none."""
        return run_link(self.workflow_id, tab=self.tab, state=path, **self.more)

    def to_tab(self, tab: str, **more: str | None) -> str:
        """Return the address of another tab with the same state chosen."""
        return run_link(self.workflow_id, tab=tab, state=self.state, **more)

    def here(self, **changed: str | None) -> str:
        """Return the address of this tab with other parameters; None takes one away."""
        return run_link(self.workflow_id, tab=self.tab, state=self.state, **{**self.more, **changed})

    def inside(self, path: str) -> str:
        """Return the address of what is inside a Parallel or Map."""
        return run_link(self.workflow_id, tab="table", state=self.state, inside=path)


def read_address(parameters: Mapping[str, str], workflow_id: str, definition: Definition) -> RunAddress:
    """Return what is asked for. Raise InvalidArgument for a tab that there is not, UnknownState for a state."""
    tab, state = parameters.get("tab") or TABS[0], parameters.get("state") or None
    if tab not in TABS:
        raise InvalidArgument("There is no such tab.", f"Tabs are: {', '.join(TABS)}.")
    return RunAddress(
        workflow_id=workflow_id,
        tab=tab,
        state=None if state is None else known_path(workflow_id, definition, state),
        more={name: parameters[name] for name in _OF_TABS if parameters.get(name)},
    )


def known_path(workflow_id: str, definition: Definition, state: str) -> str:
    """Return the path of a state that was given by name or path; raise UnknownState if there is none."""
    place = needs.place_of(definition, join("", state) if state in definition.machine.states else state)
    if place is None:
        raise UnknownState(workflow_id, state)
    return place.path


def value_link(workflow_id: str, part: str, state: str | None = None) -> str:
    """Return the address of a whole value of a run or of one of its states, as a file."""
    return f"{run_link(workflow_id)}/value{query(part=part, state=state)}"


def history_link(workflow_id: str) -> str:
    """Return the address of the whole history of a run, as a file."""
    return f"{run_link(workflow_id)}/history.json"


def artifact_link(workflow_id: str, artifact_id: str) -> str:
    """Return the address of an artifact of a run, as a file."""
    return f"{run_link(workflow_id)}/artifacts/{quote(artifact_id, safe='')}"
