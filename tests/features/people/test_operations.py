"""Tasks that wait for people: permitted answers, their effects, and the lists of open tasks."""

import secrets
import threading
from collections.abc import Mapping
from typing import Any

from dcf.core.completing.resolving import Resolve
from dcf.core.documents.decision import ReadSet, WriteSet
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.repeating import Rerun
from dcf.features.diagnosis.model import Cause
from dcf.features.gates.judges import Judge
from dcf.features.gates.submitting import content_sha256
from dcf.features.gates.verdicts import Ruling
from dcf.features.people import keys as people_keys
from dcf.features.people.answering import Answerer, HumanAnswer
from dcf.features.people.listing import HumanTaskPage, HumanTaskQuery
from dcf.features.people.model import asking_of
from dcf.features.people.storage import ended_commands
from dcf.runs.clock.sweep import Sweep
from dcf.store.access.authors import authored_by
from dcf.store.keys import parts as key_parts
from dcf.store.lists.checks import Listings
from dcf.store.lists.elsewhere import ask
from dcf.values.records import replace
from dcf.values.refusal import Refusal
from tests.support.advised import advised_command
from tests.support.redis.documents import Place, set_member
from tests.support.tables import rows
from tests.support.workflows.machines import Document
from tests.support.world import World

ASK = {"to": "alice", "title": "Approve the order"}


def asking(parameters: Document | None = None, **state: Any) -> Document:
    """A workflow that asks people, and then goes one way or the other."""
    ask = {
        "Type": "Task",
        "Resource": "dcf:human",
        "Parameters": {**ASK, **(parameters or {})},
        "Next": "Done",
        **state,
    }
    return {"workflow_name": "asking", "asl": {"StartAt": "Ask", "States": {"Ask": ask, "Done": {"Type": "Succeed"}}}}


def checked() -> Document:
    """A question, and another about its answer, which the same person must not answer."""
    document = asking(Next="Check")
    document["asl"]["States"]["Check"] = {
        **document["asl"]["States"]["Ask"],
        "Parameters": {"to": ["alice", "bob"], "title": "Check it", "not_by": {"producers": True}},
        "Next": "Done",
    }
    return document


def reply(choice: str = "approve", by: str = "alice", state: str = "Ask", **more: Any) -> HumanAnswer:
    groups = frozenset(more.pop("groups", ()))
    return HumanAnswer(state=state, choice=choice, by=Answerer(name=by, groups=groups), **more)


def answer(world: World, run: str, *args: Any, request_id: str | None = None, **more: Any) -> RunAnswer | Refusal:
    return world.people.answer_human_task(run, reply(*args, **more), request_id=request_id)


def answered(world: World, run: str, *args: Any, **more: Any) -> Mapping[str, Any]:
    result = answer(world, run, *args, **more)
    assert isinstance(result, RunAnswer), result
    return result.answer


def refused(world: World, run: str, *args: Any, **more: Any) -> Refusal:
    refusal = answer(world, run, *args, **more)
    assert isinstance(refusal, Refusal), refusal
    return refusal


def listed(world: World, **query: Any) -> HumanTaskPage:
    return world.people.list_human_tasks(HumanTaskQuery(**{"limit": 1000, **query}))


def states(world: World, **query: Any) -> list[tuple[str, str]]:
    """The open tasks of this test's runs."""
    return [(row.workflow_id, row.state) for row in listed(world, **query).rows if row.workflow_id in world.runs]


# Answers


def test_a_persons_answer_is_the_output_of_the_state_and_the_run_goes_on(world: World) -> None:
    run = world.create(asking())
    details = answered(world, run, comment="looks good", answer={"amount": 7})
    assert (details["run_status"], details["answered_by"], details["choice"]) == ("succeeded", "alice", "approve")
    output = world.meta(run)["output"]
    assert {name: output[name] for name in ("choice", "comment", "answer", "answered_by")} == {
        "choice": "approve",
        "comment": "looks good",
        "answer": {"amount": 7},
        "answered_by": "alice",
    }
    assert output["at"].endswith("Z")


def test_who_answered_stands_in_the_history_and_in_the_document(world: World) -> None:
    run = world.create(asking())
    answered(world, run, "reject", comment="too dear")
    (event,) = [event for event in world.events(run) if event.type == "StateConcluded"]
    assert (event.state, event.data["answered_by"], event.data["choice"]) == ("Ask", "alice", "reject")
    doc = world.doc(run, "Ask")
    request = asking_of(doc)
    assert request is not None
    assert (doc.status, request.answered_by, request.choice) == (Status.SUCCEEDED, "alice", "reject")


def test_a_choice_state_decides_on_the_answer(world: World) -> None:
    document = asking(Next="Which")
    document["asl"]["States"] |= {
        "Which": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.choice", "StringEquals": "reject", "Next": "No"}],
            "Default": "Done",
        },
        "No": {"Type": "Fail", "Error": "Refused"},
    }
    run = world.create(document)
    answered(world, run, "reject")
    assert world.meta(run)["error"] == "Refused"


def test_a_rejection_may_be_a_failure_that_is_caught(world: World) -> None:
    catch = [{"ErrorEquals": ["DCF.Rejected"], "Next": "Done"}]
    caught = world.create(asking({"on_reject": "fail"}, Catch=catch))
    answered(world, caught, "reject", comment="too dear")
    assert world.run_status(caught) is RunStatus.SUCCEEDED
    failed = world.create(asking({"on_reject": "fail"}))
    answered(world, failed, "reject", comment="too dear")
    assert (world.meta(failed)["error"], world.meta(failed)["cause"]) == (
        "DCF.Rejected",
        "'alice' rejected it: too dear.",
    )


def test_of_two_answers_the_first_counts_and_the_second_is_told_who_was_first(world: World) -> None:
    run = world.create(asking({"to": ["alice", "bob"]}))
    answered(world, run, by="bob")
    refusal = refused(world, run, "reject", by="alice")
    assert refusal.code == "already_answered"
    assert "answered by 'bob' with 'approve'" in refusal.message


def test_two_at_once_have_one_winner(world: World) -> None:
    names = [f"p{number}" for number in range(6)]
    run = world.create(asking({"to": names}))
    run_answers: list[RunAnswer | Refusal] = []
    start = threading.Barrier(len(names))

    def go(name: str) -> None:
        start.wait()
        run_answers.append(answer(world, run, by=name))

    threads = [threading.Thread(target=go, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [answer for answer in run_answers if isinstance(answer, RunAnswer)]
    losers = [answer for answer in run_answers if isinstance(answer, Refusal)]
    assert len(losers) == len(names) - 1
    assert all(f"answered by '{winner.answer['answered_by']}'" in loser.message for loser in losers)
    assert world.event_types(run).count("StateConcluded") == 1


def test_a_repeated_request_gets_the_first_answer(world: World) -> None:
    run = world.create(asking())
    first = answer(world, run, request_id="r1")
    again = answer(world, run, request_id="r1")
    assert isinstance(first, RunAnswer)
    assert isinstance(again, RunAnswer)
    assert (again.repeated, again.answer) == (True, first.answer)
    assert refused(world, run, "reject", request_id="r1").code == "conflict"


def test_an_answer_to_an_earlier_visit_is_refused(world: World) -> None:
    document = asking(Next="Which")
    document["asl"]["States"]["Which"] = {
        "Type": "Choice",
        "Choices": [{"Variable": "$.choice", "StringEquals": "reject", "Next": "Ask"}],
        "Default": "Done",
    }
    run = world.create(document)
    (before,) = listed(world, run=run).rows
    answered(world, run, "reject")
    (after,) = listed(world, run=run).rows
    assert after.doc.lease.epoch > before.doc.lease.epoch
    assert refused(world, run, epoch=before.doc.lease.epoch).code == "conflict"
    assert answered(world, run, epoch=after.doc.lease.epoch)["run_status"] == "succeeded"


@rows(
    ("parameters", "answering", "code", "told"),
    [
        ({}, {"choice": "perhaps"}, "invalid_answer", "offers no choice 'perhaps'"),
        ({"choices": [{"name": "no", "comment": "required"}]}, {"choice": "no"}, "invalid_answer", "with a comment"),
        ({"schema": {"type": "integer"}}, {"answer": "seven"}, "invalid_answer", "must be a whole number"),
        ({"schema": {"type": "integer"}}, {}, "invalid_answer", "asks for an answer in addition to the choice"),
        ({}, {"by": "bob"}, "not_asked", "waits for alice, not for 'bob'"),
        ({"to": {"group": "finance"}}, {"groups": ["sales"]}, "not_asked", "waits for the group finance"),
        ({"to": ["alice", "bob"], "not_by": "alice"}, {}, "excluded", "must not answer"),
    ],
)
def test_what_cannot_be_taken_is_refused_and_the_task_stays_open(
    world: World, parameters: Document, answering: dict[str, Any], code: str, told: str
) -> None:
    run = world.create(asking(parameters))
    refusal = refused(world, run, **answering)
    assert refusal.code == code
    assert told in refusal.message
    assert states(world, run=run) == [(run, "Ask")]


def test_a_rejection_needs_no_answer_that_fits(world: World) -> None:
    run = world.create(asking({"schema": {"type": "integer"}}))
    assert answered(world, run, "reject")["run_status"] == "succeeded"


def test_somebody_of_a_group_may_answer_for_it(world: World) -> None:
    run = world.create(asking({"to": {"group": "finance"}}))
    assert answered(world, run, by="carol", groups=["finance", "sales"])["answered_by"] == "carol"


def test_a_state_that_waits_for_no_person_is_not_answered(world: World) -> None:
    run = world.create({"workflow_name": "w", "asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}})
    assert refused(world, run, state="A").code == "not_waiting"


# Not by who produced the input


def reviewed() -> Document:
    """A text is written, in two parts, and then reviewed by somebody else; it may go back."""
    work = {"Type": "Task", "End": True}
    parts = [{"StartAt": f"Part{n}", "States": {f"Part{n}": work}} for n in (1, 2)]
    review = {
        "Type": "Task",
        "Resource": "dcf:human",
        "Parameters": {"to": {"group": "editors"}, "title": "Review", "not_by": {"producers": True}},
        "Next": "Which",
    }
    again = [{"Variable": "$.choice", "StringEquals": "reject", "Next": "Write"}]
    return {
        "workflow_name": "reviewed",
        "asl": {
            "StartAt": "Write",
            "States": {
                "Write": {"Type": "Parallel", "Branches": parts, "Next": "Review"},
                "Review": review,
                "Which": {"Type": "Choice", "Choices": again, "Default": "Publish"},
                "Publish": {"Type": "Task", "End": True},
            },
        },
    }


def test_who_completed_what_led_to_a_task_may_not_answer_it(world: World) -> None:
    run = world.create(reviewed())
    world.do(run, "Write/0/Part1", owner="ann")
    world.do(run, "Write/1/Part2", owner="ben")
    refusal = refused(world, run, by="ben", state="Review", groups=["editors"])
    assert refusal.code == "excluded"
    assert "'ben' completed 'Write/1/Part2'" in refusal.message
    answered(world, run, by="eve", state="Review", groups=["editors"])


def test_who_used_or_handed_out_a_task_token_may_not_answer_what_came_of_it(world: World) -> None:
    document = reviewed()
    document["asl"]["States"]["Write"] = {"Type": "Task", "Resource": "mail.waitForTaskToken", "Next": "Review"}
    run = world.create(document)
    world.acquire(run, "Write", owner="ann")
    doc = world.store.read(run, ReadSet(states=("Write",))).states["Write"]
    token = world.callbacks.token_of(run, "Write", doc)
    assert token is not None
    with authored_by("key:of-ben"):
        world.callbacks.succeed(token, {"text": "..."})
    assert refused(world, run, by="ann", state="Review", groups=["editors"]).code == "excluded"
    for name in ("ben", "eve"):
        assert by_key(world, run, name, "key:of-ben") == "excluded"
    assert by_key(world, run, "eve", "key:of-eve") == "ok"


def by_key(world: World, run: str, name: str, key: str | None, state: str = "Review") -> str:
    """Answer under a name, with a key; return the code of the answer."""
    person = Answerer(name=name, groups=frozenset({"editors"}), key=key)
    reply = world.people.answer_human_task(run, HumanAnswer(state=state, choice="approve", by=person))
    return reply.code if isinstance(reply, Refusal) else "ok"


def test_the_key_with_which_a_task_was_completed_answers_under_no_other_name(world: World) -> None:
    """A key counts as one person: that it took the lease counts, and that it handed the output in."""
    run = world.create(reviewed())
    with authored_by("key:shared"):
        token = world.acquire(run, "Write/0/Part1", owner="alice")
    with authored_by("key:other"):
        world.complete(run, "Write/0/Part1", token)
    world.do(run, "Write/1/Part2", owner="ben")
    for key in ("key:shared", "key:other"):
        assert by_key(world, run, "boss", key) == "excluded"
    assert by_key(world, run, "boss", "key:of-boss") == "ok"


def test_a_reviewer_whose_verdict_completed_a_state_did_not_produce_it(world: World) -> None:
    document = reviewed()
    gate = {"name": "review", "kind": "review", "reviewers": ["rita"]}
    document["asl"]["States"]["Write"] = {"Type": "Task", "Gates": [gate], "Next": "Review"}
    run = world.create(document)
    with authored_by("key:ann"):
        world.try_complete(run, "Write", world.acquire(run, "Write", owner="ann"), {"n": 1})
    with authored_by("key:rita"):
        judge = Judge(name="rita", key="key:rita", may_work=True)
        ruling = Ruling(state="Write", gate="review", verdict="pass", sha256=content_sha256({"n": 1}), by=judge)
        world.gates.decide(run, ruling)
    assert by_key(world, run, "boss", "key:ann") == "excluded"
    assert by_key(world, run, "boss", "key:rita") == "ok"


def test_the_key_of_somebody_who_must_not_answer_is_refused_under_any_name(world: World) -> None:
    document = reviewed()
    review = document["asl"]["States"]["Review"]
    review["Parameters"] = {**review["Parameters"], "not_by": ["alice"]}
    document["asl"]["States"]["Write"] = {"Type": "Task", "Next": "Review"}
    run = world.create(document)
    with authored_by("key:shared"):
        world.do(run, "Write", owner="alice")
    assert by_key(world, run, "boss", "key:shared") == "excluded"
    assert by_key(world, run, "boss", "key:of-boss") == "ok"


def test_the_key_of_an_earlier_answer_counts_as_one_person(world: World) -> None:
    run = world.create(checked())
    with authored_by("key:bridge"):
        answered(world, run)
    assert by_key(world, run, "bob", "key:bridge", "Check") == "excluded"
    assert by_key(world, run, "bob", "key:of-bob", "Check") == "ok"


def test_a_rerun_from_the_task_does_not_forget_who_did_the_work(world: World) -> None:
    run = world.create(reviewed())
    for path in ("Write/0/Part1", "Write/1/Part2"):
        world.do(run, path, owner="ann")
    again, third = world.name(), world.name()
    for of, new in ((run, again), (again, third)):
        world.starting.rerun(of, Rerun(workflow_id=new, from_state="Review", agents={}))
        assert refused(world, new, by="ann", state="Review", groups=["editors"]).code == "excluded"
    answered(world, again, by="eve", state="Review", groups=["editors"])


def test_whoever_sent_it_back_may_judge_the_next_version(world: World) -> None:
    run = world.create(reviewed())
    for path in ("Write/0/Part1", "Write/1/Part2"):
        world.do(run, path, owner="ann")
    answered(world, run, "reject", by="eve", state="Review", groups=["editors"])
    for path in ("Write/0/Part1", "Write/1/Part2"):
        world.do(run, path, owner="ben")
    assert refused(world, run, by="ann", state="Review", groups=["editors"]).code == "excluded"
    assert answered(world, run, by="eve", state="Review", groups=["editors"])["next_states"] == ["Publish"]


def test_whoever_answered_a_task_that_led_to_another_is_its_producer(world: World) -> None:
    run = world.create(checked())
    answered(world, run)
    assert refused(world, run, state="Check").code == "excluded"
    assert answered(world, run, by="bob", state="Check")["run_status"] == "succeeded"


def test_other_iterations_of_a_map_did_not_lead_to_a_task(world: World) -> None:
    review = reviewed()["asl"]["States"]["Review"] | {"End": True}
    del review["Next"]
    inside = {"StartAt": "Write", "States": {"Write": {"Type": "Task", "Next": "Review"}, "Review": review}}
    each = {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": inside, "End": True}
    document = {"workflow_name": "m", "asl": {"StartAt": "Each", "States": {"Each": each}}}
    run = world.create(document, run_input={"items": [1, 2]})
    world.do(run, "Each/0/Write", owner="ann")
    world.do(run, "Each/1/Write", owner="ben")
    assert refused(world, run, by="ann", state="Each/0/Review", groups=["editors"]).code == "excluded"
    answered(world, run, by="ben", state="Each/0/Review", groups=["editors"])
    answered(world, run, by="ann", state="Each/1/Review", groups=["editors"])
    assert world.run_status(run) is RunStatus.SUCCEEDED


# Time


def test_at_the_deadline_the_state_fails_with_a_timeout(world: World) -> None:
    run = world.create(asking(TimeoutSeconds=60))
    pass_deadline(world, run)
    assert world.meta(run)["error"] == "States.Timeout"
    assert refused(world, run).code == "run_over"


def test_at_the_deadline_the_default_is_taken(world: World) -> None:
    run = world.create(asking({"default": "reject"}, TimeoutSeconds=60))
    pass_deadline(world, run)
    output = world.meta(run)["output"]
    assert (output["choice"], output["answered_by"]) == ("reject", None)
    assert "HumanTaskDefaulted" in world.event_types(run)
    assert states(world, run=run) == []


def test_a_default_may_be_a_failure(world: World) -> None:
    run = world.create(asking({"default": "reject", "on_reject": "fail"}, TimeoutSeconds=60))
    pass_deadline(world, run)
    assert world.meta(run)["error"] == "DCF.Rejected"


def test_a_timeout_that_is_retried_asks_again(world: World) -> None:
    retry = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    run = world.create(asking(TimeoutSeconds=60, Retry=retry))
    first = world.doc(run, "Ask").lease.epoch
    pass_deadline(world, run)
    assert states(world, run=run) == []
    set_member(world.ask, world.store.keys(run).state("Ask"), "not_before", "2001-01-01T00:00:00.000000Z")
    world.make_due(run, "Ask")
    world.notifications.pulse()
    assert world.doc(run, "Ask").lease.epoch > first
    assert states(world, run=run) == [(run, "Ask")]
    assert answered(world, run)["run_status"] == "succeeded"


def pass_deadline(world: World, run: str, place: Place = "deadline") -> None:
    set_member(world.ask, world.store.keys(run).state("Ask"), place, "2001-01-01T00:00:00.000000Z")
    world.make_due(run, "Ask")
    world.notifications.pulse()


def test_after_the_escalation_others_may_answer_too_and_are_told(world: World) -> None:
    run = world.create(asking({"escalate": {"after_s": 60, "to": ["boss", {"group": "managers"}]}}))
    assert refused(world, run, by="boss").code == "not_asked"
    assert states(world, run=run, person="boss") == []
    pass_deadline(world, run, ("asked", "escalates_at"))
    assert "HumanTaskEscalated" in world.event_types(run)
    assert states(world, person="boss") == states(world, groups=("managers",)) == states(world, person="alice")
    assert states(world, person="boss") == [(run, "Ask")]
    assert [event["reason"] for event in world.messages("boss")] == ["human_task_escalated"]
    assert [event["reason"] for event in world.messages("alice")] == ["human_task"]
    assert answered(world, run, by="boss")["answered_by"] == "boss"


def test_an_escalation_does_not_end_the_deadline(world: World) -> None:
    document = asking({"escalate": {"after_s": 60, "to": "boss"}}, TimeoutSeconds=600)
    run = world.create(document)
    pass_deadline(world, run, ("asked", "escalates_at"))
    assert world.run_status(run) is RunStatus.RUNNING
    pass_deadline(world, run)
    assert world.meta(run)["error"] == "States.Timeout"


# Descriptions


def test_a_description_that_cannot_be_followed_fails_the_state_in_words(world: World) -> None:
    document = asking({"to.$": "$.who"})
    del document["asl"]["States"]["Ask"]["Parameters"]["to"]
    run = world.create(document, run_input={"who": []})
    assert world.meta(run)["error"] == "DCF.InvalidHumanTask"
    assert "To must be the id of a person" in world.meta(run)["cause"]
    good = world.create(document, run_input={"who": "bob"})
    assert answered(world, good, by="bob")["run_status"] == "succeeded"


# Recipients


def test_everybody_asked_is_told_once_with_the_title(world: World) -> None:
    run = world.create(asking({"to": ["alice", "bob", {"group": "finance"}]}))
    world.notifications.pulse()
    world.notifications.pulse()
    for name in ("alice", "bob", "finance"):
        (event,) = world.messages(name)
        assert (event["type"], event["workflow_id"], event["target_state"]) == ("human_task", run, "Ask")
        assert event["title"] == "Approve the order"
        assert world.notifications.is_current(event)
    answered(world, run)
    assert not world.notifications.is_current(world.messages("alice")[0])


# The list


def test_open_tasks_are_found_by_person_group_and_run_until_they_are_answered(world: World) -> None:
    mine = world.create(asking())
    ours = world.create(asking({"to": ["bob", {"group": "finance"}]}))
    assert states(world, person="alice") == [(mine, "Ask")]
    assert states(world, groups=("finance",)) == states(world, person="bob") == [(ours, "Ask")]
    assert states(world, person="alice", groups=("finance",)) == [(mine, "Ask"), (ours, "Ask")]
    assert states(world) == [(mine, "Ask"), (ours, "Ask")]
    assert states(world, run=ours, person="alice") == []
    answered(world, mine)
    assert states(world) == [(ours, "Ask")]
    row = listed(world, run=ours).rows[0].as_json()
    assert (row["title"], row["to"], row["choices"]) == (
        "Approve the order",
        ["bob", {"group": "finance"}],
        ["approve", "reject"],
    )


def each_asking(count: int) -> tuple[Document, Document]:
    ask = {"Type": "Task", "Resource": "dcf:human", "Parameters": ASK, "End": True}
    each = {
        "Type": "Map",
        "ItemsPath": "$.items",
        "ItemProcessor": {"StartAt": "Ask", "States": {"Ask": ask}},
        "End": True,
    }
    return {"workflow_name": "each", "asl": {"StartAt": "Each", "States": {"Each": each}}}, {
        "items": list(range(count))
    }


def test_pages_go_through_tasks_that_were_opened_at_the_same_moment(world: World) -> None:
    document, run_input = each_asking(35)
    run = world.create(document, run_input=run_input)
    result: list[str] = []
    place = None
    while True:
        page = listed(world, run=run, limit=10, place=place)
        result += [row.state for row in page.rows]
        place = page.next_place
        if place is None:
            break
    assert sorted(result) == sorted(f"Each/{number}/Ask" for number in range(35))


def test_a_page_goes_on_where_its_last_task_was_answered_meanwhile(world: World) -> None:
    document, run_input = each_asking(12)
    run = world.create(document, run_input=run_input)
    first = listed(world, run=run, limit=5)
    answered(world, run, state=first.rows[-1].state)
    second = listed(world, run=run, limit=50, place=first.next_place)
    assert len({row.state for row in (*first.rows, *second.rows)}) == 12


def test_a_page_costs_what_it_shows(world: World) -> None:
    document, run_input = each_asking(300)
    run = world.create(document, run_input=run_input)
    page = listed(world, run=run, limit=3)
    assert len(page.rows) == 3


@rows("end", ["answer", "cancel", "resolve", "timeout", "close"])
def test_however_a_task_ends_nothing_of_it_is_left_on_the_lists(world: World, end: str) -> None:
    document = asking(TimeoutSeconds=60)
    if end == "close":
        fails = {"StartAt": "Bad", "States": {"Bad": {"Type": "Task", "End": True}}}
        ask = {name: value for name, value in document["asl"]["States"]["Ask"].items() if name != "Next"}
        inside = {"StartAt": "Ask", "States": {"Ask": ask | {"End": True}}}
        both = {"Type": "Parallel", "Branches": [inside, fails], "End": True}
        document = {"workflow_name": "w", "asl": {"StartAt": "Both", "States": {"Both": both}}}
    run = world.create(document)
    assert len(states(world, run=run)) == 1
    if end == "answer":
        answered(world, run)
    elif end == "cancel":
        world.lifecycle.cancel(run)
    elif end == "resolve":
        world.lifecycle.resolve(run, Resolve(state="Ask", how="output", output=1))
    elif end == "timeout":
        pass_deadline(world, run)
    else:
        world.fail(run, "Both/1/Bad", world.acquire(run, "Both/1/Bad"))
    assert entries(world, run) == []


def entries(world: World, run: str) -> list[bytes]:
    lists = world.ask("KEYS", f"{people_keys.ASKED}*")
    return [name for key in lists for name in world.ask("ZRANGE", key, 0, -1) if name.startswith(run.encode())]


def test_what_a_dead_process_left_on_a_list_is_taken_off_by_readers_and_by_the_sweep(world: World) -> None:
    run = world.create(asking())
    answered(world, run)
    stale = key_parts.member(run, "Ask")
    for key in (people_keys.ALL_ASKED, people_keys.asked_in(run), people_keys.asked_of("person:alice")):
        world.ask("ZADD", key, 1, stale)
    assert states(world, run=run) == []
    assert world.ask("ZSCORE", people_keys.asked_in(run), stale) is None
    assert world.ask("ZSCORE", people_keys.ALL_ASKED, stale) is None
    assert world.ask("ZSCORE", people_keys.asked_of("person:alice"), stale) is not None
    Sweep(Listings(world.connections)).look(repair=True)
    assert entries(world, run) == []


def test_a_reader_takes_off_what_is_stale_also_where_its_page_is_full(world: World) -> None:
    name = f"p-{secrets.token_hex(4)}"
    done, run = (world.create(asking({"to": name})) for _ in range(2))
    answered(world, done, by=name)
    own = people_keys.asked_of(f"person:{name}")
    world.ask("ZADD", own, 1, key_parts.member(done, "Ask"))
    assert states(world, person=name, limit=1) == [(run, "Ask")]
    assert world.ask("ZRANGE", own, 0, -1) == [key_parts.member(run, "Ask").encode()]


def test_a_task_whose_answer_was_lost_in_a_failover_stays_listed(world: World) -> None:
    run = world.create(asking())
    seen = world.store.read(run, ReadSet(states=("Ask",)))
    lost = WriteSet(states={"Ask": replace(seen.states["Ask"], status=Status.SUCCEEDED, kind=None)})
    ask(world.connections, *ended_commands(world.store.keys(run), lost, seen))
    assert states(world, person="alice") == states(world, run=run) == states(world) == [(run, "Ask")]


def test_a_deleted_run_leaves_nothing_behind(world: World) -> None:
    run = world.create(asking())
    world.lifecycle.cancel(run)
    world.retention.delete(run)
    assert entries(world, run) == []
    assert world.ask("EXISTS", people_keys.asked_in(run)) == 0


# Diagnosis


def test_why_says_who_is_waited_for_and_since_when(world: World) -> None:
    run = world.create(asking({"to": ["alice", {"group": "finance"}]}, TimeoutSeconds=600))
    (finding,) = world.diagnosis.explain(run, None).findings
    assert finding.cause is Cause.WAITING_FOR_PERSON
    assert "waits for alice or the group finance since" in finding.sentence
    assert "Approve the order" in finding.sentence
    epoch = world.doc(run, "Ask").lease.epoch
    assert advised_command(finding.remedy) == f"dcf approve {run} Ask --epoch {epoch} --as alice"
    assert finding.remedy.tool == "answer_human_task"
    assert not finding.stuck
