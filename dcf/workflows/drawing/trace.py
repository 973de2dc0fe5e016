"""Writes a timeline as a Chrome trace (JSON), which Perfetto and the trace viewers of browsers open. Pure."""

from typing import Final

from dcf.values.json_text import Json
from dcf.workflows.drawing.timeline import Segment, Timeline
from dcf.workflows.drawing.words import printable

_PROCESS: Final = 1


def chrome_trace(found: Timeline, title: str) -> dict[str, Json]:
    """Return the trace: the run is a process, each state a thread, each segment a complete event.

    Times are microseconds from the beginning of the run. Open segments end at the last event.
    """
    events: list[Json] = [_named("process_name", printable(title), 0)]
    for number, row in enumerate(found.rows, 1):
        events.append(_named("thread_name", printable(row.state), number))
        events.append({**_metadata("thread_sort_index", number), "args": {"sort_index": number}})
        events += [_complete(found, one, number) for one in row.segments]
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _complete(found: Timeline, one: Segment, thread: int) -> Json:
    end = max(one.start, found.last if one.end is None else one.end)
    told = {"attempt": one.attempt, "agent": one.agent, "outcome": one.outcome, "lasts": one.end is None or None}
    name = one.phase.value if one.attempt is None else f"{one.phase.value}, attempt {one.attempt}"
    return {
        "name": name,
        "cat": one.phase.value,
        "ph": "X",
        "ts": one.start - found.start,
        "dur": end - one.start,
        "pid": _PROCESS,
        "tid": thread,
        "args": {key: value for key, value in told.items() if value is not None},
    }


def _named(what: str, name: str, thread: int) -> Json:
    return {**_metadata(what, thread), "args": {"name": name}}


def _metadata(what: str, thread: int) -> dict[str, Json]:
    return {"name": what, "ph": "M", "pid": _PROCESS, "tid": thread}
