"""The vocabulary of the author of a flow: `@flow`, `@task`, and the calls that become states.

These are for the compiler, editors and type checkers to read. Only a task function is ever run, by a worker or a test.
A call of a flow, or of a step outside of a flow, is an error that says how a flow is run.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, NoReturn, ParamSpec, TypeAlias, TypeVar, TypeVarTuple, overload

from dcf.steps.plain_values import plain
from dcf.values.json_text import Json
from dcf.values.records import record

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Value = TypeVar("Value")
Branches = TypeVarTuple("Branches")


class NotRunning(RuntimeError):
    """A flow, or a step of one, was called as a function."""


def _not_running(call: str) -> NoReturn:
    raise NotRunning(
        f"{call} is part of a flow, which is compiled and never called. Run the flow with `dcf run FILE`, in a program"
        " with client.start(flow, ...), in a test with dcf.testing.run(flow, ...)."
    )


@record(frozen=True, slots=True)
class Retry:
    """`times` more attempts, after `delay` seconds that grow by `backoff`; `on`: classes of errors, or their names."""

    times: int = 3
    delay: int = 1
    backoff: float = 2.0
    max_delay: int | None = None
    jitter: bool = False
    on: tuple[type[BaseException] | str, ...] = ()


IMPORTED_AS: Final = "dcf_functions_"
"""The prefix of the name of a module that dcf imports from a file, so that it hides no other module."""

_PROGRAM: Final = "__main__"
"""The name of the module of the file that Python was started with."""

Retries: TypeAlias = int | Retry | Sequence[Retry]


@dataclass(frozen=True)
class Task(Generic[Parameters, Result]):
    """A function that a state calls. Called as Python it is that function, for tests and for other tasks.

    `is_whole`: it was written for a state, and takes the input of the state unchanged.
    """

    function: Callable[Parameters, Result]
    name: str
    retry: Retries = 0
    timeout: int | None = None
    heartbeat: int | None = None
    callback: bool = False
    is_whole: bool = False

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the function."""
        return self.function(*args, **kwargs)

    def with_(
        self,
        *,
        name: str | None = None,
        retry: Retries | None = None,
        timeout: int | None = None,
        heartbeat: int | None = None,
    ) -> "Task[Parameters, Result]":
        """Return the same task with other options, for one call: `fetch.with_(timeout=5)(url)`."""
        options: dict[str, Any] = {"name": name, "retry": retry, "timeout": timeout, "heartbeat": heartbeat}
        return replace(self, **{key: value for key, value in options.items() if value is not None})

    @property
    def place(self) -> str:
        """Where the function is, its module and its name; the Resource of the states that call it names it so."""
        module = self.function.__module__.removeprefix(IMPORTED_AS)
        if module == _PROGRAM and (file := getattr(sys.modules.get(_PROGRAM), "__file__", None)) is not None:
            module = Path(file).stem  # as in a worker of the same file, which is not the program
        return f"{module}.{self.function.__qualname__}"


def step_of(
    function: Callable[Parameters, Result], *, name: str | None = None, **options: Any
) -> Task[Parameters, Result]:
    """Make a function a task of flows, as `@task` does with its options."""
    return Task(function, name or function.__name__, **options)


def use(function: Callable[[Any], Result], *, name: str) -> Task[..., Result]:
    """Call a function that was written for a state (`@task("Name")`): its one argument is the state's input."""
    return Task(function, name, is_whole=True)


@dataclass(frozen=True)
class Flow(Generic[Parameters, Result]):
    """A workflow that is written as a function."""

    function: Callable[Parameters, Result]
    name: str
    version: str | None = None
    timeout: int | None = None

    def __call__(self, *_: Parameters.args, **__: Parameters.kwargs) -> Result:
        """Say how a flow is run; in the source of another flow this is a call of its states."""
        _not_running(f"{self.name}()")

    def input(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> dict[str, Json]:
        """Return the input of a run that is started as the flow would be called: `flow.input(urls, topic="storage")`.

        Raises TypeError for what is no call of the flow; the types of the values are checked when the run is started.
        """
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        return {name: plain(value) for name, value in bound.arguments.items()}


@overload
def flow(function: Callable[Parameters, Result], /) -> Flow[Parameters, Result]: ...
@overload
def flow(
    *, name: str | None = None, version: str | None = None, timeout: int | None = None
) -> Callable[[Callable[Parameters, Result]], Flow[Parameters, Result]]: ...
def flow(
    function: Callable[Parameters, Result] | None = None,
    /,
    *,
    name: str | None = None,
    version: str | None = None,
    timeout: int | None = None,
) -> Flow[Parameters, Result] | Callable[[Callable[Parameters, Result]], Flow[Parameters, Result]]:
    """Make a function a workflow: its source is compiled, its parameters are the input, what it returns is the output.

    `timeout` is in seconds, for the whole run.
    """

    def make(written: Callable[Parameters, Result]) -> Flow[Parameters, Result]:
        return Flow(written, name or written.__name__, version, timeout)

    return make if function is None else make(function)


@record(frozen=True, slots=True)
class Gate:
    """A gate of an agent's output, made by `gate`."""

    fields: Mapping[str, Json]


class gate:  # noqa: N801 - a namespace that reads like a word: gate.review(...)
    """The gates that an agent's output may have to pass."""

    @staticmethod
    def review(*criteria: str, by: str | Sequence[str] = (), name: str = "review") -> Gate:
        """Have another agent judge the output by these criteria."""
        reviewers = [by] if isinstance(by, str) else list(by)
        named: dict[str, Json] = {"reviewers": reviewers} if reviewers else {}
        return Gate({"name": name, "kind": "review", "criteria": list(criteria), **named})

    @staticmethod
    def command(line: str, *, timeout: int | None = None, name: str = "command") -> Gate:
        """Have a command of the agent's machine end well."""
        limit: dict[str, Json] = {"timeout_s": timeout} if timeout else {}
        return Gate({"name": name, "kind": "command", "command": line, **limit})

    @staticmethod
    def person(*people: str, name: str = "person") -> Gate:
        """Have one of these people accept the output."""
        return Gate({"name": name, "kind": "person", "people": list(people)})


@record(frozen=True, slots=True)
class Answer:
    """The answer of a person."""

    choice: str
    comment: str | None = None
    answer: Json = None
    answered_by: str | None = None
    at: str | None = None


@record(frozen=True, slots=True)
class TypedAnswer(Answer, Generic[Value]):
    """The answer of a person to a question with `output=`. `answer` is None to reject, and after a default."""

    answer: Value | None = None


@overload
def agent(
    who: str,
    instructions: str,
    /,
    *values: object,
    output: type[Value],
    data: Mapping[str, object] | None = None,
    name: str | None = None,
    gates: Sequence[Gate] = (),
    skills: Sequence[str] = (),
    timeout: int | None = None,
    heartbeat: int | None = None,
    retry: Retries = 0,
) -> Value: ...
@overload
def agent(
    who: str,
    instructions: str,
    /,
    *values: object,
    data: Mapping[str, object] | None = None,
    name: str | None = None,
    gates: Sequence[Gate] = (),
    skills: Sequence[str] = (),
    timeout: int | None = None,
    heartbeat: int | None = None,
    retry: Retries = 0,
) -> Json: ...
def agent(description: str, instructions: str, /, *values: object, **options: Any) -> Any:  # noqa: ARG001 - read, not run
    """Have an agent work by these instructions; `output` is the type of its answer, `values` and `data` its input."""
    _not_running("agent()")


@overload
def human(
    title: str,
    /,
    *,
    to: Sequence[str | Mapping[str, str]],
    output: type[Value],
    details: object = None,
    instructions: str | None = None,
    choices: Sequence[str | Mapping[str, str]] = ("approve", "reject"),
    timeout: int | None = None,
    default: str | None = None,
    escalate: Mapping[str, object] | None = None,
    not_by: Mapping[str, object] | Sequence[str] | None = None,
    name: str | None = None,
) -> TypedAnswer[Value]: ...
@overload
def human(
    title: str,
    /,
    *,
    to: Sequence[str | Mapping[str, str]],
    details: object = None,
    instructions: str | None = None,
    choices: Sequence[str | Mapping[str, str]] = ("approve", "reject"),
    timeout: int | None = None,
    default: str | None = None,
    escalate: Mapping[str, object] | None = None,
    not_by: Mapping[str, object] | Sequence[str] | None = None,
    name: str | None = None,
) -> Answer: ...
def human(title: str, /, **options: Any) -> Any:  # noqa: ARG001 - read, not run
    """Ask people, and wait for the first answer; `output` is the type of the answer in addition to the choice."""
    _not_running("human()")


@overload
def signal(name: str, /, *, output: type[Value], timeout: int | None = None) -> Value: ...
@overload
def signal(name: str, /, *, timeout: int | None = None) -> Json: ...
def signal(name: str, /, **options: Any) -> Any:  # noqa: ARG001 - read, not run
    """Wait for a signal that is sent into the run, and return its payload."""
    _not_running("signal()")


def child(called: Flow[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:  # noqa: ARG001
    """Run a flow as a run of its own, and wait for its end. A flow that is called without `child` is inlined."""
    _not_running("child()")


def token() -> str:
    """Return the task token of the state in whose arguments it stands."""
    _not_running("token()")


def run_id() -> str:
    """Return the id of the run."""
    _not_running("run_id()")


def sleep(seconds: float, /) -> None:  # noqa: ARG001 - read, not run
    """Wait this number of seconds."""
    _not_running("sleep()")


def sleep_until(timestamp: str, /) -> None:  # noqa: ARG001 - read, not run
    """Wait until a time, such as "2026-12-24T18:00:00Z"."""
    _not_running("sleep_until()")


def parallel(*branches: *Branches) -> tuple[*Branches]:  # noqa: ARG001 - read, not run
    """Do steps at the same time; what each gives is taken apart by a tuple of names."""
    _not_running("parallel()")


def each(
    items: Iterable[Value],  # noqa: ARG001 - these parameters are read from the source of the call
    /,
    *,
    concurrency: int = 0,  # noqa: ARG001
    tolerate: float = 0,  # noqa: ARG001
    name: str | None = None,  # noqa: ARG001
) -> list[Value]:
    """Say how a comprehension or `for` goes over items: at the same time, at most `concurrency` at once.

    `tolerate` is a number of items (1), or a part of them (0.1). Failed items are left out
    of the result; with more failures the loop fails with the error of the item.
    """
    _not_running("each()")


def jsonata(text: str, /, **values: object) -> Json:  # noqa: ARG001 - read, not run
    """Write an expression in JSONata, for what Python has no spelling for; `values` are its variables."""
    _not_running("jsonata()")


class StateTimeout(Exception):
    """A step took longer than its timeout, or was silent for longer than its heartbeat: States.Timeout."""


class StepFailed(Exception):
    """Any failure of a step, but for a timeout: States.TaskFailed."""


class Rejected(Exception):
    """A person rejected: DCF.Rejected."""


class GateFailed(Exception):
    """An agent's output did not pass its gates: DCF.GateFailed."""


ERROR_NAMES: Final[Mapping[type[BaseException], str]] = {
    StateTimeout: "States.Timeout",
    StepFailed: "States.TaskFailed",
    Rejected: "DCF.Rejected",
    GateFailed: "DCF.GateFailed",
    Exception: "States.ALL",
}
"""The names in ASL of classes that have another one there."""

STEPS: Final = (agent, human, signal, child, parallel, sleep, sleep_until)
"""The calls that become states, in addition to those of tasks and flows."""
