"""Changes outside runs are told before they are made, and how they ended."""

import pytest

from dcf.errors import Conflict
from dcf.store import keys
from dcf.store.audit_trail import AuditTrail
from dcf.store.authors import authored_by
from dcf.store.connection import Connections


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


def test_old_entries_go_when_there_are_very_many(
    trail: AuditTrail, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.audit_trail._KEPT", 10)
    for _ in range(400):
        with trail.recording("json_set", {}):
            pass
    (length,) = connections.send(("XLEN", keys.AUDIT_TRAIL))
    assert length < 400
