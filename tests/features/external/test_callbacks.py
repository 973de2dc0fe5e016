"""A task token ends one visit of one state, once, for any caller and after any crash in between."""

import re
from typing import Any

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.features.external.callback_operations import Callbacks
from dcf.runs.control_plane import ControlPlane
from dcf.store.transaction.runs import RunStore
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from dcf.values.task_tokens import PREFIX, read_task_token, task_token
from tests.support import ahead
from tests.support.redis.documents import is_document, read_text
from tests.support.tables import rows
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import catching, each, parallel, retrying, task
from tests.support.world import World

DIRECT = "dcf:callback.waitForTaskToken"
WORKED = "mail.waitForTaskToken"
HANDED = {"token.$": "$$.Task.Token"}


def asks(following: str | None = None, resource: str = DIRECT, **more: Any) -> Document:
    return task(following, Resource=resource, Parameters=HANDED, **more)


def token_of(world: World, run: str, state: str) -> str:
    """The token as its worker, or a reader of the run, finds it in the state's input."""
    token: str = world.given(run, state)["token"]
    return token


def told(answer: object) -> dict[str, Any]:
    assert isinstance(answer, RunAnswer), answer
    return dict(answer.answer)


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def test_a_callback_ends_the_state_and_enters_the_next(world: World) -> None:
    run = world.create(workflow({"A": asks("B", ResultPath="$.answer"), "B": task()}), run_input={"a": 1})
    answer = told(world.callbacks.succeed(token_of(world, run, "A"), {"ok": True}))
    assert (answer["state"], answer["state_status"], answer["next_states"]) == ("A", "succeeded", ["B"])
    assert world.given(run, "B") == {"a": 1, "answer": {"ok": True}}


def test_a_failure_is_caught_by_its_name(world: World) -> None:
    run = world.create(workflow({"A": asks(Catch=catching("Mend")), "Mend": task()}))
    told(world.callbacks.fail(token_of(world, run, "A"), "Refused", "no money"))
    assert world.given(run, "Mend") == {"Error": "Refused", "Cause": "no money"}


def test_the_same_call_again_gets_the_first_answer_and_another_is_refused(world: World) -> None:
    run = world.create(workflow({"A": asks("B"), "B": task()}))
    token = token_of(world, run, "A")
    first = told(world.callbacks.succeed(token, 1))
    again = world.callbacks.succeed(token, 1)
    assert told(again) == first
    assert isinstance(again, RunAnswer)
    assert again.repeated
    assert code(world.callbacks.succeed(token, 2)) == "task_token_used"
    assert code(world.callbacks.fail(token, "Late")) == "task_token_used"
    assert world.output(run, "A") == 1
    world.do(run, "B")
    assert told(world.callbacks.succeed(token, 1)) == first, "also when the run is over"


def test_a_token_is_outdated_after_a_retry_and_the_new_one_serves(timely: World) -> None:
    run = timely.create(workflow({"A": asks(Retry=retrying("Again"))}))
    old = token_of(timely, run, "A")
    told(timely.callbacks.fail(old, "Again"))
    assert told(timely.callbacks.fail(old, "Again"))["state_status"] == "pending"
    ahead.look(timely, run)
    new = token_of(timely, run, "A")
    assert new != old
    assert code(timely.callbacks.succeed(old, 1)) == "task_token_used"
    told(timely.callbacks.succeed(new, 2))
    assert timely.meta(run)["output"] == 2


def test_a_token_is_outdated_once_its_state_or_its_run_has_ended(timely: World) -> None:
    run = timely.create(workflow({"A": asks("B", TimeoutSeconds=5, Retry=retrying("States.Timeout")), "B": task()}))
    token = token_of(timely, run, "A")
    ahead.look(timely, run)
    assert timely.doc(run, "A").retries == 1
    assert code(timely.callbacks.succeed(token, 1)) == "task_token_outdated"
    assert code(timely.callbacks.heartbeat(token)) == "task_token_outdated"
    ahead.look(timely, run)
    token = token_of(timely, run, "A")
    timely.lifecycle.cancel(run)
    answer = timely.callbacks.succeed(token, 1)
    assert isinstance(answer, Refusal)
    assert (answer.code, "cancelled" in answer.message) == ("task_token_outdated", True)


def test_a_retried_run_hands_out_another_token(world: World) -> None:
    run = world.create(workflow({"A": asks()}))
    old = token_of(world, run, "A")
    told(world.callbacks.fail(old, "Lost"))
    assert isinstance(world.retrying.retry(run), RunAnswer)
    assert code(world.callbacks.succeed(old, 1)) == "task_token_used"
    assert code(world.callbacks.heartbeat(old)) == "task_token_outdated"
    told(world.callbacks.succeed(token_of(world, run, "A"), 3))
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_each_visit_in_a_loop_has_a_token_of_its_own(world: World) -> None:
    again = {"Variable": "$.again", "BooleanEquals": True, "Next": "A"}
    states = {"A": asks("C"), "C": {"Type": "Choice", "Choices": [again], "Default": "B"}, "B": task()}
    run = world.create(workflow(states))
    seen = [token_of(world, run, "A")]
    for _ in range(2):
        told(world.callbacks.succeed(seen[-1], {"again": True}))
        seen.append(token_of(world, run, "A"))
    assert len(set(seen)) == 3
    assert code(world.callbacks.heartbeat(seen[0])) == "task_token_outdated"


def test_the_tokens_of_iterations_end_their_own_iteration(world: World) -> None:
    run = world.create(workflow({"Each": each({"Ask": asks()})}), run_input=[1, 2, 3])
    for index in (2, 0, 1):
        told(world.callbacks.succeed(token_of(world, run, f"Each/{index}/Ask"), index * 10))
    assert world.meta(run)["output"] == [0, 10, 20]


@rows(
    "forged",
    [
        "",
        "a token",
        PREFIX,
        f"{PREFIX}AAAA.AAAA",
        f"{PREFIX}{'A' * 5000}",
        f"{PREFIX}\u00e9.a",
        task_token("guessed", "RUN", "A", "1"),
        task_token("", "RUN", "A", "1"),
        task_token("guessed", "no-such-run", "A", "1"),
        task_token("guessed", "x:meta", "A", "1"),
    ],
)
def test_what_is_no_genuine_token_is_refused_without_a_word_about_the_run(world: World, forged: str) -> None:
    run = world.create(workflow({"A": asks()}))
    answers = [
        call(forged.replace("RUN", run))
        for call in (world.callbacks.heartbeat, lambda item: world.callbacks.succeed(item, 1))
    ]
    assert {code(answer) for answer in answers} == {"task_token_unknown"}
    assert world.doc(run, "A").waits_outside


def test_a_token_cannot_be_made_from_what_another_run_or_the_documents_show(real: World) -> None:
    """Example: the token is a digest of path and epoch, which every reader of the run sees."""
    run, other = (real.create(workflow({"A": asks()})) for _ in range(2))
    mine, named = token_of(real, run, "A"), read_task_token(token_of(real, other, "A"))
    assert named is not None
    secret = real.ask("GET", real.store.keys(run).secret).decode()
    assert task_token(secret, named.workflow_id, named.state, named.visit) != named.text
    shown = str(
        [
            read_text(real.ask, key)
            for key in real.keys_of(run)
            if not key.endswith(("secret", "input:A")) and is_document(real.ask, key)
        ]
    )
    shown += str(real.ask("XRANGE", real.store.keys(run).events, "-", "+"))
    assert secret not in shown
    assert mine.partition(".")[2] not in shown


def test_a_run_created_again_under_its_name_takes_no_token_of_the_earlier_one(world: World) -> None:
    document = workflow({"A": asks()})
    run = world.create(document)
    old = token_of(world, run, "A")
    for key in world.keys_of(run):
        world.ask("DEL", key)
    world.create(document, run=run)
    assert code(world.callbacks.succeed(old, 1)) == "task_token_unknown"
    elsewhere = Callbacks(ControlPlane(RunStore(world.connections), world.index))
    told(elsewhere.succeed(token_of(world, run, "A"), 1))


def test_a_workflow_without_callbacks_keeps_no_secret(world: World) -> None:
    run = world.create(workflow({"A": task()}))
    assert world.ask("EXISTS", world.store.keys(run).secret) == 0


def test_heartbeats_keep_a_state_alive_and_without_them_it_times_out(timely: World) -> None:
    run = timely.create(workflow({"A": asks(HeartbeatSeconds=30, TimeoutSeconds=100)}))
    token = token_of(timely, run, "A")
    for _ in range(3):
        ahead.let_pass(timely, 25)
        answer = told(timely.callbacks.heartbeat(token))
        assert answer["heartbeat_due"] is not None
    assert timely.doc(run, "A").waits_outside
    began = ahead.passed(timely)
    ahead.look(timely, run)
    assert ahead.passed(timely) - began <= 26 * SECOND, "the deadline is earlier than the heartbeat"
    assert timely.meta(run)["error"] == "States.Timeout"
    assert timely.event_types(run, "A").count("TaskHeartbeat") < 3, "not each of many stands in the history"


# An agent hands the token out


def handed_out(world: World, **more: Any) -> tuple[str, str, str]:
    run = world.create(workflow({"A": asks("B", resource=WORKED, **more), "B": task()}))
    return run, world.acquire(run, "A"), token_of(world, run, "A")


def test_a_worker_hands_the_token_out_and_its_completion_lets_the_state_wait(world: World) -> None:
    run, lease, token = handed_out(world)
    done = world.complete(run, "A", lease, {"message": "sent"})
    assert (done.status, done.next_states, done.output_written) == (Status.RUNNING, (), False)
    doc = world.doc(run, "A")
    assert (doc.kind, doc.lease.token, doc.waits_outside) == ("Callback", None, True)
    assert world.output(run, "A") is None
    assert code(world.try_acquire(run, "A")) == "not_ready"
    told(world.callbacks.succeed(token, "answered"))
    assert world.given(run, "B") == "answered"


def test_its_completion_is_repeated_and_may_claim_other_work(world: World) -> None:
    run, lease, token = handed_out(world)
    first = world.complete(run, "A", lease, 1)
    again = world.complete(run, "A", lease, 1)
    assert (again.repeated, again.status) == (True, first.status)
    told(world.callbacks.succeed(token, 2))
    assert world.complete(run, "A", lease, 1).repeated
    assert code(world.try_complete(run, "A", lease, 5)) == "already_completed"
    assert world.given(run, "B") == 2


def test_a_worker_claims_other_work_when_it_has_handed_a_token_out(world: World) -> None:
    run = world.create(workflow({"P": parallel({"Ask": asks(resource=WORKED)}, {"Other": task()})}))
    lease = world.acquire(run, "P/0/Ask")
    done = world.complete(run, "P/0/Ask", lease, 1, claim_ttl_s=60, claim_most=2)
    assert [claim.state for claim in done.claims] == ["P/1/Other"]


def test_several_tokens_are_handed_out_in_one_transaction(world: World) -> None:
    run = world.create(workflow({"Each": each({"Ask": asks(resource=WORKED)})}), run_input=[1, 2])
    paths = ["Each/0/Ask", "Each/1/Ask"]
    requests = [
        Update(state=path, token=world.acquire(run, path), status=Status.SUCCEEDED, has_output=True, output=None)
        for path in paths
    ]
    answers = world.plane.update_all(run, requests)
    assert [getattr(answer, "status", None) for answer in answers] == [Status.RUNNING, Status.RUNNING]
    for path in paths:
        told(world.callbacks.succeed(token_of(world, run, path), path))
    assert world.meta(run)["output"] == paths


def test_an_answer_before_the_worker_counts_and_the_worker_is_fenced_out(world: World) -> None:
    run, lease, token = handed_out(world)
    told(world.callbacks.succeed(token, "early"))
    assert code(world.try_complete(run, "A", lease, "late")) in {"lease_lost", "terminal"}
    assert world.given(run, "B") == "early"


def test_a_worker_that_died_after_handing_out_leaves_a_token_that_still_serves(world: World) -> None:
    run, _, token = handed_out(world)
    world.expire_lease(run, "A")
    leased = world.try_acquire(run, "A", "other")
    assert isinstance(leased, Leased)
    assert world.callbacks.token_of(run, "A", leased.doc) == token, "whoever takes over hands out the same one"
    told(world.callbacks.succeed(token, 1))
    assert world.given(run, "B") == 1


def test_a_worker_that_fails_before_handing_out_is_retried_with_another_token(timely: World) -> None:
    run, lease, token = handed_out(timely, Retry=retrying("Broken"))
    timely.fail(run, "A", lease)
    assert code(timely.callbacks.succeed(token, 1)) == "task_token_outdated"
    ahead.look(timely, run)
    doc = timely.doc(run, "A")
    assert (doc.status, doc.kind) == (Status.PENDING, None)
    lease = timely.acquire(run, "A")
    new = token_of(timely, run, "A")
    timely.complete(run, "A", lease, None)
    told(timely.callbacks.fail(new, "Broken", "by the other side"))
    assert timely.doc(run, "A").status is Status.PENDING, "the whole is tried again, by an agent"
    assert timely.doc(run, "A").kind is None


@rows("limit", ["TimeoutSeconds", "HeartbeatSeconds"])
def test_timeouts_apply_to_the_whole_and_heartbeats_go_on_while_it_waits(timely: World, limit: str) -> None:
    run, lease, _ = handed_out(timely, Catch=catching("B"), **{limit: 40})
    ahead.let_pass(timely, 30)
    timely.complete(run, "A", lease, None)
    began = ahead.passed(timely)
    ahead.look(timely, run)
    assert ahead.passed(timely) - began <= (11 if limit == "TimeoutSeconds" else 41) * SECOND
    assert timely.given(run, "B")["Error"] == "States.Timeout"


def test_the_history_says_who_handed_the_token_out_and_how_it_ended(world: World) -> None:
    run, lease, token = handed_out(world)
    world.complete(run, "A", lease, None)
    world.callbacks.succeed(token, 1)
    told_of = [(event.type, event.data.get("owner"), event.data.get("via")) for event in world.events(run)]
    assert ("CallbackAwaited", "w", None) in told_of
    assert ("StateConcluded", None, "callback") in told_of
    assert not [event for event in world.events(run) if re.search(PREFIX, str(event.data))]
