"""Serves Python functions as workers: a user registers a function for a state, and a worker process runs it.

A worker knows nothing of Redis; it calls dcf's tools over any transport. It may be killed at any moment: its lease
expires, the assigned agents are notified, and unfinished work is done again. While it lives, it keeps a finished
result and retries until the server accepts or refuses it, however long that takes.
"""

import logging
import random
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

from dcf.asl.state_paths import name_of
from dcf.errors import PASSING, DcfError, InvalidArgument
from dcf.hands import Hands
from dcf.renewals import Renewals
from dcf.task_context import TaskContext, wants_context
from dcf.values.json_text import Json, dump, parse

log = logging.getLogger(__name__)

TaskFunction: TypeAlias = Callable[..., Json]
Function = TypeVar("Function", bound=TaskFunction)

_LONGEST_ERROR = 200
_LONGEST_CAUSE = 20_000
_RENEWALS_PER_LEASE = 3
_LONGEST_PAUSE_S = 5.0
_WAITED_FOR = (PASSING | {"quota_exceeded"}) - {"internal_error"}
"""Codes after which a finished result is sent again; internal_error is none, since a bug would repeat it."""


class TaskFailed(DcfError):
    """Raise it in a task function to fail the state, with an ASL error name and a cause in words."""

    code = "task_failed"
    default_hint = "The state's Catch, if any, decides what follows; otherwise the run fails with this error."

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(cause)
        self.error = error
        self.cause = cause


class ToolCaller(Protocol):
    """Calls dcf's tools over some transport."""

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; retry until a deadline while the server does not answer."""
        ...


FUNCTIONS: dict[str, TaskFunction] = {}
"""The functions registered in this process, by state name."""

_PLACES: dict[str, str] = {}
"""The place in code where each function was registered, by state name."""


def task(state: str) -> Callable[[Function], Function]:
    """Register the function for the states of this name, wherever in the workflow they stand.

    The function gets the state's input and returns its output, both JSON values; one with a parameter `context` gets a
    `TaskContext` there. Raises InvalidArgument if the name
    is missing or other code has registered a function for it.
    """
    if not isinstance(state, str) or not state:
        raise InvalidArgument("@task was not given the name of a state.", 'Write @task("StateName").')
    caller = sys._getframe(1)  # noqa: SLF001 - documented, and the only way to tell two places from one that runs again
    place = f"{caller.f_code.co_filename}, line {caller.f_lineno}"
    before = _PLACES.get(state)
    if state in FUNCTIONS and before not in {None, place}:
        raise InvalidArgument(
            f"Two functions are registered for the state '{state}': at {before}, and at {place}.",
            "Keep one of them; a state has one function.",
        )

    def register(function: Function) -> Function:
        FUNCTIONS[state], _PLACES[state] = function, place
        return function

    return register


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A state whose lease this worker holds; inside a Parallel or Map `state` is its path, which ends with its name."""

    workflow_id: str
    state: str
    token: str
    given: Json = field(compare=False)
    attempt: int = field(default=1, compare=False)
    epoch: int = field(default=0, compare=False)


Results: TypeAlias = Sequence[tuple[Work, Mapping[str, Json]]]
"""States with the arguments that report what came of them."""


class Worker:
    """Serves task functions for one agent id: awaits an event, leases its state, works, writes.

    The write ends the lease, has the agents of what follows told, and brings the lease on the next state, if there is
    one for this agent. So between two functions there is one call.
    """

    def __init__(
        self,
        tools: ToolCaller,
        agent_id: str,
        functions: Mapping[str, TaskFunction] | None = None,
        *,
        concurrency: int = 1,
        lease_ttl_s: int = 30,
        wait_s: float = 20,
        pause_s: float = 1.0,
    ) -> None:
        self._tools = tools
        self._agent_id = agent_id
        self._functions = FUNCTIONS if functions is None else functions
        self._concurrency = concurrency
        self._ttl_s = lease_ttl_s
        self._wait_s = wait_s
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._renewals = Renewals(self._renew, lease_ttl_s / _RENEWALS_PER_LEASE)

    def serve(self, stop: threading.Event | None = None) -> None:
        """Handle events until told to stop; raise if the server cannot be reached at first, later retry.

        With a `concurrency` above 1 so many functions run at a time, on threads.
        """
        self._stop = stop or self._stop
        if self._concurrency > 1:
            Hands(self, self._concurrency, self._stop).serve()
            return
        for event in self.events(self._stop):
            try:
                self.handle(event)
            except DcfError as error:
                self.drop(event, error)

    def handle(self, event: Mapping[str, Json]) -> None:
        """Lease and execute the state of an event, then the next states whose leases come with the completion."""
        work = self.acquire(event)
        while work is not None:
            result = self.carry_out(work)
            answer = self._deliver(work, partial(self._write, work, result))
            claimed = None if answer is None else answer.get("claimed")
            work = None if claimed is None else self._claimed(work.workflow_id, claimed)

    def events(self, stop: threading.Event, before: Callable[[], None] = lambda: None) -> Iterator[Mapping[str, Json]]:
        """Yield events until told to stop; call `before` each wait. Asking for the next acknowledges an event."""
        handled: str | None = None
        reached = False
        while not stop.is_set():
            before()
            try:
                answer = self._await_event(handled)
            except DcfError as error:
                if not reached or error.code not in PASSING:
                    raise
                log.warning("%s waits on: %s", self._agent_id, error.message)
                continue
            reached = True
            handled = answer.get("message_id")
            if answer.get("status") == "event":
                yield answer["event"]

    def drop(self, event: Mapping[str, Json], error: DcfError) -> None:
        """Log that an event could not be handled. One that always fails must not be delivered forever.

        The lease, if it was granted, expires, and the clock notifies again.
        """
        run, state = event.get("workflow_id"), event.get("target_state")
        log.warning("%s/%s: the event is dropped: %s", run, state, error.message)

    def acquire(self, event: Mapping[str, Json]) -> Work | None:
        """Lease the state of an event; None if the lease is refused or there is no function for it."""
        workflow_id, state = str(event.get("workflow_id")), event.get("target_state")
        if not isinstance(state, str) or name_of(state) not in self._functions:
            log.warning("no function is registered for state %r; the event is dropped", state)
            return None
        token = f"lease-{secrets.token_hex(16)}"
        answer = self._tools.call(
            "acquire_state_lease",
            workflow_id=workflow_id,
            state=state,
            owner_agent_id=self._agent_id,
            lease_ttl_s=self._ttl_s,
            lease_token=token,
        )
        if answer.get("code") != "ok":
            log.info("%s/%s: %s", workflow_id, state, answer.get("error"))
            return None
        return _work(workflow_id, state, token, answer, answer.get("updated_state"))

    def claim(self, workflow_id: str, most: int) -> list[Work]:
        """Lease ready states of a run, so many at most."""
        token = f"lease-{secrets.token_hex(16)}"
        answer = self._tools.call(
            "claim_ready_state",
            workflow_id=workflow_id,
            owner_agent_id=self._agent_id,
            lease_ttl_s=self._ttl_s,
            lease_token=token,
            claim_next=most,
        )
        if answer.get("code") != "ok":
            return []
        first = {**answer, "attempts": answer["updated_state"]["attempts"]}
        found = [self._claimed(workflow_id, one) for one in (first, *answer["claimed"])]
        return [work for work in found if work is not None]

    def carry_out(self, work: Work) -> Mapping[str, Json]:
        """Call the function, and keep the lease meanwhile; return the arguments that report its outcome."""
        with self._renewals.holding(work):
            return self._result(work)

    def deliver_all(self, workflow_id: str, results: Results, claim_next: int) -> list[Work]:
        """Write results of one run with one call until each is accepted or refused. Return what was leased with it."""
        claimed: list[Work | None] = []
        while results:
            answer = self._deliver(results[0][0], partial(self._write_all, workflow_id, results, claim_next))
            if answer is None:
                break
            claimed += [self._claimed(workflow_id, one) for one in answer["claimed"]]
            claim_next -= len(answer["claimed"])
            results = _to_send_again(results, answer["completed"])
            if results and self._stop.wait(self._pause_s):
                break
        return [work for work in claimed if work is not None]

    def give_back(self, work: Work) -> None:
        """Release a lease. If the call fails, the lease expires, so a failure is only logged."""
        try:
            self._tools.call(
                "release_state_lease", workflow_id=work.workflow_id, state=work.state, lease_token=work.token
            )
        except DcfError as error:
            log.warning("%s/%s: the lease is not given back: %s", work.workflow_id, work.state, error.message)

    def _await_event(self, handled: str | None) -> dict[str, Json]:
        return self._tools.call(
            "await_workflow_event", agent_id=self._agent_id, timeout_s=self._wait_s, ack_message_id=handled
        )

    def _deliver(self, work: Work, write: Callable[[], dict[str, Json]]) -> dict[str, Json] | None:
        """Write what came of a state until the server answers; None if it refuses, or cannot be told of it.

        No other process has the result. A lease that expired meanwhile is valid until another agent takes it.
        """
        pause = self._pause_s
        while True:
            try:
                answer = write()
                if answer.get("code") == "ok":
                    return answer
                why, code = answer.get("error"), answer.get("code")
            except DcfError as error:
                why, code = error.message, error.code
            if code not in _WAITED_FOR:
                break
            log.warning("%s/%s: the result is kept and sent again: %s", work.workflow_id, work.state, why)
            if self._stop.wait(pause * random.uniform(0.5, 1)):  # nosec B311 # noqa: S311 - jitter, not a secret
                why = "the worker was told to stop"
                break
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        log.warning("%s/%s: the result is given up: %s", work.workflow_id, work.state, why)
        return None

    def _result(self, work: Work) -> dict[str, Json]:
        """Call the function; return the arguments that report its outcome."""
        try:
            output = _json_text(_call(self._functions[name_of(work.state)], work))
        except TaskFailed as failure:
            return _failure(failure.error, failure.cause)
        except InvalidArgument as error:
            return _failure("DCF.InvalidOutput", error.message)
        except Exception as error:  # an exception of a user's function fails the state, not the worker
            log.exception("%s/%s failed", work.workflow_id, work.state)
            return _failure("States.TaskFailed", _in_words(error))
        return {"new_status": "succeeded", "output_json": output}

    def _write(self, work: Work, result: Mapping[str, Json]) -> dict[str, Json]:
        return self._tools.call(
            "update_workflow_control_plane",
            workflow_id=work.workflow_id,
            state=work.state,
            lease_token=work.token,
            owner_agent_id=self._agent_id,
            claim_next=True,
            lease_ttl_s=self._ttl_s,
            **result,
        )

    def _write_all(self, workflow_id: str, results: Results, claim_next: int) -> dict[str, Json]:
        sent: list[Json] = [
            {"state": work.state, "lease_token": work.token}
            | {name: value for name, value in result.items() if name != "new_status"}
            for work, result in results
        ]
        return self._tools.call(
            "complete_states",
            workflow_id=workflow_id,
            results=sent,
            claim_next=claim_next,
            owner_agent_id=self._agent_id,
            lease_ttl_s=self._ttl_s,
        )

    def _claimed(self, workflow_id: str, claimed: Mapping[str, Json]) -> Work | None:
        work = _work(workflow_id, claimed["state"], claimed["lease"]["token"], claimed, claimed)
        if name_of(work.state) in self._functions:
            return work
        self.give_back(work)
        return None

    def _renew(self, work: Work) -> str | None:
        """Extend the lease, also an expired one that no other agent has taken; return why it was refused, or None."""
        answer = self._tools.call(
            "renew_state_lease",
            workflow_id=work.workflow_id,
            state=work.state,
            lease_token=work.token,
            reject_if_expired=False,
        )
        return None if answer.get("code") == "ok" else str(answer.get("error"))


def _work(
    workflow_id: str, state: str, token: str, granted: Mapping[str, Json], counted: Mapping[str, Json] | None
) -> Work:
    """Return the work that was granted; `counted` has the attempts of the state."""
    return Work(
        workflow_id=workflow_id,
        state=state,
        token=token,
        given=granted.get("input"),
        attempt=(counted or {}).get("attempts", 1),
        epoch=(granted.get("lease") or {}).get("epoch", 0),
    )


def _call(function: TaskFunction, work: Work) -> Json:
    if not wants_context(function):
        return function(work.given)
    context = TaskContext(workflow_id=work.workflow_id, state=work.state, attempt=work.attempt, epoch=work.epoch)
    return function(work.given, context=context)


def _to_send_again(results: Results, told: Sequence[Mapping[str, Json]]) -> Results:
    """Return the results that were neither accepted nor refused for good; log why they were not accepted."""
    for (work, _), found in zip(results, told, strict=True):
        if found["code"] != "ok":
            log.warning("%s/%s: the result is not accepted: %s", work.workflow_id, work.state, found["error"])
    return [one for one, found in zip(results, told, strict=True) if found["code"] in _WAITED_FOR]


def _json_text(output: Json) -> str:
    """Return the output as JSON text, so that an output that is a string stays a string."""
    return dump(parse([output], name="the output")[0])


def _failure(error: str, cause: str) -> dict[str, Json]:
    name = _sendable(error, _LONGEST_ERROR) or "States.TaskFailed"
    return {"new_status": "failed", "error_name": name, "error_message": _sendable(cause, _LONGEST_CAUSE)}


def _in_words(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an exception of a user may fail even at saying what it is
        return type(error).__name__


def _sendable(text: str, longest: int) -> str:
    """Shorten a text and replace invalid Unicode: neither may prevent the report of a failure."""
    return str(text)[:longest].encode(errors="replace").decode()
