"""The decisions of a schedule at a point in time, for any order of looks, deaths and outcomes."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dcf.features.schedules.model import (
    MOST_RECORDS,
    CatchUp,
    Intent,
    Overlap,
    Schedule,
    ScheduleWish,
    is_same,
    new_schedule,
    read_schedule,
    write_schedule,
)
from dcf.features.schedules.ticking import (
    START_S,
    Begun,
    NotBegun,
    PutOff,
    look,
    looked_at,
    paused,
    resumed,
    settle,
    triggered,
)
from dcf.features.schedules.timing import MOST_TICKS
from dcf.values.instants import SECOND
from dcf.values.json_text import dump, load
from dcf.values.refusal import Refusal
from tests.support.tables import rows

NOW = 1_800_000_000 * SECOND
MINUTE = 60 * SECOND
WHY = Refusal(code="quota_exceeded", message="Too much.", hint="Less.")


def schedule(
    overlap: Overlap = Overlap.SKIP, catch_up: CatchUp = CatchUp.NONE, *, every_s: int = 60, jitter_s: int = 0
) -> Schedule:
    wish = ScheduleWish(
        name="nightly", workflow="w@1", every_s=every_s, overlap=overlap, catch_up=catch_up, jitter_s=jitter_s,
        created_by="local",
    )  # fmt: skip
    return new_schedule(wish, NOW, "secret")


def told(schedule: Schedule) -> list[tuple[str, str | None, int]]:
    return [(record.outcome, record.why, record.count) for record in schedule.records]


def started(schedule: Schedule, now: int) -> Schedule:
    """Look, and carry out every start."""
    schedule, intent = look(schedule, now, dict.fromkeys(schedule.runs, False), "t")
    while intent is not None:
        schedule, intent = settle(
            schedule, now, Begun(exists=True), holder=intent.holder, following=f"{intent.holder}t"
        )
    return schedule


def test_a_hundred_starts_wait_at_most_and_the_others_are_noted() -> None:
    going_on = replace(schedule(Overlap.QUEUE, CatchUp.ALL), runs=("r",))
    result, intent = look(going_on, NOW + 150 * MINUTE, {"r": True}, "t")
    assert intent is None
    assert (len(result.waiting), told(result)) == (MOST_TICKS, [("skipped", "missed", 50)])
    full, _ = look(result, NOW + 151 * MINUTE, {"r": True}, "t")
    assert (full.waiting, told(full)[-1]) == (result.waiting, ("skipped", "queue_full", 1))


def test_the_history_has_the_latest_fifty_ticks() -> None:
    result = schedule(Overlap.ALLOW)
    for number in range(1, 61):
        result = started(result, NOW + number * MINUTE)
    assert (result.started, len(result.records)) == (60, MOST_RECORDS)
    assert [record.tick for record in result.records] == [NOW + number * MINUTE for number in range(11, 61)]


def test_ticks_that_were_skipped_in_a_row_are_one_record() -> None:
    result = replace(schedule(), runs=("r",))
    for number in range(1, 8):
        result, _ = look(result, NOW + number * MINUTE, {"r": True}, "t")
    (record,) = result.records
    assert (record.count, record.tick, record.last) == (7, NOW + MINUTE, NOW + 7 * MINUTE)


def test_a_start_is_one_processes_until_its_time_is_over() -> None:
    result, mine = look(schedule(), NOW + MINUTE, {}, "a")
    assert mine is not None
    assert look(result, NOW + MINUTE, {}, "b")[1] is None
    assert look(result, NOW + MINUTE, {}, "a")[1] == mine, "the reply to it was lost"
    again, other = look(result, NOW + MINUTE + START_S * SECOND, {}, "b")
    assert other == Intent(
        tick=NOW + MINUTE,
        holder="b",
        at=NOW + MINUTE + START_S * SECOND,
        until=NOW + MINUTE + 2 * START_S * SECOND,
        tries=2,
    )
    assert settle(again, NOW + 2 * MINUTE, Begun(exists=True), holder="a", following="c") == (again, None)
    done, _ = settle(again, NOW + 2 * MINUTE, Begun(exists=True), holder="b", following="c")
    assert (done.started, done.starting, done.runs) == (1, None, (done.run_at(NOW + MINUTE),))


def test_a_start_whose_run_is_not_found_is_not_noted() -> None:
    result, intent = look(schedule(), NOW + MINUTE, {}, "a")
    assert intent is not None
    assert settle(result, NOW + MINUTE, Begun(exists=False), holder="a", following="b") == (result, None)


def test_a_start_that_was_put_off_is_taken_up_when_its_time_has_come() -> None:
    result, _ = look(schedule(), NOW + MINUTE, {}, "a")
    waits, _ = settle(result, NOW + MINUTE, PutOff(why=WHY, for_s=5), holder="a", following="b")
    assert waits.is_troubled
    assert looked_at(waits, NOW + MINUTE) == NOW + MINUTE + 5 * SECOND
    assert look(waits, NOW + MINUTE + SECOND, {}, "c")[1] is None
    again, intent = look(waits, NOW + MINUTE + 5 * SECOND, {}, "c")
    assert intent is not None
    assert (intent.tick, again.is_troubled) == (NOW + MINUTE, False)


def test_a_schedule_that_stops_drops_what_waits_and_says_why_until_it_is_resumed() -> None:
    result, intent = look(schedule(Overlap.ALLOW, CatchUp.ALL), NOW + 5 * MINUTE, {}, "a")
    assert intent is not None
    stopped, _ = settle(result, NOW + 5 * MINUTE, NotBegun(why=WHY, stops=True), holder="a", following="b")
    assert (stopped.status, stopped.waiting, stopped.failed) == ("stopped", (), 1)
    assert look(stopped, NOW + 60 * MINUTE, {}, "c")[1] is None
    again = resumed(stopped, NOW + 60 * MINUTE, "key:other", None)
    assert (again.status, again.created_by, again.is_troubled) == ("active", "key:other", False)


def test_a_pause_of_a_second_misses_no_tick_and_who_pauses_twice_changes_nothing() -> None:
    result = paused(schedule(), NOW, None)
    assert paused(result, NOW + SECOND, None) is result
    on = resumed(result, NOW + SECOND, "local", None)
    assert (on.next_at, on.skipped) == (NOW + MINUTE, 0)
    assert resumed(on, NOW + SECOND, "local", None) is on


def test_jitter_puts_each_tick_off_by_less_than_it_and_always_the_same() -> None:
    result = schedule(jitter_s=30)
    delays = [result.delay_of(NOW + number * MINUTE) for number in range(50)]
    assert all(0 <= delay < 30 * SECOND for delay in delays)
    assert len(set(delays)) > 40
    tick = result.next_at or 0
    at = tick + result.delay_of(tick)
    assert looked_at(result, NOW) == at
    assert look(result, at - 1, {}, "t")[1] is None
    assert look(result, at, {}, "t")[1] is not None


def test_a_schedule_of_another_generation_has_other_runs() -> None:
    first, other = schedule(), replace(schedule(), generation="other")
    assert first.run_at(NOW) != other.run_at(NOW)
    assert is_same(first, other)
    assert len(replace(first, name="x" * 54).run_at(NOW)) <= 64


class Story:
    """A schedule, its processes, and the runs that they created: `begun` by tick, `live` that continue."""

    def __init__(self, schedule: Schedule) -> None:
        self.found, self.now, self.number = schedule, NOW, 0
        self.intents: list[Intent] = []
        self.begun: list[int] = []
        self.live: set[str] = set()

    @property
    def intent(self) -> Intent | None:
        return self.intents[-1] if self.intents else None

    def holder(self) -> str:
        self.number += 1
        return f"t{self.number}"

    def look(self, _: int) -> None:
        running = {run: run in self.live for run in self.found.runs}
        self._take(look(self.found, self.now, running, self.holder()))

    def create(self, _: int) -> None:
        """The run of the latest intent is created, if the server lets it; its process may die then."""
        intent = self.intent
        if intent is None or not intent.at <= self.now < intent.until or intent.tick in self.begun:
            return
        self.begun.append(intent.tick)
        self.live.add(self.found.run_at(intent.tick))

    def settle(self, _: int) -> None:
        if self.intent is not None:
            self.create(0)
            self._settle(Begun(exists=self.intent.tick in self.begun))

    def fail(self, _: int) -> None:
        if self.intent is not None and self.intent.tick not in self.begun:
            self._settle(NotBegun(why=WHY))

    def put_off(self, seconds: int) -> None:
        if self.intent is not None and self.intent.tick not in self.begun:
            self._settle(PutOff(why=WHY, for_s=seconds))

    def pause(self, _: int) -> None:
        self.found = paused(self.found, self.now, None)

    def resume(self, _: int) -> None:
        self.found = resumed(self.found, self.now, "local", None)

    def step_back(self, seconds: int) -> None:
        self.now -= 5 * seconds * SECOND

    def end_runs(self, _: int) -> None:
        self.live.clear()

    def _settle(self, outcome: Begun | NotBegun | PutOff) -> None:
        assert self.intent is not None
        self._take(settle(self.found, self.now, outcome, holder=self.intent.holder, following=self.holder()))

    def _take(self, done: tuple[Schedule, Intent | None]) -> None:
        self.found, intent = done
        self.intents += [] if intent is None else [intent]

    def check(self) -> None:
        assert read_schedule(load(dump(write_schedule(self.found)))) == self.found
        noted = [record.tick for record in self.found.records if record.outcome == "started"]
        assert len(noted) == len(set(noted)), "a tick is noted as started twice"
        assert set(noted) <= set(self.begun), "a tick is noted as started that has no run"
        assert len(self.found.waiting) <= MOST_TICKS
        assert self.found.next_at is not None
        assert self.now <= looked_at(self.found, self.now) <= self.now + 31 * 86_400 * SECOND


ACTS = (
    *(Story.look, Story.look, Story.create, Story.settle, Story.settle, Story.fail, Story.put_off),
    *(Story.pause, Story.resume, Story.step_back, Story.end_runs),
)
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(min_value=1, max_value=200)), max_size=60)


@given(
    steps=STEPS,
    overlap=st.sampled_from(Overlap),
    catch_up=st.sampled_from(CatchUp),
    every_s=st.integers(10, 120),
    jitter_s=st.integers(0, 9),
)
def test_whatever_happens_no_tick_is_noted_twice_or_without_its_run(
    steps: list[tuple[Callable[[Story, int], None], int]],
    overlap: Overlap,
    catch_up: CatchUp,
    every_s: int,
    jitter_s: int,
) -> None:
    """Time passes between all steps. A process that was too slow cannot create its run."""
    story = Story(schedule(overlap, catch_up, every_s=every_s, jitter_s=jitter_s))
    for act, seconds in steps:
        story.now += seconds * SECOND
        act(story, seconds)
        story.check()


@rows("change", ["outcome", "put off", "pause", "resume", "trigger", "look"])
def test_the_first_change_of_a_schedule_after_a_step_back_corrects_its_next_tick(change: str) -> None:
    """Found by the lab: the outcome of a start hid that the next tick lay an hour ahead."""
    ahead = NOW + 3600 * SECOND
    result, intent = look(replace(schedule(), next_at=ahead), ahead, {}, "a")
    assert intent is not None
    now = NOW + SECOND
    changed = {
        "outcome": lambda: settle(result, now, Begun(exists=True), holder="a", following="b")[0],
        "put off": lambda: settle(result, now, PutOff(why=WHY, for_s=1), holder="a", following="b")[0],
        "pause": lambda: paused(result, now, None),
        "resume": lambda: resumed(replace(result, paused_at=ahead), now, "local", None),
        "trigger": lambda: triggered(result, now, "r", None),
        "look": lambda: look(result, now, {}, "c")[0],
    }[change]()
    assert (changed.next_at, changed.seen_at) == (NOW + MINUTE, now)
