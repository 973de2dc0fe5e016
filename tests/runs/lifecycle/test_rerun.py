"""Repeating a run as a new one: from its beginning or from a state of it, linked both ways."""

from typing import Any

import pytest

from dcf.core.documents.answers import Created
from dcf.core.documents.model import RunStatus, Status
from dcf.core.lifecycle.repeating import Rerun
from dcf.errors import UnknownRun, UnknownState
from dcf.values.refusal import Refusal
from tests.support.trouble import Killed, Killer
from tests.support.workflows.machines import Document, chain, loop, workflow
from tests.support.workflows.scopes import catching, each, task
from tests.support.world import World


def rerun(world: World, of: str, request_id: str | None = None, run: str | None = None, **more: Any) -> str:
    answer, name = tried(world, of, request_id, run, **more)
    assert isinstance(answer, Created), answer
    return name


def tried(
    world: World, of: str, request_id: str | None = None, run: str | None = None, **more: Any
) -> tuple[Created | Refusal, str]:
    more.setdefault("agents", {})
    name = run or world.name()
    return world.starting.rerun(of, Rerun(workflow_id=name, **more), request_id), name


def refused(world: World, of: str, **more: Any) -> str:
    answer, _ = tried(world, of, **more)
    assert isinstance(answer, Refusal), answer
    assert answer.code == "cannot_rerun"
    return answer.message


def test_a_rerun_is_a_new_run_of_the_same_definition_input_and_agents(world: World) -> None:
    run = world.create(chain("A", "B"), run_input={"n": 1}, agents={"A": "ann"}, planner="boss", tags=("nightly",))
    world.do(run, "A", "ann", output=2)
    world.do(run, "B")
    again = rerun(world, run, reason="the rates were wrong")
    meta = world.meta(again)
    for name in ("definition_sha256", "input", "agents", "planner_agent_id", "max_attempts", "tags", "workflow_name"):
        assert meta[name] == world.meta(run)[name]
    assert world.statuses(again) == {"A": "pending", "B": "pending"}
    assert meta["started_at"] is not None
    assert world.owed(again) == 1


def test_both_runs_name_each_other(world: World) -> None:
    run = world.create(chain("A"))
    item = rerun(world, run, reason="why not")
    two = rerun(world, run)
    assert (world.meta(item)["rerun_of"], world.meta(run)["reruns"]) == (run, [item, two])
    linked = [event for event in world.events(run) if event.type == "RunRerun"]
    assert [event.data for event in linked] == [{"run": item, "reason": "why not"}, {"run": two}]
    assert world.events(item)[0].data["rerun_of"] == run


def test_a_rerun_may_have_another_input_and_other_agents(world: World) -> None:
    run = world.create(chain("A", "B"), run_input=1, agents={"A": "ann", "B": "ann"})
    again = rerun(world, run, run_input=(None,), agents={"A": ("bob",)})
    assert (world.meta(again)["input"], world.given(again, "A")) == (None, None)
    assert world.meta(again)["agents"] == {"A": "bob", "B": "ann"}


def test_a_rerun_from_a_state_keeps_what_was_done_before_it(world: World) -> None:
    run = world.create(chain("A", "B", "C"), run_input=1)
    world.do(run, "A", output=2)
    world.do(run, "B", output=3)
    world.fail(run, "C", world.acquire(run, "C"))
    again = rerun(world, run, from_state="B")
    assert world.statuses(again) == {"A": "succeeded", "B": "pending", "C": "pending"}
    assert (world.output(again, "A"), world.given(again, "B"), world.output(again, "B")) == (2, 2, None)
    assert world.doc(again, "A").attempts == 1
    assert world.events(again)[0].data["kept"] == ["A"]
    world.do(again, "B", output=4)
    world.do(again, "C", output=5)
    assert (world.run_status(again), world.meta(again)["output"]) == (RunStatus.SUCCEEDED, 5)
    assert world.run_status(run) is RunStatus.FAILED


def test_variables_are_as_they_were(world: World) -> None:
    states: Document = {
        "A": {"Type": "Task", "Assign": {"seen.$": "$.n"}, "Next": "B"},
        "B": {"Type": "Task", "Parameters": {"seen.$": "$seen"}, "End": True},
    }
    run = world.create(workflow(states))
    world.do(run, "A", output={"n": 7})
    again = rerun(world, run, from_state="B")
    assert world.given(again, "B") == {"seen": 7}


def test_a_state_that_was_retried_starts_with_all_its_retries(world: World) -> None:
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    run = world.create(workflow({"A": task("B"), "B": task(Retry=retry)}))
    world.do(run, "A")
    world.fail(run, "B", world.acquire(run, "B"))
    again = rerun(world, run, from_state="B")
    world.fail(again, "B", world.acquire(again, "B"))
    assert world.run_status(again) is RunStatus.RUNNING
    assert world.doc(again, "B").retries == 1


def test_a_caught_failure_and_a_map_before_it_are_taken_over(world: World) -> None:
    states: Document = {
        "Each": each({"P": task()}, "A"),
        "A": task("B", Catch=catching("Mend")),
        "Mend": task("B"),
        "B": task(),
    }
    run = world.create(workflow(states), run_input=[1, 2])
    for index in range(2):
        world.do(run, f"Each/{index}/P", output=index)
    world.fail(run, "A", world.acquire(run, "A"))
    world.do(run, "Mend", output="mended")
    again = rerun(world, run, from_state="B")
    assert world.statuses(again) == {"Each": "succeeded", "A": "failed", "Mend": "succeeded", "B": "pending"}
    assert world.output(again, "Each") == [0, 1]
    assert world.given(again, "B") == "mended"
    overview = world.views.overview(again).as_json()
    assert "tally" not in overview["states"]["Each"]
    world.do(again, "B")
    assert world.run_status(again) is RunStatus.SUCCEEDED


def test_a_map_is_begun_anew_with_the_input_it_had(world: World) -> None:
    run = world.create(workflow({"A": task("Each"), "Each": each({"P": task()})}))
    world.do(run, "A", output=["x", "y"])
    world.do(run, "Each/0/P")
    again = rerun(world, run, from_state="Each")
    assert [world.given(again, f"Each/{index}/P") for index in range(2)] == ["x", "y"]
    assert world.owed(again) == 2


def test_in_a_loop_only_what_led_to_the_last_visit_is_taken_over(world: World) -> None:
    run = world.create(loop())
    world.do(run, "Work", output={"round": 1})
    world.do(run, "Check", output={"done": False, "round": 1})
    world.acquire(run, "Work")
    again = rerun(world, run, from_state="Check")
    assert world.statuses(again)["Work"] == "pending", "its last visit is another than the one before Check"
    assert world.given(again, "Check") == {"round": 1}
    world.do(again, "Check", output={"done": True})
    world.do(again, "Finish")
    assert world.run_status(again) is RunStatus.SUCCEEDED


def test_a_state_that_was_never_entered_is_refused(world: World) -> None:
    run = world.create(chain("A", "B"))
    assert "never entered" in refused(world, run, from_state="B")


def test_a_state_whose_input_was_not_recorded_is_refused(world: World) -> None:
    run = world.create(workflow({"A": {"Type": "Pass", "Next": "B"}, "B": task()}))
    assert "not recorded" in refused(world, run, from_state="A")


def test_a_state_inside_a_map_is_refused(world: World) -> None:
    run = world.create(workflow({"Each": each({"P": task()})}), run_input=[1])
    assert "inside a Parallel or Map" in refused(world, run, from_state="Each/0/P")


def test_what_does_not_exist_is_said_to(world: World) -> None:
    run = world.create(chain("A"))
    with pytest.raises(UnknownState):
        tried(world, run, from_state="Z")
    with pytest.raises(UnknownRun):
        tried(world, "no-such-run")


def test_the_same_request_makes_one_run_and_one_link(world: World) -> None:
    run = world.create(chain("A"))
    once = rerun(world, run, "once")
    rerun(world, run, "once", once)
    assert world.meta(run)["reruns"] == [once]
    assert world.event_types(run).count("RunRerun") == 1
    other, _ = tried(world, run, "once", once, from_state="A")
    assert isinstance(other, Refusal)
    assert other.code == "conflict"


def test_a_server_that_dies_between_the_runs_leaves_a_link_that_the_repetition_makes(timely: World) -> None:
    run, name = timely.create(chain("A")), timely.name()
    assert isinstance(timely.before_commit, Killer)
    with timely.before_commit.before_commit(1), pytest.raises(Killed):
        rerun(timely, run, "once", name)
    assert (timely.meta(name)["rerun_of"], timely.meta(run).get("reruns")) == (run, None)
    rerun(timely, run, "once", name)
    assert timely.meta(run)["reruns"] == [name]


def test_a_run_that_was_closed_and_packed_can_be_repeated(world: World) -> None:
    run = world.create(chain("A", "B"), run_input=1)
    world.do(run, "A", output=2)
    world.finalize(run)
    world.notifications.pulse()
    again = rerun(world, run, from_state="B")
    assert world.doc(again, "A").status is Status.SUCCEEDED
    assert world.given(again, "B") == 2
    world.notifications.pulse()
    assert not world.is_live(run), "a link keeps no run on the clock's list"
    assert world.meta(run)["status"] == "cancelled"
