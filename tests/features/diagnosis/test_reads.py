"""A diagnosis reads little of Redis for a run of any size, and works with a Redis that refuses writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dcf.errors import StoreUnavailable
from dcf.features.diagnosis.model import Cause
from dcf.features.diagnosis.storage import MOST
from tests.features.diagnosis.test_operations import clock_looked, found, only, put, started
from tests.store.connection.test_faults import TROUBLES, Trouble, on, server_for
from tests.support.advised import advised_command
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import Place, set_member
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, numbered_chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_redis_that_refuses_writes_is_the_only_finding(tmp_path: Path, trouble: Trouble) -> None:
    """Where it refuses reads as well, the call fails and says the same."""
    with server_for(tmp_path, trouble) as (url, server):
        own = on(url)
        clock_looked(own)
        run = started(own, chain("A"), agents={"A": "a-1"})
        trouble.begin(server)
        try:
            (finding,) = own.diagnosis.explain(run).findings
        except StoreUnavailable as error:
            message = error.message
        else:
            assert (finding.cause, finding.stuck) == (Cause.STORE_REFUSES_WRITES, True)
            assert advised_command(finding.remedy) == "dcf doctor"
            message = str(finding.evidence["error"])
        assert message == trouble.said
        trouble.end(server)
        only(own, run, Cause.NOT_TAKEN)
        own.connections.close()


LARGE = [numbered_chain(1000), workflow({"Each": each({"S": task()}, MaxConcurrency=1000)})]


@rows("document", LARGE, ids=["chain", "Map"])
def test_a_run_of_a_thousand_states_is_explained_in_four_round_trips_at_most(
    worlds: Callable[..., World], counting: CountingPool, document: Document
) -> None:
    made = worlds()
    run = started(made, document, run_input=list(range(1000)), agents={"S0": "s-1", "S": "s-1"})
    fresh = worlds(pool=counting)
    for most in (3, 3):  # the first time reads the workflow, the second whether it is still the same
        with counting.counted() as packets:
            finding = only(fresh, run, Cause.NOT_TAKEN)
        assert len(packets) <= most, packets
    assert finding.count in {1, 1000}


def test_of_very_many_open_states_the_first_are_looked_at_and_the_others_counted(real: World) -> None:
    clock_looked(real)
    run = started(real, LARGE[1], run_input=list(range(1000)), agents={"S": "s-1"})
    explained = real.diagnosis.explain(run)
    assert explained.unread == 1, "1,000 iterations and the Map itself"
    assert explained.as_json()["unread_states"] == 1
    assert explained.findings[0].count >= MOST - 1


def test_the_end_of_a_map_that_was_never_reached_is_not_searched(
    worlds: Callable[..., World], counting: CountingPool
) -> None:
    made = worlds()
    document = workflow({"Each": each({"S": task()}, MaxConcurrency=1)})
    run = started(made, document, run_input=list(range(5000)))
    made.do(run, "Each/0/S")
    fresh = worlds(pool=counting)
    fresh.plane.run(run)
    with counting.counted() as packets:
        assert [path for path, _ in fresh.views.each_inside(run, "Each")] == ["Each/0/S", "Each/1/S"]
    assert len(packets) == 2


JUNK: list[object] = [None, 7, "noon", [], {}, -1]
LEASE_ENDS: Place = ("lease", "expires_at")
OF_STATE: list[Place] = [LEASE_ENDS, "lease", "started_at", "not_before", "waits_for", "scope", "last", "status"]


@rows("junk", JUNK)
def test_documents_that_somebody_broke_by_hand_are_explained_as_far_as_they_go(real: World, junk: object) -> None:
    run = started(real, workflow({"A": task("Each"), "Each": each({"S": task()})}), agents={"A": "a-1"})
    real.do(run, "A", "a-1", [1, 2])
    real.acquire(run, "Each/0/S", "s-1")
    for path in ("Each", "Each/0/S", "Each/1/S"):
        for place in OF_STATE:
            put(real, run, path, place, junk)
            for finding in (*found(real, run), *found(real, run, "Each/1/S"), *found(real, run, "Each")):
                assert finding.as_json()["remedy"]["sentence"]
    for field in ("created_at", "started_at", "agents", "paused_at", "status", "planner_agent_id"):
        set_member(real.ask, real.store.keys(run).meta, field, junk)
        assert isinstance(real.diagnosis.explain(run).as_json()["findings"], list)
