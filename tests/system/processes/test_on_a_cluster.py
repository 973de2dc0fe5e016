"""dcf as a person starts it, on a Redis Cluster whose slots move and one of whose primaries is killed meanwhile."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from redis.crc import key_slot

from dcf.store.connection.opening import connect
from dcf.store.connection.waiting_clients import WaitingClients
from dcf.store.events.history import Happening
from tests.support.redis.cluster import Cluster, redis_cluster
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World
from tests.system.processes.site import HOOKED, STATES, Site, finish, result_of

pytestmark = pytest.mark.processes

RUN = "order-on-a-cluster"


def test_the_order_pipeline_goes_on_through_a_moved_slot_and_a_killed_primary(site: Site, tmp_path: Path) -> None:
    with redis_cluster(tmp_path / "nodes") as cluster:
        url, wait = cluster.url, "1"
        site.hook("CalculatePricing.hold")
        run = site.run("--id", RUN, "--workers", str(HOOKED), REDIS_URL=url, DCF_WAIT_REPLICAS=wait)
        site.wait_entered("CalculatePricing")
        slot = key_slot(RUN.encode())
        old = cluster.owner(slot)
        cluster.move(slot, next(node for node in cluster.primaries() if node is not old))
        replaced = cluster.owner(slot)
        replaced.kill()
        wait_until(cluster.is_whole)
        cluster.restart(replaced)
        site.hook("CalculatePricing.go")
        result, code = result_of(run)
        assert (code, result["status"]) == (0, "succeeded")
        listed, _ = finish(site.dcf("ls", "--json", REDIS_URL=url))
        assert RUN in listed
        history, _ = finish(site.dcf("runs", "events", RUN, "--json", "--type", "StateSucceeded", REDIS_URL=url))
        assert len(history.splitlines()) == len(STATES)


def test_the_histories_of_runs_are_followed_on_the_nodes_that_have_them(cluster: Cluster) -> None:
    connections = connect(cluster.url)
    world = World(connections=connections)
    runs = [world.create(chain("A", "B"), agents={"A": "ann", "B": "ann"}) for _ in range(4)]
    heard: dict[str, list[str]] = {run: [] for run in runs}

    def note(run: str, _: str, happened: Sequence[Happening]) -> None:
        heard[run] += [item.type for item in happened]

    async def follow() -> None:
        tails = WaitingClients(connections, cluster.url).tails(note, lambda error: pytest.fail(str(error)))
        for run in runs:
            tails.follow(run, "0-0")
        working = threading.Thread(target=lambda: [world.do(run, "A", "ann") for run in runs])
        working.start()
        await asyncio.to_thread(wait_until, lambda: all("StateSucceeded" in types for types in heard.values()))
        await asyncio.to_thread(working.join)
        tails.leave(runs[0])
        await asyncio.to_thread(lambda: [world.do(run, "B", "ann") for run in runs])
        await asyncio.to_thread(
            wait_until, lambda: all(heard[run].count("StateSucceeded") == len("AB") for run in runs[1:])
        )
        await tails.close()

    asyncio.run(follow())
    assert heard[runs[0]].count("StateSucceeded") == 1, "nobody listens to it any more"
    connections.close()
