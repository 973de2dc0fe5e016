"""How a wait gets work that no agent is assigned to: it is listed while it waits, and looks for such work itself.

It looks once it is listed, so that no state that becomes ready in between is missed, and again at the end of its time.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from dcf.asl.state_paths import name_of
from dcf.errors import DcfError, StoreUnavailable
from dcf.features.work.takers import Taker
from dcf.runs.notifying.announcements import keys_of_state
from dcf.store.keys.table import RunKeys
from dcf.tools.verbs.awaited_leases import AT_LIMIT, Wait, leased, other_function
from dcf.values.json_text import Json
from dcf.verbs.callers import current_caller

if TYPE_CHECKING:
    from dcf.application.application import Application

_TRIES: Final = 8
"""States that one look tries to lease: others may take them at the same time."""


@asynccontextmanager
async def listed(app: "Application", wait: Wait) -> AsyncIterator[None]:
    """List the agent, while it waits, among those that are notified of work that no agent is assigned to."""
    names = None if wait.lease_states is None else tuple(wait.lease_states)
    taker, project = Taker(agent_id=wait.agent_id, states=names), current_caller().project
    try:
        entry = await anyio.to_thread.run_sync(app.takers.enter, taker, project, wait.timeout_s)
    except StoreUnavailable as error:
        if not error.is_full:
            raise
        yield  # a full Redis takes no entry; it looks itself, at the beginning and at the end
        return
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True), suppress(DcfError):  # then the entry expires
            await anyio.to_thread.run_sync(app.takers.leave, entry)


async def look(app: "Application", wait: Wait) -> tuple[dict[str, Json], dict[str, Json]] | None:
    """Lease a ready state that no agent is assigned to; return an event and the work, or None if there is none."""
    if not wait.lease:
        return None
    find = partial(app.work.unassigned, wait.agent_id, current_caller().project, wait.lease_states)
    tries = 0
    for place in await anyio.to_thread.run_sync(find):
        event: dict[str, Json] = {
            "type": "workflow_event",
            "workflow_id": place.workflow_id,
            "target_state": place.state,
            "reason": "unassigned",
            "control_plane": keys_of_state(RunKeys(place.workflow_id), place.state),
        }
        if tries == _TRIES:
            return None
        if await other_function(app, wait, event) is not None:
            continue
        tries += 1
        work = await leased(app, wait, event)
        if work is not None:
            return None if AT_LIMIT in work else (event, work)
    return None


async def is_unwanted(app: "Application", wait: Wait, event: dict[str, Json]) -> bool:
    """Return True if this wait is not for a state that no agent is assigned to, which an event is about."""
    if not wait.unassigned:
        return True
    is_named = wait.lease_states is None or name_of(event["target_state"]) in wait.lease_states
    return not is_named or await other_function(app, wait, event) is not None
