"""Parallel and Map under many orders of workers, repeated calls, lost leases and killed processes, on the real server.

However a run gets there, it ends as the pure engine says, and nothing of it is left open.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.core.documents.answers import Leased, Released, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.store.connection.connections import Connections
from dcf.values.refusal import Refusal
from dcf.workflows.simulation import simulate
from tests.conformance.comparison import agrees
from tests.conformance.recordings import cases
from tests.support import ahead
from tests.support.agents.crew import FOR_EVER_S, Crew
from tests.support.agents.mocks import Files, Mocks
from tests.support.ahead import Ahead
from tests.support.tables import rows
from tests.support.trouble import CALM, Killer, Trouble
from tests.support.workflows.random_machines import random_case
from tests.support.workflows.scopes import case, each, parallel, samples, task
from tests.support.world import World

AGENTS = ("ann", "bob", "cyd")
SHORT_S = 60
TROUBLES = {
    "any order": Trouble(),
    "everything twice": Trouble(repeated=1.0),
    "lost leases": Trouble(vanished=0.25),
    "killed processes": Trouble(killed=0.3),
    "all at once": Trouble(repeated=0.3, vanished=0.1, killed=0.15),
}
SEEDS = range(2)
SCOPES = ("Parallel", "Map")
"""How far those inside came when one of these breaks depends on who was faster."""

SAMPLES = samples()
RECORDED = [
    gate_case
    for gate_case in cases("executions")
    if '"Map"' in json.dumps(gate_case) or '"Parallel"' in json.dumps(gate_case)
]


@pytest.fixture(scope="module")
def site(real_connections: Connections, onlooker: Connections) -> Iterator[World]:
    clock, killer = Ahead(), Killer()
    world = World(connections=real_connections, onlooker=onlooker, clock=clock, before_commit=killer, items=Files())
    yield world
    world.close()


def worked(
    site: World, result: Any, trouble: Trouble, seed: int, *, alone: bool = False
) -> tuple[Crew, dict[str, Any]]:
    """Run a case to its end in an order drawn from the seed, or by one agent that takes what comes first."""
    assert site.items is not None
    site.items.texts = result.get("texts", {})
    document = {"workflow_name": "scheduled", "asl": result["definition"]}
    wish = site.wish(document, run_input=result["input"], max_attempts=1000)
    crew = Crew(
        world=site,
        run=wish.workflow_id,
        mocks=Mocks(result["task_mocks"]),
        luck=None if alone else random.Random(f"{result['id']} {seed}"),
        agents=AGENTS[:1] if alone else AGENTS,
        hands=1 if alone else 4,
        ttl_s=FOR_EVER_S if alone else SHORT_S,
        trouble=trouble,
    )
    crew.create(wish)
    return crew, crew.finish()


def check(site: World, result: Any, trouble: Trouble, seeds: Iterable[int] = SEEDS) -> None:
    for seed in seeds:
        crew, answer = worked(site, result, trouble, seed)
        assert_ends_alike(expected(result), answer)
        assert_all_is_over(site, crew)
        assert_late_holders_are_refused(site, crew)


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
@pytest.mark.parametrize("found", SAMPLES, ids=lambda result: result["id"])
def test_no_order_and_no_trouble_changes_how_a_run_ends(site: World, found: Any, trouble: Trouble) -> None:
    check(site, found, trouble)


@rows("trouble", [TROUBLES["any order"], TROUBLES["all at once"]], ids=["any order", "all at once"])
@rows("found", RECORDED, ids=lambda result: f"{result['id']} {result['name']}")
def test_nor_how_a_recorded_run_ends(site: World, found: Any, trouble: Trouble) -> None:
    check(site, found, trouble)


@rows("seed", range(10))
def test_machines_drawn_at_random_end_as_the_pure_engine_says(site: World, seed: int) -> None:
    document = random_case(seed)
    for trouble in (TROUBLES["any order"], TROUBLES["all at once"]):
        check(site, document, trouble, seeds=(seed,))


@rows("seed", range(25))
def test_one_agent_does_of_a_machine_drawn_at_random_just_what_the_simulation_does(site: World, seed: int) -> None:
    document = random_case(seed)
    details = simulate(document["definition"], document["input"], document["task_mocks"])
    crew, answer = worked(site, document, CALM, seed, alone=True)
    assert_ends_alike(details, answer)
    if not any(
        event["event"] in ("retried", "caught", "failed") and event["type"] in SCOPES for event in details["trace"]
    ):
        assert calls(crew.task_calls) == calls(details["task_calls"])
        assert happenings(answer["trace"]) == happenings(details["trace"])


def test_agents_that_work_at_the_same_time_do_every_piece_once(
    worlds: Callable[..., World], real_connections: Connections
) -> None:
    inside = {"Pair": parallel({"Left": task()}, {"Right": task()})}
    document = case("crowd", {"Each": each(inside, "After", MaxConcurrency=8), "After": task()}, list(range(30)))
    site = World(connections=real_connections)
    run = site.create({"workflow_name": "crowd", "asl": document["definition"]}, run_input=document["input"])

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda number: work(worlds(), run, f"agent-{number}"), range(4)))

    assert sum(counts) == 30 * 2 + 1
    assert site.meta(run)["output"] == [[item, item] for item in range(30)]
    site.close()


def work(world: World, run: str, agent: str) -> int:
    """Claim and complete until the run has ended; return the count of completions."""
    done = 0
    while True:
        leased = world.claim(run, agent)
        if isinstance(leased, Leased):
            world.complete(run, leased.state, leased.doc.lease.token, leased.given)
            done += 1
        elif isinstance(leased, Refusal):
            return done


def calls(made: Any) -> Counter[str]:
    return Counter(json.dumps([call["path"], call["input"]], sort_keys=True) for call in made)


def happenings(trace: Any) -> Counter[tuple[str, str]]:
    """Events by place; a state that a Catcher leads on from is `exited` in both."""
    return Counter((event["event"], event["path"]) for event in trace if event["event"] != "caught")


def expected(result: Any) -> Any:
    """The recorded result, or that of the pure engine."""
    if "expected" in result:
        return result["expected"]
    return simulate(result["definition"], result["input"], result["task_mocks"], files=result["texts"])


def assert_ends_alike(expected: Any, answer: Any) -> None:
    assert answer["status"] == expected["status"], (expected, answer)
    if expected["status"] == "SUCCEEDED":
        assert agrees(expected["output"], answer["output"]), (expected["output"], answer["output"])
    else:
        assert answer["error"] == expected.get("error")


def assert_all_is_over(site: World, crew: Crew) -> None:
    """The clock finds an end, every document is terminal, and every lease did its work at most once."""
    run = crew.run
    for _ in range(3):
        site.notifications.pulse()
        ahead.look(site, run)
    assert ahead.timers(site, run) == {}, "the clock has nothing left to look at"
    documents = site.every_doc(run)
    assert {path: doc.status for path, doc in documents.items() if not doc.status.is_terminal} == {}
    history = list(site.history_of(run))
    leased = [(event.state, event.data["epoch"]) for event in history if event.type == "LeaseAcquired"]
    assert len(leased) == len(set(leased)), "granted twice"
    ends = ("StateSucceeded", "StateFailed", "StateRetried")
    ended = Counter((event.state, event.data["epoch"]) for event in history if event.type in ends)
    assert [lease for lease in leased if ended[lease] > 1] == [], "one effective completion per lease"
    over = [event.type for event in history if event.type in ("RunSucceeded", "RunFailed")]
    assert len(over) == 1


def assert_late_holders_are_refused(site: World, crew: Crew) -> None:
    """A worker that comes back after the end changes no document, and gets a true answer."""
    before = site.raw_docs(crew.run)
    for holding in (*crew.lost, *crew.held):
        assert isinstance(site.renew(crew.run, holding.state, holding.token), Refusal)
        assert isinstance(site.try_complete(crew.run, holding.state, holding.token, 1), Refusal)
        assert isinstance(site.update(crew.run, holding.state, holding.token, output=1), Refusal)
    for holding, request in crew.done:
        again = crew.write(holding, request)
        assert isinstance(again, Refusal) or again.repeated
        assert isinstance(site.renew(crew.run, holding.state, holding.token), Refusal)
        assert isinstance(site.release(crew.run, holding.state, holding.token), Released | Refusal)
        if request["status"] is Status.SUCCEEDED:
            assert not isinstance(site.update(crew.run, holding.state, holding.token, output=2), Updated)
    assert site.raw_docs(crew.run) == before
    assert site.run_status(crew.run) is not RunStatus.RUNNING
