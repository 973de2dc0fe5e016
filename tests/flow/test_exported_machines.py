"""Machines for AWS Step Functions: Lambda wraps results, and items of a distributed Map know nothing of the run."""

from typing import Any

from dcf.flow.compiling import compile_flow
from dcf.workflows.step_functions import for_step_functions
from dcf.workflows.validation import validate
from tests.flow.exports import issue
from tests.flow.flows.checks import checks
from tests.flow.flows.travel import trip


def machine_of(flow: Any) -> dict[str, Any]:
    return for_step_functions(compile_flow(flow).document)


def test_what_is_folded_into_a_step_reads_the_payload_of_the_function() -> None:
    states = machine_of(trip)["States"]
    assert states["book"]["Assign"] == {"booked": "{% $append($booked, [$states.result.Payload]) %}"}
    assert states["book 3"]["Output"] == "{% $append($booked, [$states.result.Payload]) %}"
    assert "Output" not in states["cancel"]


def test_tolerated_failures_make_a_distributed_map_whose_items_get_what_they_read() -> None:
    sizes = machine_of(issue)["States"]["sizes"]
    processor = sizes["ItemProcessor"]
    assert processor["ProcessorConfig"] == {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    assert sizes["ItemSelector"] == {
        "item": "{% $states.context.Map.Item.Value %}",
        "read": {
            "run_short": "{% $short %}",
            "run_input": "{% $states.context.Execution.Input %}",
            "run_id": "{% $states.context.Execution.Name %}",
        },
    }
    assert processor["States"][processor["StartAt"]] == {
        "Type": "Pass",
        "Assign": {name: f"{{% $states.input.read.{name} %}}" for name in ("run_short", "run_input", "run_id")},
        "Output": "{% $states.input.item %}",
        "Next": "fetch",
    }
    assert "$states.context.Execution" not in str(processor)
    payload = processor["States"]["fetch"]["Arguments"]["Payload"]
    assert payload["address"] == '{% $run_short & "." & $states.input %}'
    assert sizes["Catch"][0]["ErrorEquals"] == ["Unreachable", "States.ExceedToleratedFailureThreshold"]


def test_a_map_whose_items_read_nothing_else_gets_the_items_alone() -> None:
    times = machine_of(checks)["States"]["times"]
    assert "ItemSelector" not in times
    assert times["ItemProcessor"]["StartAt"] == "ping"


def test_a_result_that_is_no_object_is_an_expression() -> None:
    assert machine_of(checks)["States"]["return"]["Output"] == '{% "down" %}'


def test_every_kind_of_step_has_a_place_in_step_functions() -> None:
    machine = machine_of(issue)
    assert "dcf:" not in str(machine)
    assert validate(machine)["problems"] == []
