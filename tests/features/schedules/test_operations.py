"""Schedules on the real server: each tick starts its run once, for any looks and deaths; the rest is recorded."""

from collections.abc import Callable, Iterator

import pytest

from dcf.core.access.model import Scope
from dcf.core.definitions.model import read_definition
from dcf.errors import StoreUnavailable
from dcf.features.schedules import keys as schedule_keys
from dcf.features.schedules.model import CatchUp, Overlap, Schedule
from dcf.features.schedules.operations import Triggered
from dcf.features.schedules.ticking import START_S
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND, to_text
from tests.support.agents.faults import Died
from tests.support.ahead import Ahead, let_pass
from tests.support.racing import race
from tests.support.redis.documents import add_to_member, read_text, set_member
from tests.support.redis.proxy import Fault, Proxy
from tests.support.tables import rows
from tests.support.trouble import Killed, Killer
from tests.support.workflows.machines import chain
from tests.support.world import World

MINUTE = 60
HOUR = 60 * MINUTE


class Death(Killer):
    """Kills like the process's end: nothing catches it."""

    def __call__(self) -> None:
        try:
            super().__call__()
        except Killed:
            raise Died from None


def dies_at(world: World, commit: int, schedule: Schedule) -> bool:
    """Look at a schedule in a process that dies before its commit of this number; whether it came so far."""
    assert isinstance(world.before_commit, Death)
    try:
        with world.before_commit.before_commit(commit):
            world.schedules.look(schedule.name)
    except Died:
        return True
    return False


@pytest.fixture
def world(real_connections: Connections, onlooker: Connections) -> Iterator[World]:
    """dcf on the real server, with time that a test lets pass, and a killer before every commit."""
    world = World(connections=real_connections, onlooker=onlooker, clock=Ahead(), before_commit=Death())
    yield world
    world.close()


def outcomes(world: World, name: str) -> list[tuple[str, str | None]]:
    return [(record.outcome, record.why) for record in world.schedules.read(name).records]


def at_tick(world: World, schedule: Schedule) -> None:
    """Let time pass to just after the next tick."""
    assert world.clock is not None
    at = world.schedules.read(schedule.name).next_at
    seconds, micros = world.ask("TIME")
    world.clock.passed = (at or 0) - int(seconds) * SECOND - int(micros) + SECOND


def backdate(world: World, schedule: Schedule, seconds: int) -> None:
    """As if the next tick had been so long before it."""
    add_to_member(world.ask, schedule_keys.schedule(schedule.name), "next_at", -seconds * SECOND)


def end_intent(world: World, schedule: Schedule) -> None:
    """As if the time of the process that starts a run had passed."""
    if world.schedules.read(schedule.name).starting is not None:
        set_member(world.ask, schedule_keys.schedule(schedule.name), ("starting", "until"), 1)


def test_a_tick_starts_a_run_that_names_its_schedule(world: World) -> None:
    made = world.plan(chain("A"), run_input={"n": 1}, agents={"A": "w"}, tags=("nightly",))
    world.schedules.look(made.name)
    assert world.runs_of(made.name) == []
    at_tick(world, made)
    assert world.schedules.look(made.name) == 1
    (run,) = world.runs_of(made.name)
    assert run == made.run_at(made.next_at or 0)
    meta = world.meta(run)
    assert (meta["input"], meta["tags"], meta["created_by"]) == (
        {"n": 1},
        ["nightly", f"schedule:{made.name}"],
        "local",
    )
    (created,) = [event for event in world.events(run) if event.type == "RunCreated"]
    assert created.data["reason"] == f"Schedule {made.name}, tick {to_text(made.next_at or 0)[:19]}Z."
    after = world.schedules.read(made.name)
    assert (after.next_at, after.started) == ((made.next_at or 0) + MINUTE * SECOND, 1)
    assert [(record.outcome, record.tick, record.run) for record in after.records] == [("started", made.next_at, run)]


@rows("commit", range(6))
def test_a_process_that_dies_before_a_commit_leaves_a_tick_that_starts_once(world: World, commit: int) -> None:
    made = world.plan(chain("A"))
    at_tick(world, made)
    died = dies_at(world, commit, made)
    assert died == (commit < 3), "a start has three commits: the intent, the run, the outcome"
    world.schedules.look(made.name)
    let_pass(world, START_S + 1)  # the dead process's intent has expired
    world.schedules.look(made.name)
    assert world.runs_of(made.name) == [made.run_at(made.next_at or 0)]
    after = world.schedules.read(made.name)
    assert outcomes(world, made.name) == [("started", None)]
    assert (after.started, after.starting, after.waiting) == (1, None, ())


def test_a_start_that_another_clock_has_under_way_is_left_alone(world: World) -> None:
    made = world.plan(chain("A"))
    at_tick(world, made)
    assert dies_at(world, 1, made)
    before = read_text(world.ask, schedule_keys.schedule(made.name))
    assert world.schedules.look(made.name) == 0
    assert read_text(world.ask, schedule_keys.schedule(made.name)) == before
    assert world.runs_of(made.name) == []


def test_a_clock_that_was_too_slow_starts_nothing_any_more(world: World) -> None:
    """Even if the run has ended and was deleted in the meantime, so that it would not be found."""
    made = world.plan(chain("A"))
    at_tick(world, made)

    class Slow:
        """Stands before the commits of the slow process: the second creates the run."""

        def __init__(self) -> None:
            self.commits = 0

        def __call__(self) -> None:
            self.commits += 1
            if self.commits == 2:
                let_pass(world, START_S + 1)
                world.schedules.look(made.name)
                (run,) = world.runs_of(made.name)
                world.do(run, "A")
                world.notifications.pulse()
                world.retention.delete(run)

    slow = World(connections=world.connections, onlooker=world.onlooker, clock=world.clock, before_commit=Slow())
    slow.schedules.look(made.name)
    (run,) = world.runs
    assert world.keys_of(run) == []
    assert outcomes(world, made.name) == [("started", None)]


def test_many_clocks_at_once_start_each_tick_once(world: World, worlds: Callable[..., World]) -> None:
    made = world.plan(chain("A"), overlap=Overlap.ALLOW, catch_up=CatchUp.ALL, every_s=HOUR)
    backdate(world, made, 200 * HOUR)
    clocks = [worlds() for _ in range(4)]

    def look(number: int) -> int:
        return sum(clocks[number].schedules.look(made.name) for _ in range(10))

    assert sum(race(4, look)) == len(world.runs_of(made.name)) == 100
    after = world.schedules.read(made.name)
    assert (after.started, after.waiting, after.starting) == (100, (), None)


@rows("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
@rows("packet", range(9))
def test_a_connection_that_breaks_in_a_look_leaves_a_tick_that_starts_once(
    real: World, worlds: Callable[..., World], proxy: Proxy, packet: int, fault: Fault
) -> None:
    made = real.plan(chain("A"))
    backdate(real, made, MINUTE)
    through = worlds(proxy.url)
    through.index.live()
    proxy.plan(fault, None, before=packet)
    try:
        through.schedules.look(made.name)
    except StoreUnavailable:
        end_intent(real, made)
    assert proxy.is_spent == (packet < 8), "a start has so many packets"
    real.schedules.look(made.name)
    assert len(real.runs_of(made.name)) == 1
    assert outcomes(real, made.name) == [("started", None)]


def test_who_loses_the_reply_to_an_outcome_goes_on_with_the_next_start(
    real: World, worlds: Callable[..., World], proxy: Proxy
) -> None:
    made = real.plan(chain("A"), overlap=Overlap.ALLOW, catch_up=CatchUp.ALL)
    backdate(real, made, 2 * MINUTE)
    through = worlds(proxy.url)
    through.index.live()
    proxy.plan(Fault.LOSE_REPLY, "EXEC", before=2)
    assert through.schedules.look(made.name) == 2
    assert proxy.is_spent
    assert outcomes(real, made.name) == [("started", None)] * 2
    assert len(real.runs_of(made.name)) == 2


@rows("overlap", Overlap)
def test_what_a_tick_does_while_a_run_goes_on(world: World, overlap: Overlap) -> None:
    made = world.plan(chain("A"), overlap=overlap)
    for _ in range(2):
        at_tick(world, made)
        world.schedules.look(made.name)
    runs = world.runs_of(made.name)
    after = world.schedules.read(made.name)
    second = {Overlap.SKIP: ("skipped", "overlap"), Overlap.ALLOW: ("started", None)}
    assert outcomes(world, made.name) == [("started", None), *([second[overlap]] if overlap in second else [])]
    assert len(runs) == (2 if overlap is Overlap.ALLOW else 1)
    assert len(after.waiting) == (overlap is Overlap.QUEUE)
    world.do(runs[0], "A")
    let_pass(world, 3)
    world.schedules.look(made.name)
    assert len(world.runs_of(made.name)) == {Overlap.SKIP: 1, Overlap.QUEUE: 2, Overlap.ALLOW: 2}[overlap]


def test_a_look_that_changes_nothing_writes_when_the_next_is_and_not_the_document(world: World) -> None:
    made = world.plan(chain("A"), overlap=Overlap.QUEUE)
    for _ in range(2):
        at_tick(world, made)
        world.schedules.look(made.name)
    waits = world.schedules.read(made.name)
    looked_at = world.ask("ZSCORE", schedule_keys.SCHEDULES, made.name)
    let_pass(world, 3)
    world.schedules.look(made.name)
    assert world.schedules.read(made.name) == waits
    assert float(world.ask("ZSCORE", schedule_keys.SCHEDULES, made.name)) > float(looked_at)


@rows(("catch_up", "runs", "missed"), [(CatchUp.NONE, 0, 10), (CatchUp.ONE, 1, 9), (CatchUp.ALL, 10, 0)])
def test_what_was_missed_while_no_clock_ran_is_caught_up_as_the_schedule_says(
    world: World, catch_up: CatchUp, runs: int, missed: int
) -> None:
    made = world.plan(chain("A"), every_s=600, catch_up=catch_up, overlap=Overlap.ALLOW)
    let_pass(world, 6000 + 120)
    world.schedules.look(made.name)
    assert len(world.runs_of(made.name)) == runs
    after = world.schedules.read(made.name)
    assert (after.started, after.skipped) == (runs, missed)
    assert [record.count for record in after.records if record.why == "missed"] == [missed] * bool(missed)


def test_a_paused_schedule_starts_nothing_until_it_is_resumed(world: World) -> None:
    made = world.plan(chain("A"))
    world.schedules.pause(made.name, reason="holidays")
    let_pass(world, 600)
    world.schedules.look(made.name)
    assert world.runs_of(made.name) == []
    world.schedules.resume(made.name, "local")
    world.schedules.look(made.name)
    assert world.runs_of(made.name) == []
    assert outcomes(world, made.name) == [("paused", None), ("resumed", None), ("skipped", "missed")]
    at_tick(world, made)
    world.schedules.look(made.name)
    assert len(world.runs_of(made.name)) == 1


def test_after_the_clock_of_the_server_stepped_back_no_tick_is_started_again(world: World) -> None:
    made = world.plan(chain("A"), overlap=Overlap.ALLOW, every_s=600)
    first = made.next_at or 0
    for _ in range(6):
        at_tick(world, made)
        world.schedules.look(made.name)
    ahead = world.schedules.read(made.name)
    assert world.clock is not None
    world.clock.passed -= 1800 * SECOND
    world.schedules.look(made.name)
    back = world.schedules.read(made.name)
    assert (back.next_at or 0) < (ahead.next_at or 0)
    for _ in range(5):
        at_tick(world, made)
        world.schedules.look(made.name)
    assert world.runs_of(made.name) == [made.run_at(first + number * 600 * SECOND) for number in range(8)]
    assert world.schedules.read(made.name).started == 8


def test_a_trigger_starts_a_run_at_once_and_its_repetition_finds_it(world: World) -> None:
    made = world.plan(chain("A"))
    ids = {_triggered(world, made, "r1"), _triggered(world, made, "r1"), _triggered(world, made, "r2")}
    assert set(world.runs_of(made.name)) == ids
    assert len(ids) == 2
    assert outcomes(world, made.name) == [("triggered", None)] * 2
    at_tick(world, made)
    world.schedules.look(made.name)
    assert outcomes(world, made.name)[-1] == ("skipped", "overlap")


def _triggered(world: World, schedule: Schedule, request: str) -> str:
    answer = world.schedules.trigger(schedule.name, "local", request_id=request)
    assert isinstance(answer, Triggered), answer
    return answer.workflow_id


def test_a_schedule_that_is_deleted_leaves_its_runs_and_nothing_else(world: World) -> None:
    made = world.plan(chain("A"))
    at_tick(world, made)
    world.schedules.look(made.name)
    assert world.schedules.delete(made.name)
    assert not world.schedules.delete(made.name)
    assert len(world.runs_of(made.name)) == 1
    left = [key for key in world.ask("KEYS", "cp:idx:schedule*") if made.name.encode() in key]
    assert left == []
    for index in (schedule_keys.SCHEDULES, schedule_keys.TROUBLED, schedule_keys.schedules_of("local")):
        assert world.ask("ZSCORE", index, made.name) is None


def test_a_schedule_whose_document_is_gone_leaves_the_list_at_the_next_look(world: World) -> None:
    made = world.plan(chain("A"))
    world.ask("DEL", schedule_keys.schedule(made.name))
    world.schedules.look(made.name)
    assert world.ask("ZSCORE", schedule_keys.SCHEDULES, made.name) is None


def test_a_schedule_reports_a_missing_definition_and_continues_when_it_is_back(world: World) -> None:
    document = chain("A")
    made = world.plan(document)
    world.ask("DEL", keys.definition(made.workflow))
    at_tick(world, made)
    world.schedules.look(made.name)
    after = world.schedules.read(made.name)
    assert after.trouble is not None
    assert (after.trouble.code, after.failed, after.is_troubled) == ("unknown_definition", 1, True)
    assert world.ask("ZSCORE", schedule_keys.TROUBLED, made.name) is not None
    worker = World(connections=world.connections)
    assert worker.starting.keep(read_definition(document)) is None
    at_tick(world, made)
    world.schedules.look(made.name)
    assert not world.schedules.read(made.name).is_troubled
    assert world.ask("ZSCORE", schedule_keys.TROUBLED, made.name) is None


def test_a_schedule_that_ticks_once_a_year_keeps_its_definition(world: World) -> None:
    made = world.plan(chain("A"), cron="0 0 29 2 *", every_s=None)
    due = int(world.ask("ZSCORE", schedule_keys.SCHEDULES, made.name))
    assert due - made.created_at <= 31 * 86_400 * SECOND
    world.ask("EXPIRE", keys.definition(made.workflow), 100)
    world.schedules.look(made.name)
    assert world.ask("TTL", keys.definition(made.workflow)) > 80 * 86_400


def test_the_runs_of_a_schedule_count_for_the_key_that_created_it_and_stop_with_it(world: World) -> None:
    key = world.access.create((Scope.READ, Scope.PLAN), agent_id=None, label=None, life_s=None)
    made = world.plan(chain("A"), by=f"key:{key.record.key_id}", overlap=Overlap.ALLOW)
    at_tick(world, made)
    world.schedules.look(made.name)
    (run,) = world.runs_of(made.name)
    assert world.meta(run)["created_by"] == f"key:{key.record.key_id}"
    assert world.ask("ZSCORE", keys.quota(key.record.key_id, "live"), run) is not None
    world.access.revoke(key.record.key_id)
    at_tick(world, made)
    world.schedules.look(made.name)
    stopped = world.schedules.read(made.name)
    assert (stopped.status, outcomes(world, made.name)[-1]) == ("stopped", ("failed", "key_invalid"))
    at_tick(world, made)
    world.schedules.look(made.name)
    assert len(world.runs_of(made.name)) == 1
    resumed = world.schedules.resume(made.name, "local")
    assert (resumed.status, resumed.created_by) == ("active", "local")
    assert world.ask("ZSCORE", schedule_keys.schedules_of("local"), made.name) is not None


def test_a_start_beyond_a_quota_fails_and_says_which(world: World) -> None:
    key = world.access.create((Scope.PLAN,), agent_id=None, label=None, life_s=None, quotas={"live_runs": 1})
    made = world.plan(chain("A"), by=f"key:{key.record.key_id}", overlap=Overlap.ALLOW)
    for _ in range(2):
        at_tick(world, made)
        world.schedules.look(made.name)
    assert outcomes(world, made.name) == [("started", None), ("failed", "quota_exceeded")]


def test_a_start_waits_while_the_rate_of_its_key_is_used_up(world: World) -> None:
    key = world.access.create((Scope.PLAN,), agent_id=None, label=None, life_s=None)
    made = world.plan(chain("A"), by=f"key:{key.record.key_id}")
    at_tick(world, made)
    world.ask("HSET", keys.rate(key.record.key_id), "calls", "-500", "events", "1", "at", "9999999999")
    world.schedules.look(made.name)
    waits = world.schedules.read(made.name)
    assert waits.is_troubled
    assert waits.starting is not None
    assert waits.starting.trouble is not None
    assert waits.starting.trouble.code == "rate_limited"
    assert world.runs_of(made.name) == []
    world.ask("DEL", keys.rate(key.record.key_id))
    let_pass(world, 7)
    world.schedules.look(made.name)
    assert len(world.runs_of(made.name)) == 1


def test_the_clock_of_a_process_starts_what_is_due(real: World) -> None:
    made = real.plan(chain("A"))
    backdate(real, made, 61)
    real.ask("ZADD", schedule_keys.SCHEDULES, 1, made.name)
    real.notifications.pulse()
    assert len(real.runs_of(made.name)) == 1


def test_one_damaged_schedule_does_not_stop_the_others(real: World) -> None:
    broken, good = real.plan(chain("A")), real.plan(chain("A"))
    set_member(real.ask, schedule_keys.schedule(broken.name), "timing", 7)
    backdate(real, good, 61)
    for name in (broken.name, good.name):
        real.ask("ZADD", schedule_keys.SCHEDULES, 1, name)
    real.notifications.pulse()
    assert len(real.runs_of(good.name)) == 1
    assert real.schedules.delete(broken.name)


def test_a_clock_that_read_a_schedule_before_a_step_back_writes_no_later_time(
    world: World, real_connections: Connections, onlooker: Connections
) -> None:
    made = world.plan(chain("A"), every_s=MINUTE)
    early = Ahead(passed=3600 * SECOND)

    def step_back() -> None:
        if early.passed:
            early.passed = 0
            world.schedules.look(made.name, has_stepped_back=True)

    slow = World(connections=real_connections, onlooker=onlooker, clock=early, before_commit=step_back)
    slow.schedules.look(made.name)
    assert early.passed == 0, "the time stepped back between its reading and its commit"
    assert world.schedules.read(made.name).seen_at < made.created_at + MINUTE * SECOND
    assert float(world.ask("ZSCORE", schedule_keys.SCHEDULES, made.name)) < made.created_at + 2 * MINUTE * SECOND


def test_a_clock_that_steps_forward_and_back_delays_no_schedule(world: World) -> None:
    made = world.plan(chain("A"), every_s=MINUTE)
    clock, key = world.relay().clock, schedule_keys.SCHEDULES
    clock.pulse()
    world.ask("ZADD", key, 0, made.name)
    let_pass(world, 3600)
    clock.pulse()
    assert float(world.ask("ZSCORE", key, made.name)) > made.created_at + 3600 * SECOND
    assert world.clock is not None
    world.clock.passed = 0
    clock.pulse()
    assert float(world.ask("ZSCORE", key, made.name)) < made.created_at + 2 * MINUTE * SECOND
