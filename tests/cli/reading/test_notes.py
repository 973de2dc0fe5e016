"""Why a state is as it is, in words."""

from datetime import UTC, datetime
from typing import Any

from dcf.cli.reading.notes import attempts, counts, note
from tests.support.tables import rows

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def doc(**fields: Any) -> dict[str, Any]:
    return {"status": "running", "attempts": 0, "last_error": None, "waits_for": {}} | fields


def parked(until: str, account: str | None = None, not_before: str | None = None) -> dict[str, Any]:
    return doc(status="pending", not_before=not_before or until, parked={"until": until, "account": account})


def scope(size: int, done: int = 0, failed: int = 0, **fields: Any) -> dict[str, Any]:
    return doc(scope={"size": size}, tally={"done": done, "failed": failed}, **{"type": "Map"} | fields)


@rows(
    ("found", "words"),
    [
        (doc(type="Map"), "waits for its items"),
        (scope(40), "waits for 40 iterations"),
        (scope(40, 12, 1), "12 of 40 iterations done, 1 failed; waits for the other 28"),
        (scope(3, 2, type="Parallel"), "2 of 3 branches done; waits for the last one"),
        (scope(2, 2, type="Parallel"), "2 of 2 branches done; continues now"),
        (scope(1, type="Parallel"), "waits for 1 branch"),
        (scope(40, 40, 2, status="succeeded"), "40 iterations, 2 failed"),
        (scope(40, 3, 1, status="failed", last_error="Broken: why"), "Broken: why"),
        (doc(type="Wait", not_before="2026-01-02T03:04:35Z"), "waits until 03:04:35 UTC, in 30 s"),
        (doc(type="Wait", not_before="2026-01-04T05:04:05Z"), "waits until 2026-01-04 05:04:05 UTC, in 2 d 2 h"),
        (doc(type="Wait", not_before="2026-01-02T03:04:04Z"), "its time has come; the clock ends it"),
        (
            scope(4, 1, 1, status="pending", last_error="Busy: later", not_before="2026-01-02T03:05:15.5Z"),
            "is tried again in 1 min 11 s: Busy: later",
        ),
        (
            doc(status="pending", last_error="Busy: later", not_before="2026-01-02T03:04:00Z"),
            "ready to be tried again: Busy: later",
        ),
        (doc(status="pending", not_before="2026-01-02T03:04:07Z"), "may be taken in 2 s"),
        (parked("2026-01-02T03:04:07Z", account="plan"), "parked for 2 s, account plan"),
        (parked("2026-01-02T03:04:07Z"), "parked for 2 s"),
        (parked("2026-01-02T03:04:07Z", not_before="2026-01-02T03:04:08Z"), "may be taken in 3 s"),
        (doc(status="pending", not_before="2026-01-02T03:04:00Z"), "ready, not yet claimed"),
        (
            doc(status="pending", type="Pass", not_before="2026-01-02T03:04:05Z"),
            "continues now, in the middle of a long chain",
        ),
        (doc(status="pending", waits_for={"A": 0, "B": 7}), "waits for A"),
        (doc(status="pending", waits_for={"A": 7}), "ready, not yet claimed"),
        (doc(status="pending", agents=[]), "ready for any agent, not yet claimed"),
        (
            doc(status="pending", agents=["a-1"], ready_since="2026-01-02T03:01:03.5Z"),
            "ready for a-1, not taken for 3 min 1 s",
        ),
        (doc(status="pending", agents=list("abcde")), "ready for a or b or c and 2 more, not yet claimed"),
        (doc(status="pending", agents=["a-1"], awaits_start=True), "not started yet; for a-1"),
        (
            doc(status="pending", agents=["a-1"], last_error="Busy: x", not_before="2026-01-02T03:04:00Z"),
            "ready to be tried again for a-1: Busy: x",
        ),
        (
            doc(lease={"owner_agent_id": "a-1", "expires_at": "2026-01-02T03:04:00Z"}, ready=True, agents=["a-1", "b"]),
            "held by a-1, lease has expired; ready for a-1 or b",
        ),
    ],
)
def test_a_note_says_what_a_state_waits_for(found: dict[str, Any], words: str) -> None:
    assert note(found, NOW) == words


def test_attempts_are_told_of_what_is_leased_only() -> None:
    assert (attempts(doc()), attempts(scope(2)), attempts(doc(type="Wait"))) == ("0", "", "")
    assert counts(doc()) == ""
