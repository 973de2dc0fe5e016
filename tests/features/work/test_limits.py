"""Limits of work in progress: an agent, or all agents of a project, hold at most N states at a time."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.core.documents.answers import Leased, NothingReady
from dcf.core.leasing.lease import Acquire, Release
from dcf.features.gates.judges import Judge
from dcf.features.gates.submitting import content_sha256
from dcf.features.gates.verdicts import Ruling
from dcf.features.work.limit_storage import BOOKS, LIMITS
from dcf.features.work.limits import LimitKind, WorkLimit
from dcf.features.work.listing import WorkQuery, WorkStatus
from dcf.features.work.operations import TakenWork
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World, new_token

Limiting = Callable[[LimitKind, int], str]
Worlds = Callable[..., World]


@pytest.fixture
def limited(real: World) -> Iterator[Limiting]:
    """Gives somebody new a limit; the processes of the test enforce it."""
    real.plane.limits = real.limits
    made: list[WorkLimit] = []

    def limit(kind: LimitKind, most: int) -> str:
        made.append(WorkLimit(kind=kind, name=f"x-{uuid.uuid4().hex[:10]}", most=most))
        real.limits.put(made[-1])
        return made[-1].name

    yield limit
    for item in made:
        real.ask("HDEL", LIMITS, item.field)


def fan(world: World, size: int, **options: Any) -> str:
    branches = [{f"B{number}": task()} for number in range(size)]
    return world.create(workflow({"Fan": parallel(*branches)}), **options)


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def find(world: World, agent: str, run: str) -> TakenWork | Refusal:
    query = WorkQuery(limit=1, agent=agent, status=WorkStatus.READY, run=run)
    return world.work.claim_work(query, Acquire(state="", owner=agent, token=new_token(), ttl_s=600))


def test_an_agent_at_its_limit_gets_no_lease_and_is_told_what_it_holds(real: World, limited: Limiting) -> None:
    me = limited("agent", 2)
    run, other = fan(real, 4), real.create(chain("A"), agents={"A": me})
    first = real.acquire(run, "Fan/0/B0", me)
    real.acquire(other, "A", me)
    for answer in (real.try_acquire(run, "Fan/1/B1", me), real.claim(run, me), find(real, me, run)):
        assert isinstance(answer, Refusal)
        assert answer.code == "work_limit_reached"
        assert f"'A' of run '{other}'" in answer.message
        assert f"'Fan/0/B0' of run '{run}'" in answer.message
    assert isinstance(real.try_acquire(run, "Fan/1/B1", "somebody"), Leased), "others are not limited by it"
    real.complete(run, "Fan/0/B0", first, 1)
    assert isinstance(real.try_acquire(run, "Fan/2/B2", me), Leased)


def test_a_repeated_acquire_needs_no_second_slot(real: World, limited: Limiting) -> None:
    me, token = limited("agent", 1), new_token()
    run = real.create(chain("A"))
    answers = [real.try_acquire(run, "A", me, token) for _ in range(2)]
    assert [answer.outcome for answer in answers if isinstance(answer, Leased)] == [
        "lease_acquired",
        "lease_already_held",
    ]


def test_a_refused_lease_gives_its_slot_back(real: World, limited: Limiting) -> None:
    me = limited("agent", 1)
    run = real.create(chain("A", "B"))
    assert code(real.try_acquire(run, "B", me)) == "not_ready"
    assert isinstance(real.claim(run, me), Leased)
    done = real.create(chain("A"), agents={"A": "other"})
    assert code(real.claim(done, me)) == "work_limit_reached"


def test_what_ends_without_its_holder_counts_no_more(real: World, limited: Limiting) -> None:
    me = limited("agent", 1)
    ends: list[Callable[[str], object]] = [
        lambda run: real.expire_lease(run, "A"),
        real.lifecycle.cancel,
        real.finalize,
        lambda run: real.plane.release(run, Release(state="A", token=None, force=True)),
    ]
    for end in ends:
        run = real.create(chain("A"))
        real.acquire(run, "A", me)
        end(run)


def test_an_output_that_is_being_judged_counts_however_long_that_takes(real: World, limited: Limiting) -> None:
    me = limited("agent", 1)
    gate = {"name": "review", "kind": "review", "reviewers": ["rita"]}
    run = real.create(workflow({"A": {"Type": "Task", "Gates": [gate], "End": True}}))
    token, other = real.acquire(run, "A", me), real.create(chain("A"))
    assert code(real.try_complete(run, "A", token, output=1)) == "review_running"
    real.expire_lease(run, "A")  # as if it was judged for longer than the lease was asked for
    assert code(real.try_acquire(other, "A", me)) == "work_limit_reached"
    by = Judge(name="rita", may_work=True)
    real.gates.decide(run, Ruling(state="A", gate="review", verdict="pass", sha256=content_sha256(1), by=by))
    assert isinstance(real.try_acquire(other, "A", me), Leased)


def test_a_completion_makes_room_for_what_it_begins(real: World, limited: Limiting) -> None:
    me = limited("agent", 1)
    run = real.create(chain("A", "B"), agents={"A": me, "B": me})
    token = real.acquire(run, "A", me)
    for _ in range(2):
        answer = real.complete(run, "A", token, {}, owner=me, claim_ttl_s=60)
        assert [claim.state for claim in answer.claims] == ["B"]
    assert real.doc(run, "B").attempts == 1, "and a repetition takes nothing more"


def test_several_are_claimed_only_as_far_as_there_is_room(real: World, limited: Limiting) -> None:
    me = limited("agent", 3)
    run = fan(real, 6)
    real.acquire(run, "Fan/0/B0", me)
    answer = real.plane.claim(run, Acquire(state="", owner=me, token=new_token(), ttl_s=60, most=5))
    assert isinstance(answer, Leased)
    assert len((answer, *answer.others)) == 2
    assert code(real.claim(run, me)) == "work_limit_reached"


def test_a_project_holds_so_many_states_whoever_they_belong_to(real: World, limited: Limiting) -> None:
    project = limited("project", 2)
    run, outside = fan(real, 4, project=project), fan(real, 2)
    real.acquire(run, "Fan/0/B0", "ann")
    real.acquire(run, "Fan/1/B1", "bob")
    refused = real.try_acquire(run, "Fan/2/B2", "carl")
    assert isinstance(refused, Refusal)
    assert "Project" in refused.message
    real.acquire(outside, "Fan/0/B0", "carl")


def test_a_limit_that_is_taken_away_limits_nothing(real: World, limited: Limiting) -> None:
    me = limited("agent", 1)
    run = fan(real, 2)
    real.acquire(run, "Fan/0/B0", me)
    real.limits.put(WorkLimit(kind="agent", name=me, most=0))
    real.acquire(run, "Fan/1/B1", me)


def test_a_limit_of_one_with_eight_callers_at_three_servers_holds_every_time(
    real: World, limited: Limiting, worlds: Worlds
) -> None:
    me, servers = limited("agent", 1), [real, worlds(), worlds()]
    for server in servers:
        server.plane.limits = server.limits
        server.limits.refresh()
    with ThreadPoolExecutor(8) as threads:
        for number in range(40):
            run, other = fan(real, 8), fan(real, 8)

            def take(caller: int, run: str = run, other: str = other, number: int = number) -> object:
                world, where = servers[caller % 3], (run, other)[caller % 2]
                if (caller + number) % 3 == 0:
                    return world.try_acquire(where, f"Fan/{caller}/B{caller}", me)
                return world.claim(where, me) if (caller + number) % 3 == 1 else find(world, me, where)

            answers = list(threads.map(take, range(8)))
            won = [answer for answer in answers if isinstance(answer, Leased | TakenWork)]
            assert len(won) <= 1, "never more than the limit"
            holding = [
                (where, path) for where in (run, other) for path, doc in real.docs(where).items() if doc.lease.token
            ]
            assert len(holding) == len(won)
            if not won:  # the only reservation was for a state that could not be taken
                assert isinstance(real.claim(run, me), Leased)
            for where in (run, other):
                real.finalize(where)


def test_what_a_process_reserved_that_died_counts_until_the_reservation_ends(real: World, limited: Limiting) -> None:
    me = limited("agent", 1)
    run = fan(real, 2)
    real.ask("HSET", f"{BOOKS}agent:{me}", f"{run}/Fan/0/B0", f"{me}|{2**52}|dead")
    assert code(real.claim(run, me)) == "work_limit_reached"
    real.ask("HSET", f"{BOOKS}agent:{me}", f"{run}/Fan/0/B0", f"{me}|1|dead")
    assert isinstance(real.claim(run, me), Leased)


def test_a_claim_that_died_after_its_commit_counts(real: World, limited: Limiting) -> None:
    me = limited("agent", 1)
    run = fan(real, 2)
    real.plane.limits = None
    claimed = real.claim(run, me)
    real.plane.limits = real.limits
    assert isinstance(claimed, Leased)
    real.ask("HSET", f"{BOOKS}agent:{me}", f"?{run}/{claimed.doc.claim}", f"{me}|1|dead")
    assert code(real.claim(run, me)) == "work_limit_reached"


def test_without_limits_a_lease_costs_no_command_more(worlds: Worlds, counting: CountingPool) -> None:
    world = worlds(pool=counting)
    run = world.create(chain("A", "B"))
    world.plane.limits = world.limits
    world.limits.refresh()
    with counting.counted() as packets:
        answer = world.claim(run, "w")
    assert isinstance(answer, Leased | NothingReady)
    assert len(packets) == 2
    assert "cp:idx:held" not in str(packets)
