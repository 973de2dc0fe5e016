"""Every rule of people, signals, callbacks and child runs, tried both ways: in a run, and in `dcf.testing`."""

import json
import re
from typing import Any, Final

import pytest

from dcf import testing
from dcf.errors import InvalidArgument
from dcf.testing import NEVER, After, Story
from dcf.values.refusal import Refusal
from dcf.worker import TaskFailed
from dcf.workflows.simulation import SimulatedSignal, simulate
from tests.features.children.test_operations import begin, children, keep, settle, starts
from tests.features.external.test_callbacks import DIRECT, HANDED, WORKED, token_of
from tests.features.external.test_operations import waits
from tests.features.people.test_operations import answer, asking
from tests.support import ahead
from tests.support.tables import rows
from tests.support.workflows.machines import Document, workflow
from tests.support.world import World

INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
FAIL: Final = {"on_reject": "fail"}
PAY: Final = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer"}}}
ESCALATE: Final = {"escalate": {"after_s": 60, "to": ["boss", {"group": "managers"}]}}
WITH_COMMENT: Final = {"choices": ["a", {"name": "b", "comment": "required"}]}
EXCLUDED: Final = {"to": ["alice", "bob"], "not_by": ["bob"]}
CAUGHT: Final = {"Catch": [{"ErrorEquals": ["DCF.Rejected"], "Next": "Done"}]}
AGAIN: Final = [{"ErrorEquals": ["States.Timeout", "DCF.Rejected"], "IntervalSeconds": 1, "MaxAttempts": 1}]


def compared(world: World, run: str, story: Story) -> None:
    """Compare how the run and the simulation ended, but for instants and the ids of runs."""
    meta = world.meta(run)
    ends = [
        {
            "status": meta["status"],
            "output": meta.get("output"),
            "error": meta.get("error"),
            "cause": meta.get("cause"),
        },
        {"status": story.status, "output": story.output, "error": story.error, "cause": story.cause},
    ]
    texts = [INSTANT.sub("AT", json.dumps(end, sort_keys=True)) for end in ends]
    real, simulated = (re.sub(re.escape(run) + r"[\w.-]*", "RUN", text) for text in texts)
    assert json.loads(simulated) == json.loads(real)


# People


@rows(
    ("parameters", "state", "reply"),
    [
        pytest.param({}, {}, {"choice": "approve", "comment": "fine", "answer": {"n": 1}}, id="a choice"),
        pytest.param({}, {}, {"choice": "reject"}, id="rejected, which is an output"),
        pytest.param(FAIL, {}, {"choice": "reject", "comment": "dear"}, id="rejected, which is a failure"),
        pytest.param(FAIL, CAUGHT, {"choice": "reject"}, id="a rejection that is caught"),
        pytest.param(FAIL, {}, {"choice": "approve"}, id="approved where a rejection would fail"),
        pytest.param(WITH_COMMENT, {}, {"choice": "b", "comment": "x"}, id="a choice of its own with a comment"),
        pytest.param({"schema": PAY}, {}, {"choice": "approve", "answer": {"amount": 7}}, id="an answer that fits"),
        pytest.param({"schema": PAY}, {}, {"choice": "reject"}, id="a rejection needs no form"),
        pytest.param({"to": {"group": "g"}}, {}, {"choice": "approve", "answered_by": "eve", "group": "g"}, id="group"),
    ],
)  # fmt: skip
def test_an_answer_that_is_taken(world: World, parameters: Document, state: Document, reply: dict[str, Any]) -> None:
    document = asking(parameters, **state)
    run, fields = world.create(document, run_input={}), dict(reply)
    more = {"by": fields.pop("answered_by", "alice"), "groups": {fields.pop("group")} if "group" in fields else ()}
    assert not isinstance(answer(world, run, fields.pop("choice"), **more, **fields), Refusal)
    compared(world, run, testing.run(document, {}, {}, answers={"Ask": reply}))
    mocked = simulate(document, {}, {"Ask": {"output": reply}})
    assert mocked["status"] == world.run_status(run).value.upper()


@rows(
    ("parameters", "code", "reply"),
    [
        pytest.param({}, "invalid_answer", {"choice": "maybe"}, id="no such choice"),
        pytest.param(WITH_COMMENT, "invalid_answer", {"choice": "b"}, id="no comment"),
        pytest.param({"schema": PAY}, "invalid_answer", {"choice": "approve"}, id="no answer"),
        pytest.param({"schema": PAY}, "invalid_answer", {"choice": "approve", "answer": {"amount": "7"}}, id="schema"),
        pytest.param({}, "not_asked", {"choice": "approve", "answered_by": "eve"}, id="not asked"),
        pytest.param(ESCALATE, "not_asked", {"choice": "approve", "answered_by": "boss"}, id="before the escalation"),
        pytest.param(EXCLUDED, "excluded", {"choice": "approve", "answered_by": "bob"}, id="excluded"),
    ],
)  # fmt: skip
def test_an_answer_that_is_refused(world: World, parameters: Document, code: str, reply: dict[str, Any]) -> None:
    document = asking(parameters)
    run, fields = world.create(document, run_input={}), dict(reply)
    refused = answer(world, run, fields.pop("choice"), by=fields.pop("answered_by", "alice"), **fields)
    assert isinstance(refused, Refusal)
    assert refused.code == code
    with pytest.raises(InvalidArgument, match=re.escape(f"({refused.code}): {refused.message[:40]}")):
        testing.run(document, {}, {}, answers={"Ask": reply})


def test_an_output_of_a_person_that_does_not_match_the_schema_of_the_task_is_refused(world: World) -> None:
    document = asking(OutputSchema={"properties": {"comment": {"type": "string"}}, "type": "object"})
    run = world.create(document, run_input={})
    assert isinstance(answer(world, run), Refusal)
    with pytest.raises(InvalidArgument, match="OutputSchema"):
        testing.run(document, {}, {}, answers={"Ask": {"choice": "approve"}})
    answer(world, run, comment="now it does")
    compared(
        world, run, testing.run(document, {}, {}, answers={"Ask": {"choice": "approve", "comment": "now it does"}})
    )


@rows(
    ("parameters", "state"),
    [
        pytest.param({}, {}, id="a timeout"),
        pytest.param({"default": "approve"}, {}, id="the default"),
        pytest.param({"default": "reject"}, {}, id="a rejection by default"),
        pytest.param({"default": "reject", **FAIL}, {}, id="a rejection by default that fails"),
        pytest.param({"default": "reject", **FAIL}, CAUGHT, id="one that is caught"),
        pytest.param({"default": "approve", **ESCALATE}, {}, id="the default after an escalation"),
    ],
)
def test_what_happens_at_the_deadline(timely: World, parameters: Document, state: Document) -> None:
    document = asking(parameters, TimeoutSeconds=600, **state)
    run = timely.create(document, run_input={})
    ahead.look(timely, run, times=2 if "escalate" in parameters else 1)
    for late in (NEVER, After(600, {"choice": "approve", "comment": "too late"})):
        compared(timely, run, testing.run(document, {}, {}, answers={"Ask": late}))


def test_after_the_escalation_others_may_answer_too(timely: World) -> None:
    document = asking(ESCALATE)
    run = timely.create(document, run_input={})
    ahead.look(timely, run)
    answer(timely, run, by="boss")
    reply = {"choice": "approve", "answered_by": "boss"}
    compared(timely, run, testing.run(document, {}, {}, answers={"Ask": After(60, reply)}))
    with pytest.raises(InvalidArgument, match="not_asked"):
        testing.run(document, {}, {}, answers={"Ask": After(59, reply)})


def test_a_retry_asks_anew(timely: World) -> None:
    document = asking(FAIL, Retry=AGAIN)
    run = timely.create(document, run_input={})
    answer(timely, run, "reject")
    ahead.look(timely, run)
    answer(timely, run, "approve")
    replies = iter([{"choice": "reject"}, {"choice": "approve"}])
    story = testing.run(document, {}, {}, answers={"Ask": lambda _: next(replies)})
    compared(timely, run, story)
    assert (story.state("Ask").attempts, story.state("Ask").errors) == (2, ("DCF.Rejected",))


def test_whoever_answered_before_may_not_answer_where_producers_may_not(world: World) -> None:
    first = {"Type": "Task", "Resource": "dcf:human", "Parameters": {"to": ["ann", "bob"], "title": "Draft"}}
    second = {**first, "Parameters": {"to": ["ann", "bob"], "title": "Check", "not_by": [{"producers": True}]}}
    document = workflow({"Draft": {**first, "Next": "Check"}, "Check": {**second, "End": True}})
    run = world.create(document, run_input={})
    answer(world, run, by="ann", state="Draft")
    refused = answer(world, run, by="ann", state="Check")
    assert isinstance(refused, Refusal)
    by_ann = {"choice": "approve", "answered_by": "ann"}
    with pytest.raises(InvalidArgument, match=refused.code):
        testing.run(document, {}, {}, answers={"Draft": by_ann, "Check": by_ann})
    answer(world, run, by="bob", state="Check")
    by_bob = {"choice": "approve", "answered_by": "bob"}
    compared(world, run, testing.run(document, {}, {}, answers={"Draft": by_ann, "Check": by_bob}))


# Signals


def two_signals() -> Document:
    return workflow({"Work": {"Type": "Task", "Next": "First"}, "First": waits(Next="Second", ResultPath="$.a"),
                     "Second": waits(ResultPath="$.b")})  # fmt: skip


def test_signals_that_come_early_are_kept_and_taken_in_order(world: World) -> None:
    run = world.create(two_signals(), run_input={})
    for payload in (1, 2):
        world.signals.send(run, "paid", payload)
    world.do(run, "Work", output={})
    signals = [SimulatedSignal(name="paid", payload=payload) for payload in (1, 2)]
    late = {"Work": After(5, {})}
    compared(world, run, testing.run(two_signals(), {}, {}, answers=late, signals=signals))
    assert world.meta(run)["output"] == {"a": 1, "b": 2}


def test_a_signal_ends_the_state_that_waits_for_it(world: World) -> None:
    document = workflow({"Paid": waits()})
    run = world.create(document, run_input={})
    world.signals.send(run, "paid", 7)
    compared(world, run, testing.run(document, {}, {}, signals=[SimulatedSignal(name="paid", payload=7, after=5)]))
    compared(world, run, testing.run(document, {}, {}, answers={"Paid": 7}))


def test_of_two_states_the_one_that_waits_for_longest_gets_the_signal(world: World) -> None:
    branches = [workflow({name: waits()})["asl"] for name in ("Left", "Right")]
    document = workflow({"Both": {"Type": "Parallel", "Branches": branches, "End": True}})
    run = world.create(document, run_input={})
    world.signals.send(run, "paid", 1)
    world.signals.send(run, "paid", 2)
    signals = [SimulatedSignal(name="paid", payload=number, after=number) for number in (1, 2)]
    compared(world, run, testing.run(document, {}, {}, signals=signals))


@rows(
    ("names", "code"),
    [(["unknown"], "unknown_signal"), (["paid"] * 101, "signals_full")],
)
def test_a_signal_that_is_refused(world: World, names: list[str], code: str) -> None:
    run = world.create(two_signals(), run_input={})
    last = [world.signals.send(run, name, None) for name in names][-1]
    assert isinstance(last, Refusal)
    sent = [SimulatedSignal(name=name) for name in names]
    with pytest.raises(InvalidArgument, match=re.escape(f"({last.code}): {last.message}")):
        testing.run(two_signals(), {}, {}, answers={"Work": After(9, {})}, signals=sent)
    assert last.code == code


def test_a_state_that_times_out_leaves_the_signal_to_the_next(timely: World) -> None:
    caught = [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}]
    states = {"Paid": waits(TimeoutSeconds=60, Catch=caught, Next="Late"), "Late": waits()}
    run = timely.create(workflow(states), run_input={})
    ahead.look(timely, run)
    timely.signals.send(run, "paid", 7)
    story = testing.run(workflow(states), {}, {}, signals=[SimulatedSignal(name="paid", payload=7, after=61)])
    compared(timely, run, story)
    assert story.visited == ["Paid", "Late"]


def test_a_retry_waits_anew_and_takes_what_was_kept_meanwhile(timely: World) -> None:
    document = workflow({"Paid": waits(TimeoutSeconds=60, Retry=[{**AGAIN[0], "IntervalSeconds": 3600}])})
    run = timely.create(document, run_input={})
    ahead.look(timely, run)
    timely.signals.send(run, "paid", 7)
    ahead.look(timely, run)
    compared(timely, run, testing.run(document, {}, {}, signals=[SimulatedSignal(name="paid", payload=7, after=61)]))


# Callbacks


def calls(**more: Any) -> Document:
    return workflow({"A": {"Type": "Task", "Resource": DIRECT, "Parameters": HANDED, "End": True, **more}})


def test_a_callback_ends_the_state_with_its_output_or_its_failure(world: World) -> None:
    run, failed = (world.create(calls(), run_input={}) for _ in range(2))
    world.callbacks.succeed(token_of(world, run, "A"), {"ok": True})
    compared(world, run, testing.run(calls(), {}, {}, answers={"A": {"ok": True}}))
    world.callbacks.fail(token_of(world, failed, "A"), "Lost", "in the post")
    compared(world, failed, testing.run(calls(), {}, {}, answers={"A": TaskFailed("Lost", "in the post")}))


@rows("limit", ["TimeoutSeconds", "HeartbeatSeconds"])
def test_a_callback_that_does_not_come_in_time(timely: World, limit: str) -> None:
    run = timely.create(calls(**{limit: 60}), run_input={})
    ahead.look(timely, run)
    for late in (NEVER, After(60, 1)):
        compared(timely, run, testing.run(calls(**{limit: 60}), {}, {}, answers={"A": late}))


def test_a_callback_whose_output_does_not_match_the_schema_is_refused(world: World) -> None:
    document = calls(OutputSchema={"type": "integer"})
    run = world.create(document, run_input={})
    assert isinstance(world.callbacks.succeed(token_of(world, run, "A"), "7"), Refusal)
    with pytest.raises(InvalidArgument, match="OutputSchema"):
        testing.run(document, {}, {}, answers={"A": "7"})
    world.callbacks.succeed(token_of(world, run, "A"), 7)
    compared(world, run, testing.run(document, {}, {}, answers={"A": 7}))


def test_what_a_worker_says_that_hands_the_token_out_is_no_output(timely: World) -> None:
    document = calls(Resource=WORKED, TimeoutSeconds=600)
    run, late = (timely.create(document, run_input={}) for _ in range(2))
    for name in (run, late):
        token = token_of(timely, name, "A")
        timely.do(name, "A", output="handed out")
        if name == run:
            timely.callbacks.succeed(token, "what came")
    functions = {"A": lambda task_input: f"handed out {task_input['token']}"}
    compared(timely, run, testing.run(document, {}, functions, answers={"A": After(9, "what came")}))
    ahead.look(timely, late)
    compared(timely, late, testing.run(document, {}, functions))


def test_a_worker_that_fails_to_hand_the_token_out_fails_the_state(timely: World) -> None:
    document = calls(Resource=WORKED)
    run = timely.create(document, run_input={})
    timely.fail(run, "A", timely.acquire(run, "A"), "NoPost", "the post is closed")

    def failing(_: Any) -> None:
        raise TaskFailed("NoPost", "the post is closed")

    compared(timely, run, testing.run(document, {}, {"A": failing}, answers={"A": 1}))


# Child runs


@rows("how", ["", ".sync", ".sync:2"])
def test_what_a_state_gets_of_its_child(world: World, how: str) -> None:
    inner = keep(world)
    document = workflow({"Call": starts(inner, how)})
    run = begin(world, document, run_input={"n": 1})
    (child,) = children(world, run)
    world.do(child, "Do", output={"sum": 3})
    settle(world)
    compared(world, run, testing.run(document, {"n": 1}, {}, answers={"Call": {"sum": 3}}, workflow_id=run))


def test_the_failure_of_a_child_fails_the_state_with_its_description(world: World) -> None:
    inner = keep(world)
    document = workflow({"Call": starts(inner)})
    run = begin(world, document, run_input={"n": 1})
    (child,) = children(world, run)
    world.fail(child, "Do", world.acquire(child, "Do"), "Broken", "why")
    settle(world)
    story = testing.run(document, {"n": 1}, {}, answers={"Call": TaskFailed("Broken", "why")}, workflow_id=run)
    compared(world, run, story)
    assert story.error == "States.TaskFailed"


def test_a_child_that_could_not_be_started_fails_the_state_as_on_aws(world: World) -> None:
    document = workflow({"Call": starts("nobody-has-it")})
    run = begin(world, document, run_input={})
    error, cause = str(world.meta(run)["error"]), str(world.meta(run)["cause"])
    compared(world, run, testing.run(document, {}, {}, answers={"Call": TaskFailed(error, cause)}, workflow_id=run))


def test_a_child_that_does_not_end_in_time(timely: World) -> None:
    document = workflow({"Call": starts(keep(timely), TimeoutSeconds=30)})
    run = begin(timely, document, run_input={})
    ahead.look(timely, run)
    settle(timely)
    compared(timely, run, testing.run(document, {}, {}, answers={"Call": NEVER}, workflow_id=run))


def test_without_an_answer_a_state_waits_and_an_agents_task_returns_its_input() -> None:
    assert simulate(asking(), {})["status"] == "RUNNING"
    assert simulate(calls(), {})["status"] == "RUNNING"
    assert simulate(workflow({"Paid": waits()}), {})["status"] == "RUNNING"
    assert simulate(workflow({"A": {"Type": "Task", "End": True}}), 7)["output"] == 7
    deferred = asking({"default": "approve"}, TimeoutSeconds=60)
    assert simulate(deferred, {})["output"]["answered_by"] is None
