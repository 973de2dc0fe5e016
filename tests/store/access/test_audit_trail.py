"""Changes outside runs are recorded before they are made, and with their outcome."""

import secrets
from contextlib import nullcontext

import pytest

from dcf.errors import Conflict
from dcf.store.access.audit_trail import AuditFilter, AuditTrail
from dcf.store.access.authors import authored_by
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from tests.support.redis.counting import CountingPool


@pytest.fixture
def trail(connections: Connections) -> AuditTrail:
    return AuditTrail(connections)


def test_a_change_is_told_with_who_what_and_how_it_ended(trail: AuditTrail) -> None:
    with authored_by("key:aaaaaaaaaaaa"), trail.recording("write_file", {"path": "a.txt"}) as recording:
        recording.about["size"] = "3"
        recording.outcome = "ok"
    (entry,) = trail.newest(1)
    assert (entry.by, entry.change, entry.outcome) == ("key:aaaaaaaaaaaa", "write_file", "ok")
    assert entry.about == {"path": "a.txt", "size": "3"}
    assert entry.at.startswith("20")
    assert entry.at.endswith("Z")


def test_a_change_that_fails_is_told_with_its_code(trail: AuditTrail) -> None:
    with pytest.raises(Conflict), trail.recording("delete_agent", {"agent_id": "a"}):
        raise Conflict("Somebody was faster.")
    assert trail.newest(1)[0].outcome == "conflict"


def test_a_change_that_breaks_off_is_told_as_interrupted(trail: AuditTrail) -> None:
    with pytest.raises(ZeroDivisionError), trail.recording("delete_agent", {"agent_id": "a"}):
        raise ZeroDivisionError
    assert trail.newest(1)[0].outcome == "interrupted"


def test_a_change_is_in_the_trail_while_it_is_made(trail: AuditTrail) -> None:
    """So a process that dies in the middle leaves an entry without an outcome."""
    with trail.recording("move_path", {"source": "a", "destination": "b"}):
        (entry,) = trail.newest(1)
        assert (entry.change, entry.outcome) == ("move_path", None)


def test_the_newest_changes_come_first_and_only_so_many(trail: AuditTrail) -> None:
    for number in range(5):
        with trail.recording("json_set", {"redis_key": f"doc:{number}"}) as recording:
            recording.outcome = "ok"
    assert [entry.about["redis_key"] for entry in trail.newest(2)] == ["doc:4", "doc:3"]


def test_changes_that_overlap_are_all_listed(trail: AuditTrail) -> None:
    with trail.recording("outer", {}), trail.recording("middle", {}), trail.recording("inner", {}):
        pass
    assert [entry.change for entry in trail.newest(1)] == ["inner"]
    assert [(entry.change, entry.outcome) for entry in trail.newest(3)] == [
        (name, "interrupted") for name in ("inner", "middle", "outer")
    ]


def made(trail: AuditTrail, author: str | None, number: int, change: str = "json_set") -> None:
    """As many changes of this author."""
    for at in range(number):
        with (
            nullcontext() if author is None else authored_by(author),
            trail.recording(change, {"n": str(at)}) as recording,
        ):
            recording.outcome = "ok"


@pytest.fixture
def key() -> str:
    return f"key:{secrets.token_hex(6)}"


def test_no_key_pushes_out_what_others_did(
    trail: AuditTrail, connections: Connections, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """One key wrote 100,000 entries, and nothing that anybody had done was left."""
    monkeypatch.setattr("dcf.store.access.audit_trail.KEPT", 10)
    other = f"key:{secrets.token_hex(6)}"
    made(trail, other, 1, "delete_agent")
    made(trail, "local", 1, "keys create")
    made(trail, key, 40)
    assert [entry.change for entry in trail.newest(10, AuditFilter(by=other))] == ["delete_agent"]
    assert trail.newest(1, AuditFilter(by="local"))[0].change == "keys create"
    stored = list(trail.each(None, AuditFilter(by=key)))
    assert len(stored) == 10
    assert stored[-1].about == {"n": "39"}
    assert connections.send(("ZCARD", keys.audit_share(key))) == [10]


def test_refused_calls_and_failed_log_ins_have_shares_of_their_own(
    trail: AuditTrail, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr("dcf.store.access.audit_trail._KEPT_OF_REFUSALS", 5)
    monkeypatch.setattr("dcf.store.access.audit_trail._KEPT_OF_LOGINS", 5)
    made(trail, key, 1)
    for number in range(20):
        trail.note_refusal(key, "finalize_workflow", {"why": str(number)})
        trail.note_login(key, "revoked", {"n": str(number)})
    newest = trail.newest(100, AuditFilter(by=key))
    assert [entry.kind for entry in newest].count("refusal") == 5
    assert [entry.kind for entry in newest].count("login") == 5
    assert [entry.outcome for entry in newest if entry.kind == "change"] == ["ok"]


def test_an_export_goes_on_where_the_last_one_ended_and_misses_no_outcome(trail: AuditTrail, key: str) -> None:
    audit_filter = AuditFilter(by=key)
    with authored_by(key), trail.recording("write_file", {"path": "a"}) as recording:
        (first,) = trail.each(None, audit_filter)
        assert (first.change, first.outcome) == ("write_file", None)
        recording.outcome = "ok"
    (outcome,) = trail.each(first.entry_id, audit_filter)
    assert (outcome.of, outcome.outcome, outcome.change) == (first.entry_id, "ok", "write_file")
    assert list(trail.each(outcome.entry_id, audit_filter)) == []


def test_an_export_is_not_bounded_by_its_pages(trail: AuditTrail, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setattr("dcf.store.access.audit_trail._PAGE", 7)
    made(trail, key, 25)
    assert [entry.about["n"] for entry in trail.each(None, AuditFilter(by=key)) if entry.of is None] == [
        str(number) for number in range(25)
    ]
    assert len(trail.newest(100, AuditFilter(by=key))) == 25


def test_entries_are_chosen_by_type_and_by_time(trail: AuditTrail, connections: Connections, key: str) -> None:
    made(trail, key, 1, "write_file")
    made(trail, key, 1, "json_set")
    trail.note_refusal(key, "delete_agent", {})
    (clock,) = connections.send(("TIME",))
    now = int(clock[0]) * 1000 + int(clock[1]) // 1000
    assert [entry.change for entry in trail.newest(9, AuditFilter(by=key, type="json_set"))] == ["json_set"]
    assert [entry.change for entry in trail.newest(9, AuditFilter(by=key, type="refusal"))] == ["delete_agent"]
    assert len(trail.newest(9, AuditFilter(by=key, type="change", until=now + 1))) == 2
    for expected in (AuditFilter(by=key, since=now + 60_000), AuditFilter(by=key, until=now - 60_000)):
        assert trail.newest(9, expected) == []
        assert list(trail.each(None, expected)) == []


def test_entries_of_one_author_are_found_without_reading_those_of_others(
    counting: CountingPool, onlooker: Connections, key: str
) -> None:
    trail = AuditTrail(Connections(counting))
    made(trail, key, 3, "json_del")
    made(trail, f"{key[:-1]}!", 40)
    trail.note_refusal(key, "json_set", {})
    trail.note_login(key, "revoked", {})
    request: list[list[str]] = []
    for others in (0, 400):
        made(trail, f"{key[:-1]}!", others)
        with counting.counted() as packets:
            newest = trail.newest(50, AuditFilter(by=key))
        request.append([name for packet in packets for name in packet])
        assert [entry.kind for entry in newest] == ["login", "refusal", "change", "change", "change"]
        assert {entry.outcome for entry in newest if entry.kind == "change"} == {"ok"}
    assert request[0] == request[1]


def test_a_page_of_one_author_goes_on_where_its_first_entries_are_not_wanted(trail: AuditTrail, key: str) -> None:
    made(trail, key, 30, "json_del")
    made(trail, key, 30)
    audit_filter = AuditFilter(by=key, type="json_del")
    assert [entry.about["n"] for entry in trail.newest(3, audit_filter)] == ["29", "28", "27"]
    assert len(trail.newest(100, audit_filter)) == 30
