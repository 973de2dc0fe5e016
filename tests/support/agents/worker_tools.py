"""A server of a few lines for a Python worker: it remembers what the worker calls and answers what a test says."""

import threading
from collections.abc import Callable
from typing import Any

from dcf.errors import DcfError
from dcf.worker import TaskFunction, Worker
from dcf.worker.observer import Witness

RUN = "run-1"
Answer = dict[str, Any]
Tool = Callable[..., Answer]


class FakeTools:
    """Remembers every call; answers `ok` unless a test says otherwise for a tool."""

    def __init__(self, **answers: Answer | DcfError | Tool) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answers = answers

    def call(self, tool: str, **arguments: Any) -> Answer:
        self.calls.append((tool, arguments))
        answer = self._answers.get(tool, {"code": "ok"})
        if isinstance(answer, DcfError):
            raise answer
        return {"code": "ok", **(answer(**arguments) if callable(answer) else answer)}

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def arguments(self, tool: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == tool]


def event(state: str | None = "A", **more: Any) -> dict[str, Any]:
    return {"workflow_id": RUN, "target_state": state, **more}


def worker(
    tools: FakeTools,
    functions: dict[str, TaskFunction] | None = None,
    *,
    lease_ttl_s: int = 30,
    witness: Witness | None = None,
) -> Worker:
    named = functions or {"A": lambda value: value}
    return Worker(tools, "me", named, lease_ttl_s=lease_ttl_s, wait_s=0, pause_s=0.001, witness=witness)


def report(function: TaskFunction) -> dict[str, Any]:
    """The output of a worker with this function."""
    tools = FakeTools()
    worker(tools, {"A": function}).handle(event())
    (written,) = tools.arguments("update_workflow_control_plane")
    return written


def failing(error: Exception) -> TaskFunction:
    def fail(value: Any) -> Any:
        raise error

    return fail


def claimed(state: str) -> Answer:
    return {"workflow_id": RUN, "state": state, "lease_token": f"token-{state}", "input": {"from": "A"}}


class Inbox:
    """Hands out what the test put in, then stops the worker."""

    def __init__(self, *answer: Answer | DcfError) -> None:
        self.stop = threading.Event()
        self._found = list(answer)

    def __call__(self, **_: Any) -> Answer:
        answer = self._found.pop(0)
        if not self._found:
            self.stop.set()
        if isinstance(answer, DcfError):
            raise answer
        return answer


TIMEOUT: Answer = {"status": "timeout", "message_id": None}


def message(number: int, **more: Any) -> Answer:
    return {"status": "event", "message_id": f"{number}-0", "event": event(**more)}


def serve(inbox: Inbox, **answers: Any) -> FakeTools:
    tools = FakeTools(await_workflow_event=inbox, **answers)
    worker(tools).serve(inbox.stop)
    return tools
