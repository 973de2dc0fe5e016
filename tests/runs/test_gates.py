"""Gates between a worker's completion and the end of its state: what waits, who judges, what follows."""

from typing import Any

import pytest

from dcf.core.answers import Updated
from dcf.core.gate_refusals import GateRefusal
from dcf.core.gates import Judged
from dcf.core.gating import content_sha256
from dcf.core.model import RunStatus
from dcf.core.operations import RunAnswer
from dcf.core.verdicts import Judge, Ruling
from dcf.values.refusal import Refusal
from tests.support.machines import Document, workflow
from tests.support.world import World

CRITERIA = ("Every claim has a source.", "It is at most a page.")
REVIEW: Document = {"name": "review", "kind": "review", "criteria": list(CRITERIA), "reviewers": ["rita", "rob"]}
SHAPE: Document = {"name": "shape", "kind": "schema", "schema": {"type": "object", "required": ["text"]}}
COMMAND: Document = {"name": "tests", "kind": "command", "command": "make test"}
GOOD = {"text": "done"}


def gated(*gates: Document, **more: Any) -> Document:
    return workflow(
        {"A": {"Type": "Task", "Gates": list(gates), "Next": "B", **more}, "B": {"Type": "Task", "End": True}}
    )


def begun(world: World, *gates: Document, **more: Any) -> tuple[str, str]:
    """A run whose state A is held by ann; its token."""
    run = world.create(gated(*gates, **more), agents={"A": "ann", "B": "ben"}, planner="pat")
    return run, world.acquire(run, "A", "ann")


def submit(world: World, run: str, token: str, output: Any = None, **more: Any) -> Updated | Refusal:
    return world.try_complete(run, "A", token, output=GOOD if output is None else output, **more)


def judge(
    world: World, run: str, gate: str = "review", verdict: str = "pass", *, by: str = "rita", **more: Any
) -> RunAnswer | Refusal:
    output = more.pop("output", GOOD)
    request_id = more.pop("request_id", None)
    failing = more.pop("failing", CRITERIA[:1] if verdict == "fail" else ())
    criteria = tuple(Judged(criterion=one, passed=one not in failing, feedback="mend") for one in CRITERIA)
    who = more.pop("judge", Judge(name=by, may_work=True))
    ruling = Ruling(
        state="A",
        gate=gate,
        verdict=verdict,
        sha256=more.pop("sha256", content_sha256(output)),
        by=who,
        criteria=more.pop("criteria", criteria if gate == "review" and verdict != "unavailable" else ()),
        **more,
    )
    return world.gates.decide(run, ruling, request_id=request_id)


def ok(answer: object) -> dict[str, Any]:
    assert isinstance(answer, RunAnswer), answer
    return dict(answer.answer)


def code(answer: object) -> str:
    return answer.code if isinstance(answer, Refusal) else "ok"


def test_an_output_waits_for_its_review_and_the_passing_verdict_completes_the_state(world: World) -> None:
    run, token = begun(world, REVIEW)
    assert code(submit(world, run, token)) == "review_running"
    assert world.doc(run, "A").kind == "Gate"
    assert world.doc(run, "B").status == "pending"
    told = ok(judge(world, run))
    assert (told["state_status"], told["next_states"]) == ("succeeded", ["B"])
    assert world.statuses(run) == {"A": "succeeded", "B": "pending"}
    assert world.given(run, "B") == GOOD
    world.do(run, "B", "ben")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_the_same_call_finds_out_and_applies_nothing_twice(world: World) -> None:
    run, token = begun(world, REVIEW)
    for _ in range(3):
        assert code(submit(world, run, token)) == "review_running"
    assert world.event_types(run).count("GateOpened") == 1
    judge(world, run)
    answer = submit(world, run, token)
    assert isinstance(answer, Updated)
    assert (answer.repeated, answer.status, answer.next_states) == (True, "succeeded", ("B",))
    assert world.event_types(run).count("StateSucceeded") == 1


def test_rework_goes_back_to_the_same_worker_with_the_failed_criteria_only(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    assert ok(judge(world, run, verdict="fail"))["state_status"] == "running"
    answer = submit(world, run, token)
    assert isinstance(answer, GateRefusal)
    assert (answer.code, [one["criterion"] for one in answer.failed_criteria]) == ("needs_work", [CRITERIA[0]])
    assert answer.failed_criteria[0] == {
        "gate": "review",
        "criterion": CRITERIA[0],
        "passed": False,
        "feedback": "mend",
    }
    assert world.doc(run, "A").lease.is_held_with(token)
    better = {"text": "better"}
    assert code(submit(world, run, token, better)) == "review_running"
    assert ok(judge(world, run, output=better))["state_status"] == "succeeded"
    assert world.output(run, "A") == better


def test_the_worker_is_told_of_rework_and_the_reviewers_of_their_work(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    world.notifications.pulse()
    (event,) = world.messages("rita")
    assert (event["type"], event["gate"], event["criteria"]) == ("gate_opened", "review", list(CRITERIA))
    assert (event["output"], event["content_sha256"]) == (GOOD, content_sha256(GOOD))
    assert world.notifications.is_current(event)
    judge(world, run, verdict="fail", by="rob")
    assert not world.notifications.is_current(event)
    world.notifications.pulse()
    told = [one for one in world.messages("ann") if one["type"] == "needs_work"]
    assert [one["failed_criteria"][0]["criterion"] for one in told] == [CRITERIA[0]]
    assert world.notifications.is_current(told[0])


def test_a_schema_gate_answers_at_once_and_counts(world: World) -> None:
    run, token = begun(world, {**SHAPE, "max_attempts": 2})
    answer = submit(world, run, token, {"txt": "x"})
    assert isinstance(answer, GateRefusal)
    assert (answer.code, answer.failed_criteria[0]["feedback"]) == ("needs_work", "'text' is missing")
    assert code(submit(world, run, token, {"txt": "x"})) == "needs_work"  # the same: not counted
    done = submit(world, run, token, {"tixt": "x"})
    assert isinstance(done, Updated)
    assert (done.status, done.run_status) == ("failed", RunStatus.FAILED)
    assert world.meta(run)["error"] == "DCF.GateFailed"
    again = submit(world, run, token, {"tixt": "x"})
    assert isinstance(again, Updated)
    assert again.repeated


def test_a_schema_gate_that_passes_completes_at_once(world: World) -> None:
    run, token = begun(world, SHAPE)
    done = submit(world, run, token)
    assert isinstance(done, Updated)
    assert (done.status, done.next_states) == ("succeeded", ("B",))
    assert [event.data["verdict"] for event in world.events(run) if event.type == "GateDecided"] == ["pass"]


def test_the_last_failure_fails_the_state_with_an_error_that_catch_handles(world: World) -> None:
    catch = {"Catch": [{"ErrorEquals": ["DCF.GateFailed"], "Next": "B"}]}
    run, token = begun(world, {**REVIEW, "max_attempts": 1}, **catch)
    submit(world, run, token)
    told = ok(judge(world, run, verdict="fail"))
    assert (told["state_status"], told["next_states"]) == ("failed", ["B"])
    assert world.given(run, "B")["Error"] == "DCF.GateFailed"


def test_a_retry_of_the_state_is_judged_anew(world: World) -> None:
    retry = {"Retry": [{"ErrorEquals": ["DCF.GateFailed"], "IntervalSeconds": 1, "MaxAttempts": 1}]}
    run, token = begun(world, {**REVIEW, "max_attempts": 1}, **retry)
    submit(world, run, token)
    judge(world, run, verdict="fail")
    doc = world.doc(run, "A")
    assert (doc.status, doc.retries, doc.gated) == ("pending", 1, None)


def test_a_verdict_for_the_same_content_survives_a_repetition(world: World) -> None:
    run, token = begun(world, REVIEW, COMMAND)
    submit(world, run, token)
    assert ok(judge(world, run))["waits_for"] == ["tests"]
    ok(judge(world, run, "tests", "fail", by="ann", facts={"exit_code": 1, "output_tail": "boom"}))
    # what the command judges was mended outside of the output, which is the same
    assert code(submit(world, run, token)) == "needs_work"
    assert code(submit(world, run, token, request_id="mended")) == "review_running"
    told = ok(judge(world, run, "tests", "pass", by="ann", facts={"exit_code": 0}))
    assert told["state_status"] == "succeeded"  # the review was not asked for again


def test_other_content_needs_a_new_verdict(world: World) -> None:
    run, token = begun(world, REVIEW, COMMAND)
    submit(world, run, token)
    judge(world, run)
    other = {"text": "other"}
    assert code(submit(world, run, token, other)) == "review_running"
    assert [one.name for one in world.gates.cases(run)[0].doc.gated.open] == ["review", "tests"]  # type: ignore[union-attr]
    assert code(judge(world, run)) == "content_changed"
    assert ok(judge(world, run, output=other))["waits_for"] == ["tests"]


@pytest.mark.parametrize(
    ("by", "more", "expected"),
    [
        ("rita", {}, "ok"),
        ("ann", {}, "not_a_reviewer"),
        ("eve", {}, "not_a_reviewer"),
    ],
)
def test_only_the_named_reviewers_judge(world: World, by: str, more: dict[str, Any], expected: str) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    assert code(judge(world, run, by=by, **more)) == expected


def test_the_author_is_not_the_reviewer_unless_the_gate_says_so(world: World) -> None:
    anybody = {name: value for name, value in REVIEW.items() if name != "reviewers"}
    run, token = begun(world, anybody)
    submit(world, run, token)
    assert code(judge(world, run, by="ann")) == "author_may_not_review"
    ok(judge(world, run, by="bob"))
    run, token = begun(world, {**anybody, "author_may_review": True})
    submit(world, run, token)
    ok(judge(world, run, by="ann"))


def test_the_overall_verdict_is_worked_out_from_the_criteria(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    assert code(judge(world, run, criteria=())) == "invalid_verdict"
    assert code(judge(world, run, verdict="fail", failing=())) == "invalid_verdict"
    told = ok(judge(world, run, verdict="pass", failing=CRITERIA[1:]))
    assert (told["verdict"], told["state_status"]) == ("fail", "running")


def test_a_verdict_is_applied_once_and_a_second_one_is_told_that_nobody_waits(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    first, again = judge(world, run), judge(world, run)
    assert isinstance(first, RunAnswer)
    assert isinstance(again, RunAnswer)
    assert (first.repeated, again.repeated, again.answer) == (False, True, first.answer)
    assert code(judge(world, run, by="rob")) == "terminal"


def test_the_lease_of_a_judged_output_does_not_expire(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    world.expire_lease(run, "A")
    world.notifications.pulse()
    assert code(world.try_acquire(run, "A", "ann")) == "not_ready"
    ok(judge(world, run, verdict="fail"))
    lease = world.doc(run, "A").lease
    assert lease.is_held_with(token)
    assert lease.expires_at is not None
    assert lease.ts is not None
    assert lease.expires_at > lease.ts  # begun anew: the worker has its time
    assert code(submit(world, run, token, {"text": "better"})) == "review_running"


def test_a_holder_writes_nothing_else_while_its_output_is_judged(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    assert code(world.update(run, "A", token, output={"text": "sly"})) == "review_running"
    assert code(world.release(run, "A", token)) == "review_running"
    assert world.output(run, "A") == GOOD
    assert isinstance(world.fail(run, "A", token), Updated)  # giving up is always possible
    assert code(judge(world, run)) in ("run_over", "terminal")


def test_a_command_that_could_not_be_run_is_asked_for_again_and_people_in_the_end(world: World) -> None:
    run, token = begun(world, COMMAND)
    submit(world, run, token)
    for number in range(1, 4):
        told = ok(judge(world, run, "tests", "unavailable", by="ann", request_id=f"n{number}"))
        assert told["state_status"] == "running"
        gated = world.doc(run, "A").gated
        assert gated is not None
        (one,) = gated.open
        if number < 3:
            assert one.rests
            world.ask(
                "JSON.SET", world.store.keys(run).state("A"), "$.gated.open[0].due", '"2001-01-01T00:00:00.000000Z"'
            )
            world.make_due(run, "A")
            world.notifications.pulse()
    assert one.by_people
    assert code(judge(world, run, "tests", by="ann")) == "not_a_reviewer"
    assert ok(judge(world, run, "tests", judge=Judge(name="pam", is_person=True)))["state_status"] == "succeeded"
