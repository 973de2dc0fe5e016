"""Parallel and Map on the control plane: what opens, which agents may take it and are notified, and the results."""

from typing import Any

import pytest

from dcf.core.documents.answers import Leased, NothingReady, Owed
from dcf.core.documents.model import RunStatus, Status
from dcf.core.leasing.attention import NEVER
from dcf.errors import UnknownState
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.agents.crew import Crew
from tests.support.tables import rows
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import distributed, each, parallel, task
from tests.support.world import World

AFTER = {"After": task()}


def pair(**more: Any) -> Document:
    """Two branches, one of them of two tasks, then `After`."""
    branches = ({"Left": task("Further"), "Further": task()}, {"Right": task()})
    return workflow({"Both": parallel(*branches, following="After", **more), **AFTER})


def mapped(states: Document | None = None, **more: Any) -> Document:
    """`Score` for each item, then `After`."""
    return workflow({"Each": each(states or {"Score": task()}, "After", **more), **AFTER})


def open_tasks(world: World, run: str) -> list[str]:
    """The states that can be taken or are held, in the order of their paths."""
    return sorted(path for path, doc in world.every_doc(run).items() if not doc.status.is_terminal and not doc.kind)


def ready(world: World, run: str) -> list[str]:
    at = ahead.now(world)
    return sorted(path for path, doc in world.every_doc(run).items() if doc.is_claimable(at))


# What opens, and its results


@rows("order", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
def test_the_results_of_branches_stand_by_index_whoever_is_first(timely: World, order: tuple[int, ...]) -> None:
    branches = ({f"Branch{number}": task()} for number in range(3))
    run = timely.create(workflow({"Both": parallel(*branches)}))

    for number in order:
        timely.do(run, f"Both/{number}/Branch{number}", output=f"result {number}")

    assert timely.meta(run)["output"] == ["result 0", "result 1", "result 2"]
    assert timely.run_status(run) is RunStatus.SUCCEEDED


@rows("order", [(0, 1, 2), (2, 0, 1)])
def test_the_results_of_iterations_stand_by_index_whoever_is_first(timely: World, order: tuple[int, ...]) -> None:
    run = timely.create(mapped(), run_input=["p", "q", "r"])

    for number in order:
        timely.do(run, f"Each/{number}/Score", output=timely.given(run, f"Each/{number}/Score") * 2)

    assert timely.output(run, "Each") == ["pp", "qq", "rr"]
    assert timely.given(run, "After") == ["pp", "qq", "rr"]
    assert timely.doc(run, "Each").status is Status.SUCCEEDED


def test_every_branch_is_given_the_input_and_a_branch_goes_on_by_itself(timely: World) -> None:
    run = timely.create(pair(), run_input={"x": 1})
    assert ready(timely, run) == ["Both/0/Left", "Both/1/Right"]
    assert timely.given(run, "Both/0/Left") == timely.given(run, "Both/1/Right") == {"x": 1}

    details = timely.do(run, "Both/0/Left", output="left")

    assert details.next_states == ("Both/0/Further",)
    assert timely.given(run, "Both/0/Further") == "left"
    assert timely.doc(run, "Both").status is Status.RUNNING
    assert not timely.doc(run, "After").is_ready


def test_the_state_after_a_scope_is_entered_once_all_branches_ended(timely: World) -> None:
    run = timely.create(pair())
    for state in ("Both/0/Left", "Both/1/Right"):
        timely.do(run, state, output=state)
        assert not timely.doc(run, "After").is_ready

    timely.do(run, "Both/0/Further", output="further")

    assert timely.given(run, "After") == ["further", "Both/1/Right"]
    assert timely.event_types(run, "Both") == ["StateEntered", "StateSucceeded"]


def test_scopes_stand_in_scopes_to_any_depth(timely: World) -> None:
    row = parallel({"Deep": task()}, {"Wide": each({"Leaf": task()}, ItemsPath="$.leaves")})
    outer = parallel({"Rows": each({"Row": row}, ItemsPath="$.rows")}, {"Alone": task()}, following="After")
    rows = {"rows": [{"leaves": [1, 2]}, {"leaves": []}, {"leaves": [3]}]}
    run = timely.create(workflow({"Outer": outer, **AFTER}), run_input=rows)
    deep = [f"Outer/0/Rows/{number}/Row/0/Deep" for number in range(3)]
    leaves = [
        "Outer/0/Rows/0/Row/1/Wide/0/Leaf",
        "Outer/0/Rows/0/Row/1/Wide/1/Leaf",
        "Outer/0/Rows/2/Row/1/Wide/0/Leaf",
    ]
    assert ready(timely, run) == sorted([*deep, *leaves, "Outer/1/Alone"])

    for state in reversed(ready(timely, run)):
        timely.do(run, state, output=state)

    first, second, third = leaves
    wide = [[deep[0], [first, second]], [deep[1], []], [deep[2], [third]]]
    assert timely.given(run, "After") == [wide, "Outer/1/Alone"]


def test_a_map_without_items_is_over_at_once(timely: World) -> None:
    run = timely.create(mapped(), run_input=[])

    assert timely.given(run, "After") == []
    assert ready(timely, run) == ["After"]


def test_scopes_without_tasks_are_over_when_the_run_is_created(timely: World) -> None:
    quiet = {"Quiet": {"Type": "Pass", "End": True}}
    states = {"Each": each(quiet, "Both"), "Both": parallel({"Calm": {"Type": "Pass", "Result": 1, "End": True}})}

    run = timely.create(workflow(states), run_input=list(range(90)))

    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, [1])
    assert timely.output(run, "Each") == list(range(90))


def test_an_item_selector_makes_what_an_iteration_is_given(timely: World) -> None:
    selector = {"item.$": "$$.Map.Item.Value", "number.$": "$$.Map.Item.Index", "of.$": "$.name"}
    run = timely.create(mapped(ItemsPath="$.list", ItemSelector=selector), run_input={"list": ["p", "q"], "name": "N"})

    assert timely.given(run, "Each/1/Score") == {"item": "q", "number": 1, "of": "N"}


def test_an_item_batcher_gives_an_iteration_several_items(timely: World) -> None:
    state = distributed({"Batch": task()}, ItemBatcher={"MaxItemsPerBatch": 2, "BatchInput": {"k": "v"}})
    run = timely.create(workflow({"Each": state}), run_input=[1, 2, 3])

    assert timely.given(run, "Each/0/Batch") == {"BatchInput": {"k": "v"}, "Items": [1, 2]}
    assert timely.given(run, "Each/1/Batch") == {"BatchInput": {"k": "v"}, "Items": [3]}
    assert len(ready(timely, run)) == 2


def test_iterations_see_the_variables_of_the_machine_and_keep_their_own(timely: World) -> None:
    inner = {
        "Keep": {"Type": "Pass", "Assign": {"mine": "{% $states.input * $factor %}"}, "Next": "Score"},
        "Score": task(Output="{% [$mine, $states.result] %}"),
    }
    states = {"Set": {"Type": "Pass", "Assign": {"factor": 10}, "Next": "Each"}, "Each": each(inner)}
    document = workflow(states)
    document["asl"]["QueryLanguage"] = "JSONata"
    run = timely.create(document, run_input=[1, 2])

    timely.do(run, "Each/1/Score", output="two")
    timely.do(run, "Each/0/Score", output="one")

    assert timely.meta(run)["output"] == [[10, "one"], [20, "two"]]


# How many at once


def test_a_map_opens_no_more_iterations_than_allowed_and_the_next_when_one_ends(timely: World) -> None:
    run = timely.create(mapped(MaxConcurrency=3), run_input=list(range(8)))
    most = 0
    while "After" not in ready(timely, run):
        tasks = open_tasks(timely, run)
        most = max(most, len([path for path in tasks if path.startswith("Each/")]))
        timely.do(run, ready(timely, run)[-1], output=0)
        assert timely.run_status(run) is RunStatus.RUNNING

    assert most == 3
    assert timely.given(run, "After") == [0] * 8


def test_a_slow_iteration_does_not_keep_the_others_from_going_on(timely: World) -> None:
    run = timely.create(mapped(MaxConcurrency=2), run_input=list(range(5)))

    done = []
    while others := [path for path in ready(timely, run) if path != "Each/0/Score"]:
        done.append(others[0])
        timely.do(run, others[0], output=0)

    assert len(done) >= 2
    Crew(world=timely, run=run).finish()
    assert timely.run_status(run) is RunStatus.SUCCEEDED


def test_one_at_once_means_in_order(timely: World) -> None:
    run = timely.create(mapped(MaxConcurrency=1), run_input=list("abcd"))

    for number in range(4):
        assert ready(timely, run) == [f"Each/{number}/Score"]
        timely.do(run, f"Each/{number}/Score", output=number)

    assert timely.given(run, "After") == [0, 1, 2, 3]


# Agents that may take it, and are notified


def test_agents_are_assigned_to_the_states_inside_by_name(real: World) -> None:
    run = real.create(mapped(), run_input=[1, 2], agents={"Score": ("ann", "bob")})

    assert isinstance(real.claim(run, "eve"), NothingReady)
    refused = real.try_acquire(run, "Each/0/Score", "eve")
    assert isinstance(refused, Refusal)
    assert refused.code == "owner_mismatch"
    taken = [real.claim(run, agent) for agent in ("ann", "bob")]
    assert all(isinstance(lease, Leased) for lease in taken)
    assert {(lease.state, lease.given) for lease in taken if isinstance(lease, Leased)} == {
        ("Each/0/Score", 1),
        ("Each/1/Score", 2),
    }
    assert isinstance(real.claim(run, "ann"), NothingReady)


def test_the_start_signal_tells_those_who_are_assigned_inside(timely: World) -> None:
    run = timely.create(pair(), agents={"Left": "lea", "Right": "rob"})
    assert not timely.messages("lea")

    owed = timely.plane.kick_off(run, "initial")
    timely.notifications.deliver(run)

    assert isinstance(owed, Owed)
    assert sorted(owed.states) == ["Both/0/Left", "Both/1/Right"]
    target_states = [timely.messages(agent)[0]["target_state"] for agent in ("lea", "rob")]
    assert target_states == ["Both/0/Left", "Both/1/Right"]


def test_the_start_signal_tells_of_every_iteration(timely: World) -> None:
    run = timely.create(mapped(), run_input=[1, 2, 3], agents={"Score": "sam"})

    timely.plane.kick_off(run, "initial")
    timely.notifications.deliver(run)

    assert sorted(event["target_state"] for event in timely.messages("sam")) == [f"Each/{n}/Score" for n in range(3)]


@pytest.mark.parametrize("items", [[], [1, 2]], ids=["no items", "silent iterations"])
def test_the_start_signal_tells_those_behind_a_scope_that_was_over_at_once(timely: World, items: list[int]) -> None:
    document = mapped({"Quiet": {"Type": "Pass", "End": True}})
    run = timely.create(document, run_input=items, agents={"After": "amy"})

    timely.plane.kick_off(run, "initial")
    timely.notifications.deliver(run)

    assert [event["target_state"] for event in timely.messages("amy")] == ["After"]
    assert ahead.timers(timely, run)["After"] < NEVER


def test_who_completed_a_state_inside_tells_the_next_one_there(timely: World) -> None:
    run = timely.create(pair(), agents={"Further": "fay"})
    timely.do(run, "Both/0/Left")

    targets = timely.notifications.notify_next(run, "Both/0/Left")

    assert [(target.state, target.agent_id, target.sent) for target in targets] == [("Both/0/Further", "fay", True)]
    (event,) = timely.messages("fay")
    assert (event["target_state"], event["source_state"]) == ("Both/0/Further", "Both/0/Left")


def test_who_completes_a_scope_tells_those_behind_it_once(timely: World) -> None:
    run = timely.create(pair(), agents={"After": "amy"})
    for state in ("Both/1/Right", "Both/0/Left"):
        timely.do(run, state)
        timely.notifications.notify_next(run, state)
    assert not timely.messages("amy")

    timely.do(run, "Both/0/Further")
    timely.notifications.notify_next(run, "Both/0/Further")
    timely.notifications.notify_next(run, "Both/0/Further")

    assert [event["target_state"] for event in timely.messages("amy")] == ["After"]


def test_the_next_item_is_told_of_when_its_turn_has_come(timely: World) -> None:
    run = timely.create(mapped(MaxConcurrency=1), run_input=[1, 2], agents={"Score": "sam"})
    timely.do(run, "Each/0/Score", "sam")

    timely.notifications.deliver(run)

    assert [event["target_state"] for event in timely.messages("sam")] == ["Each/1/Score"]


def test_a_completion_can_lease_what_follows_inside(timely: World) -> None:
    run = timely.create(mapped({"Score": task("Weigh"), "Weigh": task()}, MaxConcurrency=1), run_input=[1, 2])
    token: str | None = timely.acquire(run, "Each/0/Score")

    states, value = [], None
    state = "Each/0/Score"
    while not state.startswith("Each/1/Weigh"):
        claimed = timely.complete(run, state, token, state, claim_ttl_s=60).claimed
        assert claimed is not None
        state, token, value = claimed.state, claimed.doc.lease.token, claimed.given
        states.append((state, value))

    assert states == [("Each/0/Weigh", "Each/0/Score"), ("Each/1/Score", 2), ("Each/1/Weigh", "Each/1/Score")]


def test_an_open_scope_cannot_be_leased(timely: World) -> None:
    run = timely.create(pair())

    assert isinstance(timely.try_acquire(run, "Both"), Refusal)
    assert "Both" not in ready(timely, run)


def test_a_lost_lease_inside_is_told_again_by_the_clock(timely: World) -> None:
    run = timely.create(pair(), agents={"Left": "lea"})
    timely.plane.kick_off(run, "initial")
    timely.acquire(run, "Both/0/Left", "lea", ttl_s=5)

    ahead.look(timely, run, times=2)
    timely.notifications.deliver(run)

    assert "lease_expired" in [event["reason"] for event in timely.messages("lea")]
    timely.do(run, "Both/0/Left", "lea")


# What is not there


@rows("path", ["Each/0/Score", "Each/99/Score"])
def test_what_is_inside_a_scope_that_was_not_entered_yet_can_be_read_but_not_taken(timely: World, path: str) -> None:
    run = timely.create(workflow({"First": task("Each"), "Each": each({"Score": task()})}))

    assert isinstance(timely.try_acquire(run, path), Refusal)
    for answer in (
        timely.renew(run, path, "lease-of-nobody"),
        timely.release(run, path, "lease-of-nobody"),
        timely.update(run, path, "lease-of-nobody", output=1),
        timely.try_complete(run, path, "lease-of-nobody", 1),
    ):
        assert isinstance(answer, Refusal)
    assert timely.given(run, path) is None
    assert path not in timely.raw_docs(run)


def test_an_iteration_beyond_the_last_item_cannot_be_taken(timely: World) -> None:
    run = timely.create(mapped(), run_input=[1, 2])

    assert isinstance(timely.try_acquire(run, "Each/2/Score"), Refusal)
    assert isinstance(timely.try_complete(run, "Each/2/Score", "lease-of-nobody", 1), Refusal)
    assert "Each/2/Score" not in timely.raw_docs(run)


@rows("path", ["Both/2/Left", "Both/0/Right", "Both/x/Left", "Both/0", "Both/0/Left/0/Left", "Left", "/"])
def test_a_path_that_leads_nowhere_is_no_state(timely: World, path: str) -> None:
    run = timely.create(pair())

    with pytest.raises(UnknownState):
        timely.try_acquire(run, path)
    with pytest.raises(UnknownState):
        timely.try_complete(run, path, "lease-of-nobody", 1)
    with pytest.raises(UnknownState):
        timely.doc(run, path)


@rows("name", ["a b", "a/b", "100%", "a%2Fb", "é:{*}", "[0]", '"'])
def test_any_name_may_stand_inside_and_around(timely: World, name: str) -> None:
    inner = {f"{name} in": task(f"{name} then"), f"{name} then": task()}
    states = {name: each(inner, f"{name} after"), f"{name} after": task()}
    run = timely.create(workflow(states), run_input=[1, 2], agents={f"{name} then": "ann"})

    ended = Crew(world=timely, run=run).finish()

    assert ended["output"] == [1, 2]
    assert sorted(call["state"] for call in ended["task_calls"]) == sorted([*inner, *inner, f"{name} after"])
