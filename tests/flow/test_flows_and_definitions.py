"""Flows and the definitions that say the same: equal inputs and task results give equal ends, and Python is shorter."""

import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dcf import testing
from dcf.core.definitions.forms import as_workflow, asl_of
from dcf.flow.compiling import compile_flow
from dcf.testing import Story
from dcf.worker.context import TaskContext
from dcf.worker.flow_functions import called_by_state
from dcf.worker.functions import plan_of
from tests.flow.compared_flows import COMPARISONS, Case, Comparison
from tests.support.tables import rows

Calls = list[tuple[str, str]]
CASES = [(comparison, case) for comparison in COMPARISONS for case in comparison.cases]


@rows(("comparison", "case"), CASES, ids=[f"{comparison.flow.name} {case.run_input}" for comparison, case in CASES])
def test_a_flow_ends_as_its_definition_and_its_tasks_give_the_same(comparison: Comparison, case: Case) -> None:
    calls_of_flow: Calls = []
    calls_of_definition: Calls = []
    flow = story_of_flow(comparison, case, calls_of_flow)
    definition = story_of_definition(comparison, case, calls_of_definition)
    assert (flow.status, flow.output, flow.error) == (definition.status, definition.output, definition.error)
    assert flow.elapsed == definition.elapsed
    assert sorted(calls_of_flow) == sorted(calls_of_definition)


def story_of_flow(comparison: Comparison, case: Case, calls: Calls) -> Story:
    functions = {
        state: recorded(calls, task.place, called_by_state(task))
        for state, task in compile_flow(comparison.flow).functions.items()
    }
    return testing.run(comparison.flow, case.run_input, functions, answers=case.answers)


def story_of_definition(comparison: Comparison, case: Case, calls: Calls) -> Story:
    def called(state: str) -> Callable[..., Any]:
        call = comparison.calls[state]
        function = recorded(calls, call.task.place, called_by_state(call.task))
        return lambda state_input, context: function(call.arguments(state_input), context)

    functions = {**{state: called(state) for state in comparison.calls}, **comparison.shaping}
    return testing.run(comparison.definition, case.run_input, functions, answers=case.answers_there)


def recorded(calls: Calls, task: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that also notes that it is called and, unless it raises, what it gives."""
    plan = plan_of(function, task)

    def call(state_input: Any, context: TaskContext) -> Any:
        calls.append((task, "called"))
        output = plan.call(state_input, context)
        calls.append((task, json.dumps(output, sort_keys=True)))
        return output

    return call


@dataclass(frozen=True)
class Lengths:
    """Lines that are not blank: of the flow, of its file with tasks and types, of the machines in JSON."""

    name: str
    flow: int
    file: int
    definition: int
    compiled: int

    @property
    def row(self) -> str:
        return f"{self.name:22}{self.flow:>6}{self.file:>6}{self.definition:>12}{self.compiled:>10}"


def lengths_of(comparison: Comparison) -> Lengths:
    written = json.loads(comparison.definition.read_text("utf-8"))
    return Lengths(
        comparison.flow.name,
        flow=lines_of(inspect.getsource(comparison.flow.function)),
        file=lines_of(comparison.file.read_text("utf-8")),
        definition=lines_of(json.dumps(asl_of(as_workflow(written)), indent=2)),
        compiled=lines_of(json.dumps(asl_of(as_workflow(compile_flow(comparison.flow).document)), indent=2)),
    )


def lines_of(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def test_a_flow_is_shorter_than_its_definition() -> None:
    """`pytest -rP` prints the table."""
    table = [lengths_of(comparison) for comparison in COMPARISONS]
    head = f"{'lines':22}{'flow':>6}{'file':>6}{'definition':>12}{'compiled':>10}"
    sys.stdout.write("\n".join([head, *(lengths.row for lengths in table)]))
    for lengths in table:
        assert lengths.flow < lengths.definition, lengths
