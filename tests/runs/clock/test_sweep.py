"""The sweep: what is on no list is entered again, what lists name for nothing is taken off, everything else stays."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.core.access.model import Scope
from dcf.core.lifecycle.retention import RetentionPolicy
from dcf.core.listing.checks import ListKind
from dcf.errors import StoreUnsuitable
from dcf.runs.clock.sweep import Sweep, SweepReport
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.store.lists.agents import AgentRecord
from dcf.store.lists.assignments import AssignmentIndex
from dcf.store.lists.checks import Listings
from dcf.workforce.crew.assigning import assign
from tests.support.redis.alone import world_alone
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import set_member, write_document
from tests.support.redis.servers import redis_server
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

RIGHT = SweepReport(missing={}, dangling={})


@pytest.fixture
def site(tmp_path: Path) -> Iterator[World]:
    """dcf on a Redis where there is nothing else: the lists of the session's name what other tests left."""
    with world_alone(tmp_path) as world:
        yield world


def sweep(world: World, page: int = 500) -> Sweep:
    return Sweep(Listings(world.connections, page=page))


def furnish(world: World) -> tuple[str, str]:
    """An entry of every list, with a run that continues and an ended run."""
    running, over = world.create(chain("A")), world.create(chain("A"))
    world.do(over, "A")
    world.notifications.pulse()
    world.notifications.pulse()
    assign(world.store, running, {"A": ("agent-1",)}, ())
    world.records.create(AgentRecord(agent_id="agent-1", name="one: of two", tags=("role:worker", "wf:x")))
    AccessKeys(world.connections).create((Scope.READ,), agent_id=None, label=None, life_s=None)
    return running, over


def contents(world: World) -> dict[str, list[bytes]]:
    lists = [keys.RUNS, keys.LIVE, keys.KEY_INDEX, keys.assigned("agent-1")]
    lists += [keys.agents_named("one: of two"), *map(keys.agents_tagged, ("role:worker", "wf:x"))]
    return {key: world.ask("ZRANGE", key, 0, -1, "WITHSCORES") for key in lists}


@rows("repair", [False, True])
def test_lists_that_are_right_are_left_alone(site: World, repair: bool) -> None:
    furnish(site)
    before = contents(site)
    assert sweep(site).look(repair=repair) == RIGHT
    assert contents(site) == before


def test_whatever_no_list_has_is_found_and_entered_where_it_was(site: World) -> None:
    running, over = furnish(site)
    before = contents(site)
    for key in before:
        if key != keys.assigned("agent-1"):  # an agent's assignment is also in the run
            site.ask("DEL", key)
    missing = {ListKind.RUNS: 2, ListKind.LIVE_RUNS: 1, ListKind.API_KEYS: 1, ListKind.AGENTS: 3}
    assert sweep(site).look(repair=False) == SweepReport(missing=missing, dangling={})
    assert site.newest(10) == [], "looking changes nothing"

    assert sweep(site).look(repair=True) == SweepReport(missing=missing, dangling={})
    after = contents(site)
    assert [after[key] for key in before if key != keys.LIVE] == [before[key] for key in before if key != keys.LIVE]
    assert site.index.live() == [running]
    assert over in site.newest(10)
    assert sweep(site).look(repair=True) == RIGHT


def test_a_run_on_no_list_moves_again_after_a_sweep(site: World) -> None:
    run = site.create(chain("A"), agents={"A": "a"})
    site.plane.kick_off(run, "go")
    for key in (keys.RUNS, keys.LIVE, keys.due(run)):
        site.ask("ZREM", key, run)
    site.notifications.pulse()
    assert site.messages("a") == [], "no clock looks at it"
    sweep(site).look(repair=True)
    site.notifications.pulse()
    assert [event["target_state"] for event in site.messages("a")] == ["A"]


@rows("owes", [True, False])
def test_a_run_that_is_over_needs_the_clock_only_as_long_as_it_owes_a_notification(site: World, owes: bool) -> None:
    run = site.create(chain("A"), planner="boss")
    site.do(run, "A")
    if not owes:
        site.notifications.pulse()
    site.ask("ZREM", keys.LIVE, run)
    sweep(site).look(repair=True)
    assert site.is_live(run) is owes


def test_what_lists_name_for_nothing_is_taken_off(site: World) -> None:
    furnish(site)
    before = contents(site)
    agents = (keys.agents_named("one: of two"), keys.agents_tagged("role:worker"))
    for key in (keys.RUNS, keys.LIVE, keys.KEY_INDEX, keys.assigned("agent-1"), *agents):
        site.ask("ZADD", key, 1, "nothing")
    dangling = {
        ListKind.RUNS: 1,
        ListKind.LIVE_RUNS: 1,
        ListKind.API_KEYS: 1,
        ListKind.ASSIGNMENTS: 1,
        ListKind.AGENTS: 2,
    }
    assert sweep(site).look(repair=False) == SweepReport(missing={}, dangling=dangling)
    assert sweep(site).look(repair=True) == SweepReport(missing={}, dangling=dangling)
    assert contents(site) == before
    assert sweep(site).look(repair=True) == RIGHT


def test_what_was_entered_just_now_may_be_there_in_a_moment(site: World) -> None:
    """An agent may even be made for a run that is created hours later."""
    seconds, _ = site.ask("TIME")
    for key in (keys.RUNS, keys.LIVE, keys.KEY_INDEX, keys.agents_named("one")):
        site.ask("ZADD", key, int(seconds) * 1_000_000, "coming")
    site.ask("ZADD", keys.assigned("agent-1"), int(seconds) - 3600, "coming")
    assert sweep(site).look(repair=True) == RIGHT
    assert AssignmentIndex(site.connections).runs_of("agent-1") == ["coming"]


@pytest.mark.parametrize("page", [1, 2, 3])
def test_small_pages_find_the_same(site: World, page: int) -> None:
    for number in range(5):
        site.create(chain("A"))
        site.ask("ZADD", keys.RUNS, number, f"nothing-{number}")
    runs = site.newest(100)
    site.ask("DEL", keys.LIVE)
    look = sweep(site, page).look(repair=True)
    assert look == SweepReport(missing={ListKind.LIVE_RUNS: 5}, dangling={ListKind.RUNS: 5})
    assert set(site.newest(100)) == {run for run in runs if not run.startswith("nothing")}
    assert sweep(site, page).look(repair=True) == RIGHT


def test_documents_damaged_by_hand_do_not_stop_it(site: World) -> None:
    damaged, lost = site.create(chain("A")), site.create(chain("A"))
    site.ask("DEL", keys.RunKeys(damaged).meta)
    site.ask("SET", keys.RunKeys(damaged).meta, "text")
    site.ask("ZREM", keys.LIVE, lost)
    write_document(site.ask, keys.agent("damaged"), {"name": 5})
    set_member(site.ask, keys.RunKeys(site.create(chain("A"))).meta, "created_at", "long ago")
    assert sweep(site).look(repair=True) == SweepReport(missing={ListKind.LIVE_RUNS: 1}, dangling={})


# Next to the timer loop


def test_one_process_sweeps_and_the_others_leave_it_to_it(site: World) -> None:
    run = site.create(chain("A"))
    site.ask("ZREM", keys.LIVE, run)
    first, second = sweep(site), sweep(site)
    assert first.step() == 1
    assert site.is_live(run)
    site.ask("ZREM", keys.LIVE, run)
    assert (first.step(), second.step()) == (0, 0), "the next time in an hour"
    assert 0 < site.ask("TTL", keys.SWEEP) <= 3600


class ExpiresBetween(Connections):
    """The claim of the last sweep expires between the commands of a packet."""

    def send(self, *commands: Command) -> list[Reply]:
        replies: list[Reply] = []
        for command in commands:
            replies += super().send(command)
            super().send(("DEL", keys.SWEEP))
        return replies


def test_a_claim_that_expires_while_a_process_asks_leaves_the_sweep_to_this_process(site: World) -> None:
    site.ask("SET", keys.SWEEP, "1")
    assert Listings(ExpiresBetween(site.connections._pool)).take_turn(3600)


def test_a_long_sweep_goes_on_step_by_step(site: World) -> None:
    runs = [site.create(chain("A")) for _ in range(30)]
    site.ask("DEL", keys.LIVE)
    item = sweep(site, page=1)
    result = [item.step()]
    assert result[0] < len(runs)
    while sum(result) < len(runs):
        result.append(item.step())
    assert set(site.index.live()) == set(runs)


def test_a_sweep_of_over_an_hour_is_left_to_the_process_that_continues_it(site: World) -> None:
    for _ in range(30):
        site.create(chain("A"))
    item = sweep(site, page=1)
    item.step()
    site.ask("EXPIRE", keys.SWEEP, 5)
    item.step()
    assert site.ask("TTL", keys.SWEEP) > 3500


def test_a_step_of_a_sweep_looks_at_some_pages_however_much_there_is(site: World) -> None:
    for _ in range(200):
        site.create(chain("A"))
    counting = CountingPool(site.connections._pool)
    sweep = Sweep(Listings(Connections(counting), page=5))
    with counting.counted() as packets:
        sweep.step()
    assert 0 < len(packets) <= 50
    assert all(len(packet) <= 100 for packet in packets)


def test_asking_whether_it_is_time_costs_nothing_at_every_tick(site: World) -> None:
    counting = CountingPool(site.connections._pool)
    sweep = Sweep(Listings(Connections(counting)))
    while sweep.step() or not site.ask("EXISTS", keys.SWEEP):
        pass
    sweep.step()
    with counting.counted() as packets:
        assert sweep.step() == 0
    assert packets == []


def test_a_user_who_may_not_see_all_keys_is_told_so(tmp_path: Path) -> None:
    options = ("--user", "old", "on", ">x", "~*", "&*", "+@all", "-scan")
    with redis_server(tmp_path, *options) as port:
        connections = Connections(open_pool(f"redis://old:x@127.0.0.1:{port}"))
        with pytest.raises(StoreUnsuitable):
            Sweep(Listings(connections)).look(repair=False)
        connections.close()


# The list of runs


def facet_lists(world: World) -> dict[bytes, list[bytes]]:
    result = [key for key in world.ask("KEYS", "cp:idx:runs:*") if key != keys.STUCK.encode()]
    return {key: world.ask("ZRANGE", key, 0, -1, "WITHSCORES") for key in result}


def test_runs_of_an_earlier_version_are_listed_under_what_they_are(site: World) -> None:
    running = site.create(chain("A") | {"version": "1.0"}, agents={"A": ("a", "b")})
    over = site.create(chain("A", "B"))
    site.finalize(over)
    site.notifications.pulse()
    before = facet_lists(site)
    assert len(before) == 2 + 1 + 3 + 3, "statuses, workflow, versions, agents, and that anybody may take a Task"
    for key in before:
        site.ask("DEL", key)
    missing = {ListKind.CATALOG: 6 + 4}
    assert sweep(site).look(repair=True) == SweepReport(missing=missing, dangling={})
    assert facet_lists(site) == before
    assert site.ask("ZSCORE", keys.runs_by("status", "running"), running) is not None
    assert sweep(site).look(repair=True) == RIGHT


def test_a_sweep_lets_an_ended_run_of_an_earlier_version_finalize_itself(tmp_path: Path) -> None:
    with world_alone(tmp_path, policy=RetentionPolicy(finalize_after_s=3600)) as world:
        run = world.create(chain("A"))
        world.do(run, "A")
        world.notifications.pulse()
        world.notifications.pulse()
        for key in (*map(bytes.decode, facet_lists(world)), keys.due(run)):
            world.ask("ZREM", key, run)
        sweep(world).look(repair=True)
        set_member(world.ask, keys.RunKeys(run).meta, "finished_at", "2020-01-01T00:00:00Z")
        world.notifications.pulse()
        assert world.meta(run)["finalized_at"] is not None


def test_lists_of_runs_do_not_keep_what_is_gone(site: World) -> None:
    site.create(chain("A"), agents={"A": "a"})
    before = facet_lists(site)
    for key in (*before, keys.STUCK.encode()):
        site.ask("ZADD", key, 1, "nothing")
    dangling = {ListKind.CATALOG: len(before) + 1}
    assert sweep(site).look(repair=True) == SweepReport(missing={}, dangling=dangling)
    assert facet_lists(site) == before
    assert site.ask("EXISTS", keys.STUCK) == 0
