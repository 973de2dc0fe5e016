"""Python functions of Tasks that have instructions, an OutputSchema and Errors, over a real server."""

import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.tools.calling.client import ToolClient, connect
from dcf.tools.mcp.server import build_http_app
from dcf.worker import TaskContext, TaskFunction, Worker
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.tools.calls import serving

TOTAL = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
PRICE: dict[str, Any] = {
    "Type": "Task",
    "Instructions": "Price order {% $states.input.id %}.",
    "OutputSchema": TOTAL,
    "Errors": ["OutOfStock"],
}


@pytest.fixture(scope="module")
def tools(replica: Callable[..., Application]) -> Iterator[ToolClient]:
    with serving(build_http_app(replica())) as url, connect(f"{url}/mcp") as client:
        yield client


def ended(
    tools: ToolClient, states: dict[str, Any], input_json: Any, functions: dict[str, TaskFunction], at_once: int
) -> Any:
    """A run of these states that a worker with these functions has carried out."""
    run, agent, stop = f"run-{secrets.token_hex(4)}", f"agent-{secrets.token_hex(4)}", threading.Event()
    machine = {"StartAt": next(iter(states)), "States": states}
    arguments = {"workflow_json": {"asl": machine}, "workflow_id": run, "input_json": input_json}
    assert (
        tools.call("create_workflow_control_plane", **arguments, agents_map_json=dict.fromkeys(functions, agent))[
            "code"
        ]
        == "ok"
    )
    tools.call("notify_next_worker_agent", workflow_id=run)
    worker = Worker(tools, agent, functions, wait_s=0.1, pause_s=0.01, concurrency=at_once)
    thread = threading.Thread(target=worker.serve, args=(stop,))
    thread.start()
    try:
        wait_until(lambda: meta_of(tools, run)["status"] != "running")
    finally:
        stop.set()
        thread.join()
    return meta_of(tools, run)


def meta_of(tools: ToolClient, run: str) -> Any:
    return tools.call("read_workflow_control_plane", workflow_id=run)["meta"]


@rows("at_once", [1, 3])
def test_a_function_is_told_what_its_task_says(tools: ToolClient, at_once: int) -> None:
    heard: list[TaskContext] = []

    def price(value: Any, context: TaskContext) -> Any:
        heard.append(context)
        return {"total": value["id"]}

    meta = ended(tools, {"Price": PRICE | {"End": True}}, {"id": 7}, {"Price": price}, at_once)
    assert meta["status"] == "succeeded"
    (context,) = heard
    assert (context.instructions, context.output_schema, context.errors) == ("Price order 7.", TOTAL, ("OutOfStock",))


def test_a_function_of_a_task_that_says_nothing_is_told_nothing(tools: ToolClient) -> None:
    heard: list[TaskContext] = []

    def work(value: Any, context: TaskContext) -> Any:
        heard.append(context)

    ended(tools, {"A": {"Type": "Task", "End": True}}, {}, {"A": work}, 1)
    assert (heard[0].instructions, heard[0].output_schema, heard[0].errors) == (None, None, ())


@rows("at_once", [1, 3])
def test_an_output_of_a_function_that_does_not_match_fails_its_task_with_all_reasons(
    tools: ToolClient, at_once: int
) -> None:
    """The function would return the same again, so no correction helps; Retry and Catch can name the error."""
    caught = {"Catch": [{"ErrorEquals": ["DCF.InvalidOutput"], "Next": "Told"}], "Next": "Never"}
    ends = {"Never": {"Type": "Fail"}, "Told": {"Type": "Pass", "End": True}}
    meta = ended(tools, {"Price": PRICE | caught} | ends, {"id": 7}, {"Price": lambda value: {"totl": 7}}, at_once)
    assert meta["status"] == "succeeded"
    assert meta["output"] == {
        "Error": "DCF.InvalidOutput",
        "Cause": "The output does not match the OutputSchema: the output: 'total' is missing.",
    }


INVOKE = "arn:aws:states:::lambda:invoke"
CALLED: dict[str, Any] = {"FunctionName": "arn:aws:lambda:eu-west-1:123456789012:function:price", "Payload.$": "$.line"}


@rows("at_once", [1, 3])
def test_a_function_for_lambda_invoke_gets_and_returns_the_payload(tools: ToolClient, at_once: int) -> None:
    line = {"Type": "Task", "Resource": INVOKE, "Parameters": CALLED, "OutputPath": "$.Payload.total", "Next": "Whole"}
    whole = {"Type": "Task", "Resource": INVOKE, "Parameters": {"FunctionName": "f", "Payload.$": "$"}, "End": True}
    functions: dict[str, TaskFunction] = {
        "Line": lambda value: {"total": value["price"] * 2},
        "Whole": lambda value: value + 1,
    }
    meta = ended(tools, {"Line": line, "Whole": whole}, {"line": {"price": 4}}, functions, at_once)
    assert meta["status"] == "succeeded"
    assert meta["output"] == {"ExecutedVersion": "$LATEST", "Payload": 9, "StatusCode": 200}
