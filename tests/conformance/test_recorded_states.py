"""Single states as AWS's TestState answers them: the engine is asked about one state, its work is mocked."""

from typing import Any

from dcf.asl import engine
from dcf.asl.steps import (
    Advance,
    Broke,
    Caught,
    Ended,
    Entry,
    OpenScope,
    OpenTask,
    Passed,
    Retried,
    exceeds,
)
from dcf.asl.surroundings import Clock
from dcf.asl.syntax.parsing import parse_machine
from tests.support.tables import rows

from .comparison import agrees, errors_agree
from .recordings import cases

CLOCK = Clock(now="2026-01-01T00:00:00.000Z", micros=1_767_225_600_000_000, seed="state")
STATES = [case for case in cases("test_state") if "exception" not in case["expected"]]


@rows("case", STATES, ids=lambda case: case["name"])
def test_a_single_state_answers_as_recorded(case: Any) -> None:
    expected, answer = case["expected"], _answer(case)
    last = answer.steps[-1]
    match expected["status"]:
        case "SUCCEEDED":
            done = next(step for step in answer.steps if isinstance(step, Ended | Passed))
            assert agrees(expected["output"], done.output)
        case "FAILED":
            assert isinstance(last, Broke)
            assert errors_agree(expected["error"], last.error)
        case "CAUGHT_ERROR":
            caught = next(step for step in answer.steps if isinstance(step, Caught))
            assert agrees(expected["output"], caught.output)
            assert (caught.error, caught.next) == (expected["error"], expected["nextState"])
        case _:
            assert isinstance(last, Retried)


def _answer(case: Any) -> Advance:
    machine, problems = parse_machine(_around(case["definition"]))
    assert machine is not None, problems
    context = _context(case)
    begun = engine.start(machine, case["input"], context, CLOCK)
    opened = next((step for step in begun.steps if isinstance(step, OpenTask | OpenScope)), None)
    if opened is None:
        return begun
    arguments = case.get("expected", {}).get("inspectionData", {}).get("afterArguments")
    if isinstance(opened, OpenTask) and arguments is not None:
        assert agrees(arguments, opened.effective)
    mock, path = case.get("mock", {}), opened.path
    details = mock.get("errorOutput", {})
    if isinstance(opened, OpenScope) and _too_many(case, opened):
        return engine.fail(machine, path, {path: opened}, None, None, context, CLOCK)
    if "errorOutput" in mock:
        entry: Entry = opened.entry
        return engine.fail(machine, path, {path: entry}, details.get("error"), details.get("cause"), context, CLOCK)
    result = mock["result"] if "result" in mock else case["expected"]["output"]
    if isinstance(opened, OpenScope):
        return engine.join(machine, path, {path: opened}, result, context, CLOCK)
    return engine.complete(machine, path, {path: opened.entry}, result, context, CLOCK)


def _too_many(case: Any, opened: OpenScope) -> bool:
    failed = case.get("stateConfiguration", {}).get("mapIterationFailureCount", 0)
    return opened.tolerance.bears_any and exceeds(opened.tolerance, failed, opened.size)


def _around(definition: Any) -> dict[str, Any]:
    """Make a machine of one state; where it leads, a Succeed state stands."""
    if "StartAt" in definition:
        return dict(definition)
    targets = {definition.get("Next"), *(rule["Next"] for rule in definition.get("Catch", []))} - {None}
    ends = {target: {"Type": "Succeed"} for target in targets}
    return {"StartAt": "StateName", "States": {"StateName": definition, **ends}}


def _context(case: Any) -> dict[str, Any]:
    execution = {
        "Id": "arn:aws:states:us-east-1:111111111111:express:m:x",
        "Input": case.get("input"),
        "Name": "x",
        "RoleArn": "arn:aws:iam::111111111111:role/r",
        "StartTime": "2026-01-01T00:00:00.000Z",
    }
    machine = {"Id": "arn:aws:states:us-east-1:111111111111:stateMachine:m", "Name": "m"}
    return {"Execution": execution, "StateMachine": machine}
