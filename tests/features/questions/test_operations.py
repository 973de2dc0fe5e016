"""Notes, questions and answers: who may leave them, whom they reach, and what a state waits for."""

from typing import Any

import pytest

from dcf.asl.tasks.askees import Askees
from dcf.core.completing.resolving import Resolve
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.operations import RunAnswer
from dcf.core.leasing.lease import Acquire
from dcf.errors import InvalidArgument
from dcf.features.diagnosis.model import Cause
from dcf.features.people import keys as people_keys
from dcf.features.people.listing import HumanTaskQuery
from dcf.features.questions.asking import Ask, QuestionAnswer
from dcf.features.questions.model import MOST_KEPT, MOST_NOTES, MOST_OF_VISIT, NO_TALK, Questions, write_talk
from dcf.features.questions.notes import Note
from dcf.runs.clock.sweep import Sweep
from dcf.store.lists.checks import Listings
from dcf.values.records import replace
from dcf.values.refusal import Refusal
from tests.support.advised import advised_command
from tests.support.ahead import let_pass
from tests.support.redis.documents import change_document, write_document
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World


def planned(world: World, **options: Any) -> str:
    return world.create(chain("A", "B"), agents={"A": "ann", "B": ("ben", "bea")}, planner="pat", **options)


def note(world: World, run: str, text: str = "look", by: str = "ann", **more: Any) -> RunAnswer | Refusal:
    request_id = more.pop("request_id", None)
    return world.talking.leave_note(run, Note(text=text, by=by, **more), request_id=request_id)


def ask(world: World, run: str, token: str, text: str = "Which?", **more: Any) -> RunAnswer | Refusal:
    return world.talking.ask_question(run, Ask(state="A", token=token, text=text, **more))


def asked(world: World, run: str, token: str, text: str = "Which?", **more: Any) -> str:
    reply = ask(world, run, token, text, **more)
    assert isinstance(reply, RunAnswer), reply
    return str(reply.answer["question_id"])


def reply(world: World, run: str, question: str, text: str = "this", **more: Any) -> RunAnswer | Refusal:
    request_id = more.pop("request_id", None)
    value = {"by": "pat", "may_plan": True, **more}
    question_answer = QuestionAnswer(question_id=question, answer=text, **value)
    return world.talking.answer_question(run, question_answer, request_id=request_id)


def replied(world: World, run: str, question: str, text: str = "this", **more: Any) -> RunAnswer:
    answer = reply(world, run, question, text, **more)
    assert isinstance(answer, RunAnswer), answer
    return answer


def code(answer: object) -> str:
    return answer.code if isinstance(answer, Refusal) else "ok"


# Notes


def test_a_note_stands_in_the_history_and_goes_to_the_planner_as_anothers_text(world: World) -> None:
    run = planned(world)
    assert code(note(world, run, "the numbers look odd", state="A")) == "ok"
    (left,) = [event for event in world.events(run) if event.type == "NoteLeft"]
    assert (left.state, left.data["text"], left.data["agent"]) == ("A", "the numbers look odd", "ann")
    world.notifications.pulse()
    (event,) = world.messages("pat")
    assert (event["type"], event["target_state"], event["text"]) == ("note", "A", "the numbers look odd")
    assert (event["provenance"]["from"], event["provenance"]["trust"]) == ("ann", "untrusted data")
    assert world.notifications.is_current(event)


def test_each_note_is_an_event_of_its_own_and_a_repetition_leaves_none(world: World) -> None:
    run = planned(world)
    for _ in range(2):
        assert code(note(world, run, "one", request_id="r1")) == "ok"
    note(world, run, "two")
    assert code(note(world, run, "another", request_id="r1")) == "conflict"
    world.notifications.pulse()
    assert sorted(event["text"] for event in world.messages("pat")) == ["one", "two"]
    assert world.event_types(run).count("NoteLeft") == 2


def test_a_note_about_a_run_that_nobody_plans_stands_in_the_history_only(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "ann"})
    assert code(note(world, run)) == "ok"
    assert world.owed(run) == 0
    assert "NoteLeft" in world.event_types(run)


@rows(
    ("by", "more", "expected"),
    [
        ("ann", {}, "ok"),
        ("bea", {}, "ok"),
        ("pat", {}, "ok"),
        ("eve", {}, "no_part"),
        ("eve", {"state": "A"}, "no_part"),
        ("eve", {"is_operator": True}, "ok"),
    ],
)
def test_who_plans_operates_or_is_assigned_in_a_run_leaves_notes(
    world: World, by: str, more: dict[str, Any], expected: str
) -> None:
    run = planned(world)
    assert code(note(world, run, by=by, **more)) == expected


def test_who_may_take_a_state_or_holds_it_leaves_notes_about_it(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"B": "ben"})
    assert code(note(world, run, by="eve", state="A")) == "ok"
    assert code(note(world, run, by="eve", state="B")) == "no_part"
    world.do(run, "A")
    world.acquire(run, "B", "eve", any_owner=True)
    assert code(note(world, run, by="eve", state="B")) == "ok"


def test_notes_are_bounded_in_length_and_number_and_end_with_the_run(world: World) -> None:
    run = planned(world)
    for text in ("", "  ", "x" * 2001):
        with pytest.raises(InvalidArgument):
            note(world, run, text)
    put_talk(world, run, replace(NO_TALK, notes=MOST_NOTES - 1))
    assert code(note(world, run)) == "ok"
    assert code(note(world, run)) == "too_many"
    world.lifecycle.cancel(run)
    assert code(note(world, run)) == "run_over"


def put_talk(world: World, run: str, talk: Questions) -> None:
    write_document(world.ask, world.store.keys(run).talk, write_talk(talk))


# Questions


def test_the_planner_gets_a_question_and_the_asker_keeps_its_lease_for_the_answer(world: World) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    question = asked(world, run, token, "Euro or dollar?", choices=("EUR", "USD"), give_back=False)
    world.notifications.pulse()
    (event,) = world.messages("pat")
    assert (event["type"], event["question_id"], event["question"]) == ("question", question, "Euro or dollar?")
    assert (event["choices"], event["provenance"]["from"]) == (["EUR", "USD"], "ann")
    assert world.notifications.is_current(event)
    assert code(reply(world, run, question, "yen")) == "invalid_answer"
    replied(world, run, question, "EUR", comment="as always")
    assert not world.notifications.is_current(event)
    world.notifications.pulse()
    (details,) = [message for message in world.messages("ann") if message["type"] == "question_answered"]
    assert (details["target_state"], details["answer"], details["comment"]) == ("A", "EUR", "as always")
    assert details["provenance"]["from"] == "pat"
    assert world.notifications.is_current(details)
    world.complete(run, "A", token, 1)
    assert not world.notifications.is_current(details)
    assert [event_type for event_type in world.event_types(run, "A") if event_type.startswith("Question")] == [
        "QuestionAsked",
        "QuestionAnswered",
    ]


def test_a_state_given_back_for_an_answer_is_taken_by_nobody_until_it_is_there(world: World) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    question = asked(world, run, token)
    assert code(world.try_acquire(run, "A", "ann")) == "not_ready"
    assert code(world.renew(run, "A", token)) == "lease_lost"
    before = len(world.messages("ann"))
    replied(world, run, question)
    world.notifications.pulse()
    types = [event["type"] for event in world.messages("ann")[before:]]
    assert sorted(types) == ["question_answered", "workflow_event"]
    doc = world.doc(run, "A")
    assert (doc.attempts, doc.tries) == (1, 0)
    again = world.acquire(run, "A", "ann")
    assert world.talking.questions_of(run, "A", world.doc(run, "A"))[0]["answer"] == "this"
    world.complete(run, "A", again)


def test_asking_and_giving_back_counts_no_attempt_however_often(world: World) -> None:
    run = planned(world, max_attempts=2)
    for number in range(5):
        token = world.acquire(run, "A", "ann")
        replied(world, run, asked(world, run, token, f"number {number}?"))
    world.do(run, "A", "ann")
    assert world.statuses(run)["A"] == "succeeded"


def test_whoever_holds_the_state_later_sees_what_was_asked_in_this_visit(world: World) -> None:
    run = world.create(looping(), agents={"A": ("ann", "amy")}, planner="pat")
    first = world.acquire(run, "A", "ann")
    question = asked(world, run, first, give_back=False, choices=("this", "that"))
    world.expire_lease(run, "A")
    second = world.acquire(run, "A", "amy")
    (open_one,) = world.talking.questions_of(run, "A", world.doc(run, "A"))
    assert (open_one["asked_by"], "answer" in open_one, "waits_until" in open_one) == ("ann", False, True)
    assert open_one["choices"] == ["this", "that"]
    replied(world, run, question)
    (answered,) = world.talking.questions_of(run, "A", world.doc(run, "A"))
    assert (answered["answer"], answered["provenance"]["from"]) == ("this", "pat")
    world.complete(run, "A", second, {"again": True})
    third = world.acquire(run, "A", "amy")
    assert world.talking.questions_of(run, "A", world.doc(run, "A")) == []
    asked(world, run, third, "And now?", give_back=False)
    (again,) = world.talking.questions_of(run, "A", world.doc(run, "A"))
    assert again["question"] == "And now?"


def looping() -> dict[str, object]:
    choice = {
        "Type": "Choice",
        "Choices": [{"Variable": "$.again", "BooleanEquals": True, "Next": "A"}],
        "Default": "E",
    }
    states = {"A": {"Type": "Task", "Next": "C"}, "C": choice, "E": {"Type": "Succeed"}}
    return {"workflow_name": "loop", "asl": {"StartAt": "A", "States": states}}


def test_only_the_holder_asks_and_one_question_of_a_lease_is_asked_once(world: World) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    assert code(ask(world, run, "forged")) == "lease_lost"
    first, second = (ask(world, run, token) for _ in range(2))
    assert isinstance(first, RunAnswer)
    assert isinstance(second, RunAnswer)
    assert (first.answer, second.repeated) == (second.answer, True)
    assert code(ask(world, run, token, "Another?")) == "lease_lost"
    assert world.event_types(run).count("QuestionAsked") == 1


def test_of_two_answers_the_first_counts_and_a_repetition_gets_it_again(world: World) -> None:
    run = planned(world)
    question = asked(world, run, world.acquire(run, "A", "ann"))
    first = replied(world, run, question, "one", request_id="r")
    again = replied(world, run, question, "one", request_id="r")
    assert (again.repeated, again.answer) == (True, first.answer)
    late = reply(world, run, question, "two", by="lea", is_person=True)
    assert isinstance(late, Refusal)
    assert late.code == "already_answered"
    assert "'pat' answered" in late.message


def test_what_the_planner_is_asked_it_or_any_person_answers_and_nobody_else(world: World) -> None:
    run = planned(world)
    question = asked(world, run, world.acquire(run, "A", "ann"))
    assert code(reply(world, run, question, by="ann")) == "not_asked"
    assert code(reply(world, run, question, by="pat", may_plan=False)) == "not_asked"
    assert code(reply(world, run, question, by="lea", is_person=True, may_plan=False)) == "ok"


def test_what_people_are_asked_only_they_answer(world: World) -> None:
    run = planned(world)
    to = Askees(people=("alice",), groups=("finance",))
    question = asked(world, run, world.acquire(run, "A", "ann"), to=to)
    world.notifications.pulse()
    assert [[event["type"] for event in world.messages(name)] for name in ("alice", "finance", "pat")] == [
        ["question"],
        ["question"],
        [],
    ]
    assert code(reply(world, run, question)) == "not_asked"
    assert code(reply(world, run, question, by="bob", is_person=True)) == "not_asked"
    assert code(reply(world, run, question, by="bob", is_person=True, groups=frozenset({"finance"}))) == "ok"


def test_an_answer_about_a_state_that_has_moved_on_is_refused(world: World) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    question = asked(world, run, token, give_back=False)
    world.complete(run, "A", token)
    assert code(reply(world, run, question)) == "question_closed"
    assert code(reply(world, run, "q9")) == "unknown_question"
    world.lifecycle.cancel(run)
    assert code(reply(world, run, question)) == "run_over"


def test_what_nobody_waits_for_after_a_retry_of_the_run_is_not_shown_as_waiting(world: World) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    replied(world, run, asked(world, run, token, "one", give_back=False))
    left = asked(world, run, token, "two", give_back=False)
    world.fail(run, "A", token)
    assert isinstance(world.retrying.retry(run), RunAnswer)
    assert code(reply(world, run, left)) == "question_closed"
    asked(world, run, world.acquire(run, "A", "ann"), "three", give_back=False)
    shown = world.talking.questions_of(run, "A", world.doc(run, "A"))
    assert [result["question"] for result in shown] == ["one", "three"]


def test_questions_about_a_state_are_bounded(world: World) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    for number in range(MOST_OF_VISIT):
        asked(world, run, token, f"{number}?", give_back=False)
    assert code(ask(world, run, token, "One more?", give_back=False)) == "too_many"


def test_a_run_keeps_only_so_many_questions(world: World) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    asked(world, run, token, "one", give_back=False)
    (question,) = world.talking.talk(run).questions
    waiting = tuple(replace(question, number=number) for number in range(1, MOST_KEPT + 1))
    put_talk(world, run, Questions(asked=MOST_KEPT, questions=waiting))
    assert code(ask(world, run, token, "two", give_back=False)) == "too_many"
    put_talk(world, run, Questions(asked=MOST_KEPT, questions=(*waiting[:-1], replace(waiting[-1], answer="so"))))
    assert asked(world, run, token, "three", give_back=False) == f"q{MOST_KEPT + 1}"
    numbers = [result.number for result in world.talking.talk(run).questions]
    assert (len(numbers), MOST_KEPT in numbers) == (MOST_KEPT, False)


@pytest.mark.parametrize("gave_back", [True, False])
def test_what_nobody_answers_in_time_is_given_up_and_the_asker_told(world: World, gave_back: bool) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    question = asked(world, run, token, timeout_s=60, give_back=gave_back)
    pass_time(world, run)
    assert "QuestionExpired" in world.event_types(run)
    (details,) = [event for event in world.messages("ann") if event["type"] == "question_answered"]
    assert (details["answer"], details["nobody_answered"]) == (None, True)
    assert code(reply(world, run, question)) == "question_closed"
    if gave_back:
        token = world.acquire(run, "A", "ann")
        assert world.talking.questions_of(run, "A", world.doc(run, "A"))[0]["unanswered"] is True
    world.complete(run, "A", token)


def test_an_answer_frees_its_state_also_after_the_servers_clock_stepped_back(timely: World) -> None:
    run = planned(timely)
    let_pass(timely, 7200)
    question = asked(timely, run, timely.acquire(run, "A", "ann"), timeout_s=600)
    let_pass(timely, -3600)
    assert timely.plane.heal(run) == 1
    assert code(timely.try_acquire(run, "A", "ann")) == "not_ready"
    replied(timely, run, question)
    timely.acquire(run, "A", "ann")


@rows("gave_back", [True, False])
def test_the_clock_looks_when_the_time_of_a_question_has_passed_also_after_a_renewal(
    world: World, gave_back: bool
) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    asked(world, run, token, timeout_s=60, give_back=gave_back)
    (question,) = world.talking.talk(run).questions
    if not gave_back:
        world.renew(run, "A", token)
    assert world.store.read(run, ReadSet(timers=("A",))).timers["A"] == question.until


def pass_time(world: World, run: str) -> None:
    """As if the time of the questions about A had passed."""
    key, long_ago = world.store.keys(run), "2001-01-01T00:00:00.000000Z"

    def pass_in_state(state: dict[str, Any]) -> None:
        for question in state.get("questions", {}).get("open", []):
            question["until"] = long_ago
        if "not_before" in state:
            state["not_before"] = long_ago

    def pass_in_talk(talk: dict[str, Any]) -> None:
        for question in talk["questions"]:
            question["until"] = long_ago

    change_document(world.ask, key.state("A"), pass_in_state)
    change_document(world.ask, key.talk, pass_in_talk)
    world.make_due(run, "A")
    world.notifications.pulse()
    world.notifications.pulse()


def test_while_the_run_is_paused_an_answer_wakes_nobody_and_resuming_does(world: World) -> None:
    run = planned(world)
    question = asked(world, run, world.acquire(run, "A", "ann"))
    world.lifecycle.pause(run)
    replied(world, run, question)
    world.notifications.pulse()
    assert [event["type"] for event in world.messages("ann")] == ["question_answered"]
    world.lifecycle.resume(run)
    world.notifications.pulse()
    assert "workflow_event" in [event["type"] for event in world.messages("ann")]
    world.do(run, "A", "ann")


def test_a_claim_passes_over_a_state_that_waits_for_an_answer(world: World) -> None:
    run = world.create(chain("A"), planner="pat")
    question = asked(world, run, world.acquire(run, "A", "ann"))
    claim = Acquire(state="", owner="amy", token="t-1", ttl_s=60)
    assert type(world.plane.claim(run, claim)).__name__ == "NothingReady"
    replied(world, run, question)
    assert type(world.plane.claim(run, claim)).__name__ == "Leased"


def test_a_deleted_run_leaves_no_questions_behind(real: World) -> None:
    run = planned(real)
    asked(real, run, real.acquire(run, "A", "ann"))
    assert entries(real, run) != []
    real.lifecycle.cancel(run)
    real.retention.delete(run)
    assert (real.keys_of(run), entries(real, run)) == ([], [])


# The list of what waits for people


def entries(world: World, run: str) -> list[bytes]:
    lists = world.ask("KEYS", f"{people_keys.ASKED}*")
    return [name for key in lists for name in world.ask("ZRANGE", key, 0, -1) if name.startswith(run.encode())]


def listed(world: World, **expected: Any) -> list[dict[str, object]]:
    query = HumanTaskQuery(**{"limit": 1000, **expected})
    return [row.as_json() for row in world.people.list_human_tasks(query).rows if row.workflow_id in world.runs]


def test_questions_are_on_the_list_of_what_waits_for_people_until_they_are_answered(world: World) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    to = Askees(people=("alice",), groups=("finance",))
    first = asked(world, run, token, "Which?", choices=("x", "y"), give_back=False, to=to)
    second = asked(world, run, token, "And why?")
    (row,) = listed(world, run=run, person="alice")
    assert row == listed(world, groups=("finance",))[0]
    assert (row["question_id"], row["title"], row["choices"]) == (first, "Which?", ["x", "y"])
    assert row["to"] == ["alice", {"group": "finance"}]
    assert [result["question_id"] for result in listed(world, person="pat")] == [second]
    assert [result["question_id"] for result in listed(world, run=run)] == [first, second]
    replied(world, run, second)
    replied(world, run, first, "x", by="alice", is_person=True)
    assert listed(world, run=run) == []
    assert entries(world, run) == []


@rows("end", ["complete", "cancel", "resolve", "expire"])
def test_however_a_question_ends_nothing_of_it_is_left_on_the_lists(world: World, end: str) -> None:
    run = planned(world)
    token = world.acquire(run, "A", "ann")
    asked(world, run, token, give_back=end != "complete")
    if end == "complete":
        world.complete(run, "A", token)
    elif end == "cancel":
        world.lifecycle.cancel(run)
    elif end == "resolve":
        world.lifecycle.resolve(run, Resolve(state="A", how="output", output=1))
    else:
        pass_time(world, run)
    assert listed(world, run=run) == []
    assert entries(world, run) == []


def test_readers_and_the_sweep_remove_entries_that_a_dead_process_left_of_a_question(world: World) -> None:
    run = planned(world)
    question = asked(world, run, world.acquire(run, "A", "ann"))
    replied(world, run, question)
    stale = people_keys.question_member(run, "A", question)
    for key in (people_keys.ALL_ASKED, people_keys.asked_in(run), people_keys.asked_of("person:pat")):
        world.ask("ZADD", key, 1, stale)
    assert listed(world, run=run) == []
    assert world.ask("ZSCORE", people_keys.asked_in(run), stale) is None
    Sweep(Listings(world.connections)).look(repair=True)
    assert entries(world, run) == []


# Diagnosis


@rows("gave_back", [True, False])
def test_why_says_who_is_waited_for(world: World, gave_back: bool) -> None:
    run = planned(world)
    question = asked(world, run, world.acquire(run, "A", "ann"), "Euro or dollar?", give_back=gave_back)
    (finding,) = world.diagnosis.explain(run, None).findings
    assert finding.cause is Cause.WAITING_FOR_ANSWER
    assert "waits for an answer of the planner" in finding.sentence
    assert "Euro or dollar?" in finding.sentence
    assert advised_command(finding.remedy) == f"dcf tasks reply {run} {question} ANSWER"
    assert finding.remedy.tool == "answer_question"
    assert not finding.stuck
