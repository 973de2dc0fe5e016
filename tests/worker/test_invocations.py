"""A function for `lambda:invoke` gets and returns what a Lambda function does."""

from typing import Any

from dcf import testing
from tests.support.tables import rows

INVOKE = "arn:aws:states:::lambda:invoke"


def state(**fields: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": INVOKE, "End": True, **fields}}}


@rows(
    ("resource", "parameters", "event"),
    [
        (INVOKE, {"FunctionName": "f", "Payload": {"a": 1}}, {"a": 1}),
        (INVOKE, {"FunctionName": "f", "Payload.$": "$.note"}, "hello"),
        (INVOKE, {"FunctionName": "f"}, {}),
        ("arn:aws-us-gov:states:::lambda:invoke", {"FunctionName": "f", "Payload": 3}, 3),
        ("arn:aws:lambda:eu-west-1:1:function:f", {"FunctionName": "f"}, {"FunctionName": "f"}),
        ("arn:aws:states:::sqs:sendMessage", {"FunctionName": "f"}, {"FunctionName": "f"}),
    ],
)
def test_a_function_gets_the_payload_of_an_invocation(resource: str, parameters: Any, event: Any) -> None:
    heard: list[Any] = []
    testing.run(state(Resource=resource, Parameters=parameters), {"note": "hello"}, {"A": heard.append})
    assert heard == [event]


def test_what_the_function_returns_is_the_payload_of_the_result() -> None:
    selected = {"total.$": "$.Payload.total", "code.$": "$.StatusCode"}
    machine = state(Parameters={"FunctionName": "f", "Payload.$": "$"}, ResultSelector=selected)
    story = testing.run(machine, 4, {"A": lambda value: {"total": value + 1}})
    assert story.output == {"total": 5, "code": 200}


async def _doubled(value: int) -> int:
    return value * 2


def test_a_function_with_types_and_async_def_gets_the_payload_too() -> None:
    machine = state(
        QueryLanguage="JSONata", Arguments={"FunctionName": "f", "Payload": 4}, Output="{% $states.result.Payload %}"
    )
    assert testing.run(machine, None, {"A": _doubled}).output == 8


def test_a_function_that_hands_a_token_out_gets_the_payload_and_a_whole_result() -> None:
    heard: list[Any] = []
    payload = {"token.$": "$$.Task.Token", "note": "x"}
    machine = state(Resource=f"{INVOKE}.waitForTaskToken", Parameters={"FunctionName": "f", "Payload": payload})
    testing.run(machine, {}, {"A": heard.append})
    assert [event["note"] for event in heard] == ["x"]
    assert testing.run(machine, {}, {}, answers={"A": 3}).output == 3


def test_the_failure_of_a_function_is_the_failure_of_the_task() -> None:
    def fail(_: Any) -> None:
        raise ValueError("no price")

    story = testing.run(state(Parameters={"FunctionName": "f", "Payload": 1}), {}, {"A": fail})
    assert (story.error, story.cause) == ("ValueError", "no price")
