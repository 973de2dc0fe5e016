"""The language in a run: retries, catchers, waits and timeouts of the timer loop; JSONata and variables."""

from typing import Any

from dcf.core.documents.answers import Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.values.refusal import Refusal
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.workflows.machines import Document, workflow
from tests.support.world import World

DONE: Document = {"Type": "Succeed"}


def task(following: str | None = "Done", **more: Any) -> Document:
    return {"Type": "Task", **({"Next": following} if following else {"End": True}), **more}


def retrying(**more: Any) -> Document:
    retry = {"ErrorEquals": ["Busy"], "IntervalSeconds": 1, "MaxAttempts": 2, "BackoffRate": 1, **more}
    return workflow({"Work": task(Retry=[retry]), "Done": DONE})


def pulsing(world: World, run: str, status: Status, state: str = "Work") -> bool:
    """Let the clock look once; whether the state has come so far."""
    world.notifications.pulse()
    return world.doc(run, state).status is status


def test_a_failure_that_is_retried_gives_the_task_back_for_later(world: World) -> None:
    run = world.create(retrying(IntervalSeconds=60), run_input={"x": 1}, agents={"Work": "ann"})
    token = world.acquire(run, "Work", "ann")

    fail = world.fail(run, "Work", token, "Busy")

    assert isinstance(fail, Updated)
    assert fail.run_status is RunStatus.RUNNING
    doc = world.doc(run, "Work")
    assert (doc.status, doc.lease.token, doc.last_error) == (Status.PENDING, None, "Busy: why")
    early = world.try_acquire(run, "Work", "ann")
    assert isinstance(early, Refusal)
    assert (early.code, early.retry_after_s is not None) == ("not_ready", True)
    assert world.event_types(run, "Work")[-1] == "StateRetried"


def test_at_the_time_of_the_retry_the_agent_is_notified_and_gets_the_same_input(world: World) -> None:
    run = world.create(retrying(), run_input={"x": 1}, agents={"Work": "ann"})
    world.fail(run, "Work", world.acquire(run, "Work", "ann"), "Busy")

    def told() -> bool:
        world.notifications.pulse()
        return bool(world.messages("ann"))

    wait_until(told)
    assert world.given(run, "Work") == {"x": 1}
    world.do(run, "Work", "ann", output=7)
    assert (world.run_status(run), world.meta(run)["output"]) == (RunStatus.SUCCEEDED, 7)


def test_a_retrier_that_is_used_up_fails_the_run(world: World) -> None:
    run = world.create(retrying(MaxAttempts=1))
    world.fail(run, "Work", world.acquire(run, "Work"), "Busy")
    wait_until(lambda: world.doc(run, "Work").is_claimable(world.plane.read(run, ()).now))

    world.fail(run, "Work", world.acquire(run, "Work"), "Busy", "again")

    assert world.run_status(run) is RunStatus.FAILED
    assert (world.meta(run)["error"], world.meta(run)["cause"]) == ("Busy", "again")


def test_a_failure_that_is_caught_goes_on_with_the_error_in_the_data(world: World) -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.problem", "Next": "Mend"}]
    run = world.create(workflow({"Work": task(Catch=catch), "Mend": task(), "Done": DONE}), run_input={"x": 1})
    waiting = world.doc(run, "Mend")
    assert not waiting.is_ready

    world.fail(run, "Work", world.acquire(run, "Work"), "Broken", "a wheel")

    assert world.doc(run, "Work").status is Status.FAILED
    assert world.given(run, "Mend") == {"x": 1, "problem": {"Error": "Broken", "Cause": "a wheel"}}
    world.do(run, "Mend", output="mended")
    assert world.meta(run)["output"] == "mended"


def test_a_wait_is_over_when_its_time_has_come_and_nobody_can_lease_it(world: World) -> None:
    pause = {"Type": "Wait", "Seconds": 1, "Next": "After"}
    run = world.create(workflow({"Pause": pause, "After": task(None)}), run_input={"x": 1})
    assert world.doc(run, "Pause").status is Status.RUNNING
    assert isinstance(world.try_acquire(run, "Pause"), Refusal)

    wait_until(lambda: pulsing(world, run, Status.SUCCEEDED, "Pause"))

    assert not isinstance(world.claim(run, "w"), Refusal)
    assert world.given(run, "After") == {"x": 1}


def test_a_task_that_takes_too_long_fails_although_somebody_holds_it(world: World) -> None:
    run = world.create(workflow({"Work": task(TimeoutSeconds=1), "Done": DONE}))
    token = world.acquire(run, "Work")

    wait_until(lambda: pulsing(world, run, Status.FAILED))

    assert (world.run_status(run), world.meta(run)["error"]) == (RunStatus.FAILED, "States.Timeout")
    late = world.try_complete(run, "Work", token, 1)
    assert isinstance(late, Refusal)
    assert late.code == "terminal"


def test_missed_heartbeats_are_caught_like_any_error(world: World) -> None:
    catch = [{"ErrorEquals": ["States.HeartbeatTimeout"], "Next": "Mend"}]
    states = {"Work": task(HeartbeatSeconds=1, Catch=catch), "Mend": task(), "Done": DONE}
    run = world.create(workflow(states))
    token = world.acquire(run, "Work")

    wait_until(lambda: pulsing(world, run, Status.FAILED))

    assert world.run_status(run) is RunStatus.RUNNING
    assert world.doc(run, "Mend").is_ready
    assert world.given(run, "Mend") == {"Error": "States.Timeout", "Cause": None}
    late = world.renew(run, "Work", token)
    assert isinstance(late, Refusal)


@rows("text", ['"\\ud800"', "9223372036854775808", "1e999"])
def test_a_text_that_stands_for_what_json_cannot_hold_fails_its_state_by_name(world: World, text: str) -> None:
    catch = [{"ErrorEquals": ["States.IntrinsicFailure"], "Next": "Mend"}]
    read = {"value.$": "States.StringToJson($.text)"}
    run = world.create(workflow({"Work": task(ResultSelector=read, Catch=catch), "Mend": task(), "Done": DONE}))

    details = world.do(run, "Work", output={"text": text})

    assert (details.run_status, details.next_states) == (RunStatus.RUNNING, ("Mend",))
    assert world.given(run, "Mend")["Error"] == "States.IntrinsicFailure"


def test_a_failure_without_a_name_or_a_cause_has_neither(world: World) -> None:
    document = workflow(
        {"Work": task(Catch=[{"ErrorEquals": ["States.ALL"], "Next": "Mend"}]), "Mend": task("Done"), "Done": DONE}
    )
    run = world.create(document)

    world.update(run, "Work", world.acquire(run, "Work"), status=Status.FAILED)

    assert world.given(run, "Mend") == {"Error": None, "Cause": None}
    world.update(run, "Mend", world.acquire(run, "Mend"), status=Status.FAILED)
    assert world.run_status(run) is RunStatus.FAILED
    assert (world.meta(run)["error"], world.meta(run)["cause"]) == (None, None)


def test_variables_and_jsonata_travel_with_control(world: World) -> None:
    states: Document = {
        "Keep": {"Type": "Pass", "Assign": {"kept.$": "$.n"}, "Next": "Work"},
        "Work": task(
            "Sum", QueryLanguage="JSONata", Arguments={"twice": "{% $kept * 2 %}"}, Output="{% $states.result %}"
        ),
        "Sum": {
            "Type": "Pass",
            "QueryLanguage": "JSONata",
            "Output": "{% $kept + $states.input %}",
            "End": True,
        },
    }
    run = world.create(workflow(states), run_input={"n": 20})
    assert world.given(run, "Work") == {"twice": 40}

    world.do(run, "Work", output=2)

    assert world.meta(run)["output"] == 22
