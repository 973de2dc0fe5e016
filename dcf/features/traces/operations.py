"""Sends the trace of each run that has ended to a collector, made from its history, once.

The timer loop asks for it before it takes an ended run off its list (`clock.py`), and never waits: a thread sends. So a
run stays on the list until its trace was sent; if the process dies before that, the loop of another sends it, with the
same ids. A collector that does not answer is tried a few times: then the run is left to `dcf runs trace`.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Final, TypeAlias

from dcf.errors import DcfError, PlatformUnavailable
from dcf.features.export.operations import Exports
from dcf.features.traces.storage import TraceMark, TraceMarks
from dcf.store.connection.connections import Connections
from dcf.telemetry import tracing
from dcf.telemetry.otlp import can_send, send
from dcf.telemetry.spans import RunSpan, spans_of
from dcf.values.instants import SECOND, from_text

_log = logging.getLogger(__name__)

_TRIES: Final = 3
_REST_S: Final = 4.0
"""Seconds of rest after a collector failed: otherwise each of many runs would wait for it."""
_MOST_WAITING: Final = 100
_OLDEST: Final = 24 * 3600 * SECOND
"""A run that ended longer ago is not sent: it ended before anybody wanted traces, and collectors refuse the old."""
_GRACE_S: Final = 3.0
_TIMEOUT_S: Final = 4.0
_POLL_S: Final = 0.05

Send: TypeAlias = Callable[[str, Sequence[RunSpan]], object]
"""Sends the spans of a run; raises a DcfError if the collector does not take them."""


class RunTraces:
    """Sends traces, on a thread of its own."""

    def __init__(self, exports: Exports, marks: TraceMarks, send: Send) -> None:
        self._exports = exports
        self._marks = marks
        self._send = send
        self._queue: SimpleQueue[tuple[str, int] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._failed: dict[str, int] = {}
        self._rests_until = 0.0

    def is_settled(self, workflow_id: str, finished_at: int | None, now: int) -> bool:
        """Return True if the trace of an ended run was sent, or need not be; else have it sent."""
        if finished_at is None or now - finished_at > _OLDEST:
            return True
        if self._queue.qsize() >= _MOST_WAITING:
            return False
        mark = self._marks.take(workflow_id, finished_at)
        if mark is TraceMark.MINE:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="dcf-traces", daemon=True)
                self._thread.start()
            self._queue.put((workflow_id, finished_at))
        return mark is TraceMark.SENT

    def finish(self, workflow_id: str, timeout_s: float) -> None:
        """Send the trace of an ended run, or wait until another process has sent it. A failure is logged."""
        try:
            self._finish(workflow_id, timeout_s)
        except DcfError as error:
            _log.warning("trace of run %s is not sent: %s", workflow_id, error.message)

    def _finish(self, workflow_id: str, timeout_s: float) -> None:
        finished_at = from_text(self._exports.head(workflow_id)["meta"].get("finished_at"))
        until = time.monotonic() + timeout_s
        while finished_at is not None and time.monotonic() < until:
            mark = self._marks.take(workflow_id, finished_at)
            if mark is TraceMark.SENT:
                return
            if mark is TraceMark.MINE:
                self._tell(workflow_id, finished_at, tries=1)
            else:
                time.sleep(_POLL_S)

    def close(self) -> None:
        """Take no more, and wait briefly for what is being sent."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(_GRACE_S)

    def _work(self) -> None:
        while (export := self._queue.get()) is not None:
            try:
                self._tell(*export)
            except Exception:  # noqa: BLE001 - a defect met in one run must not end the traces of the others
                _log.exception("trace of run %s", export[0])

    def _tell(self, workflow_id: str, finished_at: int, *, tries: int = _TRIES) -> None:
        """Send the trace and note it; if that fails, let it be tried again or give it up."""
        try:
            if time.monotonic() < self._rests_until:
                raise PlatformUnavailable("The collector did not answer just now.")
            self._send(workflow_id, self._spans(workflow_id))
        except DcfError as error:
            self._rests_until = time.monotonic() + _REST_S
            self._failed[workflow_id] = self._failed.get(workflow_id, 0) + 1
            if self._failed[workflow_id] < tries:
                self._marks.put_off(workflow_id)
                return
            _log.warning("trace of run %s is not sent (dcf runs trace sends it): %s", workflow_id, error.message)
        self._failed.pop(workflow_id, None)
        self._marks.settle(workflow_id, finished_at)

    def _spans(self, workflow_id: str) -> list[RunSpan]:
        name = str(self._exports.head(workflow_id)["meta"].get("workflow_name") or "workflow")
        return spans_of(workflow_id, name, (event.as_json() for event in self._exports.events(workflow_id)))


@contextmanager
def open_traces(exports: Exports, connections: Connections) -> Iterator[RunTraces | None]:
    """Yield what sends the traces of this process; None if it takes part in none, or has nothing to send them with."""
    if tracing.current is None or not can_send():
        yield None
        return
    made = RunTraces(
        exports, TraceMarks(connections), partial(send, url=tracing.current.collector, timeout_s=_TIMEOUT_S)
    )
    try:
        yield made
    finally:
        made.close()
