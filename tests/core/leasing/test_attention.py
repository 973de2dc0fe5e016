"""The findings of the timer loop about an open state."""

from dcf.core.documents.answers import Owed
from dcf.core.documents.codec import read_state
from dcf.core.documents.decision import Snapshot, WriteSet
from dcf.core.documents.model import RunStatus, ScopeBounds, StateDoc, Status
from dcf.core.leasing.attention import JOIN_DELAY, MOST_REMINDERS, REMINDER_DELAY, hasten, look
from dcf.core.leasing.stuck import is_stuck
from dcf.values.instants import SECOND
from dcf.values.json_text import dump
from tests.core.build import A_THEN_B, NOW, TTL, held, meta, run, snapshot
from tests.support.tables import rows

EXPIRY = NOW + TTL * SECOND


@rows(
    "found",
    [
        Snapshot(now=NOW),
        Snapshot(now=NOW, meta=meta()),
        snapshot(StateDoc(status=Status.SUCCEEDED)),
        snapshot(StateDoc(), about=meta(RunStatus.PARTIAL)),
        snapshot(held(), about=meta(RunStatus.CANCELLED)),
    ],
)
def test_what_is_closed_or_gone_needs_no_more_attention(found: Snapshot) -> None:
    decision = look(found, "A")
    assert decision.answer == Owed(fired="closed")
    assert decision.changes == WriteSet(timers={"A": None})


def test_a_held_state_is_looked_at_again_when_its_lease_ends() -> None:
    decision = look(snapshot(held()), "A")
    assert decision.answer == Owed(fired="held")
    assert decision.changes == WriteSet(timers={"A": EXPIRY})


def test_a_state_that_is_not_due_is_looked_at_again_when_it_is() -> None:
    decision = look(snapshot(StateDoc(not_before=NOW + 5)), "A")
    assert decision.answer == Owed(fired="not_due")
    assert decision.changes == WriteSet(timers={"A": NOW + 5})


def test_a_map_under_way_is_looked_at_again_after_a_while() -> None:
    decision = look(snapshot(StateDoc(status=Status.RUNNING, kind="Map", scope=ScopeBounds(size=2))), "A")
    assert decision.answer == Owed(fired="scope")
    assert decision.changes == WriteSet(timers={"A": NOW + JOIN_DELAY})


def test_used_up_attempts_are_told_and_left_to_who_can_fail_the_state() -> None:
    decision = look(snapshot(held(attempts=3), now=EXPIRY, about=meta(max_attempts=3)), "A")
    assert (decision.answer, decision.changes) == (Owed(fired="exhausted"), None)


def test_a_ready_state_that_nobody_took_is_announced_again() -> None:
    made = run()
    made.kick_off()
    made.now = made.timers["A"]
    assert made.look("A") == Owed(states=("A",), fired="reminded")
    _, notice = made.notices
    assert (notice.type, notice.state, notice.epoch, notice.reason) == ("reminder-1", "A", NOW, "reminder")
    assert made.types()[-1] == "StateReminded A"


def test_a_state_of_a_started_run_is_announced_at_once_when_its_agent_is_there() -> None:
    assert hasten(snapshot(StateDoc()), "A").changes == WriteSet(timers={"A": NOW})
    unstarted = meta(planner_agent_id="boss", is_started=False)
    assert hasten(snapshot(StateDoc(), about=unstarted), "A").changes is None, "starting the run announces it"
    assert hasten(snapshot(held()), "A").changes is None
    assert hasten(snapshot(StateDoc(), about=meta(RunStatus.FAILED)), "A").changes is None


def test_an_expired_lease_is_announced_to_whoever_may_take_over() -> None:
    made = run()
    made.acquire("A", "t1")
    made.now = made.timers["A"]
    made.look("A")
    (notice,) = made.notices
    assert (notice.type, notice.reason, notice.epoch) == ("lease_expired-1", "lease_expired", NOW + 1)


def test_every_reminder_has_a_name_of_its_own() -> None:
    made = run()
    made.kick_off()
    for _ in range(4):
        made.look_in_time("A")
    made.acquire("A", "t1")
    made.now = made.timers["A"]
    made.look("A")
    names = [(notice.state, notice.epoch, notice.type) for notice in made.notices]
    assert len(set(names)) == len(names) == 6


def test_the_delay_between_reminders_doubles_up_to_five_minutes() -> None:
    made = run()
    made.kick_off()
    delays = [made.timers["A"] - made.now]
    for _ in range(7):
        made.look_in_time("A")
        delays.append(made.timers["A"] - made.now)
    assert [delay // SECOND for delay in delays] == [15, 30, 60, 120, 240, 300, 300, 300]
    assert delays[0] == REMINDER_DELAY


@rows(
    ("kept", "number"),
    [
        ("x", 1),
        (None, 1),
        ([], 1),
        (-5, 1),
        (10**15, 10**15 + 1),
    ],
)
def test_a_number_of_reminders_written_by_hand_does_no_harm(kept: object, number: int) -> None:
    decision = look(snapshot(read_state({"last": dump({"reminders": kept})})), "A")
    assert decision.changes is not None
    assert decision.changes.notices[0].type == f"reminder-{number}"


def test_a_reminder_changes_nothing_else_of_the_state() -> None:
    doc = StateDoc(attempts=1, waits_for={"Z": 5}, claim="x")
    decision = look(snapshot(doc), "A")
    assert decision.changes is not None
    reminded = decision.changes.states["A"]
    assert (reminded.claim, reminded.reminders) == ("x", 1)
    assert (reminded.attempts, reminded.waits_for, reminded.lease) == (1, {"Z": 5}, doc.lease)


def test_of_two_clocks_that_look_at_the_same_time_only_one_reminds() -> None:
    made = run()
    made.kick_off()
    assert made.look_in_time("A").fired == "reminded"
    assert made.look("A").fired == "not_due"
    assert len(made.notices) == 2


def test_the_planner_hears_once_of_a_state_that_is_not_taken_for_half_an_hour() -> None:
    made = run(planner_agent_id="boss")
    made.kick_off()
    details = []
    for _ in range(MOST_REMINDERS + 3):
        made.look_in_time("A")
        details.append([notice for notice in made.notices if notice.state is None])
    (notice,) = details[-1]
    assert (notice.type, notice.about, notice.reason) == ("untaken", "A", "not_taken")
    assert [len(result) for result in details] == [0] * (MOST_REMINDERS - 1) + [1] * 4
    assert made.types().count("StateUntaken A") == 1
    assert made.timers["A"] - made.now == 3600 * SECOND


def test_without_a_planner_nobody_is_told_that_a_state_is_not_taken() -> None:
    made = run()
    made.kick_off()
    for _ in range(MOST_REMINDERS + 1):
        made.look_in_time("A")
    assert {notice.state for notice in made.notices} == {"A"}


def test_reminders_are_counted_from_the_last_lease_on() -> None:
    made = run()
    made.kick_off()
    for _ in range(3):
        made.look_in_time("A")
    made.acquire("A", "t1")
    assert made.states["A"].reminders == 0
    made.look_in_time("A")
    assert made.notices[-1].type == "lease_expired-1"


def test_the_planner_is_reminded_of_a_run_that_it_did_not_start_ever_more_rarely() -> None:
    made = run(planner_agent_id="boss")
    delays = [made.timers["A"] - made.now]
    for _ in range(8):
        made.look_in_time("A")
        delays.append(made.timers["A"] - made.now)
    assert [delay // SECOND for delay in delays] == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert {(notice.state, notice.reason) for notice in made.notices} == {(None, "not_started")}
    assert len({notice.type for notice in made.notices}) == 8
    assert made.types().count("PlannerReminded") == 8


@rows("how", ["started", "taken"])
def test_the_planner_is_not_reminded_of_a_run_that_goes_on(how: str) -> None:
    made = run(planner_agent_id="boss")
    if how == "started":
        made.kick_off()
    else:
        made.acquire("A", "t1")
    made.look_in_time("A")
    assert [notice.state for notice in made.notices if notice.reason != "initial"] == ["A"]


def test_a_run_that_was_not_started_is_not_announced_by_the_clock_and_found_stuck() -> None:
    made = run()
    before = len(made.events)
    delays = []
    for _ in range(3):
        delays.append(made.timers["A"] - made.now)
        made.look_in_time("A")
    assert [delay // SECOND for delay in delays] == [60, 120, 240]
    assert (made.notices, made.events[before:]) == ([], [])
    assert is_stuck(meta(is_started=False), made.states.values())
    made.kick_off()
    made.look_in_time("A")
    assert [notice.type for notice in made.notices] == ["state_ready", "reminder-1"]


def test_a_state_that_follows_in_a_run_that_agents_take_by_themselves_is_announced() -> None:
    made = run(A_THEN_B)
    made.acquire("A", "t1")
    made.update("A", "t1", status=Status.SUCCEEDED)
    made.look_in_time("B")
    assert [notice.type for notice in made.notices if notice.state == "B"][-1] == "reminder-1"
