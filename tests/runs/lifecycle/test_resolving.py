"""A state is ended by hand, or given to others, and its holder is fenced out."""

from collections.abc import Callable
from typing import Any

import pytest

from dcf.core.completing.resolving import Resolve, wish_of
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.errors import InvalidArgument, UnknownState
from dcf.runs.control_plane import ControlPlane
from dcf.runs.lifecycle import Lifecycle
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.tables import rows
from tests.support.trouble import Meanwhile, dies
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import catching, each, parallel, retrying, task
from tests.support.world import World

RESULT = {"A": task("B", ResultPath="$.found"), "B": task()}
GUARDED = {
    "A": task("B", Retry=retrying("States.ALL"), Catch=catching("Mend")),
    "B": task(),
    "Mend": task(),
}


def done(answer: object) -> dict[str, Any]:
    assert isinstance(answer, RunAnswer), answer
    return dict(answer.answer)


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def resolve(world: World, run: str, state: str, **more: Any) -> RunAnswer | Refusal:
    details = {name: more.pop(name) for name in ("reason", "request_id") if name in more}
    return world.lifecycle.resolve(run, Resolve(state=state, **more), **details)


def output(world: World, run: str, state: str, value: Any) -> RunAnswer | Refusal:
    return resolve(world, run, state, how="output", output=value)


def skip(world: World, run: str, state: str) -> RunAnswer | Refusal:
    return resolve(world, run, state, how="skip")


def fail(world: World, run: str, state: str, **more: Any) -> RunAnswer | Refusal:
    return resolve(world, run, state, how="error", error="ByHand", cause="cannot be done", **more)


def told(world: World, agent: str, run: str) -> list[tuple[str | None, str]]:
    world.notifications.pulse()
    return [(m["target_state"], m["reason"]) for m in world.messages(agent) if m["workflow_id"] == run]


def waiting(world: World, kind: str) -> str:
    """A run whose Task A is in one of the ways in which a Task can be open."""
    run = world.create(workflow(GUARDED), agents={"A": "a", "B": "b"})
    world.plane.kick_off(run, "go")
    if kind == "ready":
        return run
    token = world.acquire(run, "A", "a", token=f"held-{run}")
    if kind == "retried":
        world.fail(run, "A", token)
    if kind == "expired":
        world.expire_lease(run, "A")
    return run


def meanwhile(world: World, do: Callable[[], object]) -> ControlPlane:
    """A server that reads, and before whose first commit something else happens."""
    return ControlPlane(RunStore(world.connections, before_commit=Meanwhile(do)), world.index)


# Ending


@rows("kind", ["ready", "leased", "expired", "retried"])
def test_an_open_task_is_given_an_output_and_the_run_goes_on(world: World, kind: str) -> None:
    run = waiting(world, kind)
    assert done(output(world, run, "A", {"by": "hand"}))["next_states"] == ["B"]
    assert (world.doc(run, "A").status, world.output(run, "A")) == (Status.SUCCEEDED, {"by": "hand"})
    assert world.given(run, "B") == {"by": "hand"}
    assert told(world, "b", run) == [("B", "upstream_done")]
    world.do(run, "B", "b")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_the_output_of_a_hand_goes_where_a_holders_would(world: World) -> None:
    run = world.create(workflow(RESULT), run_input={"kept": 1})
    done(output(world, run, "A", 7))
    assert world.given(run, "B") == {"kept": 1, "found": 7}


def test_a_skipped_task_hands_its_input_on_as_if_it_were_not_there(world: World) -> None:
    states = {"A": task("B", Parameters={"only": "$.kept"}, ResultPath="$.found"), "B": task()}
    run = world.create(workflow(states), run_input={"kept": 1})
    done(skip(world, run, "A"))
    assert (world.output(run, "A"), world.given(run, "B")) == ({"kept": 1}, {"kept": 1})
    assert world.doc(run, "A").status is Status.SUCCEEDED


@rows("kind", ["ready", "leased", "expired", "retried"])
def test_a_failure_by_hand_is_final_whatever_the_state_retries_and_catches(world: World, kind: str) -> None:
    run = waiting(world, kind)
    assert done(fail(world, run, "A"))["run_status"] == "failed"
    assert (world.run_status(run), world.meta(run)["error"]) == (RunStatus.FAILED, "ByHand")
    assert world.doc(run, "A").status is Status.FAILED


def test_a_failure_by_hand_is_retried_and_caught_if_that_is_asked_for(timely: World) -> None:
    run = waiting(timely, "leased")
    assert done(fail(timely, run, "A", handled=True))["state_status"] == "pending"
    assert timely.doc(run, "A").retries == 1
    caught = timely.create(workflow({"A": task("B", Catch=catching("B")), "B": task()}))
    assert done(fail(timely, caught, "A", handled=True))["next_states"] == ["B"]


def test_a_failure_by_hand_is_handled_by_what_is_around_the_state(world: World) -> None:
    states = {"Fan": parallel({"A": task()}, {"C": task()}, Catch=catching("B"), following="B"), "B": task()}
    run = world.create(workflow(states))
    acquire = world.acquire(run, "Fan/1/C")
    assert done(fail(world, run, "Fan/0/A"))["next_states"] == ["B"]
    assert code(world.try_complete(run, "Fan/1/C", acquire, 1)) == "lease_lost"


def test_one_iteration_is_ended_by_hand(world: World) -> None:
    run = world.create(workflow({"Each": each({"I": task()})}), run_input=[1, 2])
    world.do(run, "Each/0/I", output="worked")
    done(output(world, run, "Each/1/I", "by hand"))
    assert (world.run_status(run), world.meta(run)["output"]) == (RunStatus.SUCCEEDED, ["worked", "by hand"])


def test_a_wait_is_ended_early(timely: World) -> None:
    run = timely.create(workflow({"W": {"Type": "Wait", "Seconds": 600, "Next": "A"}, "A": task()}), run_input={"x": 1})
    assert code(output(timely, run, "W", 1)) == "invalid_transition"
    done(skip(timely, run, "W"))
    assert (timely.doc(run, "W").status, timely.given(run, "A")) == (Status.SUCCEEDED, {"x": 1})
    assert ahead.timers(timely, run).keys() == {"A"}


def test_a_wait_is_failed(world: World) -> None:
    run = world.create(workflow({"W": {"Type": "Wait", "Seconds": 600, "Next": "A"}, "A": task()}))
    done(fail(world, run, "W"))
    assert (world.run_status(run), world.doc(run, "W").status) == (RunStatus.FAILED, Status.FAILED)


def test_the_last_state_is_resolved_while_the_run_is_paused_and_the_run_ends(world: World) -> None:
    run = world.create(chain("A"))
    world.lifecycle.pause(run)
    assert done(output(world, run, "A", 1))["run_status"] == "succeeded"
    assert world.run_status(run) is RunStatus.SUCCEEDED


# The holder


@rows("end", [fail, skip])
def test_the_holder_is_told_to_stop_and_its_completion_is_refused(
    world: World, end: Callable[[World, str, str], RunAnswer | Refusal]
) -> None:
    states = {"Fan": parallel({"A": task()}, {"C": task()}, Catch=catching("B"), following="B"), "B": task()}
    run = world.create(workflow(states), agents={"A": "a"})
    acquire = world.acquire(run, "Fan/0/A", "a")
    done(end(world, run, "Fan/0/A"))
    before = world.output(run, "Fan/0/A")
    assert code(world.try_complete(run, "Fan/0/A", acquire, "late")) == "lease_lost"
    assert world.output(run, "Fan/0/A") == before
    assert ("Fan/0/A", "cancelled") in told(world, "a", run)


def test_a_completion_that_began_before_the_resolution_is_refused(world: World) -> None:
    run = waiting(world, "leased")
    slow = meanwhile(world, lambda: done(output(world, run, "A", "hand")))
    request = Update(state="A", token=f"held-{run}", status=Status.SUCCEEDED, has_output=True, output="worker")
    assert code(slow.update(run, request)) == "lease_lost"
    assert (world.output(run, "A"), world.given(run, "B")) == ("hand", "hand")


def test_a_resolution_that_began_before_the_completion_is_refused(world: World) -> None:
    run = waiting(world, "leased")
    slow = Lifecycle(meanwhile(world, lambda: world.complete(run, "A", f"held-{run}", "worker")))
    assert code(slow.resolve(run, Resolve(state="A", how="output", output="hand"))) == "terminal"
    assert world.output(run, "A") == "worker"


def test_the_history_says_how_why_and_who_held_it(world: World) -> None:
    run = waiting(world, "leased")
    done(resolve(world, run, "A", how="skip", reason="done by phone"))
    (event,) = [happening for happening in world.history_of(run) if happening.type == "StateResolved"]
    assert event.state == "A"
    assert {**event.data, "epoch": 0} == {"epoch": 0, "how": "skip", "held_by": "a", "reason": "done by phone"}


# Assigning


def test_a_state_is_given_to_another_agent_who_is_told(world: World) -> None:
    run = waiting(world, "ready")
    assert done(resolve(world, run, "A", agents=("new",)))["assigned"] == ["new"]
    assert told(world, "new", run) == [("A", "assigned")]
    assert code(world.try_acquire(run, "A", "a")) == "owner_mismatch"
    assert isinstance(world.try_acquire(run, "A", "new"), Leased)
    assert world.meta(run)["agents"] == {"A": "new", "B": "b"}


def test_a_holder_that_is_not_assigned_any_more_is_fenced_out(world: World) -> None:
    run = waiting(world, "leased")
    done(resolve(world, run, "A", agents=("new", "newer")))
    assert code(world.try_complete(run, "A", f"held-{run}", "late")) == "lease_lost"
    assert ("A", "cancelled") in told(world, "a", run)
    assert isinstance(world.try_acquire(run, "A", "newer"), Leased)


def test_a_holder_that_stays_assigned_keeps_its_lease(world: World) -> None:
    run = waiting(world, "leased")
    done(resolve(world, run, "A", agents=("a", "new")))
    world.complete(run, "A", f"held-{run}", 1)
    assert told(world, "new", run) == []


def test_an_iteration_is_assigned_by_its_name_for_all_iterations(timely: World) -> None:
    run = timely.create(workflow({"Each": each({"I": task()})}), run_input=[1, 2], agents={"I": "old"})
    timely.plane.kick_off(run, "go")
    done(resolve(timely, run, "Each/0/I", agents=("new",)))
    ahead.look(timely, run, times=2)
    assert {state for state, _ in told(timely, "new", run)} == {"Each/0/I", "Each/1/I"}


def test_a_task_is_assigned_by_its_name_before_the_map_around_it_is_open(timely: World) -> None:
    run = timely.create(workflow({"A": task("Each"), "Each": each({"I": task()})}), agents={"A": "a"})
    timely.plane.kick_off(run, "go")
    request = {"agents": ("new",), "request_id": "once"}
    assert done(resolve(timely, run, "I", **request))["assigned"] == ["new"]
    again = resolve(timely, run, "I", **request)
    assert isinstance(again, RunAnswer)
    assert again.repeated
    assert timely.meta(run)["agents"] == {"A": "a", "I": "new"}
    assert [event.type for event in timely.events(run)].count("AgentsAssigned") == 1
    token = timely.acquire(run, "A", "a")
    timely.complete(run, "A", token, [1, 2])
    assert {state for state, _ in told(timely, "new", run)} == {"Each/0/I", "Each/1/I"}


def test_a_task_is_assigned_by_its_name_while_its_iterations_wait(timely: World) -> None:
    run = timely.create(workflow({"Each": each({"I": task()})}), run_input=[1, 2], agents={"I": "old"})
    timely.plane.kick_off(run, "go")
    assert {state for state, _ in told(timely, "old", run)} == {"Each/0/I", "Each/1/I"}
    done(resolve(timely, run, "I", agents=("new",)))
    ahead.look(timely, run, times=2)
    assert {state for state, _ in told(timely, "new", run)} == {"Each/0/I", "Each/1/I"}


def test_a_task_that_control_has_not_reached_is_assigned_and_nobody_is_told_yet(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a"})
    assert done(resolve(world, run, "B", agents=("new",)))["state_status"] == "pending"
    assert world.meta(run)["agents"] == {"A": "a", "B": "new"}
    assert told(world, "new", run) == []


def test_no_agent_is_assigned_ahead_to_a_task_that_no_agent_works_on(world: World) -> None:
    ask = task(Resource="dcf:human", Parameters={"to": "alice", "title": "t"})
    run = world.create(workflow({"A": task("Ask"), "Ask": ask}), agents={"A": "a"})
    assert code(resolve(world, run, "Ask", agents=("new",))) == "not_ready"
    assert world.meta(run)["agents"] == {"A": "a"}


def test_nobody_is_assigned_ahead_in_a_run_that_is_over(world: World) -> None:
    run = world.create(workflow({"Each": each({"I": task()})}), run_input=[1])
    world.lifecycle.cancel(run)
    assert code(resolve(world, run, "I", agents=("new",))) == "run_over"
    with pytest.raises(InvalidArgument):
        resolve(world, run, "I", agents=("no agent",))


def test_only_tasks_are_assigned_and_only_to_agents(world: World) -> None:
    run = world.create(workflow({"W": {"Type": "Wait", "Seconds": 600, "Next": "A"}, "A": task()}))
    with pytest.raises(InvalidArgument):
        resolve(world, run, "W", agents=("new",))
    with pytest.raises(InvalidArgument):
        resolve(world, run, "A", agents=("no agent",))


# Refusals


def test_what_has_ended_or_was_not_reached_is_not_resolved(world: World) -> None:
    run = world.create(chain("A", "B"))
    assert code(output(world, run, "B", 1)) == "not_ready"
    world.do(run, "A")
    assert code(output(world, run, "A", 1)) == "terminal"
    world.do(run, "B")
    assert code(output(world, run, "B", 1)) == "run_over"


def test_what_is_inside_an_ended_scope_or_not_opened_is_not_resolved(world: World) -> None:
    states = {"Each": each({"I": task()}, MaxConcurrency=1, Catch=catching("B"), following="B"), "B": task()}
    run = world.create(workflow(states), run_input=[1, 2])
    assert code(skip(world, run, "Each/1/I")) == "not_ready"
    assert code(skip(world, run, "Each")) == "invalid_transition"
    done(fail(world, run, "Each/0/I"))
    assert code(skip(world, run, "Each/0/I")) == "terminal"


def test_a_state_that_has_moved_on_since_it_was_read_is_not_resolved(world: World) -> None:
    run = waiting(world, "leased")
    seen = world.doc(run, "A").lease.epoch
    world.expire_lease(run, "A")
    world.acquire(run, "A", "a")
    assert code(resolve(world, run, "A", how="skip", epoch=seen)) == "conflict"
    done(resolve(world, run, "A", how="skip", epoch=world.doc(run, "A").lease.epoch))


def test_a_wish_for_nothing_is_invalid(world: World) -> None:
    with pytest.raises(InvalidArgument):
        resolve(world, world.create(chain("A")), "A")


def test_an_unknown_state_is_told(world: World) -> None:
    run = world.create(chain("A"))
    with pytest.raises(UnknownState):
        skip(world, run, "Nobody")


@rows(
    "wish",
    [
        {"output": 1, "skip": True},
        {"error": "E", "output": None},
        {"cause": "why"},
        {"handled": True, "skip": True},
    ],
)
def test_a_wish_that_contradicts_itself_is_invalid(wish: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        wish_of("A", **wish)


# Repetitions and crashes


def test_a_repeated_resolution_gets_the_first_answer(world: World) -> None:
    run = waiting(world, "leased")
    first = resolve(world, run, "A", how="output", output=1, request_id="r1")
    world.do(run, "B", "b")
    again = resolve(world, run, "A", how="output", output=1, request_id="r1")
    assert done(again) == done(first)
    assert code(resolve(world, run, "A", how="output", output=2, request_id="r1")) == "conflict"


def test_a_join_that_a_dying_process_owed_after_a_resolution_is_done_by_the_clock(timely: World) -> None:
    run = timely.create(workflow({"Each": each({"I": task()})}), run_input=[1])
    assert dies(timely, 1, lambda: output(timely, run, "Each/0/I", "by hand"))
    assert timely.run_status(run) is RunStatus.RUNNING
    ahead.look(timely, run)
    assert (timely.run_status(run), timely.meta(run)["output"]) == (RunStatus.SUCCEEDED, ["by hand"])


def test_a_state_that_ends_while_its_run_is_started_leaves_no_timer(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    plane = meanwhile(world, lambda: output(world, run, "A", 1))
    plane.kick_off(run, "go")
    assert "A" not in ahead.timers(world, run)
