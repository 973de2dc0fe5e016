"""Under what a run is listed, which runs a query wants, and when its mark as stuck changes."""

from typing import Any

from dcf.core.documents.decision import WriteSet
from dcf.core.documents.model import Lease, Meta, RunStatus, StateDoc, Status
from dcf.core.leasing.blockers import read_blockers
from dcf.core.leasing.stuck import NO_PROGRESS_FOR, STUCK_REMINDERS, is_stuck, stuck_mark
from dcf.core.lifecycle.retention import RetentionPolicy
from dcf.core.listing.runs import Cursor, Facet, RunQuery, RunRow, facets_of, read_cursor, read_row
from dcf.values.instants import SECOND
from dcf.values.records import replace
from tests.support.tables import rows

SHA = "0123456789abcdef" * 4
META: dict[str, Any] = {
    "status": "running",
    "workflow_name": "invoice",
    "definition_sha256": SHA,
    "workflow_version": "1.2.0",
    "agents": {"A": "ann", "B": ["bob", "ann"]},
    "tags": ["x", "y", "x"],
}


def test_a_run_is_listed_under_everything_that_it_is_once() -> None:
    assert list(facets_of(META)) == [
        (Facet.STATUS, "running"),
        (Facet.WORKFLOW, "invoice"),
        (Facet.VERSION, SHA[:8]),
        (Facet.VERSION, "1.2.0"),
        (Facet.AGENT, "ann"),
        (Facet.AGENT, "bob"),
        (Facet.TAG, "x"),
        (Facet.TAG, "y"),
    ]


@rows(
    "damaged",
    [{"status": 5}, {"agents": ["a"]}, {"agents": {"A": 5}}, {"tags": "x"}, {"tags": [5, ""]}, {"workflow_name": ""}],
)
def test_fields_that_are_damaged_list_a_run_nowhere(damaged: dict[str, Any]) -> None:
    assert list(facets_of(damaged)) == []


@rows(
    ("query", "is_wanted"),
    [
        ({}, True),
        ({"status": RunStatus.RUNNING}, True),
        ({"status": RunStatus.FAILED}, False),
        ({"workflow": "invoice", "tag": "y", "agent": "bob"}, True),
        ({"workflow": "order"}, False),
        ({"tag": "z"}, False),
        ({"agent": "cy"}, False),
        ({"version": "1.2.0"}, True),
        ({"version": SHA}, True),
        ({"version": SHA[:8]}, True),
        ({"version": SHA[:7]}, False),
        ({"version": "1.2"}, False),
        ({"stuck": True}, False),
    ],
)
def test_a_query_wants_the_runs_that_meet_all_its_filters(query: dict[str, Any], is_wanted: bool) -> None:
    assert RunQuery(limit=1, **query).matches(read_row(META, "r", 100)) is is_wanted


def test_every_filter_finds_its_index() -> None:
    """A query reads the index that lists the run."""
    query = RunQuery(limit=1, status=RunStatus.RUNNING, workflow="invoice", version=SHA[:12], agent="bob", tag="x")
    assert set(query.facets.items()) <= set(facets_of(META))


def test_a_cursor_is_read_as_it_was_written() -> None:
    cursor = Cursor(score=1_795_385_189_459_730, workflow_id="invoice-18")
    assert read_cursor(str(cursor)) == cursor
    assert read_cursor(None) is None
    assert cursor.is_before(cursor.score, "invoice-17")
    assert not cursor.is_before(cursor.score, "invoice-18")
    assert not cursor.is_before(cursor.score + 1, "a")


def test_a_row_says_whether_its_run_is_paused_and_how_far_it_is() -> None:
    row = read_row({**META, "paused_at": "2026-01-01T00:00:00Z", "states": ["A", "B"]}, "r", 2)
    assert (row.as_json()["paused"], row.states) == (True, 2)
    assert read_row({**META, "states": ["A", "B", "C"]}, "r", 2).states is None
    assert RunRow(workflow_id="r", status="unreadable").as_json()["status"] == "unreadable"


WAITING = StateDoc(reminders=STUCK_REMINDERS)
RUNNING = Meta(status=RunStatus.RUNNING, definition_sha256="")
BLOCKED = {"issue": "j1", "text": "The rates are missing.", "since": "2026-01-01T00:00:00Z"}
HELD = Lease(token="t", ts=1, expires_at=2)
HOUR = NO_PROGRESS_FOR


@rows(
    ("before", "after", "meta", "mark"),
    [
        (StateDoc(), StateDoc(reminders=STUCK_REMINDERS - 1), {}, None),
        (StateDoc(reminders=STUCK_REMINDERS - 1), WAITING, {}, True),
        (WAITING, StateDoc(reminders=STUCK_REMINDERS + 1), {}, True),
        (WAITING, StateDoc(status=Status.RUNNING), {}, False),
        (WAITING, StateDoc(status=Status.FAILED, reminders=STUCK_REMINDERS), {}, False),
        (StateDoc(), StateDoc(start_reminders=1), {}, True),
        (StateDoc(), StateDoc(status=Status.RUNNING), {}, None),
        (StateDoc(start_reminders=1), StateDoc(start_reminders=1), {"started_at": "now"}, False),
        (StateDoc(), StateDoc(retries=1), {}, None),
        (StateDoc(), StateDoc(retries=2), {}, True),
        (StateDoc(retries=2), StateDoc(retries=2, lease=HELD), {}, False),
        (StateDoc(), StateDoc(attempts=3, lease=HELD, reminders=1), {}, True),
        (StateDoc(), StateDoc(started_at=HOUR, lease=replace(HELD, ts=2 * HOUR + 1)), {}, True),
        (StateDoc(), StateDoc(started_at=HOUR, lease=replace(HELD, ts=2 * HOUR)), {}, None),
        (StateDoc(), WAITING, {"paused_at": "now"}, False),
        (WAITING, WAITING, {"paused_at": None}, True),
        (StateDoc(), StateDoc(), {"blocked_by": [BLOCKED]}, True),
    ],
)
def test_stuck_mark_follows_the_states_of_a_run(
    before: StateDoc, after: StateDoc, meta: dict[str, Any], mark: bool | None
) -> None:
    assert stuck_mark(RUNNING, {"A": before}, WriteSet(states={"A": after}, meta=meta)) is mark


def test_starting_a_run_unmarks_it() -> None:
    assert stuck_mark(RUNNING, {}, WriteSet(meta={"started_at": "now"})) is False


def test_blocked_run_stays_marked_as_stuck_and_paused_run_does_not() -> None:
    blocked = replace(RUNNING, blocked_by=read_blockers([BLOCKED]))
    assert stuck_mark(blocked, {"A": WAITING}, WriteSet(states={"A": StateDoc(status=Status.SUCCEEDED)})) is None
    assert stuck_mark(blocked, {"A": StateDoc()}, WriteSet(meta={"blocked_by": None})) is False
    assert stuck_mark(blocked, {"A": WAITING}, WriteSet(meta={"blocked_by": None})) is True
    paused = replace(RUNNING, is_paused=True)
    assert stuck_mark(paused, {}, WriteSet(states={"A": WAITING})) is None
    assert stuck_mark(paused, {"A": WAITING}, WriteSet(meta={"paused_at": None})) is True
    assert (is_stuck(blocked, []), is_stuck(replace(blocked, is_paused=True), [WAITING])) == (True, False)


def test_a_policy_says_when_a_run_finalizes_itself_and_how_long_it_is_kept() -> None:
    policy = RetentionPolicy(finalize_after_s=10, keep_s=20)
    assert policy.finalizes_at(5 * SECOND) == 15 * SECOND
    assert (policy.finalizes_at(None), RetentionPolicy().finalizes_at(5)) == (None, None)
    assert (policy.keeps_s(None), policy.keeps_s(7), RetentionPolicy().keeps_s(None)) == (20, 7, None)
