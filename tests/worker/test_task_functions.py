"""The shape of a task function: permitted forms, how it is called, and the message about a wrong form."""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from dcf.errors import InvalidArgument
from dcf.steps.vocabulary import Task
from dcf.worker import FUNCTIONS, Worker, task
from dcf.worker.context import TaskContext
from dcf.worker.functions import plan_of
from tests.support.agents.worker_tools import FakeTools, report
from tests.support.tables import rows

if TYPE_CHECKING:
    from decimal import Decimal

CONTEXT = TaskContext(workflow_id="run-1", state="A")


def named(value: Any, context: Any) -> Any:
    return [value, context.state]


def typed(value: Any, task_context: TaskContext) -> Any:
    return [value, task_context.state]


def typed_as_text(value: Any, task_context: "TaskContext | None") -> Any:
    return [value, task_context and task_context.state]


def by_word(value: Any, *, context: TaskContext) -> Any:
    return [value, context.state]


def first(context: TaskContext, value: Any) -> Any:
    return [value, context.state]


def by_place(value: Any, context: TaskContext, /) -> Any:
    return [value, context.state]


def by_place_first(context: TaskContext, value: Any, /) -> Any:
    return [value, context.state]


class Called:
    def __call__(self, value: Any, context: TaskContext) -> Any:
        return [value, context.state]

    def method(self, value: Any, context: TaskContext) -> Any:
        return [value, context.state]


@functools.wraps(typed)
def wrapped(*arguments: Any, **words: Any) -> Any:
    return typed(*arguments, **words)


def more(value: Any, context: TaskContext, unit: str = "EUR", *rest: Any, **words: Any) -> Any:
    return [value, context.state]


@rows(
    "function",
    [
        *(named, typed, typed_as_text, by_word, first, by_place, by_place_first, wrapped, more),
        *(Called(), Called().method, functools.partial(more, unit="USD")),
    ],
    ids=lambda text: getattr(text, "__name__", type(text).__name__),
)
def test_a_context_is_handed_over_by_name_or_by_type_wherever_it_stands(function: Callable[..., Any]) -> None:
    plan = plan_of(function, "A")
    assert plan.takes_context
    assert plan.call(7, CONTEXT) == [7, "A"]


@rows("function", [lambda value: value, lambda value, unit=1: value, lambda *value: value[0], print])
def test_a_function_that_asks_for_no_context_gets_the_input_alone(function: Any) -> None:
    plan = plan_of(function, "A")
    assert not plan.takes_context
    assert plan.call(7, None) == (None if function is print else 7)


def no_input() -> Any: ...
def only_context(context: TaskContext) -> Any: ...
def two_inputs(value: Any, other: Any) -> Any: ...
def a_word(value: Any, *, other: Any) -> Any: ...
def generator(value: Any) -> Any:
    yield value


async def async_generator(value: Any) -> Any:
    yield value


@rows(
    ("function", "why"),
    [
        (no_input, "it takes no input"),
        (only_context, "it takes no input"),
        (two_inputs, "its parameter 'other' would get no value"),
        (a_word, "its parameter 'other' would get no value"),
        (generator, "it is a generator"),
        (async_generator, "it is a generator"),
        (dict, "it is no function"),
        (17, "it is no function"),
    ],
    ids=lambda item: getattr(item, "__name__", "value"),
)
def test_a_function_that_cannot_take_an_input_is_refused_at_its_registration(function: Any, why: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot be the function of the state 'Greet'") as refused:
        task("Greet")(function)
    assert why in refused.value.message
    assert "def work(given)" in refused.value.hint
    assert "Greet" not in FUNCTIONS
    with pytest.raises(InvalidArgument, match=why):
        Worker(FakeTools(), "me", {"Greet": function})


def test_a_decorator_without_a_name_makes_a_step_of_flows_and_registers_nothing() -> None:
    before = dict(FUNCTIONS)
    assert isinstance(task(named), Task)
    assert before == FUNCTIONS
    with pytest.raises(InvalidArgument, match="@task was not given the name of a state"):
        task("")
    with pytest.raises(InvalidArgument, match="no value but a function or the name of a state"):
        task(3)  # type: ignore[call-overload]


def for_checkers(decimal: "Decimal") -> Any:
    return decimal


def test_an_annotation_that_only_a_type_checker_can_see_is_told_when_a_worker_starts() -> None:
    with pytest.raises(InvalidArgument, match=r"annotations of for_checkers\(\) cannot be read: .*Decimal"):
        Worker(FakeTools(), "me", {"A": for_checkers})


def test_a_function_is_looked_at_once_and_not_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    signature = inspect.signature

    def watched(function: Any) -> inspect.Signature:
        looks.append(function)
        return signature(function)

    monkeypatch.setattr("inspect.signature", watched)
    tools = FakeTools(acquire_state_lease={"work": {"input": 1}})
    worker = Worker(tools, "me", {"A": named})
    seen = len(looks)
    for _ in range(3):
        worker.handle({"workflow_id": "run-1", "target_state": "A"})
    assert (seen > 0, len(looks)) == (True, seen)


def test_a_function_that_hands_a_coroutine_back_is_told_to_be_async() -> None:
    async def later(later: Any) -> Any:
        return later

    written = report(lambda value, _=None: later(value))
    assert (written["new_status"], written["error_name"]) == ("failed", "TypeError")
    assert "async def" in written["error_message"]
