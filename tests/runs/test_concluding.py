"""A Task may wait for something outside of dcf: it is not leased, and is concluded once, or ended by time."""

from typing import Any

from dcf.core.completing.conclusion import Conclusion
from dcf.core.completing.resolving import Resolve
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.features.diagnosis.model import Cause
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import catching, each, parallel, retrying, task
from tests.support.world import World

CALLBACK = "dcf:callback.waitForTaskToken"
KINDS = {
    CALLBACK: "Callback",
    "dcf:signal": "Signal",
    "arn:aws:states:::states:startExecution.sync:2": "Child",
}

GIVEN: dict[str, Document] = {"Signal": {"name": "paid"}, "Child": {"StateMachineArn": "inner"}}


def waits(following: str | None = None, **more: Any) -> Document:
    return task(following, Resource=CALLBACK, **more)


def conclude(world: World, run: str, state: str, **more: Any) -> RunAnswer | Refusal:
    epoch = more.pop("epoch", None) or world.doc(run, state).lease.epoch
    request_id = more.pop("request_id", None)
    wish = Conclusion(state=state, epoch=epoch, by="callback", **more)
    return world.outside.conclude(run, wish, request_id=request_id)


def told(answer: object) -> dict[str, Any]:
    assert isinstance(answer, RunAnswer), answer
    return dict(answer.answer)


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


@rows(("resource", "kind"), KINDS.items())
def test_a_task_for_the_outside_waits_from_its_entry_and_nobody_leases_it(
    world: World, resource: str, kind: str
) -> None:
    run = world.create(workflow({"A": task("B", Resource=resource), "B": task()}), run_input=GIVEN.get(kind, {}))
    doc = world.doc(run, "A")
    assert (doc.status, doc.kind, doc.lease.token) == (Status.RUNNING, kind, None)
    answer = world.try_acquire(run, "A")
    assert isinstance(answer, Refusal)
    assert answer.code == "not_ready"
    assert "waits for a" in answer.message
    assert code(world.claim(run, "w")) != "lease_acquired"
    assert world.doc(run, "A").lease.token is None


def test_its_completer_does_not_lease_it(world: World) -> None:
    run = world.create(workflow({"A": task("B"), "B": waits("C"), "C": task()}))
    done = world.complete(run, "A", world.acquire(run, "A"), claim_ttl_s=60)
    assert done.next_states == ("B",)
    assert done.claims == ()


def test_what_comes_is_its_output_and_the_next_state_is_entered_in_the_same_commit(world: World) -> None:
    run = world.create(workflow({"A": waits("B", ResultPath="$.got"), "B": task()}), run_input={"a": 1})
    answer = told(conclude(world, run, "A", output={"ok": True}))
    assert answer["next_states"] == ["B"]
    assert answer["state_status"] == "succeeded"
    assert world.given(run, "B") == {"a": 1, "got": {"ok": True}}
    concluded = [event for event in world.events(run) if event.type == "StateConcluded"]
    assert [(event.state, event.data["how"], event.data["via"]) for event in concluded] == [("A", "output", "callback")]
    world.do(run, "B")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_a_repetition_gets_the_first_answer_and_a_second_conclusion_is_refused(world: World) -> None:
    run = world.create(workflow({"A": waits("B"), "B": task()}))
    epoch = world.doc(run, "A").lease.epoch
    first = conclude(world, run, "A", output=1, request_id="r")
    again = conclude(world, run, "A", output=1, request_id="r", epoch=epoch)
    assert isinstance(again, RunAnswer)
    assert again.repeated
    assert told(again) == told(first)
    assert code(conclude(world, run, "A", output=2, epoch=epoch)) == "terminal"
    assert world.output(run, "A") == 1


def test_another_visit_cannot_be_concluded(world: World) -> None:
    run = world.create(workflow({"A": waits("B", Retry=retrying("Again")), "B": task()}))
    first = world.doc(run, "A").lease.epoch
    assert told(conclude(world, run, "A", failed=True, error="Again"))["state_status"] == "pending"
    assert code(conclude(world, run, "A", output=1, epoch=first)) == "not_waiting"


def test_a_failure_is_retried_by_the_clock_with_a_new_epoch_and_then_caught(timely: World) -> None:
    states = {"A": waits(Retry=retrying("Again", MaxAttempts=1), Catch=catching("Mend")), "Mend": task()}
    run = timely.create(workflow(states))
    first = timely.doc(run, "A")
    conclude(timely, run, "A", failed=True, error="Again", cause="why")
    ahead.look(timely, run)
    again = timely.doc(run, "A")
    assert (again.status, again.kind) == (Status.RUNNING, "Callback")
    assert again.lease.epoch > first.lease.epoch
    assert code(conclude(timely, run, "A", output=1, epoch=first.lease.epoch)) == "conflict"
    conclude(timely, run, "A", failed=True, error="Again")
    assert timely.doc(run, "A").status is Status.FAILED
    assert timely.given(run, "Mend") == {"Error": "Again", "Cause": None}


@rows("field", ["TimeoutSeconds", "HeartbeatSeconds"])
def test_the_clock_ends_it_when_its_time_has_passed(timely: World, field: str) -> None:
    limit: Document = {field: 30}
    run = timely.create(workflow({"A": waits(Catch=catching("Mend"), **limit), "Mend": task()}))
    assert timely.doc(run, "A").waits_outside
    began = ahead.passed(timely)
    ahead.look(timely, run)
    assert ahead.passed(timely) - began <= 31 * SECOND
    assert timely.given(run, "Mend")["Error"] == "States.Timeout"


def test_without_a_timeout_it_waits_for_ever_and_no_clock_disturbs_it(timely: World) -> None:
    run = timely.create(workflow({"A": waits()}))
    ahead.let_pass(timely, 10**8)
    timely.make_due(run, "A")
    timely.plane.look(run, "A")
    assert timely.doc(run, "A").waits_outside
    told(conclude(timely, run, "A", output=7))
    assert timely.meta(run)["output"] == 7


def test_in_a_map_each_iteration_waits_by_itself(world: World) -> None:
    run = world.create(workflow({"Each": each({"Ask": waits()})}), run_input=[1, 2])
    for index in (1, 0):
        told(conclude(world, run, f"Each/{index}/Ask", output=f"got {index}"))
    assert world.meta(run)["output"] == ["got 0", "got 1"]


def test_a_branch_that_fails_cancels_what_waits_beside_it(world: World) -> None:
    run = world.create(workflow({"P": parallel({"A": waits()}, {"B": task()}, Catch=catching("Mend")), "Mend": task()}))
    epoch = world.doc(run, "P/0/A").lease.epoch
    world.fail(run, "P/1/B", world.acquire(run, "P/1/B"))
    assert world.doc(run, "P/0/A").status is Status.CANCELLED
    assert code(conclude(world, run, "P/0/A", output=1, epoch=epoch)) == "terminal"


def test_an_operator_ends_it_by_hand_and_cannot_assign_it(world: World) -> None:
    run = world.create(workflow({"A": waits("B"), "B": waits()}), run_input={"x": 1})
    assert code(world.lifecycle.resolve(run, Resolve(state="A", agents=("w",)))) == "not_ready"
    told(world.lifecycle.resolve(run, Resolve(state="A", how="output", output=5)))
    assert world.output(run, "A") == 5
    told(world.lifecycle.resolve(run, Resolve(state="B", how="skip")))
    assert world.meta(run)["output"] == 5


def test_a_cancelled_run_cannot_be_concluded_and_a_retried_one_waits_again(world: World) -> None:
    run = world.create(workflow({"A": waits()}))
    epoch = world.doc(run, "A").lease.epoch
    world.lifecycle.cancel(run)
    assert code(conclude(world, run, "A", output=1, epoch=epoch)) == "run_over"
    other = world.create(workflow({"A": waits()}))
    old = world.doc(other, "A").lease.epoch
    conclude(world, other, "A", failed=True, error="Lost")
    assert world.run_status(other) is RunStatus.FAILED
    assert isinstance(world.retrying.retry(other), RunAnswer)
    assert code(conclude(world, other, "A", output=1, epoch=old)) == "conflict"
    told(conclude(world, other, "A", output=3))
    assert world.run_status(other) is RunStatus.SUCCEEDED


def test_a_state_that_does_not_wait_is_not_concluded(world: World) -> None:
    run = world.create(chain("A", "B"))
    assert code(conclude(world, run, "A", output=1)) == "not_waiting"
    assert world.doc(run, "A").status is Status.PENDING


@rows(("resource", "kind"), KINDS.items())
def test_a_diagnosis_says_what_it_waits_for(world: World, resource: str, kind: str) -> None:
    ahead_of = {"Callback": "callback", "Human": "person", "Signal": "signal", "Child": "child"}[kind]
    document = workflow({"A": task(Resource=resource, TimeoutSeconds=60)})
    run = world.create(document, run_input=GIVEN.get(kind, {}))
    world.plane.kick_off(run, "go")
    result = [finding for finding in world.diagnosis.explain(run, None).findings if finding.state == "A"]
    assert [item.cause for item in result] == [Cause(f"waiting_for_{ahead_of}")]
    assert "waits for a" in result[0].sentence
    assert "at the latest until" in result[0].sentence
