"""How much data a run may hold, and what a state pays for what it does not look at."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from dcf.asl import engine
from dcf.asl.entering import STAND_IN, surroundings
from dcf.asl.limits import MAX_VARIABLES_BYTES
from dcf.asl.places import resolve
from dcf.asl.steps import Entry, OpenTask
from dcf.asl.surroundings import Clock, Context, RunContext, Spending
from dcf.asl.syntax.parsing import parse_machine
from dcf.values.json_text import MAX_BYTES, MAX_DEPTH
from dcf.workflows.simulation import simulate
from tests.support.tables import rows

CLOCK = Clock(now="2026-01-01T00:00:00.000Z", micros=1_767_225_600_000_000, seed="s")
BIG = "x" * (MAX_BYTES - 100)


def _machine(states: dict[str, Any]) -> dict[str, Any]:
    names = list(states)
    for name, following in pairwise(names):
        states[name]["Next"] = following
    states[names[-1]]["End"] = True
    return {"StartAt": names[0], "States": states}


def _assigning(count: int) -> dict[str, Any]:
    return _machine({f"A{at}": {"Type": "Pass", "Assign": {f"v{at}.$": "$.big"}} for at in range(count)})


def test_all_variables_of_a_run_together_are_bounded() -> None:
    bearable = MAX_VARIABLES_BYTES // len(BIG)
    assert simulate(_assigning(bearable), {"big": BIG})["status"] == "SUCCEEDED"
    answer = simulate(_assigning(bearable + 1), {"big": BIG})
    assert (answer["status"], answer["error"]) == ("FAILED", "States.DataLimitExceeded")
    assert "variables together" in answer["cause"]


def test_many_small_variables_are_no_matter() -> None:
    assert simulate(_assigning(200), {"big": "x"})["status"] == "SUCCEEDED"


def test_a_variable_that_is_assigned_anew_counts_once() -> None:
    states = {f"A{at}": {"Type": "Pass", "Assign": {f"v{at % 5}.$": "$.big"}} for at in range(100)}
    assert simulate(_machine(states), {"big": BIG})["status"] == "SUCCEEDED"


def test_the_variables_of_the_scopes_around_count_too() -> None:
    outer = {f"A{at}": {"Type": "Pass", "Assign": {f"v{at}.$": "$.big"}} for at in range(40)}
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "Assign": {"w.$": "$.big"}, "End": True}}}
    answer = simulate(_machine({**outer, "P": {"Type": "Parallel", "Branches": [inner]}}), {"big": BIG})
    assert answer["error"] == "States.DataLimitExceeded"


def _distributed(**fields: Any) -> dict[str, Any]:
    return {
        "StartAt": "M",
        "States": {
            "M": {
                "Type": "Map",
                "ItemReader": {
                    "Resource": "arn:aws:states:::s3:getObject",
                    "Parameters": {"Key": "k"},
                    "ReaderConfig": {"InputType": "JSON"},
                },
                "ItemProcessor": {
                    "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
                    "StartAt": "I",
                    "States": {"I": {"Type": "Pass", "Result": 1, "End": True}},
                },
                "End": True,
                **fields,
            }
        },
    }


def test_an_item_from_a_file_is_bounded_unless_a_selector_makes_it_small() -> None:
    files = {"k": f'[{{"id": 1, "body": "{"x" * MAX_BYTES}"}}]'}
    assert simulate(_distributed(), {}, files=files)["error"] == "States.DataLimitExceeded"
    selector = {"id.$": "$$.Map.Item.Value.id"}
    assert simulate(_distributed(ItemSelector=selector), {}, files=files)["output"] == [1]


@rows(("wrapped", "ended"), [(1, "SUCCEEDED"), (2, "FAILED")])
def test_what_a_state_makes_is_nested_as_deep_as_what_a_run_is_given_and_no_deeper(wrapped: int, ended: str) -> None:
    nested: Any = []
    for _ in range(MAX_DEPTH - 2):
        nested = [nested]
    built: dict[str, Any] = {"in.$": "$"}
    for _ in range(wrapped - 1):
        built = {"in": built}
    answer = simulate(_machine({"A": {"Type": "Pass", "Parameters": built}}), nested)
    assert answer["status"] == ended
    if ended == "FAILED":
        assert answer["cause"] == f"The state's data is nested deeper than {MAX_DEPTH} levels."


def test_a_file_that_holds_no_array_fails_the_reader() -> None:
    assert simulate(_distributed(), {}, files={"k": '{"rows": [1, 2]}'})["error"] == "States.ItemReaderFailed"


def test_a_context_object_is_made_once_and_only_when_it_is_read() -> None:
    made: list[int] = []

    def make() -> Mapping[str, Any]:
        made.append(1)
        return {"a": 1}

    context = Context(make)
    assert not made
    assert (context["a"], dict(context), len(context), context.get("b")) == (1, {"a": 1}, 1, None)
    assert made == [1]


RUN = RunContext({}, workflow_id="r", secret="s")


def test_a_task_token_is_that_of_the_visit_however_often_a_step_is_decided() -> None:
    states = {"T": {"Type": "Task", "Resource": "dcf:callback.waitForTaskToken", "End": True}}
    machine, _ = parse_machine({"StartAt": "T", "States": states})
    assert machine is not None
    entry = Entry(raw={}, variables={}, entered_at=CLOCK.now)
    here = resolve(machine, "T")
    tokens = {surroundings(here, entry, RUN, CLOCK, turn, Spending()).context["Task"]["Token"] for turn in (0, 0, 1)}
    assert tokens == {RUN.task_token("T", CLOCK.seed)}
    own = {"Task": {"Token": "given"}}
    assert surroundings(here, entry, own, CLOCK, 0, Spending()).context["Task"] == {"Token": "given"}
    other = replace(CLOCK, seed="another visit")
    assert surroundings(here, entry, RUN, other, 0, Spending()).context["Task"]["Token"] not in tokens


def test_only_a_task_that_waits_for_a_callback_has_a_token() -> None:
    def opened(context: RunContext = RUN, **fields: Any) -> OpenTask:
        machine, _ = parse_machine({"StartAt": "T", "States": {"T": {"Type": "Task", **fields, "End": True}}})
        assert machine is not None
        (step,) = engine.start(machine, {"a": 1}, context, CLOCK).steps
        assert isinstance(step, OpenTask)
        return step

    calls: dict[str, Any] = {"Resource": "mail.waitForTaskToken"}
    by_path = opened(**calls, Parameters={"token.$": "$$.Task.Token"})
    by_query = opened(**calls, QueryLanguage="JSONata", Arguments={"token": "{% $states.context.Task.Token %}"})
    whole = opened(**calls, Parameters={"all.$": "$$"})
    token = RUN.task_token("T", CLOCK.seed)
    assert by_path.effective["token"] == by_query.effective["token"] == whole.effective["all"]["Task"]["Token"] == token
    assert "secret" not in str(whole.effective)
    assert [step.gets_token for step in (by_path, opened(**calls), opened())] == [True, True, False]
    simulated = opened(RunContext({}, workflow_id="r", secret=""), **calls, Parameters={"token.$": "$$.Task.Token"})
    assert simulated.effective == {"token": STAND_IN}


@rows(
    ("expression", "found"),
    [
        ("$states.input.a", 1),
        ("$states.context.State.Name", "P"),
        ("$count($keys($states))", 2),
        ("$lookup($states, 'context').State.Name", "P"),
        ("($s := $states; $s.input.a)", 1),
        ("$states.(input.a & context.State.Name)", "1P"),
        ("[$states].input.a", 1),
        ("$exists($states.context)", True),
        ("$exists($states.nothing)", False),
    ],
)
def test_an_expression_finds_in_states_what_it_reads(expression: str, found: Any) -> None:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% {expression} %}}", "End": True}
    assert simulate({"StartAt": "P", "States": {"P": state}}, {"a": 1})["output"] == found
