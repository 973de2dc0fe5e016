"""One call of a task function for a state whose lease is held, on this thread or on the event loop.

It may be cancelled meanwhile. Decides nothing about leases.
"""

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from dcf.errors import DcfError, InvalidArgument
from dcf.telemetry import surroundings
from dcf.values.json_text import Json, parse
from dcf.values.records import record, replace
from dcf.worker.context import TaskContext, idempotency_key_of
from dcf.worker.functions import TaskPlan
from dcf.worker.invocations import answer_of_lambda, payload_of
from dcf.worker.parking import limit_of, parked
from dcf.worker.results import USAGE, Result, failed, sendable, succeeded

if TYPE_CHECKING:
    from concurrent.futures import Future

    from dcf.core.documents.usage import BilledTurn, UsageReport
    from dcf.worker.loop import TaskLoop

log = logging.getLogger(__name__)

Ended: TypeAlias = Callable[[Result | None, BaseException | None], None]
"""Takes the result of a call, None if it was cancelled, or what ends the process."""

_CANCELLED: Final = "CancelledError"
"""That of asyncio, which is no Exception; importing it takes long."""

BRIEF: Final = ("skills", "last_error", "parked", "questions", "gates", "failed_criteria", "resource")
"""The fields of a leased state that a function gets in `TaskContext.brief`."""

_ADDING: Final = threading.Lock()
"""Held while what a call used up is added to: a function may report from threads of its own."""

_MOST_LINES: Final = 100
_LONGEST_MESSAGE: Final = 2000
_MOST_BYTES: Final = 4096
"""Limits of the lines of a lease (`features/task_log/rules.py`, which a worker does not import)."""


@record(frozen=True, slots=True, kw_only=True)
class Work:
    """A state whose lease this worker holds; inside a Parallel or Map `state` is its path, which ends with its name.

    `visit` is the epoch of what entered the state: the same for all of its attempts. `deadline` is that of
    TimeoutSeconds, `heartbeat_s` the HeartbeatSeconds, `task_token` what a Task hands out that waits for a callback.
    `sign_within_s`: the lease ends after these seconds, unless a call has its token before.
    `instructions`, `output_schema` and `errors` are what the Task tells its worker. `is_invocation`: the input is that
    of `arn:aws:states:::lambda:invoke`.
    `brief` is the whole of what the server said of it.
    """

    workflow_id: str
    state: str
    token: str
    given: Json = field(compare=False)
    attempt: int = field(default=1, compare=False)
    epoch: int = field(default=0, compare=False)
    visit: int = field(default=0, compare=False)
    deadline: str | None = field(default=None, compare=False)
    heartbeat_s: int | None = field(default=None, compare=False)
    sign_within_s: float | None = field(default=None, compare=False)
    task_token: str | None = field(default=None, compare=False, repr=False)
    instructions: str | None = field(default=None, compare=False, repr=False)
    output_schema: Mapping[str, Json] | bool | None = field(default=None, compare=False, repr=False)
    errors: tuple[str, ...] = field(default=(), compare=False)
    is_invocation: bool = field(default=False, compare=False)
    brief: Mapping[str, Json] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The run and the path of the state, for messages."""
        return f"{self.workflow_id}/{self.state}"


class Office(Protocol):
    """The operations of a worker that a call needs while the function runs."""

    @property
    def agent_id(self) -> str:
        """The lease holder: the agent for which the worker runs."""

    def renew(self, work: Work) -> str | None:
        """Extend the lease now; return why it is lost, or None."""

    def log_event(self, work: Work, number: int, message: str, fields: Mapping[str, Json]) -> str | None:
        """Write a line into the history; return why it is refused, or None."""

    def leave_note(self, work: Work, text: str) -> dict[str, Json]:
        """Leave a note for the planner; return the answer."""

    def ask_question(self, work: Work, question: str, choices: Sequence[str]) -> dict[str, Json]:
        """Ask the planner, and give the state back; return the answer."""


class TaskCall:
    """A call of a function, which may be cancelled while it runs: the line of its context to the control plane."""

    _used: "UsageReport | None" = None

    def __init__(self, work: Work, plan: TaskPlan, office: Office) -> None:
        self.work = work
        self._plan = plan
        self._office = office
        self._why: str | None = None
        self._loop: TaskLoop | None = None
        self._stop: Callable[[], None] | None = None
        self._sent: Future[None] | None = None
        self._context = self._new_context() if plan.takes_context else None

    def cancel(self, why: str) -> None:
        """Tell the function to stop, because its result is no longer needed. A result is still sent."""
        self._why = why
        if self._context is not None:
            self._context.cancelled.set()
        if self._stop is not None:
            self._stop()

    def run(self) -> Result | None:
        """Call the function and wait for its end; None if it was cancelled."""
        if self._plan.is_async:
            ends: queue.SimpleQueue[tuple[Result | None, BaseException | None]] = queue.SimpleQueue()
            self.start(lambda result, error: ends.put((result, error)))
            result, error = ends.get()
            if error is not None:
                raise error
            return result
        plan = self._plan
        try:
            task_input = self._task_input()
            output = self._called(task_input) if surroundings.is_watched else plan.call(task_input, self._context)
            if type(output) is CoroutineType:
                output.close()
                raise TypeError("It returned a coroutine: declare the function with async def.")  # noqa: TRY301
            result = self._succeeded(output)
        except Exception as error:  # noqa: BLE001 - an exception of a user's function fails the state, not the worker
            result = self._failed(error)
        except BaseException as error:
            if type(error).__name__ != _CANCELLED:
                raise
            result = self._failed(error)  # of an event loop that the function ran itself
        return result if self._used is None else self._with_usage(result)

    def _called(self, task_input: Json) -> Any:
        with self._surrounded():
            return self._plan.call(task_input, self._context)

    def _surrounded(self) -> AbstractContextManager[None]:
        work = self.work
        return surroundings.work(work.workflow_id, work.state, work.epoch, self._office.agent_id)

    def start(self, ended: Ended) -> None:
        """Begin an async function on the event loop; `ended` is called there and must not wait."""
        from dcf.worker.loop import LOOP  # noqa: PLC0415 - asyncio takes long to import, and few workers need it

        self._loop = LOOP
        self._stop = LOOP.start(self._carry_out, partial(self._end, ended))
        if self._why is not None:
            self._stop()

    async def _carry_out(self) -> Json:
        plan, task_input = self._plan, self._task_input()
        if surroundings.is_watched:
            with self._surrounded():
                output = await plan.call(task_input, self._context)
        else:
            output = await plan.call(task_input, self._context)
        return self._succeeded(output)

    def _task_input(self) -> Any:
        work, read = self.work, self._plan.read
        value = payload_of(work.given) if work.is_invocation else work.given
        return value if read is None else read(value)

    def _succeeded(self, output: Any) -> Result:
        output = output if self._plan.write is None else self._plan.write(output)
        is_wrapped = self.work.is_invocation and self.work.task_token is None
        return succeeded(answer_of_lambda(output) if is_wrapped else output)

    def _end(self, ended: Ended, result: Any, error: BaseException | None) -> None:
        """Tell the end, after what the function still sends."""
        if isinstance(error, KeyboardInterrupt | SystemExit):
            ending = partial(ended, None, error)
        else:
            output = result if error is None else self._failed(error)
            ending = partial(ended, output if self._used is None else self._with_usage(output), None)
        if self._sent is None or self._sent.done():
            ending()
        else:
            self._sent.add_done_callback(lambda _: ending())

    def _failed(self, error: BaseException) -> Result | None:
        if self._why is not None:
            log.warning("%s: the function stops: %s", self.work.name, self._why)
            return None
        if not isinstance(error, Exception):  # CancelledError, which the function caused itself
            error = RuntimeError(f"{type(error).__name__}: the function cancelled itself.")
        limit = limit_of(error)
        return failed(error, self.work.name) if limit is None else parked(limit, self.work.brief)

    def _new_context(self) -> TaskContext:
        work = self.work
        return TaskContext(
            workflow_id=work.workflow_id,
            state=work.state,
            attempt=work.attempt,
            epoch=work.epoch,
            idempotency_key=idempotency_key_of(work.workflow_id, work.state, work.visit),
            deadline=None if work.deadline is None else datetime.fromisoformat(work.deadline),
            task_token=work.task_token,
            instructions=work.instructions,
            output_schema=work.output_schema,
            errors=work.errors,
            brief={name: work.brief[name] for name in BRIEF if name in work.brief},
            _line=self,
        )

    def renew(self) -> None:
        """Extend the lease now; cancel the call if it is lost."""
        self._send(self._renew, is_awaited=True)

    def log(self, number: int, message: str, fields: Mapping[str, Json]) -> None:
        """Write a line into the history, up to the most that a lease may have."""
        if number <= _MOST_LINES:
            self._send(partial(self._log, number, message, fields))
        elif number == _MOST_LINES + 1:
            log.warning("%s: of its log the history has %d lines, and no more.", self.work.name, _MOST_LINES)

    def leave_note(self, text: str) -> dict[str, Json]:
        """Leave a note for the planner; return the answer."""
        return self._office.leave_note(self.work, text)

    def ask_question(self, question: str, choices: Sequence[str]) -> dict[str, Json]:
        """Ask the planner, and give the state back; return the answer."""
        return self._office.ask_question(self.work, question, choices)

    def report_usage(self, usage: "UsageReport") -> None:
        """Add this to what the call used up."""
        with _ADDING:
            self._used = usage if self._used is None else self._used.with_more(usage)

    def settle_turn(self, turn: "BilledTurn") -> None:
        """Have a reserved turn settled with the result."""
        from dcf.core.documents.usage import UsageReport  # noqa: PLC0415 - few functions have an account

        with _ADDING:
            self._used = replace(self._used or UsageReport(), turn=turn)

    def _with_usage(self, result: Result | None) -> Result | None:
        return result if result is None or self._used is None else {**result, USAGE: self._used.as_json()}

    def _send(self, call: Callable[[], None], *, is_awaited: bool = False) -> None:
        """Make a call for the function: at once, or in the sender thread of the event loop. Other threads may wait.

        An async function may send from a thread of its own. Those calls go through the sender thread too, so that all
        arrive in order.
        """
        if self._loop is None:
            call()
            return
        self._sent = sent = self._loop.beside(call)
        if is_awaited and not self._loop.is_here():
            sent.result()

    def _renew(self) -> None:
        refusal = self._refusal("the heartbeat is not sent", lambda: self._office.renew(self.work))
        if refusal is not None:
            self.cancel(refusal)

    def _log(self, number: int, message: str, fields: Mapping[str, Json]) -> None:
        """Write a line into the history, or say in the worker's log why it is not written."""
        subject = f"line {number} is not written into the history"
        try:
            members = parse(dict(fields), name="its fields", max_bytes=_MOST_BYTES)
        except InvalidArgument as error:
            log.warning("%s: line %d is written without its fields: %s", self.work.name, number, error.message)
            members = {}
        text = sendable(message, _LONGEST_MESSAGE)
        refusal = self._refusal(subject, lambda: self._office.log_event(self.work, number, text, members))
        if refusal is not None:
            log.warning("%s: %s: %s", self.work.name, subject, refusal)

    def _refusal(self, subject: str, ask: Callable[[], str | None]) -> str | None:
        try:
            return ask()
        except DcfError as error:
            log.warning("%s: %s: %s", self.work.name, subject, error.message)
            return None
