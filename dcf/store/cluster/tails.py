"""Follows the histories of runs on a cluster: each by a client of its own, since no read may name keys of two slots.

As `tails` does on one server, which it uses for each run.
"""

import asyncio
from collections.abc import Callable

import redis.asyncio

from dcf.store.cluster.keys import cluster_key
from dcf.store.events.tails import Heard, Lost, Tails
from dcf.store.keys.table import RunKeys


class ClusterTails:
    """Follows histories until `close`, or until a node cannot be reached; belongs to one event loop."""

    def __init__(self, connect: Callable[[str], redis.asyncio.Redis], heard: Heard, lost: Lost) -> None:
        self._connect = connect
        self._heard = heard
        self._lost = lost
        self._tails: dict[str, Tails] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def follow(self, workflow_id: str, entry_id: str) -> None:
        """Tell from now on what comes after this entry of a run's history."""
        stream = RunKeys(workflow_id).events
        if workflow_id not in self._tails:
            self._tails[workflow_id] = Tails(lambda: self._connect(stream), self._heard, self._lost, placed=cluster_key)
        self._tails[workflow_id].follow(workflow_id, entry_id)

    def leave(self, workflow_id: str) -> None:
        """Stop reporting events of this run. Idempotent."""
        left = self._tails.pop(workflow_id, None)
        if left is not None:
            left.leave(workflow_id)
            closing = asyncio.ensure_future(left.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close the connections, before the event loop that they belong to ends."""
        tails, self._tails = self._tails, {}
        await asyncio.gather(*(tail.close() for tail in tails.values()), *self._closing)
