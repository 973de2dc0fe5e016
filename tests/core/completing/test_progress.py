"""Writes by the holder of a lease: the fence, partial writes, completion and failure, and their repetition."""

from dataclasses import replace
from typing import Any

import pytest

from dcf.core.completing.progress import update
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import AlreadyCompleted, Leased
from dcf.core.documents.codec import read_state, show_state
from dcf.core.documents.decision import More
from dcf.core.documents.model import Operation, RunStatus, StateDoc, Status
from dcf.core.leasing.lease import Release, Renew
from dcf.values.digest import fingerprint, next_token
from dcf.values.instants import SECOND
from dcf.values.json_text import dump
from tests.core.build import A_THEN_B, LOOP, TTL, MemoryRun, code, leased, run, updated
from tests.support.tables import rows


def started(states: dict[str, Any] | None = None, **more: Any) -> MemoryRun:
    """A run whose state A is leased to ann with the token t1."""
    made = run(states, **more)
    leased(made.acquire("A", "t1"))
    return made


def epochs(made: MemoryRun) -> dict[str, int]:
    return {name: doc.lease.epoch for name, doc in made.states.items()}


# The fence


def test_a_write_without_a_token_is_refused() -> None:
    made = started()
    assert code(made.update("A", None, status=Status.FAILED)) == "token_required"
    assert code(made.update("B", None, has_output=True, output=1)) == "token_required"
    assert code(made.update("A", None, status=Status.RUNNING, request_id="r")) == "token_required"


@rows("status", [None, *Status])
def test_a_write_with_a_wrong_token_is_refused_and_writes_nothing(status: Status | None) -> None:
    made = started()
    for state, token in [("A", "t2"), ("A", "T1"), ("A", ""), ("A", "tö"), ("B", "t1")]:
        assert code(made.update(state, token, status=status, has_output=True, output=1)) == "lease_lost"
        assert made.last_changes is None


def test_a_token_never_leases_a_free_state() -> None:
    made = run()
    assert code(made.update("A", "t1", status=Status.RUNNING)) == "lease_lost"
    assert made.states["A"].lease.token is None


def test_a_holder_that_was_overtaken_changes_nothing_more() -> None:
    made = started()
    made.now += (TTL + 1) * SECOND
    leased(made.acquire("A", "t2", "bob"))
    assert code(made.complete("A", "t1", 1)) == "lease_lost"
    assert code(made.renew(Renew(state="A", token="t1", reject_if_expired=False))) == "lease_lost"
    assert code(made.release(Release(state="A", token="t1"))) == "lease_lost"
    updated(made.complete("A", "t2", 2))
    assert code(made.complete("A", "t1", 1)) == "lease_lost"
    assert made.outputs == {"A": 2}


def test_a_late_completion_counts_while_nobody_took_over() -> None:
    made = started()
    made.now += 3600 * SECOND
    assert updated(made.complete("A", "t1", 1)).next_states == ("B",)


def test_only_the_holder_agent_writes_when_it_names_itself() -> None:
    made = started()
    assert code(made.complete("A", "t1", 1, owner="bob")) == "owner_mismatch"
    updated(made.complete("A", "t1", 1, owner="ann"))


def test_nothing_is_written_after_the_run_was_finalized() -> None:
    made = started()
    made.finalize(close_open_states=False)
    assert made.states["A"].status is Status.RUNNING
    assert code(made.complete("A", "t1", 1)) == "terminal"
    assert made.outputs == {}


@rows("status", [Status.SKIPPED, Status.CANCELLED])
def test_a_holder_cannot_set_what_only_the_engine_sets(status: Status) -> None:
    made = started()
    assert code(made.update("A", "t1", status=status)) == "invalid_transition"
    assert made.last_changes is None


# Partial writes


def test_a_partial_write_keeps_the_lease_and_the_state_running() -> None:
    made = started()
    before = made.states["A"]
    answer = updated(made.update("A", "t1", has_output=True, output={"half": 1}))
    assert (answer.status, answer.output_written, answer.repeated) == (Status.RUNNING, True, False)
    assert made.outputs == {"A": {"half": 1}}
    assert made.states["A"] == before
    assert made.types()[-1] == "StateUpdated A"


def test_a_partial_write_notes_what_it_is_told() -> None:
    made = started()
    made.now += SECOND
    made.update("A", "t1", error="E", cause="c", attempts=2, set_started_at=True, set_finished_at=True)
    doc = made.states["A"]
    assert (doc.last_error, doc.attempts, doc.started_at, doc.finished_at) == ("E: c", 3, made.now, made.now)
    made.update("A", "t1", cause="only words")
    assert made.states["A"].last_error == "only words"


def test_a_partial_write_with_a_request_id_is_done_once() -> None:
    made = started()
    first = updated(made.update("A", "t1", attempts=1, request_id="r1"))
    again = updated(made.update("A", "t1", attempts=1, request_id="r1"))
    assert (again.repeated, again.status, made.last_changes) == (True, first.status, None)
    assert made.states["A"].attempts == 2
    updated(made.update("A", "t1", attempts=1, request_id="r2"))
    assert made.states["A"].attempts == 3


def test_a_partial_write_without_a_request_id_is_done_each_time() -> None:
    made = started()
    for _ in range(2):
        assert not updated(made.update("A", "t1", attempts=1)).repeated
    assert made.states["A"].attempts == 3


def test_a_request_id_belongs_to_its_holder() -> None:
    made = started()
    made.update("A", "t1", has_output=True, output="ann's", request_id="step-1")
    made.now += (TTL + 1) * SECOND
    made.acquire("A", "t2", "bob")
    assert not updated(made.update("A", "t2", has_output=True, output="bob's", request_id="step-1")).repeated
    assert made.outputs == {"A": "bob's"}
    assert code(made.update("A", "t3", request_id="step-1")) == "lease_lost"


def test_running_a_state_that_was_leased_quietly_is_told_the_same_twice() -> None:
    made = run()
    made.acquire("A", "t1", set_running=False)
    for _ in range(2):
        assert updated(made.update("A", "t1", status=Status.RUNNING, request_id="r")).status is Status.RUNNING
    assert made.states["A"].status is Status.RUNNING


# Completion


def test_completing_makes_the_next_state_ready_with_its_input() -> None:
    made = started()
    epoch = made.states["A"].lease.epoch
    made.now += SECOND
    answer = updated(made.complete("A", "t1", {"n": 1}))
    assert (answer.status, answer.next_states, answer.claimed) == (Status.SUCCEEDED, ("B",), None)
    assert (answer.run_status, answer.output_written) == (RunStatus.RUNNING, True)
    done, opened = made.states["A"], made.states["B"]
    assert (done.status, done.finished_at) == (Status.SUCCEEDED, made.now)
    assert (done.lease.epoch, done.lease.token, done.lease.owner_agent_id) == (epoch, None, None)
    assert opened.waits_for == {"A": epoch}
    assert opened.lease.epoch == epoch
    assert opened.is_claimable(made.now)
    assert (made.outputs, made.inputs["B"]) == ({"A": {"n": 1}}, {"n": 1})
    assert made.types()[-2:] == ["StateSucceeded A", "StateEntered B"]
    assert [(n.type, n.state, n.epoch, n.source) for n in made.notices] == [("state_ready", "B", epoch, "A")]
    assert set(made.timers) == {"B"}


def test_completing_the_last_state_ends_the_run_and_owes_the_planner_the_news() -> None:
    made = started({"A": {"Type": "Task", "End": True}})
    answer = updated(made.complete("A", "t1", {"n": 1}))
    assert (answer.run_status, answer.next_states) == (RunStatus.SUCCEEDED, ())
    assert made.meta_document is not None
    assert (made.status, made.meta_document["output"]) == ("succeeded", {"n": 1})
    assert made.meta_document["finished_at"] is not None
    assert made.types()[-2:] == ["StateSucceeded A", "RunSucceeded"]
    assert [(notice.type, notice.state, notice.reason) for notice in made.notices] == [
        ("run_finished", None, "succeeded")
    ]
    assert made.timers == {}


def test_completing_without_an_output_takes_the_one_written_before() -> None:
    made = started()
    made.update("A", "t1", has_output=True, output={"n": 1})
    assert not updated(made.update("A", "t1", status=Status.SUCCEEDED)).output_written
    assert made.inputs["B"] == {"n": 1}


def test_completing_with_null_is_not_completing_without_an_output() -> None:
    made = started()
    made.update("A", "t1", has_output=True, output={"n": 1})
    made.complete("A", "t1", None)
    assert made.inputs["B"] is None


def test_a_state_that_never_had_an_output_hands_on_null() -> None:
    made = started()
    made.update("A", "t1", status=Status.SUCCEEDED)
    assert made.inputs["B"] is None


def test_silent_states_between_are_done_in_the_same_transaction() -> None:
    made = started(LOOP)
    made.complete("A", "t1", {"go": "stop"})
    assert [made.states[name].status.value for name in ("A", "B", "Pick", "Done")] == [
        "succeeded", "pending", "succeeded", "succeeded",
    ]  # fmt: skip
    assert made.outputs["Done"] == {"go": "stop"}
    assert made.states["Done"].waits_for == {"Pick": made.states["A"].lease.epoch}
    assert made.types()[-4:] == ["StateSucceeded A", "StateSucceeded Pick", "StateSucceeded Done", "RunSucceeded"]


def test_a_state_keeps_the_receipt_of_its_last_request_and_moves_older_ones_aside() -> None:
    made = run()
    made.acquire("A", "t1")
    made.update("A", "t1", request_id="r1")
    written = made.states["A"].receipt
    assert written is not None
    assert (written.operation, made.receipts) == (Operation.UPDATE, {})
    made.complete("A", "t1", 1)
    completed = made.states["A"].receipt
    assert completed is not None
    assert completed.operation is Operation.COMPLETE
    assert made.receipts == {("A", written.request): written}


# Repetition


def essence(answer: object) -> object:
    result = updated(answer)
    claimed = None if result.claimed is None else (result.claimed.state, result.claimed.doc.lease.token)
    return result.status, result.run_status, result.next_states, claimed, result.output_written


@rows("more", [{}, {"claim_ttl_s": 9}])
@rows("output", [{"go": "A"}, {"go": "B"}, {"go": "stop"}, {"lost": 1}])
def test_a_repeated_completion_is_told_what_the_first_was_told(output: Any, more: dict[str, Any]) -> None:
    made = started(LOOP)
    first = made.complete("A", "t1", output, **more)
    for _ in range(2):
        again = made.complete("A", "t1", output, **more)
        assert essence(again) == essence(first)
        assert (updated(again).repeated, made.last_changes) == (True, None)
        made.now += 3600 * SECOND


@rows(
    "other",
    [
        {"status": Status.FAILED, "error": "E"},
        {"status": Status.SUCCEEDED, "has_output": True, "output": 2},
        {"status": Status.SUCCEEDED},
        {"status": Status.PENDING},
    ],
)
def test_a_second_completion_with_other_content_is_refused_and_told_what_was_stored(other: dict[str, Any]) -> None:
    made = started()
    made.complete("A", "t1", 1)
    refused = made.update("A", "t1", **other)
    assert isinstance(refused, AlreadyCompleted)
    assert (refused.code, refused.is_latest) == ("already_completed", True)
    assert (refused.receipt.status, refused.receipt.at) == (Status.SUCCEEDED, made.now)
    assert (made.outputs["A"], made.status, made.last_changes) == (1, "running", None)


def test_the_members_of_an_output_may_come_in_another_order() -> None:
    made = started()
    made.complete("A", "t1", {"a": 1, "b": [{"c": 1, "d": 2}]})
    assert updated(made.complete("A", "t1", {"b": [{"d": 2, "c": 1}], "a": 1})).repeated


def test_a_repeated_completion_is_told_whether_the_first_one_wrote_an_output() -> None:
    made = started()
    made.update("A", "t1", status=Status.SUCCEEDED)
    assert not updated(made.update("A", "t1", status=Status.SUCCEEDED)).output_written


def test_completion_acknowledged_by_a_first_version_is_a_repetition() -> None:
    made = started()
    made.complete("A", "t1", {"n": 1})
    receipt = {"req": fingerprint("t1"), "next": ["B"]}
    made.states["A"] = read_state(show_state(made.states["A"]) | {"last": dump({"complete": receipt})})
    again = updated(made.complete("A", "t1", {"n": 1}))
    assert (again.repeated, again.status, again.output_written) == (True, Status.SUCCEEDED, True)
    assert again.next_states == ("B",)
    assert code(made.update("A", "t1", status=Status.FAILED, error="E")) == "already_completed"
    assert code(made.complete("A", "t2", 1)) == "terminal"


def test_a_failure_is_repeated_after_its_retry_was_completed_by_another_holder() -> None:
    made = started({"A": {"Type": "Task", "End": True, "Retry": [{"ErrorEquals": ["E"], "MaxAttempts": 3}]}})
    failed = updated(made.update("A", "t1", status=Status.FAILED, error="E"))
    made.now = made.timers["A"]
    made.acquire("A", "t2", "bob")
    made.update("A", "t2", status=Status.PENDING)
    made.acquire("A", "t3", "bob")
    made.complete("A", "t3", 3)
    again = updated(made.update("A", "t1", status=Status.FAILED, error="E"))
    assert essence(again) == essence(failed)
    assert updated(made.update("A", "t2", status=Status.PENDING)).repeated
    assert code(made.update("A", "t1", status=Status.FAILED, error="F")) == "already_completed"


def test_each_retry_is_numbered() -> None:
    made = started({"A": {"Type": "Task", "End": True, "Retry": [{"ErrorEquals": ["E"], "MaxAttempts": 3}]}})
    for number in (1, 2, 3):
        made.update("A", f"t{number}", status=Status.FAILED, error="E")
        assert made.events[-1].data["retry"] == number
        made.now = made.timers["A"]
        made.acquire("A", f"t{number + 1}")


def test_a_partial_write_that_was_overtaken_is_applied_once() -> None:
    made = started()
    first = updated(made.update("A", "t1", request_id="x", has_output=True, output="x", attempts=1))
    made.update("A", "t1", request_id="y", has_output=True, output="y")
    late = updated(made.update("A", "t1", request_id="x", has_output=True, output="x", attempts=1))
    assert (late.repeated, late.output_written, late.status) == (True, True, first.status)
    assert (made.outputs["A"], made.states["A"].attempts) == ("y", 2)


def test_a_partial_write_is_repeated_after_its_state_was_completed() -> None:
    made = started()
    made.update("A", "t1", request_id="x", has_output=True, output="x")
    made.complete("A", "t1", 1)
    assert updated(made.update("A", "t1", request_id="x", has_output=True, output="x")).repeated


def test_the_id_of_a_partial_write_cannot_be_used_for_another() -> None:
    made = started()
    made.update("A", "t1", request_id="x", has_output=True, output=1)
    assert code(made.update("A", "t1", request_id="x", has_output=True, output=2)) == "conflict"
    assert made.outputs["A"] == 1


def test_a_token_whose_lease_was_taken_over_cannot_hold_the_state_again() -> None:
    made = started()
    made.now += (TTL + 1) * SECOND
    made.acquire("A", "t2", "bob")
    made.update("A", "t2", status=Status.PENDING)
    assert code(made.acquire("A", "t1")) == "token_used"
    assert code(made.complete("A", "t1", 1)) == "lease_lost"


@rows(
    "request_",
    [
        pytest.param(Update(state="A", token="t9", status=Status.SUCCEEDED), id="refused"),
        pytest.param(Update(state="A", token="t1", request_id="x", has_output=True, output=1), id="partial"),
    ],
)
def test_receipts_are_looked_up_before_anything_is_refused_or_partly_applied(request_: Update) -> None:
    made, request = started(), request_
    unread = replace(made.snapshot(), receipts={})
    answer = update(unread, request, made.definition, {}).answer
    assert answer == More(receipts=(("A", request.key or ""),))


def test_a_completion_is_repeated_even_after_the_run_was_finalized() -> None:
    made = started()
    first = made.complete("A", "t1", 1)
    made.finalize()
    assert essence(made.complete("A", "t1", 1)) == essence(first)


def test_a_completed_state_and_its_history_keep_no_token() -> None:
    made = run()
    made.acquire("A", "secret")
    made.complete("A", "secret", 1, claim_ttl_s=9)
    stored = str(made.states["A"]) + str(made.events) + str(made.notices) + str(made.meta_document)
    assert "secret" not in stored
    assert next_token("secret", "B") not in stored


# Claim the next state as well


def test_claim_next_leases_the_next_state_in_the_same_transaction() -> None:
    made = started()
    epoch = made.states["A"].lease.epoch
    claimed = updated(made.complete("A", "t1", {"n": 1}, claim_ttl_s=9)).claimed
    assert isinstance(claimed, Leased)
    assert (claimed.state, claimed.outcome, claimed.given) == ("B", "lease_acquired", {"n": 1})
    doc = made.states["B"]
    assert doc == claimed.doc
    assert (doc.status, doc.attempts, doc.started_at) == (Status.RUNNING, 1, made.now)
    assert (doc.lease.token, doc.lease.owner_agent_id, doc.lease.ttl_s) == (next_token("t1", "B"), "ann", 9)
    assert doc.lease.epoch == epoch + 1
    assert made.timers == {"B": made.now + 9 * SECOND}
    assert made.notices == []
    updated(made.complete("B", next_token("t1", "B"), 2))
    assert made.status == "succeeded"


def test_a_repeated_claim_finds_the_same_token_and_is_still_the_holder() -> None:
    made = started()
    made.complete("A", "t1", 1, claim_ttl_s=9)
    claimed = updated(made.complete("A", "t1", 1, claim_ttl_s=9)).claimed
    assert isinstance(claimed, Leased)
    assert (claimed.outcome, claimed.doc.lease.token) == ("lease_already_held", made.states["B"].lease.token)


@rows(
    ("agents", "is_claimed"),
    [({}, True), ({"B": ("ann",)}, True), ({"B": ("bob", "ann")}, True), ({"B": ("bob",)}, False)],
)
def test_claim_next_leases_only_what_the_agent_may_take(agents: dict[str, tuple[str, ...]], is_claimed: bool) -> None:
    made = started(agents=agents)
    answer = updated(made.complete("A", "t1", 1, claim_ttl_s=9))
    assert (answer.claimed is not None) == is_claimed
    assert answer.next_states == ("B",)
    assert len(made.notices) == (0 if is_claimed else 1)


def test_claim_next_at_the_end_of_a_run_claims_nothing() -> None:
    made = started({"A": {"Type": "Task", "End": True}})
    assert updated(made.complete("A", "t1", 1, claim_ttl_s=9)).claimed is None


# Loops


def test_a_state_that_follows_itself_is_opened_again_with_its_reply_kept() -> None:
    made = started(LOOP)
    first = made.complete("A", "t1", {"go": "A"})
    doc = made.states["A"]
    assert (doc.status, doc.attempts, doc.started_at, doc.finished_at) == (Status.PENDING, 0, None, None)
    assert doc.waits_for == {"Pick": doc.lease.epoch}
    assert made.timers.keys() == {"A"}
    second = leased(made.acquire("A", "t2")).doc.lease.epoch
    assert second > doc.lease.epoch
    assert essence(made.complete("A", "t1", {"go": "A"})) == essence(first)
    updated(made.complete("A", "t2", {"go": "A"}))
    assert essence(made.complete("A", "t1", {"go": "A"})) == essence(first)


def test_epochs_grow_along_a_loop_whatever_the_clock_does() -> None:
    made = run(LOOP)
    granted = []
    for lap in range(6):
        made.now -= 7 * SECOND
        state, following = ("A", "B") if lap % 2 == 0 else ("B", "A")
        granted.append(leased(made.acquire(state, f"t{lap}")).doc.lease.epoch)
        answer = updated(made.complete(state, f"t{lap}", {"go": following}))
        assert answer.next_states == (following,)
        assert updated(made.complete(state, f"t{lap}", {"go": following})).repeated
    assert granted == sorted(set(granted))


def test_a_loop_of_two_keeps_the_reply_of_each_completion() -> None:
    made = started(LOOP)
    first = made.complete("A", "t1", {"go": "B"})
    made.acquire("B", "t2")
    second = made.complete("B", "t2", {"go": "A"})
    made.acquire("A", "t3")
    assert essence(made.complete("A", "t1", {"go": "B"})) == essence(first)
    assert essence(made.complete("B", "t2", {"go": "A"})) == essence(second)


def test_entering_a_state_again_keeps_the_fields_of_others() -> None:
    made = started(LOOP)
    made.states["A"] = StateDoc(**{**_fields(made.states["A"]), "extra": {"note": "by hand"}})
    made.complete("A", "t1", {"go": "A"})
    assert made.states["A"].extra == {"note": "by hand"}


def _fields(doc: StateDoc) -> dict[str, Any]:
    return {name: getattr(doc, name) for name in StateDoc.__dataclass_fields__}


# Failure


def test_a_failure_fails_the_state_and_the_run() -> None:
    made = started()
    answer = updated(made.update("A", "t1", status=Status.FAILED, error="OrderRejected", cause="no stock"))
    assert (answer.status, answer.run_status) == (Status.FAILED, RunStatus.FAILED)
    doc = made.states["A"]
    assert answer.doc.status is doc.status is Status.FAILED
    assert (doc.last_error, doc.lease.token, doc.finished_at) == ("OrderRejected: no stock", None, made.now)
    assert made.meta_document is not None
    assert [made.meta_document[name] for name in ("status", "error", "cause")] == [
        "failed", "OrderRejected", "no stock",
    ]  # fmt: skip
    assert made.types()[-2:] == ["StateFailed A", "RunFailed A"]
    assert [notice.reason for notice in made.notices] == ["failed"]
    assert code(made.acquire("B", "t2")) == "terminal"


def test_a_failure_without_a_name_and_a_cause_has_neither() -> None:
    made = started()
    made.update("A", "t1", status=Status.FAILED)
    assert made.meta_document is not None
    assert (made.meta_document["error"], made.meta_document["cause"]) == (None, None)
    assert made.states["A"].last_error == "failed"


BAD_DATA_FLOW = [
    {"ResultSelector": {"n.$": "$.absent"}},
    {"ResultPath": "$.a.b"},
    {"OutputPath": "$.absent"},
]


@rows("task", BAD_DATA_FLOW, ids=lambda task: next(iter(task)))
def test_a_result_that_cannot_be_taken_over_fails_the_state(task: dict[str, Any]) -> None:
    made = started({"A": {"Type": "Task", "Next": "B", **task}, "B": A_THEN_B["B"]}, run_input={"a": 1})
    answer = updated(made.complete("A", "t1", {"n": 1}))
    assert (answer.status, answer.run_status, answer.next_states) == (Status.FAILED, RunStatus.FAILED, ())
    assert (made.states["A"].status, made.status) == (Status.FAILED, "failed")
    assert "StateSucceeded A" not in made.types()
    assert made.outputs == {"A": {"n": 1}}
    again = updated(made.complete("A", "t1", {"n": 1}))
    assert (again.status, again.run_status, again.repeated) == (Status.FAILED, RunStatus.FAILED, True)


def test_a_next_state_that_cannot_be_entered_fails_the_run_but_not_the_state() -> None:
    made = started({"A": A_THEN_B["A"], "B": {"Type": "Task", "Parameters": {"n.$": "$.absent"}, "End": True}})
    answer = updated(made.complete("A", "t1", {}, claim_ttl_s=9))
    assert (answer.status, answer.run_status, answer.claimed) == (Status.SUCCEEDED, RunStatus.FAILED, None)
    assert [made.states[name].status.value for name in "AB"] == ["succeeded", "failed"]
    assert made.types()[-3:] == ["StateSucceeded A", "StateFailed B", "RunFailed B"]


def test_a_state_that_fails_when_it_is_entered_again_did_succeed_before() -> None:
    states = {**LOOP, "A": {"Type": "Task", "Parameters": {"n.$": "$.n"}, "Next": "Pick"}}
    made = started(states, run_input={"n": 1})
    made.complete("A", "t1", {"go": "A"})
    assert made.types()[-4:] == ["StateSucceeded A", "StateSucceeded Pick", "StateFailed A", "RunFailed A"]
    assert made.states["A"].status is Status.FAILED


def test_a_fail_state_fails_the_run_with_its_own_words() -> None:
    made = started({"A": {"Type": "Task", "Next": "F"}, "F": {"Type": "Fail", "Error": "E", "Cause": "c"}})
    epoch = made.states["A"].lease.epoch
    answer = updated(made.complete("A", "t1", 1))
    assert (answer.status, answer.run_status) == (Status.SUCCEEDED, RunStatus.FAILED)
    doc = made.states["F"]
    assert (doc.status, doc.last_error, doc.lease.epoch, doc.is_ready) == (Status.FAILED, "E: c", epoch, True)


# Release


def test_setting_pending_gives_the_state_back() -> None:
    made = started()
    answer = updated(made.update("A", "t1", status=Status.PENDING))
    assert (answer.status, answer.output_written, answer.run_status) == (Status.PENDING, False, RunStatus.RUNNING)
    assert made.states["A"].is_claimable(made.now)
    assert leased(made.acquire("A", "t2", "bob")).doc.attempts == 2


def test_giving_back_twice_is_told_the_same_even_when_another_has_it() -> None:
    made = started()
    first = made.update("A", "t1", status=Status.PENDING, has_output=True, output=1)
    assert essence(made.update("A", "t1", status=Status.PENDING, has_output=True, output=1)) == essence(first)
    made.acquire("A", "t2", "bob")
    again = made.update("A", "t1", status=Status.PENDING, has_output=True, output=1)
    assert (essence(again), updated(again).repeated, made.last_changes) == (essence(first), True, None)


def test_a_completed_state_is_not_given_back() -> None:
    made = started()
    made.complete("A", "t1", 1)
    assert code(made.update("A", "t1", status=Status.PENDING)) == "already_completed"


def test_an_agent_gives_back_only_what_it_holds() -> None:
    made = started()
    assert code(made.update("A", "t1", status=Status.PENDING, owner="bob")) == "owner_mismatch"


# Attempts that are used up


def test_a_state_that_used_up_its_attempts_fails_the_run() -> None:
    made = started(max_attempts=1)
    epoch = made.states["A"].lease.epoch
    made.now += (TTL + 1) * SECOND
    assert made.exhaust("A") is RunStatus.FAILED
    doc = made.states["A"]
    assert (doc.status, doc.attempts, doc.lease.token) == (Status.FAILED, 1, None)
    assert doc.lease.epoch > epoch
    assert made.meta_document is not None
    assert made.meta_document["error"] == "DCF.AttemptsExhausted"
    assert made.timers == {}
    assert code(made.complete("A", "t1", 1)) == "terminal"
    assert made.exhaust("A") is None


def test_a_state_is_not_failed_while_it_is_held_or_may_be_tried_again() -> None:
    held_still = started(max_attempts=1)
    assert held_still.exhaust("A") is None
    tries_left = started(max_attempts=2)
    tries_left.now += (TTL + 1) * SECOND
    assert tries_left.exhaust("A") is None
    completed = started(max_attempts=1)
    completed.complete("A", "t1", 1)
    assert completed.exhaust("A") is None


def test_a_repeated_give_back_is_told_so_after_somebody_else_completed_the_state() -> None:
    made = run()
    made.acquire("A", "t1")
    given_back = made.update("A", "t1", status=Status.PENDING)
    made.acquire("A", "t2", "bob")
    made.complete("A", "t2", 1, owner="bob")
    assert updated(made.update("A", "t1", status=Status.PENDING)).status is updated(given_back).status
