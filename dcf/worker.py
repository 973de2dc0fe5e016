"""Serves Python functions as workers: a user registers a function for a state, and a worker process runs it.

A worker knows nothing of Redis; it calls dcf's tools over any transport. It may be killed at any moment: its lease
expires, the assigned agents are notified, and unfinished work is done again. While it lives, it keeps a finished
result and retries until the server accepts or refuses it, however long that takes.
"""

import logging
import queue
import random
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from dcf.asl.state_paths import name_of
from dcf.errors import PASSING, DcfError, InvalidArgument
from dcf.values.json_text import Json, dump, parse

log = logging.getLogger(__name__)

TaskFunction: TypeAlias = Callable[[Json], Json]
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

    The function gets the state's input and returns its output, both JSON values. Raises InvalidArgument if the name
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
    given: Json


class Worker:
    """Serves task functions for one agent id: awaits an event, claims, works, writes, notifies, releases."""

    def __init__(
        self,
        tools: ToolCaller,
        agent_id: str,
        functions: Mapping[str, TaskFunction] | None = None,
        *,
        lease_ttl_s: int = 30,
        wait_s: float = 20,
        pause_s: float = 1.0,
        concurrency: int = 1,
    ) -> None:
        self._tools = tools
        self._agent_id = agent_id
        self._functions = FUNCTIONS if functions is None else functions
        self._ttl_s = lease_ttl_s
        self._wait_s = wait_s
        self._pause_s = pause_s
        self._concurrency = concurrency
        self._stop = threading.Event()

    def serve(self, stop: threading.Event | None = None) -> None:
        """Handle events until told to stop; raise if the server cannot be reached at first, later retry.

        With a `concurrency` above 1 so many threads do it. When one of them fails, the others end after their work.
        """
        self._stop = stop or self._stop
        if self._concurrency == 1:
            self._serve_in_turn()
            return
        ends: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        for _ in range(self._concurrency):
            threading.Thread(target=self._tell_end, args=(ends,), daemon=True).start()
        for _ in range(self._concurrency):
            error = ends.get()
            if error is not None:
                self._stop.set()
                raise error

    def _tell_end(self, ends: "queue.SimpleQueue[BaseException | None]") -> None:
        try:
            self._serve_in_turn()
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits; also SystemExit of a function
            ends.put(error)
        else:
            ends.put(None)

    def _serve_in_turn(self) -> None:
        """Handle one event after the other."""
        handled: str | None = None
        reached = False
        while not self._stop.is_set():
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
                self._handle_or_drop(answer["event"])

    def handle(self, event: Mapping[str, Json]) -> None:
        """Lease and execute the state of an event, then the next states whose leases come with the completion."""
        state = event.get("target_state")
        if not isinstance(state, str) or name_of(state) not in self._functions:
            log.warning("no function is registered for state %r; the event is dropped", state)
            return
        work = self._acquire(str(event.get("workflow_id")), state)
        while work is not None:
            work = self._carry_out(work)

    def _await_event(self, handled: str | None) -> dict[str, Json]:
        return self._tools.call(
            "await_workflow_event", agent_id=self._agent_id, timeout_s=self._wait_s, ack_message_id=handled
        )

    def _handle_or_drop(self, event: Mapping[str, Json]) -> None:
        """Handle an event; drop it on an error, since one that always fails must not be delivered forever.

        The lease then expires, and the clock notifies again for a state that was not leased.
        """
        try:
            self.handle(event)
        except DcfError as error:
            run, state = event.get("workflow_id"), event.get("target_state")
            log.warning("%s/%s: the event is dropped: %s", run, state, error.message)

    def _acquire(self, workflow_id: str, state: str) -> Work | None:
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
        return Work(workflow_id=workflow_id, state=state, token=token, given=answer.get("input"))

    def _carry_out(self, work: Work) -> Work | None:
        """Execute and report; return the next work, if its lease came with the completion."""
        with self._renewing(work):
            result = self._result(work)
        answer = self._deliver(work, result)
        if answer is None:
            return None
        if answer.get("run_status") == "running":
            self._also(work, "notify_next_worker_agent", source_state=work.state)
        self._release(work)
        return self._claimed(work, answer.get("claimed"))

    def _deliver(self, work: Work, result: Mapping[str, Json]) -> dict[str, Json] | None:
        """Write the result until the server accepts or refuses it; None when it was refused or cannot be written.

        No other process has the result. A lease that expired meanwhile is valid until another agent takes it.
        """
        pause = self._pause_s
        while True:
            try:
                answer = self._write(work, result)
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
            output = _json_text(self._functions[name_of(work.state)](work.given))
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

    def _release(self, work: Work) -> None:
        self._also(work, "release_state_lease", state=work.state, lease_token=work.token)

    def _also(self, work: Work, tool: str, **arguments: Json) -> None:
        """Call a tool whose effect the clock repeats if the call fails; a failure is only logged."""
        try:
            self._tools.call(tool, workflow_id=work.workflow_id, **arguments)
        except DcfError as error:
            log.warning("%s/%s: %s: %s", work.workflow_id, work.state, tool, error.message)

    def _claimed(self, work: Work, claimed: Mapping[str, Json] | None) -> Work | None:
        if claimed is None:
            return None
        following = Work(
            workflow_id=work.workflow_id,
            state=claimed["state"],
            token=claimed["lease"]["token"],
            given=claimed["input"],
        )
        if name_of(following.state) in self._functions:
            return following
        self._release(following)
        return None

    @contextmanager
    def _renewing(self, work: Work) -> Iterator[None]:
        """Renew the lease in a thread while the function runs; a renewal that ends later does no harm."""
        done = threading.Event()
        threading.Thread(target=self._renew, args=(work, done), daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def _renew(self, work: Work, done: threading.Event) -> None:
        while not done.wait(self._ttl_s / _RENEWALS_PER_LEASE):
            try:
                refusal = self._renew_once(work)
            except DcfError as error:
                log.warning("%s/%s: lease not renewed: %s", work.workflow_id, work.state, error.message)
                continue
            if refusal is not None:
                if not done.is_set():
                    log.warning("%s/%s: lease lost: %s", work.workflow_id, work.state, refusal)
                return

    def _renew_once(self, work: Work) -> str | None:
        """Extend the lease, also an expired one that no other agent has taken; return why it was refused, or None."""
        answer = self._tools.call(
            "renew_state_lease",
            workflow_id=work.workflow_id,
            state=work.state,
            lease_token=work.token,
            reject_if_expired=False,
        )
        return None if answer.get("code") == "ok" else str(answer.get("error"))


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
