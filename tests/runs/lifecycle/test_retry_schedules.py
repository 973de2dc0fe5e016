"""Random workflows whose tasks fail and whose runs are cancelled at random, and that are retried until they succeed.

Whatever happened before, the output is that of a run in which nothing fails, and every task succeeds once.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import count, pairwise
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcf.core.documents.answers import Leased
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.store.connection.connections import Connections
from tests.support.workflows.machines import Document, workflow
from tests.support.workflows.scopes import distributed, each, parallel, task
from tests.support.world import World

MOST_STEPS = 2000
ITEMS = [1, 2, 3]


def kinds(depth: int) -> st.SearchStrategy[list[Any]]:
    """States one after the other: a word for a Task or Pass, or what is inside a Parallel or Map."""
    plain = st.sampled_from(["task", "task", "pass"])
    if not depth:
        return st.lists(plain, min_size=1, max_size=3)
    inner = kinds(depth - 1)
    scopes = st.one_of(
        st.tuples(st.just("parallel"), st.lists(inner, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["map", "map", "tolerant"]), inner, st.integers(0, 3)),
    )
    return st.lists(st.one_of(plain, scopes), min_size=1, max_size=3)


def states_of(chain: list[Any], number: Iterator[int]) -> Document:
    """The states of a chain, each with a name of its own. Every state hands on an object with items."""
    names = [f"{kind if isinstance(kind, str) else kind[0]}-{next(number)}" for kind in chain]
    states = {name: _state(kind, number) for name, kind in zip(names, chain, strict=True)}
    for name, following in pairwise(names):
        del states[name]["End"]
        states[name]["Next"] = following
    return states


def _state(kind: Any, number: Iterator[int]) -> Document:
    select: Document = {"ResultSelector": {"items": ITEMS, "of.$": "$"}}
    match kind:
        case "task":
            return task()
        case "pass":
            return {"Type": "Pass", "End": True}
        case ("parallel", branches):
            return parallel(*(states_of(branch, number) for branch in branches), **select)
        case (how, inner, most):
            options = {"MaxConcurrency": most, "ItemsPath": "$.items", "ItemSelector": {"items": ITEMS}, **select}
            inside = states_of(inner, number)
            if how == "map":
                return each(inside, **options)
            return distributed(inside, ToleratedFailureCount=1, **options)
    raise AssertionError(kind)


def carry_out(world: World, run: str, troubles: list[int]) -> Counter[str]:
    """Work until the run has succeeded; a trouble fails a task or cancels the run. Which tasks succeeded how often."""
    done: Counter[str] = Counter()
    for _ in range(MOST_STEPS):
        status = world.run_status(run)
        if status is RunStatus.SUCCEEDED:
            return done
        if status is not RunStatus.RUNNING:
            assert isinstance(world.retrying.retry(run), RunAnswer)
            continue
        trouble = troubles.pop() if troubles else 9
        if trouble == 0:
            assert isinstance(world.lifecycle.cancel(run), RunAnswer)
            continue
        claim = world.claim(run, "w")
        assert isinstance(claim, Leased), claim
        token = claim.doc.lease.token or ""
        if trouble <= 4:
            world.fail(run, claim.state, token)
        else:
            world.complete(run, claim.state, token, {"items": ITEMS, "did": claim.state, "got": claim.given})
            done[claim.state] += 1
    raise AssertionError("the run does not end")


def test_a_run_that_is_retried_until_it_succeeds_ends_as_if_nothing_had_failed(
    real_connections: Connections, onlooker: Connections
) -> None:
    @settings(max_examples=25, suppress_health_check=list(HealthCheck), database=None)
    @given(chain=kinds(2), troubles=st.lists(st.integers(0, 9), max_size=25))
    def check(chain: list[Any], troubles: list[int]) -> None:
        document = workflow(states_of(chain, count()))
        world = World(connections=real_connections, onlooker=onlooker)
        try:
            calm, troubled = (world.create(document, run_input={"items": ITEMS}) for _ in range(2))
            expected = carry_out(world, calm, [])
            done = carry_out(world, troubled, troubles)
            tolerant = "tolerant" in str(document)
            if not tolerant:
                assert world.meta(troubled)["output"] == world.meta(calm)["output"]
                assert done == expected, "what succeeded is kept, and the rest is done once"
            _nothing_is_left(world, troubled)
        finally:
            world.close()

    check()


def _nothing_is_left(world: World, run: str) -> None:
    timers: Any = world.ask("ZCARD", world.store.keys(run).timers)
    claims: Any = world.ask("HLEN", world.store.keys(run).claims)
    assert (timers, claims) == (0, 0)
    assert all(doc.status.is_terminal for doc in world.every_doc(run).values())
