"""A Python worker turns the value or the exception of a task function into the result that it writes."""

import logging
from decimal import Decimal
from typing import Any

import pytest

from dcf.worker import TaskContext, TaskFailed
from tests.support.agents.worker_tools import failing, report
from tests.support.tables import rows


@rows(
    ("output", "text"),
    [
        (None, "null"),
        ("", '""'),
        ('{"looks": "like JSON"}', r'"{\"looks\": \"like JSON\"}"'),
        ("\u00fc\u202e", '"\u00fc\u202e"'),
        (True, "true"),
        ([1, 2.5], "[1,2.5]"),
        ({"a": {"b": None}}, '{"a":{"b":null}}'),
    ],
)
def test_an_output_arrives_as_the_value_it_is(output: Any, text: str) -> None:
    written = report(lambda value: output)
    assert (written["new_status"], written["output_json"]) == ("succeeded", text)


@rows(
    "output",
    [Decimal("1.50"), float("nan"), float("inf"), {1, 2}, {"amount": Decimal(1)}, "\ud800", 2**64, "x" * 300_000],
    ids=["decimal", "nan", "infinity", "set", "nested", "surrogate", "huge-number", "huge-text"],
)
def test_an_output_that_is_no_json_fails_the_state(output: Any) -> None:
    written = report(lambda value: output)
    assert (written["new_status"], written["error_name"]) == ("failed", "DCF.InvalidOutput")
    assert written["error_message"].startswith("the output ")
    assert "output_json" not in written


def test_an_output_that_contains_itself_fails_the_state() -> None:
    output: list[Any] = []
    output.append(output)
    assert report(lambda value: output)["error_name"] == "DCF.InvalidOutput"


def test_an_output_with_keys_that_are_no_text_fails_the_state() -> None:
    assert report(lambda value: {1: "a"})["new_status"] == "failed"


def test_task_failed_names_the_error_and_the_cause() -> None:
    written = report(failing(TaskFailed("OrderRejected", "no such customer")))
    assert (written["new_status"], written["error_name"]) == ("failed", "OrderRejected")
    assert written["error_message"] == "no such customer"


def test_any_other_exception_is_a_failure_of_the_state_and_not_of_the_worker() -> None:
    written = report(failing(KeyError("price")))
    assert (written["new_status"], written["error_name"]) == ("failed", "KeyError"), "Retry and Catch can name it"
    assert written["error_message"] == "'price'"


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@rows(
    ("error", "name", "cause"),
    [
        (TaskFailed("E" * 300, "c" * 30_000), "E" * 200, "c" * 20_000),
        (TaskFailed("", ""), "States.TaskFailed", ""),
        (TaskFailed("Bad\ud800", "bad \ud800 text"), "Bad?", "bad ? text"),
        (ValueError("\udcff"), "ValueError", "?"),
        (SpeechlessError(), "SpeechlessError", "SpeechlessError was raised."),
        (ValueError(), "ValueError", "ValueError was raised without a message."),
    ],
    ids=["too-long", "empty", "surrogates", "surrogate-in-exception", "speechless", "wordless"],
)
def test_a_failure_can_always_be_reported(
    caplog: pytest.LogCaptureFixture, error: Exception, name: str, cause: str
) -> None:
    caplog.set_level(logging.CRITICAL, "dcf")  # a report of pytest cannot hold the content of some of these
    written = report(failing(error))
    assert (written["error_name"], written["error_message"]) == (name, cause)
    written["error_message"].encode()


def test_reported_usage_of_a_function_is_summed_and_sent_with_output_or_failure() -> None:
    def ask(value: Any, context: TaskContext) -> Any:
        context.report_usage(tokens_in=900, tokens_out=20, cost=0.1, currency="EUR", model="m")
        context.report_usage(tokens_in=100, cost=Decimal("0.05"), currency="EUR", seconds=1.5, model="m")

    async def fail(value: Any, context: TaskContext) -> Any:
        context.report_usage(tokens_in=3)
        context.report_usage(cost="2", currency="USD", model="n")
        raise TaskFailed("Rejected", "it cost something all the same")

    both = {"tokens_in": 1000, "tokens_out": 20, "cost": "0.15", "currency": "EUR", "seconds": 1.5, "model": "m"}
    assert report(ask)["usage_json"] == both
    failure = report(fail)
    assert (failure["new_status"], failure["error_name"]) == ("failed", "Rejected")
    details = {"tokens_in": 3, "tokens_out": 0, "seconds": 0, "cost": "2", "currency": "USD"}
    assert failure["usage_json"] == {**details, "models": {"n": {"cost": "2"}}}, "the model of a part is told with it"
    assert "usage_json" not in report(lambda value, context: value)


@rows("wrong", [{}, {"tokens_in": -1}, {"cost": 1.0}, {"cost": float("nan"), "currency": "EUR"}])
def test_usage_that_is_none_fails_the_function_and_keeps_what_was_said_before(wrong: dict[str, Any]) -> None:
    def ask(value: Any, context: TaskContext) -> Any:
        context.report_usage(cost="1", currency="USD")
        context.report_usage(**wrong)

    written = report(ask)
    assert (written["error_name"], written["usage_json"]["cost"]) == ("InvalidArgument", "1")
    other = report(
        lambda value, context: [context.report_usage(cost=1, currency=currency) for currency in ("EUR", "USD")]
    )
    assert "one piece of work reports one currency" in other["error_message"]
