"""The verbs of a client that read runs: the condition of one, its history, its end, and the list of all.

As in `rows.py` nothing here waits or sends. To follow a run, the client asks again with growing pauses, from the last
event that was seen. After a broken connection or a restart of the server, no event is lost or repeated.
"""

import time
from collections.abc import Iterator
from typing import Any, Final

from dcf.client.arguments import given
from dcf.client.exchange import Conversation, Pause, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.records import RunDetails
from dcf.errors import RunFailed, WaitTimedOut
from dcf.values.json_text import Json

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 1.0
_GROWTH: Final = 1.5


def get(workflow_id: str) -> Conversation[RunDetails]:
    """Return the condition of a run: its status, output or error, and its states."""
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
    """Wait until a run ends, in any way, and return its status.

    Raises WaitTimedOut if it has not ended after `timeout_s` seconds; without them it waits without a limit.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    for pause_s in pauses():
        if (yield from status_of(workflow_id)) != "running":
            return (yield from get(workflow_id))
        left_s = pause_s if deadline is None else min(pause_s, deadline - time.monotonic())
        if timeout_s is not None and left_s <= 0:
            raise WaitTimedOut(workflow_id, timeout_s)
        yield Pause(left_s)
    raise AssertionError("pauses do not end")


def result(workflow_id: str, *, timeout_s: float | None = None) -> Conversation[Json]:
    """Wait until a run ends, and return its output.

    Raises RunFailed, with the run's error and cause, if it did not succeed, and WaitTimedOut as `wait` does.
    """
    run = yield from wait(workflow_id, timeout_s=timeout_s)
    if run.status != "succeeded":
        raise RunFailed(run.workflow_id, run.status, run.error, run.cause)
    return run.output


def _control_plane(workflow_id: str, **arguments: Json) -> Conversation[dict[str, Any]]:
    answer = yield ToolCall("read_workflow_control_plane", given(workflow_id=workflow_id, **arguments))
    return dict(accepted(answer))


def status_of(workflow_id: str) -> Conversation[str]:
    """Return the status of a run, reading as little as there is."""
    control_plane = yield from _control_plane(workflow_id, summary=True, limit=1)
    return str(control_plane["meta"]["status"])


def pauses() -> Iterator[float]:
    """Yield growing pauses, without end."""
    pause_s = _FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(pause_s * _GROWTH, _LONGEST_PAUSE_S)
