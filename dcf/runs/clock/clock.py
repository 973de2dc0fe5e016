"""The timer loop: handles due timers of runs, delivers notifications, drops ended runs, starts runs of schedules.

It is not an orchestrator. It uses the same transactions as every other caller, any number of copies may run at once,
and only timeouts, retries, reminders and Waits depend on it. It never waits for an agent platform.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from dcf.errors import DcfError, NotFound, StoreUnavailable
from dcf.runs.clock.duties import Duty, EndedRuns, TimedStarts, Traces
from dcf.runs.control_plane import ControlPlane
from dcf.runs.notifying.activity import Activity
from dcf.runs.notifying.deliveries import DeliveryThreads
from dcf.store.connection.reserve import freeing, with_reserve
from dcf.store.connection.server_time import ServerTime
from dcf.store.events.outbox import Attention, Outbox
from dcf.store.lists.due import DueRuns
from dcf.store.lists.index import RunIndex
from dcf.telemetry import surroundings
from dcf.values.instants import SECOND

_log = logging.getLogger(__name__)

_HEALER: Final = "clock"
_RUN: Final = "run"

_CHECKED_AGAIN: Final = 3600 * SECOND
"""Server time after which the noted due times of all live runs are checked again."""


class RunClock:
    """Handles the due timers of live runs, and passes runs with undelivered notifications to `deliveries`.

    Its thread also writes the `activity` of this process down.
    """

    def __init__(
        self,
        plane: ControlPlane,
        index: RunIndex,
        due: DueRuns,
        outbox: Outbox,
        retention: EndedRuns,
        deliveries: DeliveryThreads,
        time: ServerTime,
        activity: Activity | None = None,
        schedules: TimedStarts | None = None,
        duties: Sequence[Duty] = (),
        traces: Traces | None = None,
    ) -> None:
        self._plane = plane
        self._index = index
        self._due = due
        self._outbox = outbox
        self._retention = retention
        self._deliveries = deliveries
        self._time = time
        self._unchecked: Iterator[list[str]] | None = None
        self._check_at = 0
        self._failed = 0
        self._activity = activity
        self._schedules = schedules
        self._duties = duties
        self.traces = traces

    def pulse(self) -> int:
        """Look once at the runs and schedules that are due, at so many at most. Return how many things were done."""
        with freeing():  # little, and always in the same place: where Redis is full, ended runs still have their turn
            instant = self._time.read()
            self._check(instant.now)
            if instant.has_stepped_back:
                self._bring_times_back(instant.now)
            if self._activity is not None:
                self._activity.write()
            for duty in self._duties:
                duty(instant.now)
        listed_in = None if self._schedules is None else self._schedules.listed_in
        due, self._failed = self._due.at(instant.now, spare=self._failed, listed_in=listed_in), 0
        done = sum(self._try(self._tick, workflow_id) for workflow_id in due.runs)
        if self._schedules is None:
            return done
        self._schedules.latest = instant.now
        done += sum(self._try(self._schedules.look, name, "schedule") for name in due.names)
        if self._schedules.latest > instant.now:
            self._time.note(self._schedules.latest)
        return done

    def _check(self, now: int) -> None:
        """Check when live runs are noted to be due, a page at each look: all when a process begins, and once an hour.

        An older version may not have noted it, and a node of a cluster may have lost it.
        """
        if now < self._check_at:
            return
        pages, self._unchecked = self._unchecked or self._index.live_pages(), None  # after an error they begin again
        page = next(pages, None)
        if page is None:
            self._check_at = now + _CHECKED_AGAIN
            return
        self._due.check(page, now)
        self._unchecked = pages

    def _bring_times_back(self, now: int) -> None:
        """Bring the times of all live runs back: they may lie ahead of the server's."""
        _log.warning("pulse: the time of Redis went backwards; times of live runs are brought back")
        live = self._index.live()
        self._due.bring_forward(live, now)
        for workflow_id in live:
            self._try(self._heal, workflow_id)
        self._index.reset_times(live, now)
        if self._schedules is not None:
            for name in self._schedules.names():
                self._try(partial(self._schedules.look, has_stepped_back=True), name, "schedule")
        self._time.accept_reading()

    def finish(self, timeout_s: float) -> int:
        """Wait for the deliveries handed over, at most `timeout_s`. Return how many notifications were handled."""
        return self._deliveries.wait(timeout_s)

    def _try(self, do: Callable[[str], int], name: str, kind: str = _RUN) -> int:
        """Call `do` for one run or schedule. An error in its documents must not stop the clock of the others."""
        if surroundings.is_watched and kind == _RUN:
            with surroundings.call({"workflow_id": name}):
                return self._tried(do, name, kind)
        return self._tried(do, name, kind)

    def _tried(self, do: Callable[[str], int], name: str, kind: str) -> int:
        try:
            return do(name)
        except DcfError as error:
            if isinstance(error, StoreUnavailable) and not error.is_full:
                raise
            _log.warning("pulse: %s %s: %s: %s", kind, name, error.code, error.message)
        except Exception:  # noqa: BLE001 - a defect met in one must not stop the clock of the others
            _log.exception("pulse: %s %s", kind, name)
        self._failed += 1  # it is still due
        return 0

    def _heal(self, workflow_id: str) -> int:
        """Correct times that lie too far ahead because the server clock stepped back."""
        self._outbox.reset_taken(workflow_id, _HEALER)
        return self._plane.heal(workflow_id)

    def _tick(self, workflow_id: str) -> int:
        done = self._act(workflow_id)
        with_reserve(partial(self._due.settle, workflow_id))
        return done

    def _act(self, workflow_id: str) -> int:
        attention = self._outbox.attention(workflow_id)
        if not attention.exists:
            self._index.retire(workflow_id)
            return 0
        done = 0
        if attention.is_running and attention.is_timed_out:
            self._plane.time_out(workflow_id)
            done += 1
        for state in attention.due if attention.is_running else ():
            self._look(workflow_id, state)
            done += 1
        if done or attention.owed:
            done += self._deliveries.hand_over(workflow_id)
        if not attention.is_running and self._is_traced(workflow_id, attention) and not attention.owed:
            if self._retention.look(workflow_id, attention):
                return done + 1  # the next look does the rest
            with_reserve(partial(self._retire, workflow_id, attention))
        return done

    def _is_traced(self, workflow_id: str, attention: Attention) -> bool:
        """Return True unless the run's trace is still to be sent. It is kept until then."""
        return self.traces is None or self.traces.is_settled(workflow_id, attention.finished_at, attention.now)

    def _look(self, workflow_id: str, state: str) -> None:
        """Look at one state. An error in its documents must not stop the clock of the other states."""
        try:
            self._plane.look(workflow_id, state)
        except (StoreUnavailable, NotFound):
            raise
        except DcfError as error:
            _log.warning("pulse: %s of run %s: %s: %s", state, workflow_id, error.code, error.message)

    def _retire(self, workflow_id: str, attention: Attention) -> None:
        """Take an ended run off the clock's list. Finalizing lists it again, and then its keys get their expiry."""
        if not attention.is_left_open:
            self._plane.skip_unreached(workflow_id)  # the process that ended the run may have crashed
        self._pack(workflow_id)
        self._retention.settle(workflow_id, attention)
        self._index.retire(workflow_id, is_final=attention.is_final)

    def _pack(self, workflow_id: str) -> None:
        """Store the run in fewer bytes. Errors (a full Redis, a damaged document) are only logged."""
        try:
            self._plane.pack(workflow_id)
        except DcfError as error:
            _log.warning("pulse: run %s is not packed: %s: %s", workflow_id, error.code, error.message)
