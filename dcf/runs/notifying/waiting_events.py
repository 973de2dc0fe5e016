"""Says whether events that waited in an inbox are still true. It reads runs, and must not change them."""

from collections.abc import Mapping, Sequence

from dcf.core.documents.decision import Snapshot
from dcf.errors import NotFound, StoreUnsuitable
from dcf.runs.control_plane import ControlPlane
from dcf.runs.notifying.announcements import entry_of, is_outdated
from dcf.values.json_text import Json


def are_current(plane: ControlPlane, events: Sequence[Mapping[str, Json]]) -> list[bool]:
    """Return of each event whether it is still true; those of a run are read together."""
    by_run: dict[str, list[int]] = {}
    for at, event in enumerate(events):
        by_run.setdefault(str(event.get("workflow_id")), []).append(at)
    current = [True] * len(events)
    for numbers in by_run.values():
        for at, is_true in zip(numbers, _of_a_run(plane, [events[at] for at in numbers]), strict=True):
            current[at] = is_true
    return current


def is_current(plane: ControlPlane, event: Mapping[str, Json]) -> bool:
    """Return True if an event is still true."""
    entry, workflow_id = entry_of(event), event.get("workflow_id")
    if entry is None or not isinstance(workflow_id, str):
        return True  # not made by dcf, so dcf cannot judge it
    state = entry.state or entry.about
    try:
        snapshot = _read(plane, workflow_id, () if state is None else (state,))
    except NotFound:
        return False
    except StoreUnsuitable:
        return True  # acquiring the lease reports what is wrong with the documents
    return not is_outdated(entry, snapshot)


def _of_a_run(plane: ControlPlane, events: Sequence[Mapping[str, Json]]) -> Sequence[bool]:
    """Judge events of one run; each by itself where they cannot be read together."""
    entries, workflow_id = [entry_of(event) for event in events], events[0].get("workflow_id")
    named = dict.fromkeys(entry.state or entry.about for entry in entries if entry is not None)
    if len(events) == 1 or not isinstance(workflow_id, str):
        return [is_current(plane, event) for event in events]
    try:
        snapshot = _read(plane, workflow_id, tuple(state for state in named if state is not None))
    except (NotFound, StoreUnsuitable):
        return [is_current(plane, event) for event in events]
    return [entry is None or not is_outdated(entry, snapshot) for entry in entries]


def _read(plane: ControlPlane, workflow_id: str, states: tuple[str, ...]) -> Snapshot:
    return plane.read(workflow_id, states, whole_meta=False, with_data=False)
