"""The next completion takes a state that it has entered and left by name; others may still take it first."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dcf.core.documents.answers import Leased, NothingReady, Updated
from dcf.core.documents.decision import Seeker
from dcf.core.documents.model import RunStatus, StateDoc, Status
from dcf.runs.control_plane import ControlPlane
from dcf.runs.known_ready import KnownReady
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import SENT
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World

Worlds = Callable[..., World]

BY_NAME = [
    ["WATCH", "TIME", SENT.read_members, SENT.read_many],
    ["MULTI", SENT.write_many, "HINCRBY", "XADD", "ZREM", "ZADD", "EXEC"],
]


def fan(*names: str) -> dict[str, object]:
    return workflow({"A": task("Fan"), "Fan": parallel(*({name: task()} for name in names))})


def opened(world: World, run: str, owner: str = "w") -> Leased:
    """Complete A, and get the lease on the first branch with it."""
    answer = world.complete(run, "A", world.acquire(run, "A", owner), 7, owner=owner, claim_ttl_s=60)
    assert answer.claimed is not None
    return answer.claimed


def next_of(world: World, run: str, leased: Leased, owner: str = "w") -> Updated:
    return world.complete(run, leased.state, leased.doc.lease.token, owner=owner, claim_ttl_s=60)


def test_a_sibling_that_was_entered_before_is_taken_without_looking_for_it(
    worlds: Worlds, counting: CountingPool
) -> None:
    world = worlds(pool=counting)
    run = world.create(fan("One", "Two", "Three"))
    holding = opened(world, run)
    for _ in range(2):
        with counting.counted() as packets:
            answer = next_of(world, run, holding)
        assert packets == BY_NAME
        assert answer.claimed is not None
        assert answer.claimed.given == 7
        holding = answer.claimed
    assert next_of(world, run, holding).run_status is RunStatus.SUCCEEDED


def test_where_somebody_else_took_it_the_completion_looks_for_another(real: World) -> None:
    run = real.create(fan("One", "Two", "Three", "Four"))
    holding = opened(real, run)
    real.acquire(run, "Fan/3/Four", "other")
    answer = next_of(real, run, holding)
    assert answer.claimed is not None
    assert answer.claimed.state in {"Fan/1/Two", "Fan/2/Three"}


def test_where_somebody_takes_it_meanwhile_it_is_leased_once(real: World) -> None:
    run = real.create(fan("One", "Two", "Three"))
    others: list[str] = []

    def another_takes_it() -> None:
        if "Fan/2/Three" not in others and real.doc(run, "A").status is Status.SUCCEEDED:
            others.append("Fan/2/Three")
            real.acquire(run, "Fan/2/Three", "other")

    slow = World(connections=real.connections)
    slow.plane = ControlPlane(RunStore(real.connections, before_commit=another_takes_it), real.index)
    answer = next_of(slow, run, opened(slow, run))
    assert others == ["Fan/2/Three"]
    assert answer.claimed is not None
    assert answer.claimed.state == "Fan/1/Two"
    assert real.doc(run, "Fan/2/Three").lease.owner_agent_id == "other"
    assert real.doc(run, "Fan/2/Three").attempts == 1


def test_the_state_that_is_completed_itself_is_not_looked_for(real: World) -> None:
    """It was left by one thread of the process, and taken by another."""
    run = real.create(fan("One", "Two", "Three"))
    opened(real, run)
    taken = real.try_acquire(run, "Fan/2/Three")
    assert isinstance(taken, Leased)
    answer = next_of(real, run, taken)
    assert answer.claimed is not None
    assert answer.claimed.state == "Fan/1/Two"


def test_threads_of_one_process_do_each_state_once(real: World) -> None:
    names = [f"B{number:02d}" for number in range(40)]
    run = real.create(fan(*names))
    first = opened(real, run)

    def carry_out(leased: Leased | NothingReady | Refusal | None) -> int:
        done = 0
        while isinstance(leased, Leased):
            leased, done = next_of(real, run, leased).claimed, done + 1
        return done

    with ThreadPoolExecutor(8) as threads:
        counts = [threads.submit(carry_out, first)]
        counts += [threads.submit(lambda: carry_out(real.claim(run, "w"))) for _ in range(7)]
    assert sum(count.result() for count in counts) == len(names)
    assert real.run_status(run) == "succeeded"


def test_where_none_is_left_the_completion_is_accepted_without_a_lease(real: World) -> None:
    run = real.create(fan("One", "Two"))
    holding = opened(real, run)
    real.acquire(run, "Fan/1/Two", "other")
    answer = next_of(real, run, holding)
    assert answer.claimed is None
    assert answer.doc.status is Status.SUCCEEDED


def test_a_state_of_another_agent_is_not_kept(worlds: Worlds, counting: CountingPool) -> None:
    world = worlds(pool=counting)
    run = world.create(fan("One", "Two", "Three"), agents={"One": "w", "Two": "w", "Three": "other"})
    holding = opened(world, run)
    with counting.counted() as packets:
        answer = next_of(world, run, holding)
    assert packets == BY_NAME
    assert answer.claimed is not None
    assert answer.claimed.state == "Fan/1/Two"


def test_a_sibling_of_a_scope_that_ended_meanwhile_is_not_taken(real: World) -> None:
    run = real.create(fan("One", "Two", "Three"))
    holding = opened(real, run)
    real.fail(run, "Fan/1/Two", real.acquire(run, "Fan/1/Two", "other"))
    answer = real.try_complete(run, holding.state, holding.doc.lease.token, owner="w", claim_ttl_s=60)
    assert not isinstance(answer, Updated)
    assert real.doc(run, "Fan/2/Three").attempts == 0


@rows("most", [1, 2])
def test_what_is_kept_is_given_out_once_and_to_its_agent(most: int) -> None:
    known = KnownReady()
    answer = Updated(status=Status.SUCCEEDED, doc=StateDoc(), output_written=True, left=("A", "B", "C"))
    known.keep("r", "w", [answer])
    assert known.take("r", Seeker(most=most, owner="other")) == ()
    assert known.take("another", Seeker(most=most, owner="w")) == ()
    takes = [known.take("r", Seeker(most=most, owner="w")) for _ in range(4)]
    assert sorted(path for paths in takes for path in paths) == ["A", "B", "C"]
    assert max(map(len, takes)) == most


def test_what_others_take_as_well_is_forgotten() -> None:
    known = KnownReady()
    known.keep("r", "w", [Updated(status=Status.SUCCEEDED, doc=StateDoc(), output_written=True, left=("A", "B"))])
    known.forget("r", "w")
    assert known.take("r", Seeker(most=1, owner="w")) == ()


def test_of_very_many_runs_and_states_only_the_latest_are_kept() -> None:
    known = KnownReady()
    for number in range(300):
        left = tuple(f"S{state:04d}" for state in range(2000)) if number == 299 else ("S",)
        known.keep(
            f"r{number}", "w", [Updated(status=Status.SUCCEEDED, doc=StateDoc(), output_written=True, left=left)]
        )
    seeker = Seeker(most=10_000, owner="w")
    assert known.take("r0", seeker) == ()
    assert known.take("r100", seeker) == ("S",)
    assert len(known.take("r299", seeker)) == 1024
