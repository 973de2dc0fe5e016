"""Writes a timeline as a Chrome trace (JSON), which Perfetto and the trace viewers of browsers open. Pure."""

from typing import Final

from dcf.values.json_text import Json
from dcf.workflows.drawing.timeline import Segment, Timeline
from dcf.workflows.drawing.words import printable

_PROCESS: Final = 1


def chrome_trace(timeline: Timeline, title: str) -> dict[str, Json]:
    """Return the trace: the run is a process, each state a thread, each segment a complete event.

    Times are microseconds from the beginning of the run. Open segments end at the last event.
    """
    events: list[Json] = [_named("process_name", printable(title), 0)]
    for number, row in enumerate(timeline.rows, 1):
        events.append(_named("thread_name", printable(row.state), number))
        events.append({**_metadata("thread_sort_index", number), "args": {"sort_index": number}})
        events += [_complete(timeline, segment, number) for segment in row.segments]
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _complete(timeline: Timeline, segment: Segment, thread: int) -> Json:
    end = max(segment.start, timeline.last if segment.end is None else segment.end)
    arguments = {
        "attempt": segment.attempt,
        "agent": segment.agent,
        "outcome": segment.outcome,
        "lasts": segment.end is None or None,
    }
    name = segment.phase.value if segment.attempt is None else f"{segment.phase.value}, attempt {segment.attempt}"
    return {
        "name": name,
        "cat": segment.phase.value,
        "ph": "X",
        "ts": segment.start - timeline.start,
        "dur": end - segment.start,
        "pid": _PROCESS,
        "tid": thread,
        "args": {key: value for key, value in arguments.items() if value is not None},
    }


def _named(kind: str, name: str, thread: int) -> Json:
    return {**_metadata(kind, thread), "args": {"name": name}}


def _metadata(kind: str, thread: int) -> dict[str, Json]:
    return {"name": kind, "ph": "M", "pid": _PROCESS, "tid": thread}
