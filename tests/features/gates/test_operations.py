"""Gates between a worker's completion and the end of its state: what waits, who judges, what follows."""

from typing import Any

import pytest

from dcf.core.definitions import needs
from dcf.core.documents.answers import HeldUp, Updated
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.usage import UsageReport
from dcf.errors import InvalidArgument
from dcf.features.diagnosis.model import Cause
from dcf.features.gates import storage as gate_lists
from dcf.features.gates.judges import Judge
from dcf.features.gates.listing import GateQuery
from dcf.features.gates.model import MOST_VERDICTS, RECORDS, Judged, open_gates, record_of, submission_of
from dcf.features.gates.overriding import Override
from dcf.features.gates.submitting import content_sha256
from dcf.features.gates.syntax import gates_given
from dcf.features.gates.verdicts import Ruling
from dcf.features.journal.model import EntryKind
from dcf.features.journal.query import JournalQuery
from dcf.features.journal.writing import AddEntry, EntryAdded
from dcf.features.people import keys as people_keys
from dcf.features.people.listing import HumanTaskQuery
from dcf.features.questions.corrections import Correct
from dcf.store.access.authors import authored_by
from dcf.store.keys import parts as key_parts
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.trouble import dies
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.world import World

CRITERIA = ("Every claim has a source.", "It is at most a page.")
REVIEW: Document = {"name": "review", "kind": "review", "criteria": list(CRITERIA), "reviewers": ["rita", "rob"]}
SHAPE: Document = {"name": "shape", "kind": "schema", "schema": {"type": "object", "required": ["text"]}}
COMMAND: Document = {"name": "tests", "kind": "command", "command": "make test"}
HELPER = Judge(name="helper", may_attest=True)
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
    criteria = tuple(
        Judged(criterion=criterion, passed=criterion not in failing, feedback="mend") for criterion in CRITERIA
    )
    judge = more.pop("judge", Judge(name=by, may_work=True))
    ruling = Ruling(
        state="A",
        gate=gate,
        verdict=verdict,
        sha256=more.pop("sha256", content_sha256(output)),
        by=judge,
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
    answer = ok(judge(world, run))
    assert (answer["state_status"], answer["next_states"]) == ("succeeded", ["B"])
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
    assert isinstance(answer, HeldUp)
    assert (answer.code, [item["criterion"] for item in answer.failed_criteria]) == ("needs_work", [CRITERIA[0]])
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
    details = [message for message in world.messages("ann") if message["type"] == "needs_work"]
    assert [item["failed_criteria"][0]["criterion"] for item in details] == [CRITERIA[0]]
    assert world.notifications.is_current(details[0])


@rows(("more", "asked"), [({}, ["rita"]), ({"author_may_review": True}, ["ann", "rita"])])
def test_an_author_is_asked_to_judge_its_own_output_only_where_it_may(
    world: World, more: Document, asked: list[str]
) -> None:
    run, token = begun(world, {**REVIEW, "reviewers": ["ann", "rita"], **more})
    submit(world, run, token)
    world.notifications.pulse()
    reviews = {name for name in ("ann", "rita") for event in world.messages(name) if event["type"] == "gate_opened"}
    assert sorted(reviews) == asked


def test_the_planner_is_asked_where_the_author_is_the_only_reviewer(world: World) -> None:
    run, token = begun(world, {**REVIEW, "reviewers": ["ann"]})
    submit(world, run, token)
    world.notifications.pulse()
    assert [event["type"] for event in world.messages("pat")] == ["gate_opened"]


def test_a_schema_gate_answers_at_once_and_counts(world: World) -> None:
    run, token = begun(world, {**SHAPE, "max_attempts": 2})
    answer = submit(world, run, token, {"txt": "x"})
    assert isinstance(answer, HeldUp)
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
    answer = ok(judge(world, run, verdict="fail"))
    assert (answer["state_status"], answer["next_states"]) == ("failed", ["B"])
    assert world.given(run, "B")["Error"] == "DCF.GateFailed"


def test_a_retry_of_the_state_is_judged_anew(world: World) -> None:
    retry = {"Retry": [{"ErrorEquals": ["DCF.GateFailed"], "IntervalSeconds": 1, "MaxAttempts": 1}]}
    run, token = begun(world, {**REVIEW, "max_attempts": 1}, **retry)
    submit(world, run, token)
    judge(world, run, verdict="fail")
    doc = world.doc(run, "A")
    assert (doc.status, doc.retries, doc.attached) == ("pending", 1, ())


def test_a_verdict_for_the_same_content_survives_a_repetition(world: World) -> None:
    run, token = begun(world, REVIEW, COMMAND)
    submit(world, run, token)
    assert ok(judge(world, run))["waits_for"] == ["tests"]
    ok(judge(world, run, "tests", "fail", by="ann", facts={"exit_code": 1, "output_tail": "boom"}))
    # the command judges a file outside of the output, which was corrected; the output is the same
    assert code(submit(world, run, token)) == "needs_work"
    assert code(submit(world, run, token, request_id="mended")) == "review_running"
    decided = ok(judge(world, run, "tests", "pass", judge=HELPER, facts={"exit_code": 0}))
    assert decided["state_status"] == "succeeded"  # the review was not asked for again


def test_other_content_needs_a_new_verdict(world: World) -> None:
    run, token = begun(world, REVIEW, COMMAND)
    submit(world, run, token)
    judge(world, run)
    other = {"text": "other"}
    assert code(submit(world, run, token, other)) == "review_running"
    assert [open_gate.name for open_gate in open_gates(world.gates.cases(run)[0].doc)] == ["review", "tests"]
    assert code(judge(world, run)) == "content_changed"
    assert ok(judge(world, run, output=other))["waits_for"] == ["tests"]


@rows(
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
    values = {name: value for name, value in REVIEW.items() if name != "reviewers"}
    run, token = begun(world, values)
    submit(world, run, token)
    assert code(judge(world, run, by="ann")) == "author_may_not_review"
    ok(judge(world, run, by="bob"))
    run, token = begun(world, {**values, "author_may_review": True})
    submit(world, run, token)
    ok(judge(world, run, by="ann"))


def test_the_overall_verdict_is_worked_out_from_the_criteria(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    assert code(judge(world, run, criteria=())) == "invalid_verdict"
    assert code(judge(world, run, verdict="fail", failing=())) == "invalid_verdict"
    answer = ok(judge(world, run, verdict="pass", failing=CRITERIA[1:]))
    assert (answer["verdict"], answer["state_status"]) == ("fail", "running")


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
    assert lease.expires_at > lease.ts  # begun again: the worker has its time
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
        answer = ok(judge(world, run, "tests", "unavailable", by="ann", request_id=f"n{number}"))
        assert answer["state_status"] == "running"
        gated = submission_of(world.doc(run, "A"))
        assert gated is not None
        (item,) = gated.open
        if number < 3:
            assert item.rests
            set_member(
                world.ask, world.store.keys(run).state("A"), ("gated", "open", 0, "due"), "2001-01-01T00:00:00.000000Z"
            )
            world.make_due(run, "A")
            world.notifications.pulse()
    assert item.by_people
    assert code(judge(world, run, "tests", by="ann")) == "not_a_reviewer"
    assert ok(judge(world, run, "tests", judge=Judge(name="pam", is_person=True)))["state_status"] == "succeeded"


# Overrides


def override(world: World, run: str, gate: str | None = None, **more: Any) -> RunAnswer | Refusal:
    request_id = more.pop("request_id", None)
    more = {"by": "olga", "reason": "checked by phone", "caller": "key:1", **more}
    wish = Override(state="A", gate=gate, **more)
    return world.gates.override(run, wish, request_id=request_id)


def test_override_reason_lost(world: World) -> None:
    """The history and the record have the reason of an override and the person who overrode."""
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    answer = ok(override(world, run, "review"))
    assert (answer["verdict"], answer["state_status"], answer["next_states"]) == ("override", "succeeded", ["B"])
    (event,) = [event for event in world.events(run) if event.type == "GateOverridden"]
    assert (event.data["reason"], event.data["overridden_by"], event.data["gate"]) == (
        "checked by phone",
        "olga",
        "review",
    )
    assert event.data["content_sha256"] == content_sha256(GOOD)
    gate_record = record_of(world.store.read(run, ReadSet(states=("A",), parts=RECORDS.wanted(("A",)))), "A")
    assert gate_record is not None
    assert gate_record.waived["review"]["reason"] == "checked by phone"


@rows("caller", [{"by": "ann"}, {"by": "olga", "caller": "key:ann"}])
def test_the_author_does_not_override_a_gate(world: World, caller: dict[str, str]) -> None:
    """Known by name, also beforehand, or by key: then an override beforehand counts no more once the author submits."""
    run, token = begun(world, REVIEW)
    early = code(override(world, run, **caller))
    assert early == ("author_may_not_override" if caller["by"] == "ann" else "ok")
    with authored_by("key:ann"):
        assert code(submit(world, run, token)) == "review_running"
    assert code(override(world, run, **caller)) == "author_may_not_override"
    assert world.doc(run, "A").status == "running"
    assert ok(override(world, run))["state_status"] == "succeeded"


def test_the_author_overrides_where_the_gate_says_so(world: World) -> None:
    run, token = begun(world, {**REVIEW, "author_may_override": True})
    submit(world, run, token)
    assert ok(override(world, run, by="ann"))["state_status"] == "succeeded"


def test_an_override_without_a_reason_is_none(world: World) -> None:
    run, _ = begun(world, REVIEW)
    with pytest.raises(InvalidArgument):
        override(world, run, reason=" ")


def test_an_override_of_what_was_sent_back_takes_the_output_as_it_was_submitted(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    judge(world, run, verdict="fail")
    assert ok(override(world, run))["state_status"] == "succeeded"
    assert world.output(run, "A") == GOOD
    answer = submit(world, run, token, {"text": "too late"})
    assert code(answer) == "already_completed"


def test_an_override_beforehand_holds_for_this_visit_only(world: World) -> None:
    run, token = begun(world, REVIEW, COMMAND)
    assert ok(override(world, run, "review"))["state_status"] == "running"
    submit(world, run, token)
    (case,) = world.gates.cases(run)
    assert [open_gate.name for open_gate in open_gates(case.doc)] == ["tests"]
    assert code(override(world, run, "nothing")) == "no_such_gate"


def test_an_override_of_one_gate_leaves_the_others(world: World) -> None:
    run, token = begun(world, REVIEW, COMMAND)
    submit(world, run, token)
    assert ok(override(world, run, "review"))["waits_for"] == ["tests"]
    (case,) = world.gates.cases(run)
    assert [open_gate.name for open_gate in open_gates(case.doc)] == ["tests"]
    assert code(judge(world, run)) == "not_judged"


# Commands, people, consequences


def test_people_are_asked_only_once_commands_and_reviews_have_passed(world: World) -> None:
    person = {"name": "boss", "kind": "person", "people": ["bo", {"group": "leads"}], "criteria": list(CRITERIA)}
    run, token = begun(world, person, COMMAND)
    submit(world, run, token)
    assert code(judge(world, run, "boss")) == "not_judged"
    assert ok(judge(world, run, "tests", judge=HELPER, facts={"exit_code": 0}))["waits_for"] == ["boss"]
    world.notifications.pulse()
    assert [message["type"] for message in world.messages("bo")] == ["gate_opened"]
    assert [message["type"] for message in world.messages("leads")] == ["gate_opened"]
    criteria = tuple(Judged(criterion=criterion, passed=True) for criterion in CRITERIA)
    assert code(judge(world, run, "boss", by="bo", criteria=criteria)) == "not_a_reviewer"  # an agent of that name
    agent = Judge(name="lea", is_person=True, groups=frozenset({"leads"}))
    assert ok(judge(world, run, "boss", judge=agent, criteria=criteria))["state_status"] == "succeeded"


def test_the_exit_code_is_the_verdict_of_a_command(world: World) -> None:
    run, token = begun(world, COMMAND)
    submit(world, run, token)
    assert code(judge(world, run, "tests", "pass", by="ann")) == "invalid_verdict"
    details = ok(judge(world, run, "tests", "pass", by="ann", facts={"exit_code": 2, "output_tail": "2 failed"}))
    assert (details["verdict"], details["state_status"]) == ("fail", "running")
    answer = submit(world, run, token)
    assert isinstance(answer, HeldUp)
    assert answer.failed_criteria[0]["output_tail"] == "2 failed"


def test_a_helper_attests_the_authors_commands_and_judges_nothing_else(world: World) -> None:
    run, token = begun(world, COMMAND, {"name": "open", "kind": "review"})
    submit(world, run, token)
    assert code(judge(world, run, "open", judge=Judge(name=None, may_work=True))) == "not_a_reviewer"
    assert code(judge(world, run, "open", judge=HELPER)) == "not_a_reviewer"
    assert ok(judge(world, run, "tests", judge=HELPER, facts={"exit_code": 0}))["verdict"] == "pass"


@rows(
    "caller, refusal",
    [
        (Judge(name="ann", may_work=True), "author_may_not_review"),
        (Judge(name=None, may_work=True), "author_may_not_review"),
        (Judge(name="ann", may_work=True, may_attest=True), "author_may_not_review"),
        (Judge(name="other", key="key:ann", may_attest=True), "author_may_not_review"),
        (Judge(name=None, key="key:stranger", may_work=True), "not_a_reviewer"),
        (Judge(name="ben", may_work=True), "not_a_reviewer"),
        (Judge(name="pam", is_person=True), "not_a_reviewer"),
        (Judge(name="pat", may_plan=True), "not_a_reviewer"),
    ],
)
def test_nobody_but_a_helper_says_that_the_authors_command_passed(world: World, caller: Judge, refusal: str) -> None:
    run, token = begun(world, {**COMMAND, "author_may_review": True})
    with authored_by("key:ann"):
        submit(world, run, token)
    assert code(judge(world, run, "tests", judge=caller, facts={"exit_code": 0})) == refusal
    assert world.doc(run, "A").status == "running"


def test_reviewers_of_a_command_tell_its_exit_code_and_its_author_is_not_one_of_them(world: World) -> None:
    run, token = begun(world, {**COMMAND, "reviewers": ["ann", "ci"], "author_may_review": True})
    submit(world, run, token)
    assert code(judge(world, run, "tests", by="ann", facts={"exit_code": 0})) == "author_may_not_review"
    assert code(judge(world, run, "tests", judge=HELPER, facts={"exit_code": 0})) == "not_a_reviewer"
    assert ok(judge(world, run, "tests", by="ci", facts={"exit_code": 0}))["state_status"] == "succeeded"


def test_after_the_last_failure_people_are_asked_and_their_no_begins_the_tries_again(world: World) -> None:
    run, token = begun(world, {**REVIEW, "max_attempts": 1, "then": "ask", "people": ["pam"]})
    submit(world, run, token)
    assert ok(judge(world, run, verdict="fail"))["waits_for"] == ["review"]
    pam = Judge(name="pam", is_person=True)
    assert code(judge(world, run, by="rob")) == "not_a_reviewer"
    assert ok(judge(world, run, verdict="fail", judge=pam))["state_status"] == "running"
    better = {"text": "better"}
    assert code(submit(world, run, token, better)) == "review_running"
    assert ok(judge(world, run, output=better, by="rob"))["state_status"] == "succeeded"


def test_a_verdict_that_does_not_come_in_time_is_asked_for_again(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    world.notifications.pulse()
    key, long_ago = world.store.keys(run).state("A"), "2001-01-01T00:00:00.000000Z"
    for asks in (2, 3):
        set_member(world.ask, key, ("gated", "open", 0, "due"), long_ago)
        world.make_due(run, "A")
        world.notifications.pulse()
        gated = submission_of(world.doc(run, "A"))
        assert gated is not None
        assert (gated.open[0].asks, gated.open[0].by_people) == (asks, False)
        assert [message["event_id"] for message in world.messages("rita")][-1].count(f"gate_opened.1-{asks}-") == 2
    set_member(world.ask, key, ("gated", "open", 0, "due"), long_ago)
    world.make_due(run, "A")
    world.notifications.pulse()
    gated = submission_of(world.doc(run, "A"))
    assert gated is not None
    assert gated.open[0].by_people
    assert [message["type"] for message in world.messages("pat")] == ["gate_opened"]  # without a name: the planner
    assert ok(judge(world, run, judge=Judge(name="pat", may_plan=True)))["state_status"] == "succeeded"


def test_the_timeout_of_the_state_ends_what_is_judged(world: World) -> None:
    run, token = begun(world, REVIEW, TimeoutSeconds=60)
    submit(world, run, token)
    key, long_ago = world.store.keys(run).state("A"), "2001-01-01T00:00:00.000000Z"
    set_member(world.ask, key, "deadline", long_ago)
    world.make_due(run, "A")
    world.notifications.pulse()
    assert world.statuses(run)["A"] == "failed"
    assert code(judge(world, run)) in ("run_over", "terminal")


def test_no_heartbeat_is_missed_while_others_judge(world: World) -> None:
    run, token = begun(world, REVIEW, HeartbeatSeconds=5)
    submit(world, run, token)
    set_member(world.ask, world.store.keys(run).state("A"), ("lease", "ts"), "2001-01-01T00:00:00.000000Z")
    world.make_due(run, "A")
    world.notifications.pulse()
    assert world.doc(run, "A").is_judged


def test_a_cancelled_run_takes_no_verdict(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    world.lifecycle.cancel(run)
    assert code(judge(world, run)) == "run_over"


def test_a_forced_release_withdraws_what_was_submitted(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    world.release(run, "A", None, force=True)
    assert code(judge(world, run)) == "not_judged"
    again = world.acquire(run, "A", "ann")
    assert code(submit(world, run, again)) == "review_running"


def test_a_result_that_passed_gates_is_not_corrected_past_them(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    judge(world, run)
    answer = world.corrections.correct_result(run, Correct(state="A", output={"text": "sly"}, token=token))
    assert code(answer) == "gated"
    assert world.output(run, "A") == GOOD


def test_gates_of_a_run_are_those_of_each_of_its_tasks(world: World) -> None:
    gates = gates_given([SHAPE])
    run = world.create(gated(COMMAND), agents={"A": "ann", "B": "ben"}, gates=gates)
    plain = world.create(gated(COMMAND), agents={"A": "ann", "B": "ben"})
    assert code(submit(world, run, world.acquire(run, "A", "ann"), {"txt": "x"})) == "needs_work"
    assert code(submit(world, plain, world.acquire(plain, "A", "ann"), {"txt": "x"})) == "review_running"
    other = world.plane.create(world.wish(gated(COMMAND), run, agents={"A": "ann", "B": "ben"}))
    assert code(other) == "conflict"


def test_gates_inside_a_map_are_of_each_iteration(world: World) -> None:
    inside = {"StartAt": "Rate", "States": {"Rate": {"Type": "Task", "Gates": [REVIEW], "End": True}}}
    each = {"Type": "Map", "ItemProcessor": inside, "End": True}
    run = world.create(workflow({"Each": each}), run_input=[1, 2], agents={"Rate": "ann"})
    tokens = [world.acquire(run, f"Each/{number}/Rate", "ann") for number in range(2)]
    for number, token in enumerate(tokens):
        answer = world.try_complete(run, f"Each/{number}/Rate", token, output=GOOD)
        assert code(answer) == "review_running"
    for number in range(2):
        criteria = tuple(Judged(criterion=criterion, passed=True) for criterion in CRITERIA)
        ruling = Ruling(
            state=f"Each/{number}/Rate",
            gate="review",
            verdict="pass",
            sha256=content_sha256(GOOD),
            by=Judge(name="rita", may_work=True),
            criteria=criteria,
        )
        assert ok(world.gates.decide(run, ruling))["state_status"] == "succeeded"
    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert world.meta(run)["output"] == [GOOD, GOOD]


# Lists, reasons, cost


def waiting(world: World, name: str, *groups: str) -> list[tuple[str, str]]:
    """The waiting outputs of this test's runs, page by page."""
    waiting: list[tuple[str, str]] = []
    page = world.gates.waiting_for(GateQuery(limit=2, name=name, groups=groups))
    while True:
        waiting += [(run, case.state) for run, case in page.rows if run in world.runs]
        if page.next_place is None:
            return waiting
        page = world.gates.waiting_for(GateQuery(limit=2, name=name, groups=groups, place=page.next_place))


def test_pages_have_all_of_many_that_began_to_wait_at_one_moment(world: World) -> None:
    name, runs = f"rita-{world.name()}", list[str]()
    for _ in range(25):
        run, token = begun(world, {**REVIEW, "reviewers": [name]})
        submit(world, run, token)
        runs.append(run)
        key = f"{gate_lists.WAITING}agent:{name}"
        world.ask("ZADD", key, 1, f"{run}/A")
    assert sorted(waiting(world, name)) == sorted((run, "A") for run in runs)


def test_reviewers_find_what_waits_for_them_across_runs(world: World) -> None:
    name = f"rita-{world.name()}"
    runs = []
    for _ in range(3):
        run, token = begun(world, {**REVIEW, "reviewers": [name]})
        submit(world, run, token)
        runs.append(run)
    assert waiting(world, name) == [(run, "A") for run in runs]
    judge(world, runs[1], by=name)
    assert waiting(world, name) == [(runs[0], "A"), (runs[2], "A")]


def test_an_entry_that_is_not_true_any_more_is_taken_off_by_a_reader(world: World) -> None:
    name = f"rita-{world.name()}"
    run, _ = begun(world, {**REVIEW, "reviewers": [name]})
    key = f"{gate_lists.WAITING}agent:{name}"
    world.ask("ZADD", key, 1, key_parts.member(run, "A"))
    assert waiting(world, name) == []
    assert world.ask("EXISTS", key) == 0


def test_an_entry_of_a_gate_that_is_just_being_opened_stays(world: World) -> None:
    """Its document is written a moment after it is listed."""
    name = f"rita-{world.name()}"
    run, _ = begun(world, {**REVIEW, "reviewers": [name]})
    key, entry = f"{gate_lists.WAITING}agent:{name}", key_parts.member(run, "A")
    seconds, rest = world.ask("TIME")
    world.ask("ZADD", key, int(seconds) * SECOND + int(rest), entry)
    assert waiting(world, name) == []
    assert world.ask("ZSCORE", key, entry) is not None


def test_a_page_of_few_rows_goes_on_after_the_last_entry_that_was_looked_at(world: World) -> None:
    name = f"rita-{world.name()}"
    run, token = begun(world, {**REVIEW, "reviewers": [name]})
    submit(world, run, token)
    key = f"{gate_lists.WAITING}agent:{name}"
    for number in range(gate_lists._SPARE + 1):
        world.ask("ZADD", key, 1, key_parts.member(f"gone-{number}", "A"))
    assert waiting(world, name) == [(run, "A")]


def test_the_reason_why_a_run_waits_names_gate_and_judge(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    (finding,) = [finding for finding in world.diagnosis.explain(run).findings if finding.state == "A"]
    assert finding.cause is Cause.WAITING_FOR_VERDICT
    assert "gate 'review' (by 'rita' or 'rob')" in finding.sentence
    assert finding.remedy.tool == "list_gates"


@rows("writes", [False, True])
def test_a_run_without_gates_sends_no_further_command(world: World, writes: bool) -> None:
    run = world.create(chain("A", "B"), agents={"A": "ann", "B": "ben"})
    token = world.acquire(run, "A", "ann")
    if writes:
        world.update(run, "A", token, output=1)
    world.complete(run, "A", token, GOOD)
    assert world.ask("EXISTS", world.store.keys(run).gates) == 0
    assert needs.to_end(world.plane.run(run).definition, "A").parts == {}


@rows("gate", [REVIEW, SHAPE])
def test_a_gate_may_block_the_run_with_an_issue_until_somebody_resolves_it(world: World, gate: Document) -> None:
    run, token = begun(world, {**gate, "max_attempts": 1, "then": "block"})
    bad = {"txt": "bad"}
    submit(world, run, token, bad)
    if gate is REVIEW:
        judge(world, run, verdict="fail", output=bad)
    (blocker,) = world.meta(run)["blocked_by"]
    assert "failed 1 times" in blocker["text"]
    assert "RunBlocked" in world.event_types(run)
    assert world.doc(run, "A").lease.is_held_with(token)
    assert code(world.try_acquire(run, "B", "ben")) in ("run_blocked", "not_ready")


def test_earlier_log_disables_contract_check(world: World) -> None:
    """The check always runs: whatever was logged, passed or judged before, each content is checked."""
    run, token = begun(world, {**SHAPE, "max_attempts": 20})
    world.update(run, "A", token, output={"text": "logged"})
    bad = {"txt": "bad"}
    for number in range(3):
        assert code(submit(world, run, token, bad, request_id=f"n{number}")) == "needs_work"
    override(world, run, "nothing")
    assert code(submit(world, run, token, bad, request_id="again")) == "needs_work"
    checked = [event for event in world.events(run) if event.type == "GateDecided"]
    assert [event.data["verdict"] for event in checked] == ["fail"] * 4
    assert code(submit(world, run, token)) == "ok"


def test_an_agent_takes_again_what_was_sent_back_without_its_token(world: World) -> None:
    run, token = begun(world, REVIEW)
    submit(world, run, token)
    judge(world, run, verdict="fail")
    assert code(world.try_acquire(run, "A", "eve", any_owner=True)) == "lease_held"
    again = world.acquire(run, "A", "ann")
    assert code(submit(world, run, token, {"text": "late"})) == "lease_lost"
    assert world.gates.sent_back(run, "A")["failed_criteria"]
    assert code(submit(world, run, again, {"text": "better"})) == "review_running"


def tasks(world: World, **query: Any) -> list[tuple[str, Any]]:
    page = world.people.list_human_tasks(HumanTaskQuery(limit=100, **query))
    return [(row.state, row.as_json().get("gate")) for row in page.rows]


def test_what_people_judge_stands_among_the_tasks_that_wait_for_them(world: World) -> None:
    name = f"bo-{world.name()}"
    run, token = begun(world, {"name": "boss", "kind": "person", "people": [name]})
    assert tasks(world, run=run) == []
    submit(world, run, token)
    assert tasks(world, run=run) == tasks(world, person=name) == [("A", "boss")]
    ok(judge(world, run, "boss", judge=Judge(name=name, is_person=True)))
    assert tasks(world, run=run) == tasks(world, person=name) == []
    assert world.ask("EXISTS", people_keys.asked_of(f"person:{name}")) == 0


@rows("number", range(4))
def test_a_process_that_dies_with_a_submission_or_a_verdict_leaves_nothing_half_done(
    timely: World, number: int
) -> None:
    run, token = begun(timely, REVIEW)
    if dies(timely, number, lambda: submit(timely, run, token)):
        assert submission_of(timely.doc(run, "A")) is None
        assert timely.output(run, "A") is None
    assert code(submit(timely, run, token)) == "review_running"
    if dies(timely, number, lambda: judge(timely, run)):
        assert timely.doc(run, "A").is_judged
    details = judge(timely, run)
    assert ok(details)["state_status"] == "succeeded"
    assert timely.event_types(run).count("GateDecided") == 1
    assert timely.event_types(run).count("GateOpened") == 1


def test_only_so_many_outputs_are_submitted_in_one_visit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.features.gates.submitting.MOST_SUBMISSIONS", 3)
    run, token = begun(world, REVIEW)
    for number in range(3):
        assert code(submit(world, run, token, {"text": number})) == "review_running"
    assert code(submit(world, run, token, {"text": "more"})) == "too_many"
    assert code(submit(world, run, token, {"text": 2})) == "review_running"  # what is judged stays so
    assert isinstance(world.fail(run, "A", token), Updated)


def test_only_so_many_verdicts_are_kept(world: World) -> None:
    run, token = begun(world, {**SHAPE, "max_attempts": 100}, REVIEW)
    for number in range(MOST_VERDICTS + 3):
        assert code(submit(world, run, token, {"txt": number})) == "needs_work"
    gate_record = record_of(world.store.read(run, ReadSet(states=("A",), parts=RECORDS.wanted(("A",)))), "A")
    assert gate_record is not None
    assert len(gate_record.verdicts) == MOST_VERDICTS
    assert world.event_types(run).count("GateDecided") == MOST_VERDICTS + 3


@rows("gate", [REVIEW, SHAPE])
def test_a_run_that_is_retried_after_a_gate_failed_has_all_its_tries_again(world: World, gate: Document) -> None:
    run, token = begun(world, {**gate, "max_attempts": 2})
    for holding in (token, None):
        token = holding or world.acquire(run, "A", "ann")
        for number in range(2):
            bad = {"txt": number}
            submit(world, run, token, bad)
            if gate is REVIEW:
                judge(world, run, verdict="fail", output=bad)
            assert world.statuses(run)["A"] == ("running" if number == 0 else "failed")
        assert world.run_status(run) is RunStatus.FAILED
        world.retrying.retry(run)
    assert world.run_status(run) is RunStatus.RUNNING


def test_a_gate_and_a_budget_block_a_run_with_the_same_write(world: World) -> None:
    run, token = begun(world, {**SHAPE, "max_attempts": 1, "then": "block"})
    world.usages.set_budget(run, {"tokens": 5})
    assert code(submit(world, run, token, {"txt": 1}, usage=UsageReport(tokens_in=5))) == "needs_work"
    assert len(world.meta(run)["blocked_by"]) == 2


@rows("gate", [SHAPE, REVIEW])
def test_the_issues_of_gates_and_budgets_come_after_all_that_stands_in_the_journal(
    timely: World, gate: Document
) -> None:
    run, token = begun(timely, {**gate, "max_attempts": 1, "then": "block"})
    timely.usages.set_budget(run, {"tokens": 5})
    assert timely.clock is not None
    timely.clock.passed = 60 * SECOND  # and then the server's clock is set right
    wish = AddEntry(kind=EntryKind.LOG, text="x", agent="ann", key="k")
    assert isinstance(timely.journal.add_journal_entry(run, wish), EntryAdded)
    timely.clock.passed = 0
    submit(timely, run, token, {"txt": 1}, usage=UsageReport(tokens_in=5))
    judge(timely, run, verdict="fail", output={"txt": 1})
    entries = timely.journal.read_journal(run, JournalQuery(limit=9)).entries[::-1]
    assert [entry.kind for entry in entries] == ["log", "issue", "issue"], "as they were written"
    assert entries[0].at < entries[1].at < entries[2].at


def test_a_state_that_timed_out_in_review_is_tried_again_by_the_next_holder(world: World) -> None:
    retry = [{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 1, "IntervalSeconds": 1}]
    run, token = begun(world, REVIEW, TimeoutSeconds=60, Retry=retry)
    submit(world, run, token)
    key, long_ago = world.store.keys(run).state("A"), "2001-01-01T00:00:00.000000Z"
    set_member(world.ask, key, "deadline", long_ago)
    world.make_due(run, "A")
    world.notifications.pulse()
    set_member(world.ask, key, "not_before", long_ago)
    token = world.acquire(run, "A", "ann")
    assert code(submit(world, run, token)) == "review_running", "it is another visit, and is judged anew"
