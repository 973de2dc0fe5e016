"""Several states at a time for one worker: functions run on threads or on the event loop, one thread sends the results.

Whatever is finished while a call is under way goes with the next call, and each call brings as many leases as there are
free hands. So the more there is to do, the fewer calls a state costs. Knows nothing of Redis and decides nothing about
leases: the server does.
"""

import logging
import queue
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from dcf.errors import DcfError
from dcf.worker.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dcf.values.json_text import Json
    from dcf.worker.calls import Ended, Work
    from dcf.worker.lease_calls import Results

log = logging.getLogger(__name__)


class Served(Protocol):
    """The operations of a worker on states. `Hands` decides when each is called."""

    def events(
        self, stop: threading.Event, before: Callable[[], None], *, leases: bool
    ) -> "Iterator[tuple[Mapping[str, Json], Mapping[str, Json] | None]]":
        """Yield events until told to stop, and call `before` each wait."""

    def acquire(self, event: "Mapping[str, Json]") -> "Work | None":
        """Lease the state of an event; None if it is refused or there is no function for it."""

    def drop(self, event: "Mapping[str, Json]", error: DcfError) -> None:
        """Log that an event could not be handled."""

    def claim(self, workflow_id: str, most: int) -> "list[Work]":
        """Lease ready states of a run, so many at most."""

    def is_async(self, work: "Work") -> bool:
        """Return True if the function of the state needs no thread."""

    def begin(self, work: "Work", ended: "Ended") -> None:
        """Begin an async function, and keep the lease until it has ended."""

    def carry_out(self, work: "Work") -> Result | None:
        """Call the function, and keep the lease meanwhile; return None if it was cancelled."""

    def abandon(self, work: "Work") -> None:
        """Let go of a state whose function was cancelled."""

    def give_back(self, work: "Work") -> None:
        """Release a lease."""

    def deliver_all(self, workflow_id: str, results: "Results", claim_next: int) -> "list[Work]":
        """Write results of one run; return what was leased with the write."""

    def free(self, results: "Results") -> None:
        """Note that nothing more is to be done about these states."""


class Hands:
    """Serves the functions of a worker, at most `count` states at a time."""

    def __init__(self, worker: Served, count: int, stop: threading.Event) -> None:
        self._worker = worker
        self._count = count
        self._stop = stop
        self._changed = threading.Condition()
        self._todo: deque[Work] = deque()
        self._done: list[tuple[Work, Result]] = []
        self._cancelled: list[Work] = []
        self._held = 0
        self._threads = 0
        self._idle = 0
        self._alive: set[Callable[[], None]] = set()
        self._ends: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def serve(self, *, outlives: bool) -> None:
        """Work until told to stop, and finish the states in progress. Raise what ended a thread before.

        With `outlives` the other threads continue then, and the next call replaces the thread that ended. A thread that
        waits for an event cannot be stopped. With a second one it would take an event, and nothing would handle it.
        """
        for task in (self._listen, self._send):
            self._start(task)
        self._take([])
        while True:
            error = self._ends.get()
            if error is not None:
                if not outlives:
                    self._stop.set()
                raise error
            if self._is_over:
                return

    def _start(self, task: Callable[[], None]) -> None:
        with self._changed:
            if task in self._alive:
                return
            self._alive.add(task)
        threading.Thread(target=self._run, args=(task,), daemon=True).start()

    def wake(self) -> None:
        """Notice at once that the worker is told to stop."""
        with self._changed:
            self._changed.notify_all()

    def _run(self, task: Callable[[], None]) -> None:
        end: BaseException | None = None
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - raised by `serve`; also SystemExit of a function
            end = error
        with self._changed:
            self._alive.discard(task)
            self._changed.notify_all()
        self._ends.put(end)

    def _listen(self) -> None:
        """Lease the states of events, while a hand is free."""
        for event, _ in self._worker.events(self._stop, self._wait_for_a_hand, leases=False):
            if self._stop.is_set():
                return  # without an acknowledgement, so that another process of this agent gets the event
            try:
                work = self._worker.acquire(event)
            except DcfError as error:
                self._worker.drop(event, error)
                continue
            self._take([] if work is None else [work])
            if work is not None and "/" in work.state:
                self._take_others(work)

    def _take_others(self, work: "Work") -> None:
        """Lease further ready states after a state of a Parallel or Map, whose siblings are often ready too."""
        with self._changed:
            free = 0 if self._stop.is_set() else max(0, self._count - self._held)
            self._held += free  # so that a completion sent meanwhile does not ask for the same hands
        works: list[Work] = []
        try:
            works = self._worker.claim(work.workflow_id, free) if free else []
        except DcfError as error:
            log.warning("%s: nothing more is leased: %s", work.workflow_id, error.message)
        finally:
            with self._changed:
                self._held -= free
            self._take(works)

    def _wait_for_a_hand(self) -> None:
        with self._changed:
            while self._held >= self._count and not self._stop.is_set():
                self._changed.wait(1)

    def _take(self, works: Sequence["Work"]) -> None:
        """Begin what was leased: async functions at once, the others as soon as a thread is free."""
        beginning = [work for work in works if not self._stop.is_set() and self._worker.is_async(work)]
        with self._changed:
            self._todo.extend(work for work in works if work not in beginning)
            self._held += len(works)
            while self._idle < len(self._todo) and self._threads < self._count:
                self._threads += 1
                self._idle += 1
                threading.Thread(target=self._run, args=(self._work,), daemon=True).start()
            self._changed.notify_all()
        for work in beginning:
            self._worker.begin(work, partial(self._end, work))

    def _work(self) -> None:
        """Call functions, one after the other, until told to stop."""
        while (work := self._next()) is not None:
            try:
                result = self._worker.carry_out(work)
            except BaseException:
                with self._changed:
                    self._held -= 1  # its lease expires
                    self._threads -= 1
                raise
            self._end(work, result, None)
            with self._changed:
                self._idle += 1

    def _next(self) -> "Work | None":
        with self._changed:
            while not self._todo and not self._stop.is_set():
                self._changed.wait(1)
            if self._stop.is_set():
                return None
            self._idle -= 1
            return self._todo.popleft()

    def _end(self, work: "Work", result: Result | None, error: BaseException | None) -> None:
        """Record the outcome of a state, for the thread that sends. `error` is an exception that ends the thread."""
        if error is not None:
            self._ends.put(error)
        with self._changed:
            if error is not None:
                self._held -= 1
            elif result is None:
                self._cancelled.append(work)
            else:
                self._done.append((work, result))
            self._changed.notify_all()

    def _send(self) -> None:
        """Send results as they come. After the stop, send the last results, and release states not yet begun."""
        while True:
            with self._changed:
                while not (self._done or self._cancelled or self._is_over):
                    self._changed.wait(1)
                finished, self._done = self._done, []
                cancelled, self._cancelled = self._cancelled, []
            if not finished and not cancelled:
                break
            for work in cancelled:
                self._worker.abandon(work)
            with self._changed:
                self._held -= len(cancelled)
            by_run: dict[str, list[tuple[Work, Result]]] = defaultdict(list)
            for work, result in finished:
                by_run[work.workflow_id].append((work, result))
            for workflow_id, results in by_run.items():
                self._deliver(workflow_id, results)
        for work in self._todo:
            self._worker.give_back(work)

    @property
    def _is_over(self) -> bool:
        return self._stop.is_set() and self._held == len(self._todo)

    def _deliver(self, workflow_id: str, results: Sequence[tuple["Work", Result]]) -> None:
        """Send the results of one run until each is accepted or refused, and take what comes with them."""
        with self._changed:
            free = 0 if self._stop.is_set() else max(0, self._count - self._held + len(results))
        try:
            claimed = self._worker.deliver_all(workflow_id, results, free)
        except DcfError as error:
            log.warning("%s: results are given up: %s", workflow_id, error.message)
            claimed = []
        self._worker.free(results)
        with self._changed:
            self._held -= len(results)
        self._take(claimed)
