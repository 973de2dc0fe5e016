"""Serves Python functions inside a program, on threads, with the tools of its client. The work is done by `dcf.worker`.

It may not end the program: what ended the worker is kept, and raised where the program next asks.
"""

import queue
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from dcf.client.exchange import BlockingTransport
from dcf.steps.vocabulary import Flow
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dcf.worker import TaskFunction
    from dcf.worker.state_functions import StateFunction

_WAITS: Final = "await_workflow_event"
_NOTHING: Final[Json] = {"code": "ok", "status": "timeout"}
_POLL_S: Final = 0.1
_UNWIND_S: Final = 5.0
"""How long the thread of functions that were cancelled may take to end."""


@dataclass(frozen=True, slots=True)
class LentTools:
    """Tools for the threads of one `Serving`; `close` also breaks off a call that waits, where it can."""

    tools: BlockingTransport
    close: "Callable[[], object]"


class Serving:
    """Functions that work for one agent until `stop`; `client.serve` makes it."""

    def __init__(
        self,
        lent: LentTools,
        functions: "Mapping[str, TaskFunction] | Flow[..., Any]",
        agent_id: str,
        *,
        concurrency: int,
        lease_ttl_s: int,
        unassigned: bool = False,
    ) -> None:
        from dcf.worker import Worker  # noqa: PLC0415 - who only looks at runs needs none

        self._stop = threading.Event()
        self._is_drained = False
        self._failure: BaseException | None = None
        self._lent = lent
        self._worker = Worker(
            _StoppableTools(lent.tools, self._stop),
            agent_id,
            _functions_of(functions) if isinstance(functions, Flow) else functions,
            concurrency=concurrency,
            lease_ttl_s=lease_ttl_s,
            unassigned=unassigned,
        )
        self._thread = threading.Thread(target=self._serve, name=f"dcf-{agent_id}", daemon=True)
        self._thread.start()

    def stop(self, grace_s: float | None = None) -> None:
        """Take no more work, and wait until the functions that run have ended and their results are written.

        After `grace_s` seconds running functions are notified (`TaskContext.cancelled`), and their states are
        released, to be done again. A function that does not notice continues, and its result is ignored.
        """
        self._stop.set()
        if grace_s is not None:
            self._worker.drain(grace_s)
            self._thread.join(_UNWIND_S)
            self._is_drained = True
        elif not self._is_drained:
            self._thread.join()
        self._lent.close()

    async def stopped(self, grace_s: float | None = None) -> None:
        """Stop without blocking the event loop."""
        import anyio.to_thread  # noqa: PLC0415 - for programs that have an event loop

        await anyio.to_thread.run_sync(self.stop, grace_s)

    def check(self) -> None:
        """Raise what ended the worker, if anything but `stop` did."""
        if self._failure is not None and not self._stop.is_set():
            raise self._failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stopped()

    def _serve(self) -> None:
        try:
            self._worker.serve(self._stop)
        except BaseException as error:  # noqa: BLE001 - also SystemExit of a function; raised by `check`
            self._failure = error


def _functions_of(flow: "Flow[..., Any]") -> "Mapping[str, StateFunction]":
    from dcf.flow.compiling import compile_flow  # noqa: PLC0415 - only flows need it
    from dcf.worker.flow_functions import functions_of_all  # noqa: PLC0415 - only flows need it

    return functions_of_all([compile_flow(flow)])


class _StoppableTools:
    """The tools for a worker, whose wait for an event ends when it is to stop.

    An event that comes after that is not acknowledged, so that the next process that serves the agent gets it. A wait
    leases no state: a lease that came after the stop would be lost.
    """

    def __init__(self, tools: BlockingTransport, stop: threading.Event) -> None:
        self._tools = tools
        self._stop = stop

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer; that nothing came, if the worker is to stop while it waits."""
        if tool != _WAITS:
            return self._tools.call(tool, **arguments)
        simple_queue: queue.SimpleQueue[dict[str, Json] | BaseException] = queue.SimpleQueue()
        told_only = {**arguments, "lease": False}
        threading.Thread(target=self._wait, args=(told_only, simple_queue), daemon=True).start()
        while not self._stop.is_set():
            try:
                answer = simple_queue.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            if isinstance(answer, BaseException):
                raise answer
            return answer
        return dict(_NOTHING)

    def _wait(self, arguments: dict[str, Json], answers: "queue.SimpleQueue[dict[str, Json] | BaseException]") -> None:
        try:
            answers.put(self._tools.call(_WAITS, **arguments))
        except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
            answers.put(error)
