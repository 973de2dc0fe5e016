"""The context of a call of a task function: facts besides the input, and operations while the function runs.

It must not know tools: the maker of a context passes a `ContextLine` to the control plane.
"""

import hashlib
import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from dcf.errors import DcfError
from dcf.values.json_text import Json
from dcf.values.records import record

if TYPE_CHECKING:
    from decimal import Decimal

    from dcf.core.documents.usage import BilledTurn, UsageReport


class TaskCancelled(DcfError):
    """Raised in a task function whose result is no longer needed; let it pass."""

    code = "task_cancelled"
    default_hint = "Stop: the run has ended, another worker has the state, or this worker is stopping."


class ContextLine(Protocol):
    """The operations of a context at the control plane. A context without a line has none of them."""

    def renew(self) -> None:
        """Extend the lease now, which restarts HeartbeatSeconds."""

    def log(self, number: int, message: str, fields: Mapping[str, Json]) -> None:
        """Write a line into the history of the run; `number` counts those of this lease from 1."""

    def leave_note(self, text: str) -> dict[str, Json]:
        """Leave a note for the planner, and return the answer."""

    def ask_question(self, question: str, choices: Sequence[str]) -> dict[str, Json]:
        """Ask the planner, which gives the state back; return the answer."""

    def report_usage(self, usage: "UsageReport") -> None:
        """Add this to what the call used up."""

    def settle_turn(self, turn: "BilledTurn") -> None:
        """Have a reserved turn settled with the output or the failure."""
        ...

    def cancel(self, why: str) -> None:
        """End this call: its result is no longer needed."""


@record(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """Which call of a function this is: a function with a parameter `context`, or one of this type, gets it.

    `state` is the path of the state, such as `Each/17/Score`. `attempt` counts the leases of the state, from 1. `epoch`
    grows with each lease: an outside system keeps the largest and refuses smaller ones. So a replaced worker has no
    effect there. `idempotency_key` is the same in all attempts of one visit of the
    state, and another in each visit and each run (`idempotency_key_of`). `deadline` is when TimeoutSeconds end.
    `task_token` is that of a Task that waits for a callback (`.waitForTaskToken`): hand it out, and return.
    `instructions`, `output_schema` and `errors` are what the Task says in the fields of these names, its expressions
    filled in: a function that asks a model passes them on. `brief` is what else the server says of the work (skills,
    last_error, questions, gates, failed_criteria). `cancelled` is set once the result is not needed: the run has
    ended, or the lease is lost.

    `TaskContext()` belongs to no run. As the default of a parameter it lets a flow call the task without the context.
    """

    workflow_id: str = ""
    state: str = ""
    attempt: int = 1
    epoch: int = 0
    idempotency_key: str = ""
    deadline: datetime | None = None
    task_token: str | None = field(default=None, repr=False)
    instructions: str | None = field(default=None, repr=False)
    output_schema: Mapping[str, Json] | bool | None = field(default=None, repr=False)
    errors: tuple[str, ...] = ()
    brief: Mapping[str, Json] = field(default_factory=dict, compare=False, repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)
    _line: ContextLine | None = field(default=None, compare=False, repr=False)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), compare=False, repr=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @property
    def traceparent(self) -> str:
        """The W3C header of this attempt's span in the run's trace: pass it on, and what is called stands below it."""
        from dcf.telemetry.ids import traceparent  # noqa: PLC0415 - few functions ask for it

        return traceparent(self.workflow_id, self.state, self.epoch)

    def check(self) -> None:
        """Raise TaskCancelled if the result is no longer needed."""
        if self.cancelled.is_set():
            raise TaskCancelled(f"The result of '{self.state}' of run '{self.workflow_id}' is no longer needed.")

    def heartbeat(self) -> None:
        """Say that the work continues: restarts HeartbeatSeconds. Raise TaskCancelled as `check` does.

        In an async function it returns at once and is sent in the background.
        """
        self.check()
        if self._line is not None:
            self._line.renew()
        self.check()

    def log(self, message: str, /, **fields: Json) -> None:
        """Write a line into the history of the run (`dcf runs events`). It never fails the function.

        At most 100 lines for each lease, of 2,000 characters and 4,096 bytes of fields; what is more is left out. In an
        async function it returns at once; the line is written before the result.
        """
        if self._line is None:
            return
        with self._writing:
            self._line.log(next(self._numbers), message, fields)

    def report_usage(
        self,
        *,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        cost: "str | float | Decimal | None" = None,
        currency: str | None = None,
        seconds: float | None = None,
        model: str | None = None,
        tokens_cached: int | None = None,
        tokens_cache_written: int | None = None,
        models: Mapping[str, Mapping[str, Json]] | None = None,
    ) -> None:
        """Say what the work used up; several calls are added up, and sent with the output or the failure.

        `cost` is money of the `currency` (`EUR`). `tokens_cached` were read from the provider's cache and
        `tokens_cache_written` written to it; `tokens_in` are the others. `models` has the same by model, in place of
        `model`. Raise InvalidArgument for what is no usage.
        """
        from dcf.core.documents.usage import read_reported  # noqa: PLC0415 - few functions say what they used

        amounts = {"tokens_in": tokens_in, "tokens_out": tokens_out, "cost": cost, "currency": currency}
        amounts |= {"tokens_cached": tokens_cached, "tokens_cache_written": tokens_cache_written}
        report = read_reported({**amounts, "seconds": seconds, "model": model, "models": models})
        if self._line is not None:
            self._line.report_usage(report)

    def leave_note(self, text: str) -> str | None:
        """Tell the run's planner what is no result (`leave_note`); return why it was refused, or None."""
        answer = {"code": "ok"} if self._line is None else self._line.leave_note(text)
        return None if answer.get("code") == "ok" else str(answer.get("error"))

    def ask_question(self, question: str, choices: Sequence[str] = ()) -> str | None:
        """Ask the planner what the function cannot decide (`ask_question`); return why it was refused, or None.

        The state is released until the answer comes, and this call is cancelled: return soon. The next one finds the
        answer in `brief["questions"]`.
        """
        if self._line is None:
            return "this call belongs to no run, so it has no planner"
        answer = self._line.ask_question(question, choices)
        if answer.get("code") != "ok":
            return str(answer.get("error"))
        self._line.cancel("it asked a question")
        return None


def idempotency_key_of(workflow_id: str, state: str, visit: int) -> str:
    """Return the key of a visit, for effects outside that must happen once.

    It is made of the run's id, the path of the state, and the epoch of what entered the state: `dcf-` and the first 32
    hex digits of the SHA-256 of these, each on a line of its own. So a retry, a takeover and a worker that was started
    again have the same key; another turn of a loop, another iteration and another run have another.
    """
    text = f"{workflow_id}\n{state}\n{visit}"
    return f"dcf-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def settle_turn(context: TaskContext, turn: "BilledTurn") -> None:
    """Have a turn settled with the result of a call, for the host that reserved it."""
    if context._line is not None:  # noqa: SLF001 - it is no operation of task functions
        context._line.settle_turn(turn)  # noqa: SLF001
