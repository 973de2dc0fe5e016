"""The verbs of a client that look at runs: where one stands, what happened in it, its end, and the list of all.

As in `verbs.py` nothing here waits or sends. What is followed is asked for again with growing pauses, from the last
event that was seen: so a connection that breaks, or a server that starts again, loses and repeats nothing.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from dcf.client.arguments import Moment, given, listed, moment_text
from dcf.client.exchange import Conversation, Item, Pause, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.records import ListedRun, RunDetails, RunEvent, RunStatusName
from dcf.errors import InvalidArgument, RunFailed, WaitTimedOut
from dcf.values.json_text import Json

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 1.0
_GROWTH: Final = 1.5
_PAGE: Final = 100
_EVENT_FIELDS: Final = ("id", "at", "type", "state", "by")


def get(workflow_id: str) -> Conversation[RunDetails]:
    """Return where a run stands: its status, output or error, and its states."""
    meta: dict[str, Json] = {}
    states: dict[str, Json] = {}
    cursor = None
    while True:
        page = yield from _control_plane(workflow_id, summary=True, cursor=cursor, include_meta=not meta)
        meta = meta or page["meta"]
        states |= page["states"]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    if meta["status"] in {"succeeded", "partial"}:  # a summary leaves the output out
        whole = yield from _control_plane(workflow_id, limit=1)
        meta = {**meta, "output": whole["meta"].get("output")}
    return read(RunDetails, {**meta, "states": states})


def wait(workflow_id: str, *, timeout_s: float | None = None) -> Conversation[RunDetails]:
    """Wait until a run is over, however it ends, and return where it stands.

    Raises WaitTimedOut if it is not over after `timeout_s` seconds; without them it waits as long as it takes.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    for pause_s in _pauses():
        if (yield from _status(workflow_id)) != "running":
            return (yield from get(workflow_id))
        left_s = pause_s if deadline is None else min(pause_s, deadline - time.monotonic())
        if timeout_s is not None and left_s <= 0:
            raise WaitTimedOut(workflow_id, timeout_s)
        yield Pause(left_s)
    raise AssertionError("pauses do not end")


def result(workflow_id: str, *, timeout_s: float | None = None) -> Conversation[Any]:
    """Wait until a run is over, and return its output.

    Raises RunFailed, with the run's error and cause, if it did not succeed, and WaitTimedOut as `wait` does.
    """
    run = yield from wait(workflow_id, timeout_s=timeout_s)
    if run.status != "succeeded":
        raise RunFailed(run.workflow_id, run.status, run.error, run.cause)
    return run.output


def events(
    workflow_id: str,
    *,
    follow: bool = False,
    states: Sequence[str] = (),
    types: Sequence[str] = (),
    since: Moment | None = None,
    until: Moment | None = None,
    newest_first: bool = False,
    cursor: str | None = None,
) -> Stream[RunEvent]:
    """Yield what happened in a run, in order; with `follow` also what happens next, until the run is over.

    `states` (paths, or names wherever they are), `types`, `since` and `until` choose events. `cursor` is the `id` of
    an event: go on after it. What is yielded has no gap and nothing twice, also over a broken connection.
    """
    if follow and (newest_first or until is not None):
        raise InvalidArgument("follow goes on from the oldest event.", "Leave out newest_first and until, or follow.")
    wanted = given(
        states_json=listed(states),
        types_json=listed(types),
        since=moment_text(since),
        until=moment_text(until),
        newest_first=newest_first or None,
    )
    return _events(workflow_id, wanted, cursor, follow=follow)


def list_runs(
    *,
    status: RunStatusName | None = None,
    workflow: str | None = None,
    version: str | None = None,
    agent: str | None = None,
    tag: str | None = None,
    parent: str | None = None,
    project: str | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    stuck: bool = False,
    blocked: bool = False,
) -> Stream[ListedRun]:
    """Yield runs, newest first: all of them, or those that meet every filter given. Pages are read as they are needed.

    `stuck` are running runs that need somebody, `blocked` those that an open issue blocks. `parent` is the run whose
    child runs are meant; `since` and `until` are when they were created, `since` also as `2h`.
    """
    wanted = given(
        status=status,
        workflow=workflow,
        version=version,
        agent=agent,
        tag=tag,
        parent=parent,
        project=project,
        since=moment_text(since),
        until=moment_text(until),
        stuck=stuck or None,
        blocked=blocked or None,
    )
    return _listed(wanted)


def _events(workflow_id: str, wanted: dict[str, Json], last: str | None, *, follow: bool) -> Stream[RunEvent]:
    pauses = _pauses()
    while True:
        # The status is read before the events: those of a run that was over by then are all there.
        is_last = not follow or (yield from _status(workflow_id)) != "running"
        arguments = {"workflow_id": workflow_id, **wanted}
        page = accepted((yield ToolCall("read_run_events", {**arguments, **given(cursor=last)})))
        for one in page["events"]:
            last = one["id"]
            yield Item(_event(one))
        if page["events"]:
            pauses = _pauses()
        if page.get("next_cursor") is not None:
            last = page["next_cursor"]
        elif is_last:
            return
        else:
            yield Pause(next(pauses))


def _event(found: dict[str, Json]) -> RunEvent:
    data = {name: value for name, value in found.items() if name not in _EVENT_FIELDS}
    return read(RunEvent, {**found, "data": data})


def _listed(wanted: dict[str, Json]) -> Stream[ListedRun]:
    cursor = None
    while True:
        page = accepted((yield ToolCall("list_runs", {"limit": _PAGE, **wanted, **given(cursor=cursor)})))
        for one in page["runs"]:
            yield Item(read(ListedRun, one))
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def _control_plane(workflow_id: str, **arguments: Json) -> Conversation[dict[str, Any]]:
    answer = yield ToolCall("read_workflow_control_plane", given(workflow_id=workflow_id, **arguments))
    return dict(accepted(answer))


def _status(workflow_id: str) -> Conversation[str]:
    """Return the status of a run, reading as little as there is."""
    found = yield from _control_plane(workflow_id, summary=True, limit=1)
    return str(found["meta"]["status"])


def _pauses() -> Iterator[float]:
    """Yield growing pauses, without end."""
    pause_s = _FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(pause_s * _GROWTH, _LONGEST_PAUSE_S)
