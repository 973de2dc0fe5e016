"""Reads executions of the profile `midex`: runs, with the times that their histories tell.

A run is opened when an execution is started, and paused until it is made running. The time of that, and of the last
event, is in the history alone.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dcf.profiles.growing_runs import READ, instant
from dcf.profiles.midex.words import execution, execution_state, listed_state
from dcf.profiles.native_calls import listed
from dcf.profiles.profile import Native
from dcf.values.json_text import Json

TAG: Final = "midex"
_EVENTS: Final = "read_run_events"


async def meta_of(native: Native, run: str) -> Mapping[str, Json]:
    """Return what is known of a run; raise NotDone if there is none."""
    page = await native.call(READ, workflow_id=run, limit=1)
    meta: Mapping[str, Json] = page["meta"]
    return meta


async def execution_of(native: Native, meta: Mapping[str, Json]) -> dict[str, Json]:
    """Return the execution that a run is."""
    run, started_at, updated_at = str(meta["workflow_id"]), None, meta.get("finished_at")
    if execution_state(meta) != "pending":
        begun = await native.call(_EVENTS, workflow_id=run, types_json=["RunResumed"], limit=1)
        started_at = begun["events"][0]["at"] if begun["events"] else None
    if updated_at is None:
        last = await native.call(_EVENTS, workflow_id=run, newest_first=True, limit=1)
        updated_at = last["events"][0]["at"] if last["events"] else meta.get("created_at")
    return execution(meta, started_at, updated_at)


async def late(native: Native) -> AsyncIterator[str]:
    """Yield the caller's executions whose time is over to the millisecond; dcf pauses them at the next whole second."""
    async for row in listed(native, "list_runs", "runs", tag=TAG, status="running", limit=50):
        meta = await meta_of(native, row["workflow_id"]) if listed_state(row) == "running" else {}
        is_own = native.key_agent in (None, meta.get("planner_agent_id"))  # others' stay to the clock
        if is_own and is_late(meta, datetime.now(UTC)):
            yield str(row["workflow_id"])


def is_late(meta: Mapping[str, Json], now: datetime) -> bool:
    """Return True if a running execution has been running for longer than its `timeoutMs`."""
    limit, deadline = (meta.get("input") or {}).get("timeoutMs"), meta.get("deadline")
    if limit is None or deadline is None or execution_state(meta) != "running":
        return False
    return now >= instant(str(deadline)) - timedelta(milliseconds=-limit % 1000)


async def executions(
    native: Native, states: Collection[str] = (), skipped: int = 0, **filters: Any
) -> AsyncIterator[dict[str, Json]]:
    """Yield the executions that list_runs finds, newest first, in one of these states if any are named.

    A run is read only if its row in the list does not tell already that it is not wanted.
    """
    async for run in listed(native, "list_runs", "runs", tag=TAG, limit=50, **filters):
        state = listed_state(run)
        if states and state is not None and state not in states:
            continue
        if skipped and (state is not None or not states):
            skipped -= 1
            continue
        meta = await meta_of(native, run["workflow_id"])
        if states and execution_state(meta) not in states:
            continue
        if skipped:
            skipped -= 1
            continue
        yield await execution_of(native, meta)
