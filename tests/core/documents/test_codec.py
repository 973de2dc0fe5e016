"""Documents as JSON and back: exact for what dcf writes, tolerant of what hands wrote. And what onlookers see."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dcf.asl.tasks.askees import Askees
from dcf.core.completing.progress import update
from dcf.core.completing.updates import Update
from dcf.core.documents.codec import (
    read_assignment,
    read_meta,
    read_state,
    show_state,
    whole_state,
    write_lease,
    write_receipt,
    write_state,
)
from dcf.core.documents.model import Lease, Operation, Receipt, RunStatus, ScopeBounds, StateDoc, Status
from dcf.core.lifecycle.inspection import HIDDEN_TOKEN, holder_state, is_ready, public_state
from dcf.features.people.model import Asking
from dcf.values.instants import SECOND, from_text, seconds, to_text
from dcf.values.json_text import dump, load
from tests.core.build import NOW, TTL, code, definition, held, meta, snapshot, stored
from tests.support.tables import rows

FIRST = from_text("0001-01-01T00:00:00Z") or 0
LAST = from_text("9999-12-31T23:59:59.999999Z") or 0

instants = st.integers(FIRST, LAST)
texts = st.text(max_size=8)
counts = st.integers(0, 2**53)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
leases = st.builds(
    Lease,
    token=st.none() | texts,
    owner_agent_id=st.none() | texts,
    epoch=counts,
    expires_at=st.none() | instants,
    ts=st.none(),
    ttl_s=st.none() | st.integers(1, 3600),
) | st.builds(Lease, token=texts, ts=instants, ttl_s=st.integers(1, 3600), epoch=counts, expires_at=instants)
receipts = st.builds(
    Receipt,
    request=texts,
    operation=st.sampled_from(Operation),
    at=counts,
    status=st.sampled_from(Status),
    content=texts,
    output_written=st.booleans(),
    run_status=st.sampled_from(RunStatus),
    next_states=st.lists(texts, max_size=2).map(tuple),
    claimed=st.lists(texts, max_size=3).map(tuple),
)
names = st.lists(texts, max_size=2).map(tuple)
askings = st.builds(
    Asking,
    to=st.builds(Askees, people=names, groups=names),
    title=texts,
    since=instants,
    choices=names,
    escalates_at=st.none() | instants,
    escalate_after_s=st.none() | st.integers(1, 2**53),
    escalates_to=st.builds(Askees, people=names, groups=names),
    default=st.none() | texts,
    reject_fails=st.booleans(),
    answered_by=st.none() | texts,
    choice=st.none() | texts,
)
documents = st.builds(
    StateDoc,
    status=st.sampled_from(Status),
    attempts=counts,
    lease=leases,
    started_at=st.none() | instants,
    finished_at=st.none() | instants,
    last_error=st.none() | texts,
    waits_for=st.dictionaries(texts, counts, max_size=3),
    not_before=st.none() | instants,
    receipt=st.none() | receipts,
    claim=st.none() | texts,
    reminders=counts,
    retries=counts,
    tries_from=counts,
    visit=st.none() | st.integers(1, 2**53),
    logged=counts,
    attached=st.just(()) | st.tuples(askings),
    extra=st.dictionaries(st.sampled_from(["note", "x-team"]), json_values),
)
by_hand = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(write_state(StateDoc(not_before=1)), json_values)
    | {
        "lease": json_values
        | st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(write_lease(Lease()), json_values)
            | {
                "ts": st.just("2026-01-01T00:00:00Z"),
                "ttl_s": st.floats(allow_nan=False, allow_infinity=False) | json_values,
            },
        )
    },
)


# Exactly


@given(doc=documents)
def test_a_document_comes_back_as_it_was_written(doc: StateDoc) -> None:
    assert stored(doc) == doc


def test_a_document_reads_like_the_design_says() -> None:
    assert write_state(held(waits_for={"Z": 5}, reminders=1, not_before=NOW)) == {
        "status": "running",
        "attempts": 1,
        "lease": {
            "token": "t1",
            "owner_agent_id": "ann",
            "ts": "2023-11-14T22:13:20.000000Z",
            "ttl_s": TTL,
            "epoch": NOW,
            "expires_at": "2023-11-14T22:14:20.000000Z",
        },
        "started_at": "2023-11-14T22:13:20.000000Z",
        "finished_at": None,
        "last_error": None,
        "waits_for": {"Z": 5},
        "last": '{"reminders":1}',
        "not_before": "2023-11-14T22:13:20.000000Z",
    }
    assert "not_before" not in write_state(StateDoc())


def test_the_document_of_an_ended_state_leaves_out_what_says_nothing() -> None:
    receipt = Receipt(request="r1", operation=Operation.COMPLETE, at=NOW + SECOND, status=Status.SUCCEEDED)
    doc = StateDoc(
        status=Status.SUCCEEDED,
        attempts=1,
        lease=Lease(epoch=NOW),
        started_at=NOW,
        finished_at=NOW + SECOND,
        waits_for={"Z": 5},
        receipt=receipt,
    )
    assert write_state(doc) == {
        "status": "succeeded",
        "attempts": 1,
        "lease": {},
        "started_at": "2023-11-14T22:13:20.000000Z",
        "finished_at": "2023-11-14T22:13:21.000000Z",
        "last": '{"r":{"req":"r1"},"w":{"Z":5}}',
    }
    retaken = replace(doc, lease=Lease(epoch=NOW + 1))
    assert write_state(retaken)["last"] == f'{{"r":{{"req":"r1"}},"epoch":{NOW + 1},"w":{{"Z":5}}}}'


@given(doc=documents)
def test_readers_see_every_document_whole(doc: StateDoc) -> None:
    whole = whole_state(load(dump(write_state(doc))))
    assert {name: value for name, value in whole.items() if name != "last"} == show_state(doc)
    assert {"started_at", "finished_at", "last_error", "waits_for"} <= whole.keys()
    assert whole["lease"].keys() == write_lease(Lease()).keys()


def _as_before(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as earlier versions wrote it."""
    written = {"op": "complete", **write_receipt(receipt)}
    written["output"] = written.pop("out", None)
    return written


@given(doc=documents)
def test_a_document_that_an_earlier_version_wrote_reads_the_same(doc: StateDoc) -> None:
    counters = {name: getattr(doc, name) for name in ("claim", "reminders", "retries", "tries_from", "logged")}
    last = counters | {"receipt": None if doc.receipt is None else _as_before(doc.receipt)}
    assert read_state(load(dump(show_state(doc) | {"last": dump(last)}))) == doc


@rows(
    ("last", "operation"),
    [
        ({"release": {"req": "r0"}, "complete": {"req": "r1", "next": ["B"]}}, Operation.COMPLETE),
        ({"release": {"req": "r1"}, "claim": "c"}, Operation.RELEASE),
        ({"update": {"req": "r1"}}, Operation.UPDATE),
    ],
)
def test_a_receipt_that_the_first_versions_wrote_is_read(last: dict[str, Any], operation: Operation) -> None:
    """They had one for each operation, and none of them said what was written."""
    receipt = read_state({"status": "succeeded", "finished_at": to_text(NOW), "last": dump(last)}).receipt
    assert receipt is not None
    assert (receipt.request, receipt.operation, receipt.at, receipt.content) == ("r1", operation, NOW, "")
    assert receipt.next_states == tuple(last.get("complete", {}).get("next", ()))


# Tolerantly


def test_done_is_read_as_succeeded() -> None:
    assert read_state({"status": "done"}).status is Status.SUCCEEDED


@rows("ttl", [60, 60.0])
def test_an_expiry_that_is_missing_is_worked_out(ttl: float) -> None:
    lease = read_state({"lease": {"token": "t", "ts": to_text(NOW), "ttl_s": ttl}}).lease
    assert (lease.expires_at, lease.ttl_s) == (NOW + 60 * SECOND, 60)


@rows(
    "fields",
    [
        {},
        {"ttl_s": "300"},
        {"ttl_s": None},
        {"ttl_s": True},
        {"ttl_s": -5},
        {"ttl_s": 1e308},
        {"ts": "yesterday", "ttl_s": 300},
        {"ts": 1_700_000_000, "ttl_s": 300},
        {"ts": "2023-11-14T22:13:20", "ttl_s": 300},
        {"ts": None, "expires_at": 5},
    ],
)
def test_a_lease_without_a_readable_end_counts_as_expired(fields: dict[str, Any]) -> None:
    doc = read_state({"status": "running", "lease": {"token": "t", "ts": to_text(NOW), **fields}})
    assert doc.lease.token == "t"
    assert doc.is_claimable(NOW)


def test_unknown_fields_are_kept() -> None:
    doc = read_state({"status": "pending", "note": {"by": "hand"}, "cost": 1.5})
    assert doc.extra == {"note": {"by": "hand"}, "cost": 1.5}
    assert write_state(doc).items() >= {"note": {"by": "hand"}, "cost": 1.5}.items()


def test_a_foreign_field_never_hides_an_own_one() -> None:
    assert write_state(StateDoc(extra={"status": "succeeded"}))["status"] == "pending"


@rows("last", ["", "{", "[]", "5", 5, None, {}, [1], {"complete": 1}, '{"receipt": 1}', '{"receipt": {"op": "x"}}'])
def test_receipts_that_nobody_can_read_are_none(last: Any) -> None:
    assert read_state({"last": last}) == StateDoc()


@rows("status", [None, 5, [], {}, "Succeeded", "", "doing"])
def test_a_status_nobody_knows_is_read_as_pending(status: Any) -> None:
    assert read_state({"status": status}).status is Status.PENDING


@given(found=by_hand | json_values)
def test_whatever_a_hand_wrote_can_be_read_and_written_and_decided_on(found: Any) -> None:
    doc = read_state(found)
    assert stored(doc) == read_state(load(dump(write_state(doc))))
    assert doc.attempts >= 0
    assert doc.lease.epoch >= 0
    doc.is_claimable(NOW)
    write = Update(state="A", token="no such token")
    refused = update(snapshot(doc), write, definition(), {}).answer
    assert code(refused) in {"lease_lost", "terminal"}


@rows("value", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_beyond_the_calendar_can_still_be_written(value: str) -> None:
    assert write_state(read_state({"started_at": value}))["started_at"][:4] == value[:4]


# Meta


def test_meta_is_read_with_what_a_decision_needs() -> None:
    result = read_meta(
        {
            "status": "failed",
            "definition_sha256": "d",
            "agents": {"A": "ann", "B": ["bob", "cy"], "C": None},
            "max_attempts": 3,
        }
    )
    assert result == meta(RunStatus.FAILED, agents={"A": ("ann",), "B": ("bob", "cy"), "C": ()}, max_attempts=3)


@given(found=json_values | st.fixed_dictionaries({"status": json_values, "max_attempts": json_values}))
def test_whatever_a_hand_wrote_into_meta_can_be_read(found: Any) -> None:
    assert read_meta(found).max_attempts > 0


@rows("status", ["aborted", "done", 5, ["running"]])
def test_a_run_whose_status_makes_no_sense_is_not_running(status: Any) -> None:
    assert read_meta({"status": status}).status is not RunStatus.RUNNING


def test_a_run_without_a_status_is_running() -> None:
    assert read_meta({}).status is RunStatus.RUNNING


def test_an_assignment_is_one_agent_or_a_pool() -> None:
    assignments = [read_assignment(value) for value in ("ann", ["ann", "bob"], None, "", [], [5, "ann"], {"a": 1})]
    assert assignments == [("ann",), ("ann", "bob"), (), (), (), ("ann",), ()]


# Times


@given(instants)
def test_a_time_comes_back_as_it_was_written(micros: int) -> None:
    assert from_text(to_text(micros)) == micros


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_agree_with_the_calendar(moment: datetime) -> None:
    micros = from_text(moment.isoformat())
    assert micros is not None
    assert to_text(micros) == moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def test_times_are_compared_across_zones() -> None:
    assert from_text("2026-01-02T03:04:05+01:00") == from_text("2026-01-02T02:04:05Z")


@rows("text", ["", "now", "2026-01-02T03:04:05", "2026-13-02T03:04:05Z", 5, None, ["x"], b"x"])
def test_what_is_no_time_with_a_zone_is_none(text: object) -> None:
    assert from_text(text) is None


def test_spans_are_told_in_seconds_to_the_millisecond() -> None:
    assert [seconds(span) for span in (1_500_000, 1_499, 0)] == [1.5, 0.001, 0.0]


# What onlookers see


def test_the_token_is_shown_to_its_holder_only() -> None:
    doc = held("secret", claim="x")
    assert "secret" not in str(public_state(doc))
    assert public_state(doc)["lease"]["token"] == HIDDEN_TOKEN
    assert holder_state(doc)["lease"]["token"] == "secret"
    assert public_state(StateDoc())["lease"]["token"] is None


def test_receipts_are_shown_to_nobody() -> None:
    doc = held(claim="x", extra={"note": 1})
    assert "last" not in public_state(doc)
    assert "last" not in holder_state(doc)
    assert public_state(doc)["note"] == 1


def test_a_state_is_ready_when_a_lease_could_be_granted_now() -> None:
    assert is_ready(meta(), StateDoc(), NOW)
    assert is_ready(meta(), held(), NOW + TTL * SECOND)
    assert not is_ready(meta(), held(), NOW)
    assert not is_ready(meta(), StateDoc(waits_for={"A": 0}), NOW)
    assert not is_ready(meta(RunStatus.FAILED), StateDoc(), NOW)


@rows("concurrency", [{}, {"concurrency": None}, {"concurrency": 0}, {"concurrency": "many"}])
def test_a_scope_without_a_readable_concurrency_runs_one_iteration_after_the_other(concurrency: dict[str, Any]) -> None:
    doc = read_state({"status": "running", "type": "Map", "scope": {"size": 3, **concurrency}})
    assert doc.scope == ScopeBounds(size=3, concurrency=1)
