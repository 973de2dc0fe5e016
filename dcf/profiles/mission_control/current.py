"""Finds the workflow that a call of the profile `mission-control` is about, if the call does not name one.

The document prints `get_context` and `complete_workflow` without a workflow_id. Such a call means the only workflow in
progress. If there are several, those count that were started in the directory in which the call is made. If that is not
one either, the call is rejected with their ids, and no workflow is guessed.
"""

from typing import Final

from dcf.profiles.growing_runs import Grown, read_run
from dcf.profiles.native_calls import listed
from dcf.profiles.profile import Native, NotDone, refuse

TAG: Final = "mission-control"
"""Tag of the runs that are workflows of this profile."""

_PAGE: Final = 100
_MOST_SHOWN: Final = 10


async def workflow_of(native: Native, workflow_id: str | None, place: str | None, *, own: bool = False) -> Grown:
    """Return the workflow of a call; `own`: only a workflow that the caller started is meant without an id."""
    if workflow_id is not None:
        return await read_run(native, workflow_id)
    running = [await read_run(native, run) for run in await _in_progress(native)]
    agent = native.agent()
    meant = [run for run in running if not own or run.meta.get("planner_agent_id") == agent]
    here = [run for run in meant if place is not None and run.input("place") == place]
    meant = here or meant
    if len(meant) != 1:
        raise _not_named(meant, own=own)
    return meant[0]


async def _in_progress(native: Native) -> list[str]:
    """Return the ids of the workflows in progress, the newest first; more than are shown are not looked for."""
    ids: list[str] = []
    runs = listed(native, "list_runs", "runs", status="running", tag=TAG, project=native.project, limit=_PAGE)
    async for run in runs:
        ids.append(str(run["workflow_id"]))
        if len(ids) > _MOST_SHOWN:
            break
    return ids


def _not_named(running: list[Grown], *, own: bool) -> NotDone:
    whose = "of yours " if own else ""
    if not running:
        return refuse(
            "invalid_argument",
            f"workflow_id: is required: no workflow {whose}is in progress.",
            "Pass the workflow_id that start_workflow returned; nothing was changed.",
            "workflow_id",
        )
    shown = ", ".join(f"{run.run} ({run.meta.get('title')})" for run in running[:_MOST_SHOWN])
    more = " and more" if len(running) > _MOST_SHOWN else ""
    return refuse(
        "invalid_argument",
        f"workflow_id: is required: several workflows {whose}are in progress: {shown}{more}.",
        "Pass one of these ids; nothing was changed.",
        "workflow_id",
    )
