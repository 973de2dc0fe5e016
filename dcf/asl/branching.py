"""The records of Parallel and Map while they are open: what was fixed when they were entered, and the join."""

from dataclasses import dataclass

from dcf.asl import mapping
from dcf.asl.states import Map, Parallel
from dcf.asl.steps import Entry, OpenScope, Tolerance
from dcf.asl.surroundings import Surroundings
from dcf.values.json_text import Json


@dataclass(slots=True, kw_only=True)
class Live:
    """A scope that was opened in this call: its results so far."""

    opened: OpenScope
    results: list[Json]
    left: int
    failed: int = 0


def opened_parallel(state: Parallel, path: str, source: str | None, entry: Entry, around: Surroundings) -> OpenScope:
    """Work out what a Parallel fixes when it is entered."""
    size = len(state.branches)
    return OpenScope(
        path=path,
        source=source,
        entry=entry,
        kind="Parallel",
        effective=state.flow.effective(entry.raw, around),
        items=(),
        size=size,
        concurrency=size,
        tolerance=Tolerance(),
    )


def opened_map(
    state: Map, path: str, source: str | None, entry: Entry, found: list[Json], around: Surroundings
) -> OpenScope:
    """Work out what a Map fixes when it is entered and its items are found."""
    effective = state.flow.document(entry.raw, around)
    items = mapping.batches(state, found, effective, around)
    return OpenScope(
        path=path,
        source=source,
        entry=entry,
        kind="Map",
        effective=effective,
        items=tuple(items),
        size=len(items),
        concurrency=mapping.concurrency_of(state, entry.raw, around),
        tolerance=mapping.tolerance_of(state, entry.raw, around),
    )
