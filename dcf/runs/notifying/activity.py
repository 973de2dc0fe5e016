"""Notes which agents call this process and which agent platforms do not answer it, and writes that down now and then.

A call of a tool only adds a name to a set in memory. The timer loop writes the names every few seconds, so that a
health report of any process shows the active agents. No decision may rest on it.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dcf.errors import DcfError, StoreUnavailable
from dcf.runs.notifying.breaker import Breaker
from dcf.store.events.activity import MOST_SEEN, ActivityRecords

_log = logging.getLogger(__name__)

EVERY_S: Final = 5.0
"""Seconds between two writes of one process."""


class Activity:
    """The activity that this process saw since its last write; `breakers` are those of remote platforms, by kind."""

    def __init__(
        self,
        records: ActivityRecords,
        breakers: Mapping[str, Breaker] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._records = records
        self._breakers = breakers or {}
        self._monotonic = monotonic
        self._seen: set[str] = set()
        self._being_written: set[str] = set()
        self._next = 0.0
        self._told: set[str] = set()

    def saw(self, agent_id: str) -> None:
        """Note that the agent called a tool. Thread-safe; does not call Redis."""
        if len(self._seen) < MOST_SEEN:
            self._seen.add(agent_id)

    def agents(self, most: int) -> list[str]:
        """Return the agents that called a tool lately, here or at another server, the latest first."""
        return list(dict.fromkeys([*self._seen, *self._being_written, *self._records.seen(most)]))[:most]

    def unseen(self, agent_ids: Sequence[str]) -> list[str]:
        """Return those of these agents that have called no tool lately, here or at another server."""
        noted = self._seen | self._being_written
        return self._records.unseen([agent_id for agent_id in agent_ids if agent_id not in noted])

    def write(self) -> None:
        """Write the noted activity, if it is time; called in each pass of the timer loop."""
        if self._monotonic() < self._next:
            return
        self._next = self._monotonic() + EVERY_S
        seen, self._seen = self._seen, set()
        self._being_written = seen  # readers look here until Redis has them
        try:
            if seen:
                self._records.saw(tuple(seen))
            self._being_written = set()
            self._write_platforms()
        except StoreUnavailable:
            raise
        except DcfError as error:  # these records are for people; the timer loop continues without them
            _log.warning("activity: %s: %s", error.code, error.message)

    def _write_platforms(self) -> None:
        for kind, breaker in self._breakers.items():
            trouble = breaker.trouble()
            if trouble is not None:
                self._told.add(kind)
                error = trouble.error
                self._records.platform_fails(kind, for_s=trouble.for_s, failures=trouble.failures, error=error)
            elif kind in self._told:
                self._records.platform_answers(kind)
                self._told.discard(kind)
