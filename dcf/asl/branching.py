"""The records of Parallel and Map states that are open: the values fixed at entry, and the results to be joined."""

from dataclasses import dataclass

from dcf.asl import mapping
from dcf.asl.machine import Map, Parallel
from dcf.asl.steps import Entry, OpenScope, Tolerance
from dcf.asl.surroundings import Surroundings
from dcf.values.json_text import Json


@dataclass(slots=True, kw_only=True)
class Live:
    """A scope opened in this call of the engine, with the results of its branches so far."""

    opened: OpenScope
    results: list[Json]
    left: int
    failed: int = 0


def opened_parallel(state: Parallel, path: str, source: str | None, entry: Entry, around: Surroundings) -> OpenScope:
    """Return the scope that entering a Parallel opens."""
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
    state: Map, path: str, source: str | None, entry: Entry, document: list[Json], around: Surroundings
) -> OpenScope:
    """Return the scope that entering a Map opens, once its items are known."""
    effective = state.flow.document(entry.raw, around)
    items = mapping.batches(state, document, effective, around)
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
