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
    drawn = timeline(events, {path: kind_in(machine, path) for path in named}, _expired(seen))
    if drawn is None:
        return {"rows": [], "is_whole": is_whole}
    end = seen.now if drawn.end is None else drawn.end
    busy = [
        (segment.start, end if segment.end is None else segment.end) for row in drawn.rows for segment in _worked(row)
    ]
    is_folded = address.get("idle") == "folded"
    line = scale(drawn.start, max(end, drawn.last), busy, folded=is_folded)
    first = _first(drawn, address)
    return {
        "rows": [_row(row, line, end, address) for row in drawn.rows[first : first + _ROWS]],
        "pages": pages(len(drawn.rows), first, _ROWS, address),
        "ticks": [span(line.time(WIDTH * at / (_TICKS - 1)) - drawn.start) for at in range(_TICKS)],
        "folds": [_bar(line, *fold) for fold in line.folds],
        "fold": address.here(idle=None if is_folded else "folded"),
        "is_folded": is_folded,
        "can_fold": is_folded or bool(idle_spans(drawn.start, end, busy)),
        "is_whole": is_whole,
        "legend": [
            {"class": phase.value, "name": name, "y": y, "height": height}
            for phase, (name, y, height) in _PHASES.items()
        ],
        "start": to_text(drawn.start),
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
    events: list[Mapping[str, Json]] = []
    last = "0"
    while len(events) < _MOST_EVENTS:
        chunk = history.after(workflow_id, last, _CHUNK)
        events += (event.as_json() for event in chunk)
        if len(chunk) < _CHUNK:
            return events, True
        last = chunk[-1].event_id
    return events, False


def _worked(row: StateTimes) -> Iterable[Segment]:
    return (segment for segment in row.segments if segment.phase in {Phase.WORKING, Phase.LOST_LEASE})


def _first(timeline: Timeline, address: RunAddress) -> int:
    """Return where the page begins: where it was asked for, else where the chosen state is."""
    at = address.number("row")
    if address.get("row") is None and address.state is not None:
        at = next((number for number, row in enumerate(timeline.rows) if row.state == address.state), 0)
    return min(at, max(0, len(timeline.rows) - 1)) // _ROWS * _ROWS


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


def _segment(segment: Segment, line: Scale, end: int) -> dict[str, Any]:
    name, y, height = _PHASES[segment.phase]
    until = end if segment.end is None else segment.end
    text = f"{name} {span(until - segment.start)}" + (" so far" if segment.end is None else "")
    tried = "" if segment.attempt is None else f", attempt {segment.attempt}"
    agent = "" if segment.agent is None else f" by {segment.agent}"
    outcome = "" if segment.outcome is None else f", {segment.outcome.replace('_', ' ')}"
    return {
        **_bar(line, segment.start, until),
        "class": segment.phase.value
        + (f" ended-{segment.outcome}" if segment.outcome in {"failed", "lost_lease"} else ""),
        "y": y,
        "height": height,
        "title": f"{text}{tried}{agent}{outcome}",
        "from": to_text(segment.start),
    }


def _bar(line: Scale, start: int, end: int) -> dict[str, Any]:
    begin, stop = line.place(start), line.place(end)
    return {"x": round(begin, 1), "width": max(1.5, round(stop - begin, 1))}
