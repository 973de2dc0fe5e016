"""find_work: what is mine and what is ready, across runs; and the claim of the next piece, with one winner."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.core.leasing.lease import Acquire
from dcf.core.listing.runs import FOR_ANYBODY
from dcf.errors import InvalidArgument
from dcf.features.work import operations as work_finding
from dcf.features.work import search_storage as work_search
from dcf.features.work.askers import Asker
from dcf.features.work.listing import LONGEST_PAGE, WorkQuery, WorkStatus, read_work_place
from dcf.features.work.operations import TakenWork
from dcf.store.keys import table as keys
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World, new_token


def agent() -> str:
    return f"a-{uuid.uuid4().hex[:10]}"


def flow() -> str:
    """A name of a workflow: what is for anybody is found by every test, unless it names its workflow."""
    return f"w-{uuid.uuid4().hex[:10]}"


def found(world: World, agent: str | None, **filters: Any) -> list[tuple[str, str, str]]:
    """All pages of the list, of this test's runs."""
    limit, place, rows = filters.pop("limit", 50), None, list[tuple[str, str, str]]()
    while True:
        page = world.work.find_work(WorkQuery(limit=limit, agent=agent, place=place, **filters))
        mine = [item for item in page.items if item.workflow_id in world.runs]
        rows += [(item.workflow_id, item.state, str(item.status)) for item in mine]
        if page.next_place is None:
            return rows
        place = read_work_place(str(page.next_place))


def claim(world: World, agent: str, request_id: str | None = None, **filters: Any) -> TakenWork | Refusal:
    query = WorkQuery(limit=1, agent=agent, status=WorkStatus.READY, **filters)
    asker = None if request_id is None else Asker(agent_id=agent, request_id=request_id)
    return world.work.claim_work(query, Acquire(state="", owner=agent, token=new_token(), ttl_s=600), asker)


def test_an_agent_finds_what_it_holds_and_what_is_ready_for_it_the_oldest_run_first(real: World) -> None:
    me, other, name = agent(), agent(), flow()
    mine = [real.create(chain("A", "B") | {"workflow_name": name}, agents={"A": me, "B": other}) for _ in range(3)]
    real.create(chain("A") | {"workflow_name": name}, agents={"A": other})
    real.acquire(mine[1], "A", me)
    assert found(real, me, workflow=name) == [
        (mine[0], "A", "ready"),
        (mine[1], "A", "running"),
        (mine[2], "A", "ready"),
    ]
    assert found(real, me, workflow=name, status=WorkStatus.READY) == [(mine[0], "A", "ready"), (mine[2], "A", "ready")]
    assert found(real, me, workflow=name, status=WorkStatus.RUNNING) == [(mine[1], "A", "running")]


def test_what_nobody_is_assigned_to_is_found_by_everybody(real: World) -> None:
    me, name = agent(), flow()
    run = real.create(chain("A", "B") | {"workflow_name": name}, agents={"B": "somebody"})
    closed = real.create(chain("A", "B") | {"workflow_name": name}, agents={"A": "somebody", "B": "somebody"})
    assert found(real, me, workflow=name) == [(run, "A", "ready")]
    assert {row[0] for row in found(real, None, workflow=name)} == {run, closed}


def test_filters_by_run_and_skill_must_all_be_met(real: World) -> None:
    me, name = agent(), flow()
    skilled = workflow({"A": {"Type": "Task", "Skills": ["skill://style@1.0.0"], "Next": "B"}, "B": task()})
    run = real.create(skilled | {"workflow_name": name}, agents={"A": me, "B": me})
    plain = real.create(chain("A") | {"workflow_name": name}, agents={"A": me})
    assert found(real, me, workflow=name, skill="skill://style@1.0.0") == [(run, "A", "ready")]
    assert found(real, me, workflow=name, skill="skill://style@1.0") == []
    assert found(real, me, workflow=name, run=plain) == [(plain, "A", "ready")]
    assert found(real, me, workflow=name, run="no-such-run") == []


def test_what_stands_still_is_shown_as_blocked_with_the_reason(real: World) -> None:
    me, name = agent(), flow()
    run = real.create(chain("A") | {"workflow_name": name}, agents={"A": me})
    real.lifecycle.pause(run)
    (item,) = real.work.find_work(WorkQuery(limit=5, agent=me, workflow=name)).items
    assert (str(item.status), item.why) == ("blocked", "its run is paused")
    assert found(real, me, workflow=name, status=WorkStatus.READY) == []
    assert isinstance(claim(real, me, workflow=name), Refusal)
    real.lifecycle.resume(run)
    assert isinstance(claim(real, me, workflow=name), TakenWork)


def test_what_is_done_is_found_with_its_outcome_also_in_runs_that_are_over(real: World) -> None:
    me, name = agent(), flow()
    run = real.create(chain("A") | {"workflow_name": name}, agents={"A": me})
    real.do(run, "A", me)
    (item,) = real.work.find_work(WorkQuery(limit=5, agent=me, workflow=name, status=WorkStatus.DONE)).items
    assert (item.workflow_id, item.state, item.outcome, item.attempt) == (run, "A", "succeeded", 1)
    assert found(real, me, workflow=name) == [], "and it is no open work"


def test_pages_have_every_item_once(real: World) -> None:
    me = agent()
    branches = [{f"B{number}": task()} for number in range(9)]
    runs = [real.create(workflow({"Fan": parallel(*branches)})) for _ in range(4)]
    for run in runs:
        assert real.run_status(run) == "running"
    expected = found(real, me, limit=100)
    assert len(expected) >= 36
    for limit in (1, 4, 7):
        rows = [row for run in runs for row in found(real, me, limit=limit, run=run)]
        assert len(rows) == len(set(rows)) == 36


def test_a_claim_takes_the_oldest_first_and_a_repetition_gets_the_same(real: World) -> None:
    me, name = agent(), flow()
    runs = [real.create(chain("A") | {"workflow_name": name}, agents={"A": me}) for _ in range(2)]
    first, again = claim(real, me, "r1", workflow=name), claim(real, me, "r1", workflow=name)
    assert isinstance(first, TakenWork)
    assert isinstance(again, TakenWork)
    assert (first.workflow_id, first.leased.outcome) == (runs[0], "lease_acquired")
    assert (again.workflow_id, again.leased.outcome) == (runs[0], "lease_already_held")
    assert first.leased.doc.lease.token == again.leased.doc.lease.token
    second = claim(real, me, "r2", workflow=name)
    assert isinstance(second, TakenWork)
    assert second.workflow_id == runs[1]
    refusal = claim(real, me, "r3", workflow=name)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "nothing_ready"


def test_an_expired_lease_is_claimed_by_another(real: World) -> None:
    me, name = agent(), flow()
    run = real.create(chain("A") | {"workflow_name": name}, agents={"A": ("dead", me)})
    real.acquire(run, "A", "dead")
    assert isinstance(claim(real, me, workflow=name), Refusal)
    real.expire_lease(run, "A")
    taken = claim(real, me, workflow=name)
    assert isinstance(taken, TakenWork)
    assert taken.leased.doc.attempts == 2


def test_a_claim_says_why_what_looked_ready_was_refused(real: World) -> None:
    me, name = agent(), flow()
    run = real.create(chain("A") | {"workflow_name": name}, agents={"A": me}, max_attempts=1)
    real.acquire(run, "A", me)
    real.expire_lease(run, "A")
    refusal = claim(real, me, workflow=name)
    assert isinstance(refusal, Refusal)
    assert "leased" in refusal.message, refusal.message


def test_one_unit_has_one_winner_among_agents_and_servers_a_hundred_times(real: World, worlds: Any) -> None:
    servers = [real, worlds(), worlds()]
    name = flow()
    with ThreadPoolExecutor(6) as threads:
        for _ in range(100):
            run = real.create(chain("A") | {"workflow_name": name})
            answers = list(threads.map(lambda n: claim(servers[n % 3], f"w{n}", workflow=name), range(6)))
            winners = [answer for answer in answers if isinstance(answer, TakenWork)]
            assert len(winners) == 1
            assert all(
                isinstance(answer, Refusal) and answer.code == "nothing_ready"
                for answer in answers
                if answer not in winners
            )
            assert real.doc(run, "A").attempts == 1


def test_callers_at_the_same_time_get_different_states_of_all_runs(real: World) -> None:
    name = flow()
    runs = [real.create(chain("A") | {"workflow_name": name}) for _ in range(12)]
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda n: claim(real, f"w{n}", workflow=name), range(12)))
    assert sorted(answer.workflow_id for answer in answers if isinstance(answer, TakenWork)) == sorted(runs)


def test_a_page_takes_one_round_trip_however_many_runs_have_ended(worlds: Any, counting: CountingPool) -> None:
    world, me, name = worlds(pool=counting), agent(), flow()
    for _ in range(30):
        run = world.create(chain("A") | {"workflow_name": name}, agents={"A": me})
        world.do(run, "A", me)
    live = world.create(chain("A") | {"workflow_name": name}, agents={"A": me})
    with counting.counted() as packets:
        page = world.work.find_work(WorkQuery(limit=5, agent=me, workflow=name))
    assert [item.workflow_id for item in page.items] == [live]
    assert len(packets) == 1


@pytest.fixture
def crowded(real: World) -> Iterator[World]:
    """More running runs of other agents than a page passes over, all older than those of a test; none for anybody."""
    runs = keys.runs_by("agent", FOR_ANYBODY)
    has_any = real.ask("EXISTS", runs)
    if has_any:
        real.ask("RENAME", runs, "kept")
    others = [f"other-{number}" for number in range(11_000)]
    listed = keys.runs_by("status", "running")
    real.ask("ZADD", listed, *(part for other in others for part in (1, other)))
    yield real
    real.ask("ZREM", listed, *others)
    real.ask("DEL", runs)
    if has_any:
        real.ask("RENAME", "kept", runs)


def test_work_for_an_agent_of_few_runs_is_on_its_first_page_among_many_live_runs(crowded: World) -> None:
    me = agent()
    run = crowded.create(chain("A"), agents={"A": me})
    page = crowded.work.find_work(WorkQuery(limit=50, agent=me))
    assert run in [item.workflow_id for item in page.items]
    assert page.next_place is None
    taken = claim(crowded, me)
    assert isinstance(taken, TakenWork)


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_work_for_an_agent_and_for_any_agent_is_listed_once_the_oldest_run_first(crowded: World, limit: int) -> None:
    me = agent()
    assigned = [{"A": me, "B": me}, {}, {"A": me}, {"B": me}]
    runs = [crowded.create(chain("A", "B"), agents=assigned[number % 4]) for number in range(8)]
    ended = [part for number in range(497) for part in (number // 2, f"ended-{number}")]
    for value in (me, FOR_ANYBODY):
        crowded.ask("ZADD", keys.runs_by("agent", value), *ended)
    assert [run for run, _, _ in found(crowded, me, limit=limit)] == runs


def test_claims_get_to_what_is_ready_behind_more_runs_than_one_of_them_looks_through(
    real: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_search, "_MOST_READ", 2)
    monkeypatch.setattr(work_finding, "_PAGES", 1)
    monkeypatch.setattr(work_finding, "_TRIES", 1)
    me, name = agent(), flow()
    creates = [real.create(chain("A") | {"workflow_name": name}, agents={"A": me}) for _ in range(12)]
    for run in creates:
        real.acquire(run, "A", me)
    ready = [real.create(chain("A") | {"workflow_name": name}, agents={"A": me}) for _ in range(2)]

    answers = [claim(real, me, workflow=name) for _ in range(10)]
    assert [answer.workflow_id for answer in answers if isinstance(answer, TakenWork)] == ready

    real.expire_lease(creates[0], "A")
    again = [claim(real, me, workflow=name) for _ in range(10)]
    assert [item.workflow_id for item in again if isinstance(item, TakenWork)] == [creates[0]], (
        "and begin again at the oldest"
    )


def test_what_is_no_page_of_work_is_refused() -> None:
    for limit in (0, LONGEST_PAGE + 1):
        with pytest.raises(InvalidArgument):
            WorkQuery(limit=limit)
    with pytest.raises(InvalidArgument):
        WorkQuery(limit=1, status=WorkStatus.DONE)
    for cursor in ("x", "1:a", "1:a:-1", "1:a b:0"):
        with pytest.raises(InvalidArgument):
            read_work_place(cursor)
