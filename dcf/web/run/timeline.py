"""The tab with the times of a run's states: a row for each, with bars that say what it did when.

The bars are rectangles of small pictures that stretch, so no row needs a style of its own. Heights tell the phases
apart as well as colours do, and each bar says in words what it is.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dcf.runs.views.overview import Glance
from dcf.store.events.history import History
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.web.run.table import pages
from dcf.web.run.view import RunAddress
from dcf.web.run.words import label, span
from dcf.workflows.drawing.statuses import MARKS
from dcf.workflows.drawing.time_scale import WIDTH, Scale, idle_spans, scale
from dcf.workflows.drawing.timeline import Phase, Segment, StateTimes, Timeline, kind_in, timeline

_ROWS: Final = 100
_CHUNK: Final = 5_000
_MOST_EVENTS: Final = 20_000
_TICKS: Final = 5
_SPOKEN: Final = 12
_PHASES: Final[Mapping[Phase, tuple[str, int, int]]] = {
    Phase.READY: ("ready", 5, 6),
    Phase.WORKING: ("working", 1, 14),
    Phase.BACKING_OFF: ("backing off", 6, 4),
    Phase.LOST_LEASE: ("lost lease", 1, 14),
    Phase.WAITING: ("waiting", 7, 2),
}
"""The name of each phase, the place of its bar and its height, in a row of 16."""


def timeline_tab(history: History, seen: Glance, address: RunAddress) -> dict[str, Any]:
    """Return a page of rows, the axis, and the links that fold idle time."""
    events, is_whole = _events(history, seen.workflow_id)
    named = {state for event in events if isinstance(state := event.get("state"), str)}
    machine = seen.definition.machine
    found = timeline(events, {path: kind_in(machine, path) for path in named}, _expired(seen))
    if found is None:
        return {"rows": [], "is_whole": is_whole}
    end = seen.now if found.end is None else found.end
    busy = [(one.start, end if one.end is None else one.end) for row in found.rows for one in _worked(row)]
    is_folded = address.get("idle") == "folded"
    line = scale(found.start, max(end, found.last), busy, folded=is_folded)
    first = _first(found, address)
    return {
        "rows": [_row(row, line, end, address) for row in found.rows[first : first + _ROWS]],
        "pages": pages(len(found.rows), first, _ROWS, address),
        "ticks": [span(line.time(WIDTH * at / (_TICKS - 1)) - found.start) for at in range(_TICKS)],
        "folds": [_bar(line, *fold) for fold in line.folds],
        "fold": address.here(idle=None if is_folded else "folded"),
        "is_folded": is_folded,
        "can_fold": is_folded or bool(idle_spans(found.start, end, busy)),
        "is_whole": is_whole,
        "legend": [
            {"class": phase.value, "name": name, "y": y, "height": height}
            for phase, (name, y, height) in _PHASES.items()
        ],
        "start": to_text(found.start),
    }


def _expired(seen: Glance) -> dict[str, int]:
    """Return when leases expired, for states without a takeover."""
    return {
        path: at
        for path, state in seen.states.items()
        if state.doc.has_lost_lease(seen.now) and (at := state.doc.lease.expires_at) is not None
    }


def _events(history: History, workflow_id: str) -> tuple[list[Mapping[str, Json]], bool]:
    """Return the events from the beginning on, and whether they are all."""
    found: list[Mapping[str, Json]] = []
    last = "0"
    while len(found) < _MOST_EVENTS:
        chunk = history.after(workflow_id, last, _CHUNK)
        found += (one.as_json() for one in chunk)
        if len(chunk) < _CHUNK:
            return found, True
        last = chunk[-1].event_id
    return found, False


def _worked(row: StateTimes) -> Iterable[Segment]:
    return (segment for segment in row.segments if segment.phase in {Phase.WORKING, Phase.LOST_LEASE})


def _first(found: Timeline, address: RunAddress) -> int:
    """Return where the page begins: where it was asked for, else where the chosen state is."""
    at = address.number("row")
    if address.get("row") is None and address.state is not None:
        at = next((number for number, row in enumerate(found.rows) if row.state == address.state), 0)
    return min(at, max(0, len(found.rows) - 1)) // _ROWS * _ROWS


def _row(row: StateTimes, line: Scale, end: int, address: RunAddress) -> dict[str, Any]:
    bars = [_segment(segment, line, end) for segment in row.segments]
    words = [bar["title"] for bar in bars[:_SPOKEN]]
    more = len(bars) - len(words)
    attempts = len({segment.attempt for segment in row.segments if segment.attempt is not None})
    return {
        "path": row.state,
        "label": label(row.state),
        "link": address.to_state(row.state),
        "bars": bars,
        "spoken": "; ".join(words) + (f"; and {more} more" if more else "") or "nothing",
        "worked": span(round(row.seconds_in(Phase.WORKING, end) * 1_000_000)),
        "attempts": attempts,
        "outcome": row.outcome,
        "mark": MARKS.get(row.outcome or "", ""),
    }


def _segment(one: Segment, line: Scale, end: int) -> dict[str, Any]:
    name, y, height = _PHASES[one.phase]
    until = end if one.end is None else one.end
    told = f"{name} {span(until - one.start)}" + (" so far" if one.end is None else "")
    tried = "" if one.attempt is None else f", attempt {one.attempt}"
    agent = "" if one.agent is None else f" by {one.agent}"
    outcome = "" if one.outcome is None else f", {one.outcome.replace('_', ' ')}"
    return {
        **_bar(line, one.start, until),
        "class": one.phase.value + (f" ended-{one.outcome}" if one.outcome in {"failed", "lost_lease"} else ""),
        "y": y,
        "height": height,
        "title": f"{told}{tried}{agent}{outcome}",
        "from": to_text(one.start),
    }


def _bar(line: Scale, start: int, end: int) -> dict[str, Any]:
    begin, stop = line.place(start), line.place(end)
    return {"x": round(begin, 1), "width": max(1.5, round(stop - begin, 1))}
