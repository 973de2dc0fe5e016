"""The tools of the kind of usage limits: traps, and a provider whose windows all processes see."""

import signal
from pathlib import Path
from typing import Any

import pytest

from dcf.hosting.protocol import AgentLimited
from dcf.values.instants import SECOND
from lab.limited_worker import step_of
from lab.providers import LARGEST_TURN, MOST_CALLS, Provider, window_at
from lab.traps import MOMENTS, STEPS, Trap, Traps
from lab.turn_notes import Notes, read_notes
from tests.support.tables import rows

ACCOUNT = "acc"
BEGIN = 1_800_000_000 * SECOND
SECONDS = 1200


@rows("is_frozen", [False, True])
def test_a_trap_strikes_the_first_of_its_agent_that_comes_to_its_step(tmp_path: Path, is_frozen: bool) -> None:
    traps, seen_by_another = Traps(tmp_path / "trap"), Traps(tmp_path / "trap")
    for step in STEPS:
        for moment in MOMENTS:
            traps.set(Trap(agent=1, step=step, moment=moment, is_frozen=is_frozen))
            others = [(0, step, moment), *((1, a, b) for a in STEPS for b in MOMENTS if (a, b) != (step, moment))]
            assert {seen_by_another.strikes(*place) for place in others} == {None}
            expected = signal.SIGSTOP if is_frozen else signal.SIGKILL
            assert seen_by_another.strikes(1, step, moment) is expected
            assert not traps.is_armed
            assert seen_by_another.strikes(1, step, moment) is None


def test_each_step_of_the_protocol_is_a_call_of_a_turn_or_of_its_provider() -> None:
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "grant": ("claim_ready_state", {}),
        "reserve": ("reserve_turn", {}),
        "beat": ("report_turn", {"usage_json": None}),
        "limit": ("report_limit", {}),
        "settle": ("report_turn", {"ended": True}),
        "write": ("update_workflow_control_plane", {}),
        "park": ("release_state_lease", {"limited_until": "5s"}),
    }
    assert {step: step_of(*call) for step, call in calls.items()} == {step: step for step in calls}
    assert {*calls, "call"} == {*STEPS}
    assert step_of("release_state_lease", {}) is None


def test_a_provider_has_windows_with_and_without_a_known_end() -> None:
    windows = {window_at(ACCOUNT, BEGIN + at * SECOND) for at in range(SECONDS)}
    assert None in windows
    assert {window.form for window in windows if window is not None} == {"until", "after_s", None}


def test_a_provider_rejects_in_its_windows_and_notes_what_it_bills(tmp_path: Path) -> None:
    inside = next(at for at in range(BEGIN, BEGIN + SECONDS * SECOND, SECOND) if window_at(ACCOUNT, at))
    provider = Provider(lambda: inside, tmp_path / "peace", Notes(tmp_path / "notes" / "ann.jsonl"))
    with pytest.raises(AgentLimited):
        provider.call(ACCOUNT, "t1", 0)
    provider.peace.touch()
    bills = [provider.call(ACCOUNT, "t2", number) for number in range(MOST_CALLS)]
    rejected, *billed = read_notes(tmp_path / "notes")
    assert (rejected["event"], rejected["reservation"]) == ("rejected", "t1")
    assert [note["tokens_in"] for note in billed] == [bill["tokens_in"] for bill in bills]
    assert sum(note["nanos"] for note in billed) <= LARGEST_TURN
