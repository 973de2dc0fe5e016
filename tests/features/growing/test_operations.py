"""A run that grows, and the operations that every run has: the clock, pause and resume, ends, exports, deletion."""

from typing import Any, Final

import pytest

from dcf.core.completing.resolving import wish_of
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Created, Leased, NothingReady, Updated
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.repeating import Rerun
from dcf.core.lifecycle.retention import Deleted
from dcf.errors import UnknownState
from dcf.features.gates.model import RECORDS, record_of
from dcf.features.growing.adding import Added
from dcf.features.questions.corrections import Correct
from dcf.store.access.authors import authored_by
from dcf.values.refusal import Refusal
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.trouble import dies
from tests.support.workflows.growing import Server, check
from tests.support.world import World

REVIEW: Final = {"name": "review", "kind": "review", "criteria": ["It is right."], "reviewers": ["rita"]}


def code(answer: object) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


def test_resume_re_times_out(real: World) -> None:
    """A run whose time is up is paused, and gets as much time again when it is resumed."""
    server = Server(real)
    run = server.open({"name": "A"}, planner="boss", timeout_s=3600)
    first = real.meta(run)["deadline"]
    assert first is not None
    set_member(real.ask, real.store.keys(run).meta, "deadline", "2001-01-01T00:00:00.000000Z")
    real.plane.time_out(run)
    assert real.run_status(run) is RunStatus.RUNNING
    assert code(real.try_acquire(run, "A")) == "run_paused"
    real.plane.time_out(run)
    assert real.event_types(run).count("RunTimedOut") == 1, "its time is up once"
    assert isinstance(real.lifecycle.resume(run), RunAnswer)
    assert real.meta(run)["deadline"] >= first, "the clock begins anew"
    real.plane.time_out(run)
    assert isinstance(real.try_acquire(run, "A"), Leased)
    real.notifications.deliver(run)
    assert [event["text"] for event in real.messages("boss") if event["type"] == "note"], "the planner is told"


def test_the_clock_pauses_a_run_whose_time_is_up(real: World) -> None:
    server = Server(real)
    run = server.open(timeout_s=3600)
    real.forget_others()
    real.notifications.pulse()
    set_member(real.ask, real.store.keys(run).meta, "deadline", "2001-01-01T00:00:00.000000Z")
    real.make_due(run, "Nothing")
    real.ask("ZREM", real.store.keys(run).timers, "Nothing")
    real.notifications.pulse()
    assert real.meta(run)["paused_at"] is not None


def test_a_unit_that_fails_does_not_fail_the_run_and_its_planner_hears_of_it(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, {"name": "B", "depends_on": ["A"]}, planner="boss")
    real.fail(run, "A", real.acquire(run, "A"))
    assert real.run_status(run) is RunStatus.RUNNING
    assert real.statuses(run) == {"A": "failed", "B": "pending"}
    real.notifications.deliver(run)
    (details,) = [event for event in real.messages("boss") if event["type"] == "note"]
    assert "retry_unit" in details["text"]
    check(server, run)


def test_a_unit_that_nobody_finishes_fails_alone(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, max_attempts=2)
    for _ in range(2):
        real.acquire(run, "A")
        real.expire_lease(run, "A")
    real.plane.look(run, "A")
    assert real.statuses(run) == {"A": "failed"}
    assert real.run_status(run) is RunStatus.RUNNING
    server.retry(run, "A")
    assert real.do(run, "A").status.value == "succeeded", "a retry has all its attempts again"


def test_a_completion_leases_what_it_makes_ready(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, {"name": "B", "depends_on": ["A"]}, {"name": "C"})
    token = real.acquire(run, "A")
    answer = real.complete(run, "A", token, owner="w", claim_ttl_s=60)
    assert [claim.state for claim in answer.claims] == ["B"]
    last = real.complete(run, "B", answer.claims[0].doc.lease.token, owner="w", claim_ttl_s=60)
    assert [claim.state for claim in last.claims] == ["C"], "another that was ready"
    again = real.complete(run, "A", token, owner="w", claim_ttl_s=60)
    assert (again.repeated, [claim.state for claim in again.claims]) == (True, ["B"])
    check(server, run)


def test_several_units_are_completed_in_one_transaction(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, {"name": "B"}, {"name": "C", "depends_on": ["A", "B"]})
    tokens = {name: real.acquire(run, name) for name in "AB"}
    wishes = [
        Update(state=name, token=token, status=real.doc(run, name).status.SUCCEEDED, has_output=True, output=1)
        for name, token in tokens.items()
    ]
    answers = real.plane.update_all(run, wishes)
    assert [answer.next_states for answer in answers if isinstance(answer, Updated)] == [(), ("C",)]
    check(server, run)


def test_nobody_takes_a_unit_of_a_paused_run_but_it_may_grow(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"})
    real.lifecycle.pause(run)
    assert code(real.claim(run, "w")) == "run_paused"
    server.add(run, {"name": "B"})
    assert code(server.try_add(run, {"name": "C", "claim": True})) == "run_paused"
    answer = real.lifecycle.resume(run)
    assert isinstance(answer, RunAnswer)
    assert answer.answer["announced"] == 2
    check(server, run)


def test_a_cancelled_run_takes_nothing_more(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, {"name": "B", "depends_on": ["A"]})
    token = real.acquire(run, "A")
    real.lifecycle.cancel(run)
    assert real.statuses(run) == {"A": "cancelled", "B": "skipped"}
    assert code(real.try_complete(run, "A", token)) == "terminal"
    assert code(server.try_add(run, {"name": "C"})) == "terminal"
    assert code(server.rewind(run, "A")) == "run_over"
    assert code(server.retry(run, "A")) == "run_over"
    assert code(real.retrying.retry(run)) == "cannot_retry"


def test_what_is_not_done_with_a_run_that_grows_is_refused_in_words(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"})
    server.finish(run, "A")
    rerun = Rerun(workflow_id=real.name(), run_input=(), from_state=None, agents={}, created_by="local", reason=None)
    assert code(real.starting.rerun(run, rerun)) == "cannot_rerun"
    assert code(real.corrections.correct_result(run, Correct(state="A", output=2))) == "grows"


def test_a_closed_run_is_finalized_and_deleted_with_all_its_keys(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, {"name": "G", "kind": "group"})
    server.finish(run, "A")
    server.seal(run, "G")
    assert isinstance(server.close(run, summary="All of it."), RunAnswer)
    final = real.finalize(run)
    assert (final.audit["final_status"], final.audit["counts"]["total"]) == ("succeeded", 2)
    real.plane.pack(run)
    assert real.statuses(run) == {"A": "succeeded", "G": "succeeded"}, "it can be read once it is packed"
    assert isinstance(real.retention.delete(run), Deleted)
    assert real.keys_of(run) == []


def test_another_server_knows_of_units_that_were_added_since(real: World) -> None:
    first, other = Server(real), Server(World(connections=real.connections, onlooker=real.onlooker))
    run = first.open({"name": "A"})
    assert other.world.statuses(run) == {"A": "pending"}
    first.add(run, {"name": "B", "depends_on": ["A"]})
    assert other.world.do(run, "A").next_states == ("B",)
    first.add(run, {"name": "C", "instructions": "Do it."})
    assert isinstance(other.world.claim(run, "w"), Leased)
    assert other.world.statuses(run) == {"A": "succeeded", "B": "running", "C": "pending"}


def test_a_run_that_is_opened_again_under_its_name_is_another(real: World) -> None:
    first, other = Server(real), Server(World(connections=real.connections, onlooker=real.onlooker))
    run = first.open({"name": "Old"})
    assert other.world.statuses(run) == {"Old": "pending"}
    first.close(run, status=RunStatus.FAILED, force=True)
    assert isinstance(real.retention.delete(run), Deleted)
    first.open({"name": "New"}, run=run)
    assert other.world.statuses(run) == {"New": "pending"}
    assert isinstance(other.try_add(run, {"name": "More", "depends_on": ["New"]}), Added)


def test_a_unit_goes_to_the_agents_that_it_names(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A", "agents": ["ann", "bob"]})
    assert isinstance(real.claim(run, "cyd"), NothingReady)
    real.notifications.deliver(run)
    details = [[event["target_state"] for event in real.messages(agent)] for agent in ("ann", "bob", "cyd")]
    assert details == [["A"], ["A"], []], "all of the pool are told"
    assert isinstance(real.claim(run, "ann"), Leased)


def test_the_holder_of_what_is_taken_back_is_told(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, {"name": "B", "depends_on": ["A"]})
    server.finish(run, "A")
    real.acquire(run, "B", "ann")
    server.rewind(run, "A", reason="wrong data")
    real.notifications.deliver(run)
    assert [event["type"] for event in real.messages("ann")] == ["lease_lost"]
    events = [event for event in real.events(run) if event.type == "UnitRewound"]
    assert {event.state: event.data["was"] for event in events} == {"A": "succeeded", "B": "running"}
    assert all(event.data["reason"] == "wrong data" for event in events)
    assert all(event.data["unit"] == "A" for event in events)  # `by` is who called


def test_a_parent_that_is_taken_back_with_what_is_below_it_can_be_taken_again(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "Above"}, {"name": "Below", "parent": "Above"})
    server.finish(run, "Below")
    server.finish(run, "Above")
    server.rewind(run, "Below")
    check(server, run)
    assert {server.take(run).state, server.take(run).state} == {"Above", "Below"}


def test_a_unit_that_redis_lost_is_not_known_any_more_and_can_be_added_again(real: World) -> None:
    """A power loss takes back the last write; the server has continued with its memory."""
    server = Server(real)
    run = server.open({"name": "A"})
    replies = {key: real.ask("DUMP", key) for key in real.keys_of(run)}
    server.add(run, {"name": "B"})
    assert set(real.docs(run)) == {"A", "B"}
    real.ask("DEL", *real.keys_of(run))
    for key, dump in replies.items():
        real.ask("RESTORE", key, 0, dump)
    assert server.add(run, {"name": "B"}).outcome.answer["added"] == ["B"]
    check(server, run)


def test_a_leased_parent_keeps_its_lease_when_its_children_are_taken_back(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "P"}, {"name": "S", "parent": "P"}, {"name": "B", "depends_on": ["P"]})
    token = real.acquire(run, "P")
    server.finish(run, "S")
    answer = server.rewind(run, "S")
    assert isinstance(answer, RunAnswer)
    assert answer.answer["rewound"] == ["S"]
    assert code(real.try_complete(run, "P", token)) == "children_open"
    server.finish(run, "S")
    real.complete(run, "P", token)
    server.rewind(run, "S")
    assert real.statuses(run) == {"P": "pending", "S": "pending", "B": "pending"}, "a parent that ended is open again"
    check(server, run)


def test_outputs_that_are_taken_back_stand_in_the_history(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"})
    real.do(run, "A", output={"kept": True})
    server.rewind(run, "A")
    assert real.output(run, "A") is None
    (event,) = [event for event in real.events(run) if event.type == "UnitRewound"]
    assert event.data["output"] == {"kept": True}


def test_a_run_is_opened_within_a_unit_of_another(real: World) -> None:
    server = Server(real)
    outer = server.open({"name": "A"})
    inner = server.open({"name": "B"}, nested_in=(outer, "A"))
    assert real.meta(inner)["nested_in"] == {"run": outer, "unit": "A"}
    (event,) = [event for event in real.events(outer) if event.type == "RunNested"]
    assert (event.state, event.data["run"]) == ("A", inner)
    again = server.try_open(inner, nested_in=(outer, "A"))
    assert isinstance(again, Created)
    assert real.event_types(outer).count("RunNested") == 1
    with pytest.raises(UnknownState):
        server.try_open(real.name(), nested_in=(outer, "Nobody"))
    server.close(outer, status=RunStatus.FAILED, force=True)
    assert code(server.try_open(real.name(), nested_in=(outer, "A"))) == "run_over"
    assert isinstance(server.try_open(inner, nested_in=(outer, "A")), Created), "one that exists is found"


def test_a_repeated_call_reports_a_nested_run_to_the_run_around_it(timely: World) -> None:
    server = Server(timely)
    outer, inner = server.open({"name": "A"}), timely.name()
    assert dies(timely, 1, lambda: server.try_open(inner, nested_in=(outer, "A")))
    assert "RunNested" not in timely.event_types(outer)
    for _ in range(2):
        answer = server.try_open(inner, nested_in=(outer, "A"))
        assert isinstance(answer, Created)
        assert answer.existed
    assert timely.event_types(outer).count("RunNested") == 1


def test_a_forced_seal_skips_what_is_open(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "G", "kind": "group"}, {"name": "A", "group": "G"}, {"name": "B", "depends_on": ["G"]})
    token = real.acquire(run, "A")
    assert code(server.seal(run, "G", only_if_done=True)) == "units_open"
    answer = server.seal(run, "G", force=True)
    assert isinstance(answer, RunAnswer)
    assert answer.answer["next_states"] == ["B"]
    assert real.statuses(run) == {"G": "succeeded", "A": "skipped", "B": "pending"}
    assert code(real.try_complete(run, "A", token)) in {"terminal", "lease_lost"}
    check(server, run)


def test_a_completion_that_travels_behind_another_write_is_counted(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, {"name": "B"}, {"name": "C", "depends_on": ["B"]})
    first, second = real.acquire(run, "A"), real.acquire(run, "B")
    noted = Update(state="A", token=first, request_id="note", has_output=True, output=1)
    done = Update(state="B", token=second, status=Status.SUCCEEDED, has_output=True, output=2)
    answers = real.plane.update_all(run, (noted, done))
    assert [answer.status for answer in answers if isinstance(answer, Updated)] == ["running", "succeeded"]
    assert isinstance(real.try_acquire(run, "C"), Leased)
    check(server, run)


@rows("how", ["output", "skip", "error"])
def test_an_operator_ends_a_unit_that_waits_for_its_review(real: World, how: str) -> None:
    server = Server(real)
    run = server.open({"name": "A", "gates": [REVIEW]}, {"name": "B", "depends_on": ["A"]})
    assert code(real.try_complete(run, "A", real.acquire(run, "A"), output=1)) == "review_running"
    assert code(real.lifecycle.resolve(run, wish_of("A", agents=("ann",)))) == "not_ready", "it has a holder"
    details: dict[str, Any] = {how: 2 if how == "output" else "Wrong" if how == "error" else True}
    assert isinstance(real.lifecycle.resolve(run, wish_of("A", **details)), RunAnswer)
    doc = real.doc(run, "A")
    ends = {"output": "succeeded", "skip": "skipped", "error": "failed"}
    assert (doc.status, doc.kind, doc.attached) == (ends[how], None, ())
    check(server, run)
    if how == "error":
        assert isinstance(real.lifecycle.resolve(run, wish_of("A", output=3)), RunAnswer), "what failed can be ended"
        assert real.doc(run, "A").status == "succeeded"
        check(server, run)
    assert isinstance(real.try_acquire(run, "B"), Leased)


def test_a_unit_that_is_skipped_while_it_is_judged_waits_for_nobody(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A", "gates": [REVIEW]}, {"name": "B"})
    real.try_complete(run, "A", real.acquire(run, "A"), output=1)
    server.add(run, {"name": "G", "kind": "group"}, {"name": "C", "group": "G", "gates": [REVIEW]})
    real.try_complete(run, "C", real.acquire(run, "C"), output=1)
    assert isinstance(server.seal(run, "G", force=True), RunAnswer)
    doc = real.doc(run, "C")
    assert (doc.status, doc.kind, doc.attached) == ("skipped", None, ())
    check(server, run)


def test_whose_key_submits_is_known_to_a_server_that_has_not_seen_the_gates_yet(real: World) -> None:
    """So that the key of the author cannot judge any part of it."""
    server, other = Server(real), Server(World(connections=real.connections, onlooker=real.onlooker))
    run = server.open()
    other.world.plane.run(run)
    server.add(run, {"name": "A", "gates": [REVIEW]})
    token = real.acquire(run, "A")
    with authored_by("key:own"):
        assert code(other.world.try_complete(run, "A", token, output=1)) == "review_running"
    record = record_of(real.store.read(run, ReadSet(states=("A",), parts=RECORDS.wanted(("A",)))), "A")
    assert record is not None
    assert record.author_key == "key:own"
