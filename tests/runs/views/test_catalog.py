"""The list of runs: filters, pages and counts, on the real server."""

import uuid
from typing import Any

import pytest

from dcf.core.documents.model import RunStatus
from dcf.core.leasing.stuck import STUCK_REMINDERS
from dcf.core.listing.runs import Facet, RunPage, RunQuery, read_cursor
from dcf.errors import InvalidArgument
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.store.lists.pages import Catalog
from dcf.values.instants import from_text
from dcf.workforce.crew.assigning import assign
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World


def named(workflow: str, *states: str, version: str | None = None) -> Document:
    document = chain(*(states or ("A",))) | {"workflow_name": workflow}
    return document if version is None else document | {"version": version}


@pytest.fixture
def mine() -> str:
    """A workflow's name that no other test uses: the session's Redis has their runs too."""
    return f"list-{uuid.uuid4().hex[:8]}"


def page(world: World, limit: int = 50, **query: Any) -> RunPage:
    return Catalog(world.connections).page(RunQuery(limit=limit, **query))


def ids(run_page: RunPage) -> list[str]:
    return [row.workflow_id for row in run_page.rows]


def every(world: World, limit: int, **query: Any) -> list[str]:
    """All pages, one after the other."""
    every: list[str] = []
    cursor = None
    while True:
        item = page(world, limit, cursor=cursor, **query)
        every += ids(item)
        if item.next_cursor is None:
            return every
        cursor = read_cursor(str(item.next_cursor))


# What a row says


def test_a_run_is_listed_with_its_status_workflow_version_and_progress(real: World, mine: str) -> None:
    run = real.create(named(mine, "A", "B", version="1.2.0"))
    real.do(run, "A")
    (row,) = page(real, workflow=mine).rows
    meta = real.meta(run)
    assert row.as_json() == {
        "workflow_id": run,
        "workflow_name": mine,
        "version": "1.2.0",
        "definition": meta["definition_sha256"][:8],
        "status": "running",
        "paused": False,
        "blocked": False,
        "stuck": False,
        "states_done": 1,
        "states": 2,
        "tags": [],
        "created_at": meta["created_at"],
        "finished_at": None,
        "finalized": False,
        "hold": False,
        "parent": None,
        "project": None,
    }


def test_the_states_of_a_wide_workflow_are_not_counted(real: World, mine: str) -> None:
    real.create(named(mine, *(f"S{number}" for number in range(101))))
    (row,) = page(real, workflow=mine).rows
    assert (row.states, row.states_done) == (None, None)


def test_the_newest_runs_come_first(real: World, mine: str) -> None:
    runs = [real.create(named(mine)) for _ in range(5)]
    assert ids(page(real, workflow=mine)) == runs[::-1]
    assert ids(page(real, 3)) == runs[:1:-1]


def test_a_damaged_run_does_not_hide_the_others(real: World) -> None:
    good, damaged = real.create(chain("A")), real.create(chain("A"))
    meta = real.store.keys(damaged).meta
    real.ask("DEL", meta)
    real.ask("SET", meta, "text")
    result = page(real, 2)
    assert [(row.workflow_id, str(row.status)) for row in result.rows] == [(damaged, "unreadable"), (good, "running")]


@pytest.mark.parametrize("status", [["running"], "strange", 5, None])
def test_a_status_that_is_none_is_shown_as_unreadable(real: World, mine: str, status: object) -> None:
    run = real.create(named(mine))
    set_member(real.ask, real.store.keys(run).meta, "status", status)
    (row,) = page(real, workflow=mine).rows
    assert row.status == "unreadable"


# Filters


def test_runs_are_found_by_each_status_they_come_to(real: World, mine: str) -> None:
    running, ended, cancelled, failed = (real.create(named(mine), max_attempts=1) for _ in range(4))
    real.do(ended, "A")
    real.finalize(cancelled)
    real.fail(failed, "A", real.acquire(failed, "A"))
    expected = {"running": [running], "succeeded": [ended], "cancelled": [cancelled], "failed": [failed], "partial": []}
    for _ in range(2):  # before and after the clock took them off the list of running ones
        for status, runs in expected.items():
            assert ids(page(real, workflow=mine, status=RunStatus(status))) == runs
            listed = real.ask("ZRANGE", keys.runs_by("status", status), 0, -1)
            assert {run.encode() for run in runs} <= set(listed)
        real.notifications.pulse()
    still = set(real.ask("ZRANGE", keys.runs_by("status", "running"), 0, -1))
    assert still.isdisjoint({ended.encode(), cancelled.encode(), failed.encode()})
    assert running.encode() in still


def test_versions_of_a_workflow_are_told_apart_by_number_and_by_hash(real: World, mine: str) -> None:
    old = real.create(named(mine, "A", version="1.0.0"))
    new = real.create(named(mine, "A", "B", version="2.0.0"))
    sha = real.meta(new)["definition_sha256"]
    assert ids(page(real, workflow=mine, version="1.0.0")) == [old]
    for version in ("2.0.0", sha, sha[:8], sha[:20]):
        assert ids(page(real, workflow=mine, version=version)) == [new]
    wrong = sha[:8] + ("0" if sha[8] != "0" else "1")
    assert ids(page(real, workflow=mine, version=wrong)) == []


def test_runs_are_found_by_an_agent_that_is_assigned_alone_or_in_a_pool_or_later(real: World, mine: str) -> None:
    alone, pool, later, never = (
        real.create(named(mine), agents=agents)
        for agents in ({"A": f"{mine}-a"}, {"A": ("x", f"{mine}-a")}, {"A": "x"}, {"A": "x"})
    )
    assert ids(page(real, agent=f"{mine}-a")) == [pool, alone]
    set_member(real.ask, real.store.keys(alone).meta, "agents", {"A": "x"})
    assign(real.store, later, {"A": (f"{mine}-a",)}, ("x",))
    assert ids(page(real, agent=f"{mine}-a")) == [later, pool], "who is assigned no longer is left out"
    assert never not in ids(page(real, agent=f"{mine}-a"))


def test_runs_are_found_by_a_tag(real: World, mine: str) -> None:
    run = real.create(named(mine))
    real.create(named(mine))
    key = real.store.keys(run).meta
    set_member(real.ask, key, "tags", [mine, "b/c %"])
    for tag in (mine, "b/c %"):
        real.ask("ZADD", keys.runs_by(Facet.TAG, tag), 1, run)
        assert ids(page(real, workflow=mine, tag=tag)) == [run]
    (row,) = page(real, tag=mine).rows
    assert row.tags == (mine, "b/c %")


def test_runs_are_found_by_the_time_of_their_creation(real: World, mine: str) -> None:
    runs = [real.create(named(mine)) for _ in range(4)]
    times = [from_text(real.meta(run)["created_at"]) for run in runs]
    result = page(real, workflow=mine, since=times[1], until=times[3])
    assert ids(result) == [runs[2], runs[1]]
    assert result.matching == 2
    assert every(real, 1, workflow=mine, since=times[1], until=times[3]) == [runs[2], runs[1]]


def test_several_filters_hold_together(real: World, mine: str) -> None:
    create = real.create(named(mine, "A"), agents={"A": f"{mine}-a"})
    real.create(named(mine, "A"))
    other = real.create(named(f"{mine}-x", "A"), agents={"A": f"{mine}-a"})
    over = real.create(named(mine, "A"), agents={"A": f"{mine}-a"})
    real.do(over, "A", f"{mine}-a")
    result = page(real, workflow=mine, agent=f"{mine}-a", status=RunStatus.RUNNING)
    assert ids(result) == [create]
    assert (result.matching, result.next_cursor) == (None, None)
    assert ids(page(real, agent=f"{mine}-a", status=RunStatus.RUNNING)) == [other, create]


# Pages


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_pages_of_any_length_have_each_run_once(real: World, mine: str, limit: int) -> None:
    runs = [real.create(named(mine)) for _ in range(7)]
    assert every(real, limit, workflow=mine) == runs[::-1]


def test_runs_that_come_and_go_between_pages_neither_hide_nor_repeat_others(real: World, mine: str) -> None:
    runs = [real.create(named(mine)) for _ in range(8)]
    first = page(real, 3, workflow=mine)
    assert ids(first) == runs[:4:-1]
    removed = (runs[5], runs[4], runs[0])  # the last one of the page before, too
    for run in removed:
        real.ask("DEL", real.store.keys(run).meta)
        real.ask("ZREM", keys.runs_by(Facet.WORKFLOW, mine), run)
    real.create(named(mine))
    second = page(real, 3, workflow=mine, cursor=first.next_cursor)
    assert ids(second) == [runs[3], runs[2], runs[1]]
    assert second.next_cursor is None


@pytest.mark.parametrize("status", [None, RunStatus.RUNNING])
def test_runs_of_the_same_moment_are_paged_too(real: World, mine: str, status: RunStatus | None) -> None:
    runs = sorted(real.create(named(mine)) for _ in range(40))
    for run in runs:
        for key in (keys.runs_by(Facet.WORKFLOW, mine), keys.runs_by(Facet.STATUS, "running")):
            real.ask("ZADD", key, 1, run)
    assert every(real, 2, workflow=mine, status=status) == runs[::-1]


def test_more_runs_of_one_moment_than_a_page_looks_at_do_not_stop_the_pages(
    real: World, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = real.create(named(mine))
    for number in range(20):
        real.ask("ZADD", keys.runs_by(Facet.WORKFLOW, mine), 2**52, f"{mine}-{number}")
    monkeypatch.setattr("dcf.store.lists.pages._LOOKED_AT", 5)
    assert every(real, 2, workflow=mine) == [old]


def test_stale_entries_make_a_page_short_and_never_endless(real: World, mine: str) -> None:
    run = real.create(named(mine))
    for number in range(100):
        real.ask("ZADD", keys.runs_by(Facet.WORKFLOW, mine), 2**52 + number // 40, f"{mine}-{number}")
    first = page(real, 2, workflow=mine)
    assert first.rows == ()
    assert first.next_cursor is not None
    assert every(real, 2, workflow=mine) == [run]


@rows("text", ["", "x", "1", "1:", ":a", "-1:a", "1:a b", "1:a\n", "9" * 17 + ":a", f"1:{'a' * 65}"])
def test_a_cursor_that_no_answer_gave_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        read_cursor(text)


def test_a_page_with_several_filters_looks_at_some_entries_and_the_next_goes_on(
    real: World, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [real.create(named(mine), agents={"A": f"{mine}-{number % 4}"}) for number in range(16)]
    for run in runs[8:]:
        real.do(run, "A", f"{mine}-{runs.index(run) % 4}")
    query = {"workflow": mine, "agent": f"{mine}-1", "status": RunStatus.RUNNING}
    expected = [run for number, run in enumerate(runs[:8]) if number % 4 == 1][::-1]
    monkeypatch.setattr("dcf.store.lists.pages._LOOKED_AT", 3)
    first = page(real, 5, **query)
    assert len(first.rows) < len(expected), "the newest three of its agent are over"
    assert every(real, 5, **query) == expected
    assert every(real, 1, **query) == expected


# Counts and cost


def test_runs_are_counted_by_status(real: World, mine: str) -> None:
    before = page(real, 1).counts
    runs = [real.create(named(mine)) for _ in range(3)]
    real.do(runs[0], "A")
    real.notifications.pulse()
    after = page(real, 1, workflow=mine)
    assert after.matching == 3
    assert after.counts.runs - before.runs == 3
    gained = {name: after.counts.by_status[name] - before.by_status[name] for name in ("running", "succeeded")}
    assert gained == {"running": 2, "succeeded": 1}


def test_a_run_that_no_clock_has_looked_at_is_counted_once_by_what_it_says(real: World, mine: str) -> None:
    catalog = Catalog(real.connections)
    real.notifications.pulse()
    listed = page(real, 1).counts
    before = catalog.counted_once(listed).by_status
    ended, failed, goes_on, _ = (real.create(named(mine), max_attempts=1) for _ in range(4))
    real.do(ended, "A")
    for run in (failed, goes_on):
        real.fail(run, "A", real.acquire(run, "A"))
    real.retrying.retry(goes_on)
    counts = page(real, 1).counts
    gained = {name: count - before[name] for name, count in catalog.counted_once(counts).by_status.items()}
    assert {name: count for name, count in gained.items() if count} == {"running": 2, "succeeded": 1, "failed": 1}
    assert sum(counts.by_status.values()) - sum(listed.by_status.values()) == 4 + 3


@rows("filters", [{}, {"status": RunStatus.RUNNING}, {"workflow": "x", "agent": "y"}])
def test_a_page_takes_three_round_trips_at_most(real: World, mine: str, filters: dict[str, Any]) -> None:
    for _ in range(20):
        real.create(named(mine))
    query = filters if "agent" not in filters else {"workflow": mine, "status": RunStatus.RUNNING, "since": 1}
    counting = CountingPool(real.connections._pool)
    with counting.counted() as packets:
        page = Catalog(Connections(counting)).page(RunQuery(limit=10, **query))
    assert len(page.rows) == 10
    assert len(packets) == 3


# Stuck


def reminded(world: World, run: str, state: str, times: int) -> None:
    for _ in range(times):
        world.make_due(run, state)
        world.notifications.pulse()


def stuck(world: World, mine: str) -> list[str]:
    result = page(world, workflow=mine, stuck=True)
    assert all(row.stuck for row in result.rows)
    return ids(result)


def test_a_run_whose_agents_were_reminded_in_vain_is_stuck_until_one_takes_its_state(real: World, mine: str) -> None:
    run = real.create(named(mine), agents={"A": "a"})
    real.plane.kick_off(run, "go")
    reminded(real, run, "A", STUCK_REMINDERS - 1)
    assert stuck(real, mine) == []
    reminded(real, run, "A", 1)
    assert stuck(real, mine) == [run]
    assert page(real, 1).counts.stuck >= 1
    real.acquire(run, "A", "a")
    assert stuck(real, mine) == []
    assert real.ask("ZSCORE", keys.STUCK, run) is None


def test_an_expired_lease_is_in_reminders_and_stuck_until_its_holder_completes(real: World, mine: str) -> None:
    run = real.create(named(mine, "A", "B"), agents={"A": "a"})
    real.plane.kick_off(run, "go")
    token = real.acquire(run, "A", "a")
    real.expire_lease(run, "A")
    reminded(real, run, "A", STUCK_REMINDERS)
    assert stuck(real, mine) == [run]
    real.complete(run, "A", token)
    assert stuck(real, mine) == []


def test_a_run_that_its_planner_does_not_start_is_stuck_until_it_does(real: World, mine: str) -> None:
    run = real.create(named(mine), agents={"A": "a"}, planner="boss")
    reminded(real, run, "A", 1)
    assert stuck(real, mine) == [run]
    real.plane.kick_off(run, "go")
    assert stuck(real, mine) == []


def test_a_run_that_nobody_starts_is_stuck_until_somebody_does(real: World, mine: str) -> None:
    run = real.create(named(mine), agents={"A": "a"})
    real.notifications.pulse()
    assert stuck(real, mine) == []
    reminded(real, run, "A", 1)
    assert stuck(real, mine) == [run]
    assert "StateReminded" not in real.event_types(run)
    real.plane.kick_off(run, "go")
    assert stuck(real, mine) == []


def test_a_run_that_is_over_is_not_stuck(real: World, mine: str) -> None:
    run = real.create(named(mine), agents={"A": "a"})
    real.plane.kick_off(run, "go")
    reminded(real, run, "A", STUCK_REMINDERS)
    real.finalize(run)
    assert stuck(real, mine) == [], "before the clock looked, too"
    real.notifications.pulse()
    assert real.ask("ZSCORE", keys.STUCK, run) is None


def test_a_run_that_waits_for_another_state_is_stuck_again_at_the_next_reminder(real: World, mine: str) -> None:
    document = workflow({"P": parallel({"L": task()}, {"R": task()})}) | {"workflow_name": mine}
    run = real.create(document, agents={"L": "l", "R": "r"})
    real.plane.kick_off(run, "go")
    reminded(real, run, "P/0/L", STUCK_REMINDERS)
    reminded(real, run, "P/1/R", STUCK_REMINDERS)
    real.acquire(run, "P/0/L", "l")
    assert stuck(real, mine) == []
    reminded(real, run, "P/1/R", 1)
    assert stuck(real, mine) == [run]
