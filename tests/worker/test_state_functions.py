"""States of one name of several flows: a worker does those that mean a function it has, and releases the others."""

import asyncio
from typing import Any

from dcf.worker import TaskContext, Worker
from dcf.worker.state_functions import PlacedFunctions
from tests.support.agents.worker_tools import TIMEOUT, FakeTools, Inbox, claimed, event
from tests.support.tables import rows


async def _halved(state_input: Any) -> Any:
    await asyncio.sleep(0)
    return state_input // 2


PLACED = {"work": PlacedFunctions({"flow.double": lambda state_input: state_input * 2, "shop.flow.half": _halved})}
ALONE = {"work": PlacedFunctions({"flow.double": lambda state_input: state_input * 2})}


def worker(tools: FakeTools, functions: dict[str, PlacedFunctions]) -> Worker:
    return Worker(tools, "me", functions, wait_s=0, pause_s=0.001)


def leased(resource: str | None) -> dict[str, Any]:
    return {"work": {"input": 8} | ({} if resource is None else {"resource": resource})}


@rows(
    ("functions", "resource", "output"),
    [
        (PLACED, "flow.double", "16"),
        (PLACED, "shop.flow.half", "4"),
        (PLACED, "flow.half", "4"),
        (PLACED, "other.shop.flow.half", "4"),
        (ALONE, "flow.double", "16"),
        (ALONE, None, "16"),
    ],
)
def test_a_state_is_done_by_the_function_that_it_means(
    functions: dict[str, PlacedFunctions], resource: str | None, output: str
) -> None:
    tools = FakeTools(acquire_state_lease=leased(resource))
    worker(tools, functions).handle(event("work"))
    assert tools.arguments("update_workflow_control_plane")[0]["output_json"] == output


@rows(
    ("functions", "resource", "reason"),
    [
        (ALONE, "other.double", "means the function other.double, and this worker has flow.double."),
        (ALONE, "low.double", "means the function low.double"),
        (ALONE, "flow.half", "means the function flow.half"),
        (PLACED, "flow.triple", "this worker has flow.double, shop.flow.half. Serve the file of that flow."),
        (PLACED, None, "the state names no function, and this worker has flow.double, shop.flow.half."),
    ],
)
def test_a_state_that_means_another_function_is_released_with_the_reason(
    functions: dict[str, PlacedFunctions], resource: str | None, reason: str
) -> None:
    tools = FakeTools(acquire_state_lease=leased(resource))
    worker(tools, functions).handle(event("work"))
    assert tools.names == ["acquire_state_lease", "release_state_lease"]
    assert reason in tools.arguments("release_state_lease")[0]["reason"]


def test_it_is_released_as_well_if_it_came_leased_with_its_event_or_with_a_result() -> None:
    other = claimed("work") | {"resource": "other.double"}
    tools = FakeTools()
    worker(tools, ALONE).handle(event("work"), other)
    assert tools.names == ["release_state_lease"]
    tools = FakeTools(acquire_state_lease=leased("flow.double"), update_workflow_control_plane={"work": other})
    worker(tools, ALONE).handle(event("work"))
    assert tools.names == ["acquire_state_lease", "update_workflow_control_plane", "release_state_lease"]


def test_an_event_that_tells_of_another_function_is_dropped_without_a_lease() -> None:
    tools = FakeTools(acquire_state_lease=leased("flow.double"))
    worker(tools, ALONE).handle(event("work", function="other.double"))
    assert tools.calls == []
    worker(tools, ALONE).handle(event("work", function="flow.double"))
    assert tools.names == ["acquire_state_lease", "update_workflow_control_plane"]


def test_a_wait_names_the_functions_that_have_places() -> None:
    tools = FakeTools(await_workflow_event=(inbox := Inbox(TIMEOUT)))
    Worker(tools, "me", {**PLACED, "plain": lambda value: value}, wait_s=0).serve(inbox.stop)
    (argument,) = tools.arguments("await_workflow_event")
    assert argument["lease_states"] == ["work", "plain"]
    assert argument["lease_functions"] == {"work": ["flow.double", "shop.flow.half"]}


def test_functions_that_are_too_many_to_name_are_not_named() -> None:
    """Then the lease says what a state means."""
    many = {"work": PlacedFunctions({f"flow.step_{number}": _halved for number in range(201)})}
    tools = FakeTools(await_workflow_event=(inbox := Inbox(TIMEOUT)))
    worker(tools, many).serve(inbox.stop)
    assert "lease_functions" not in tools.arguments("await_workflow_event")[0]


def test_a_function_of_a_flow_is_told_what_its_state_means() -> None:
    seen: list[Any] = []

    def keep(state_input: Any, context: TaskContext) -> Any:
        seen.append(context.brief["resource"])
        return state_input

    tools = FakeTools(acquire_state_lease=leased("flow.keep"))
    worker(tools, {"work": PlacedFunctions({"flow.keep": keep})}).handle(event("work"))
    assert seen == ["flow.keep"]
