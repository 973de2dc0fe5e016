"""Decisions of starting, repeating and retrying a run, on documents in memory."""

from dataclasses import replace
from typing import Any

import pytest

from dcf.asl.steps import Entry, OpenScope, Tolerance, next_item
from dcf.core.documents.answers import Created, Linked
from dcf.core.documents.codec import read_state, write_state
from dcf.core.documents.model import Lease, RunStatus, ScopeBounds, StateDoc, Status
from dcf.core.documents.operations import RunRequest
from dcf.core.documents.refusals import RUN_REQUEST_ID_USED
from dcf.core.lifecycle.reopening import BranchPlace, Plan, plan
from dcf.core.lifecycle.repeating import Rerun, link, repeated
from dcf.core.lifecycle.retrying import Halt, retry, unless_lost, unless_retryable
from dcf.core.lifecycle.starting import Start, read_reference, request_to_start, start
from dcf.errors import InvalidArgument
from dcf.values.json_text import dump, load
from dcf.values.refusal import Refusal
from tests.core import build
from tests.core.build import NOW, code
from tests.support.tables import rows

DONE = StateDoc(status=Status.SUCCEEDED, lease=Lease(epoch=5), finished_at=5)
TASK = {"Type": "Task", "End": True}
MAP = {"Type": "Map", "ItemProcessor": {"StartAt": "P", "States": {"P": TASK}}, "End": True}


def entry(raw: Any = 1) -> Entry:
    return Entry(raw=raw, variables={}, entered_at="")


# Starting


def test_a_start_is_a_creation_and_a_kick_off_in_one() -> None:
    known = build.definition()
    run = build.MemoryRun(definition=known)
    answer = run.commit(start(run.snapshot(), Start(wish=build.wish(known, planner_agent_id="boss"))))
    twin = build.MemoryRun(definition=known)
    twin.create(build.wish(known, planner_agent_id="boss"))
    twin.kick_off()
    assert isinstance(answer, Created)
    assert (run.meta_document, run.states, run.timers) == (twin.meta_document, twin.states, twin.timers)
    assert (run.types(), run.notices) == (twin.types(), twin.notices)
    assert answer.meta == run.meta_document


@rows(
    ("within", "told"),
    [((NOW, NOW + 1), "Created"), ((NOW - 9, NOW), "start_overdue"), ((NOW + 1, NOW + 9), "start_overdue")],
)
def test_a_start_that_is_over_creates_nothing_and_finds_what_is_there(within: tuple[int, int], told: str) -> None:
    known = build.definition()
    run, request = build.MemoryRun(definition=known), Start(wish=build.wish(known), within=within)
    answer = run.commit(start(run.snapshot(), request))
    assert (answer.code if isinstance(answer, Refusal) else type(answer).__name__) == told
    if isinstance(answer, Refusal):
        assert run.meta_document is None
        run.commit(start(run.snapshot(), Start(wish=request.wish)))
        commit = run.commit(start(run.snapshot(), request))
        assert isinstance(commit, Created)
        assert commit.existed


@rows("change", [{"tags": ("other",)}, {"project": "other"}, {"project": None}], ids=str)
def test_a_repeated_start_changes_nothing_and_another_under_its_id_is_refused(change: dict[str, Any]) -> None:
    known = build.definition()
    run, wish = build.MemoryRun(definition=known), build.wish(known, project="mine")
    request = Start(wish=wish, request=request_to_start(wish, "once"))
    run.commit(start(run.snapshot(), request))
    again = start(run.snapshot(), request)
    assert again.changes is None
    assert isinstance(again.answer, Created)
    assert again.answer.existed
    other = replace(wish, **change)
    refused = start(run.snapshot(), Start(wish=other, request=request_to_start(other, "once")))
    assert (refused.answer, refused.changes) == (RUN_REQUEST_ID_USED.refuse(), None)


@rows(
    ("text", "found"),
    [
        ("order@1.0", (None, "order", "1.0")),
        ("order", (None, "order", None)),
        ("a@b@2", (None, "a@b", "2")),
        ("@2", (None, "@2", None)),
        ("order@", (None, "order@", None)),
        ("a" * 64, ("a" * 64, "", None)),
        ("A" * 64, (None, "A" * 64, None)),
    ],
)
def test_a_reference_is_a_hash_a_name_or_a_name_with_a_version(
    text: str, found: tuple[str | None, str, str | None]
) -> None:
    reference = read_reference(text)
    assert (reference.sha256, reference.name, reference.version) == found


@rows("text", ["", "x" * 301, "or\u202eder"])
def test_what_nobody_can_read_is_no_reference(text: str) -> None:
    with pytest.raises(InvalidArgument):
        read_reference(text)


# Repeating


def again(run: build.MemoryRun, **more: Any) -> Any:
    return repeated(run.snapshot(), "w1", Rerun(workflow_id="w2", agents={}, **more), run.definition)


def test_a_repetition_takes_over_what_the_run_was_asked_for() -> None:
    run = build.run(run_input={"n": 1}, agents={"A": ("ann",)}, planner_agent_id="boss", retention_s=7, tags=("t",))
    wish = again(run)
    assert (wish.workflow_id, wish.rerun_of, wish.run_input) == ("w2", "w1", {"n": 1})
    assert (wish.agents, wish.planner_agent_id, wish.retention_s) == ({"A": ("ann",)}, "boss", 7)
    assert (wish.tags, wish.begin) == (("t",), None)
    assert again(run, run_input=(None,)).run_input is None


def test_a_repetition_from_a_state_begins_with_its_input_after_what_led_there() -> None:
    run = build.run()
    run.acquire("A", "t1")
    run.complete("A", "t1", {"x": 2})
    begin = again(run, from_state="B").begin
    assert (begin.state, begin.source, begin.raw) == ("B", "A", {"x": 2})
    assert (begin.states["A"].status, begin.states["A"].receipt, begin.outputs) == (
        Status.SUCCEEDED,
        None,
        {"A": {"x": 2}},
    )


def test_a_link_is_written_once() -> None:
    run = build.run()
    rerun = Rerun(workflow_id="w2", agents={}, reason="why")
    assert run.commit(link(run.snapshot(), "w2", rerun)) == Linked(to="w2")
    assert run.meta_document is not None
    assert run.meta_document["reruns"] == ["w2"]
    assert run.events[-1].data == {"run": "w2", "reason": "why"}
    assert link(run.snapshot(), "w2", rerun).changes is None


# Retrying


@rows("status", [RunStatus.RUNNING, RunStatus.SUCCEEDED])
def test_only_what_did_not_succeed_is_retried(status: RunStatus) -> None:
    assert code(unless_retryable({}, status)) == "cannot_retry"


@rows("status", [RunStatus.FAILED, RunStatus.CANCELLED])
def test_what_is_final_is_not_retried(status: RunStatus) -> None:
    assert unless_retryable({}, status) is None
    refusal = unless_retryable({"finalized_at": "2026-01-01T00:00:00Z"}, status)
    assert isinstance(refusal, Refusal)
    assert "rerun" in refusal.hint


def test_nothing_that_stands_is_nothing_to_retry() -> None:
    assert code(unless_lost(Plan(), build.definition())) == "cannot_retry"


@rows(("state", "why"), [("A", "its input was not recorded"), ("Broken", "it is a Fail state")])
def test_a_state_that_would_fail_again_is_not_retried_and_the_reason_is_said(state: str, why: str) -> None:
    known = build.definition({"A": {"Type": "Task", "Next": "Broken"}, "Broken": {"Type": "Fail"}})
    refusal = unless_lost(Plan(lost=[state]), known)
    assert isinstance(refusal, Refusal)
    assert refusal.message == f"State '{state}' would only fail again: {why}."


def halted_map(concurrency: int, **docs: StateDoc) -> tuple[dict[str, StateDoc], Any]:
    """A failed Map of six items; `docs` are its iterations by number, as they stand."""
    bounds = ScopeBounds(size=6, concurrency=concurrency)
    owner = StateDoc(status=Status.FAILED, kind="Map", scope=bounds, lease=Lease(epoch=9), started_at=3)
    known = build.definition({"A": MAP})
    return {"A": owner} | {f"A/{name[1:]}/P": doc for name, doc in docs.items()}, known


def test_of_a_map_the_first_open_iteration_of_each_lane_goes_on() -> None:
    failed = StateDoc(status=Status.FAILED, lease=Lease(epoch=6), scope_epoch=4)
    cancelled = replace(failed, status=Status.CANCELLED)
    done = replace(DONE, scope_epoch=4)
    docs, known = halted_map(2, _0=done, _1=failed, _2=cancelled)
    made = plan(known, docs, {"A/1/P": entry(), "A/2/P": entry()})
    assert made.scopes == {"A": frozenset({0})}
    assert list(made.states) == ["A/2/P", "A/1/P"]
    assert (made.fresh, made.dropped, made.lost) == ([], [], [])


def test_what_waits_for_its_turn_begins_anew_then() -> None:
    failed = StateDoc(status=Status.FAILED, lease=Lease(epoch=6), scope_epoch=4)
    docs, known = halted_map(1, _0=failed, _1=replace(DONE, scope_epoch=4), _2=failed)
    made = plan(known, docs, {"A/0/P": entry(), "A/2/P": entry()})
    assert (list(made.states), made.scopes["A"]) == (["A/0/P"], frozenset({1}))
    assert made.dropped == [BranchPlace(owner="A", index=2)]


def test_documents_of_an_earlier_visit_do_not_count() -> None:
    old, now = replace(DONE, scope_epoch=3), StateDoc(status=Status.FAILED, lease=Lease(epoch=6), scope_epoch=4)
    docs, known = halted_map(2, _0=now, _1=old)
    made = plan(known, docs, {"A/0/P": entry()})
    assert (made.scopes["A"], list(made.states)) == (frozenset(), ["A/0/P"])
    assert made.fresh == [BranchPlace(owner="A", index=1)]


def test_the_next_item_is_the_next_that_is_not_done() -> None:
    opened = OpenScope(
        path="A", source=None, entry=entry(), kind="Map", effective=None, items=(), size=9, concurrency=2,
        tolerance=Tolerance(), done=((2, 4), (7, 7)),
    )  # fmt: skip
    assert [next_item(opened, index) for index in (0, 1, 6)] == [6, 5, 8]
    assert next_item(opened, 5) is None, "7 is done, and there is no 9"


def test_what_was_done_is_kept_in_the_document() -> None:
    doc = StateDoc(status=Status.RUNNING, kind="Map", scope=ScopeBounds(size=9, concurrency=2, done=((0, 3), (7, 7))))
    assert read_state(load(dump(write_state(doc)))).scope == doc.scope


def test_a_retry_enters_again_with_a_later_epoch_than_any_before() -> None:
    run = build.run()
    run.acquire("A", "t1")
    run.update("A", "t1", status=Status.FAILED, error="Broken")
    run.skip_unreached()
    snapshot = run.snapshot()
    ahead = NOW + 10**9
    halt = Halt(plan=plan(run.definition, snapshot.states, run.entries), epoch=ahead, finished_at=None)
    request = RunRequest(verb="retry_run", request_id="r", reason="mended")
    run.commit(retry(snapshot, halt, request, run.definition, {}))
    assert (run.states["A"].status, run.states["A"].lease.epoch, run.states["A"].attempts) == (
        Status.PENDING,
        ahead + 1,
        0,
    )
    assert (run.states["B"].status, run.states["B"].is_ready) == (Status.PENDING, False)
    assert (run.status, run.meta_document["retried"]) == ("running", 1)  # type: ignore[index]
    retried = next(event for event in run.events if event.type == "RunRetried")
    assert retried.data == {"retried": 1, "states": ["A"], "epoch": ahead + 1, "reason": "mended"}
    assert run.notices[-1].reason == "retried"
    assert run.states["A"].receipt is not None, "the repetition of the failure is still known"
