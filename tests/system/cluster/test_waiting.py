"""Waiting for events on a cluster whose slots move and whose nodes die, with a real cluster of six nodes."""

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dcf.errors import StoreUnavailable
from dcf.store.cluster.connections import SHARDS
from dcf.store.cluster.keys import cluster_key, slot_of
from dcf.store.connection.opening import connect
from dcf.store.events.inbox import Inbox, Message
from dcf.store.events.inbox_waits import InboxReader
from dcf.store.keys import table as keys
from tests.support.redis.cluster import Cluster, Node, redis_cluster
from tests.support.redis.inboxes import listener_ids, reading
from tests.support.waiting import until, wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

LONG_S = 60.0
"""Seconds that a wait would last; tests end it earlier, or fail."""
PATIENCE_S = LONG_S


@pytest.fixture(scope="module")
def cluster(short_directory: Path) -> Iterator[Cluster]:
    """A cluster of its own, since its nodes are killed."""
    with redis_cluster(short_directory / "waiting") as cluster:
        yield cluster


@pytest.fixture
def inbox(cluster: Cluster) -> Iterator[Inbox]:
    wait_until(cluster.is_in_step, PATIENCE_S)
    connections = connect(cluster.url)
    yield Inbox(connections)
    connections.close()


@pytest.fixture
async def reader(cluster: Cluster) -> AsyncIterator[InboxReader]:
    async with reading(cluster.url) as result:
        yield result


def slot(agent: str) -> int:
    return slot_of(cluster_key(keys.news(agent, SHARDS)))


def agents_of(cluster: Cluster, nodes: list[Node]) -> list[str]:
    """An agent of each node."""
    names = [f"ann-{uuid.uuid4().hex}" for _ in range(1000)]
    return [next(name for name in names if cluster.owner(slot(name)) is node) for node in nodes]


async def asleep(cluster: Cluster, reader: InboxReader, agent: str) -> "asyncio.Task[Message | None]":
    """A wait that gets the next event."""
    task = asyncio.create_task(reader.next(agent, LONG_S))
    await until(lambda: task.done() or listener_ids(cluster.owner(slot(agent))), PATIENCE_S)
    return task


async def event_of(task: "asyncio.Task[Message | None]") -> object:
    async with asyncio.timeout(PATIENCE_S):
        result = await task
    assert result is not None
    return result.event


async def put(inbox: Inbox, agent: str, number: int) -> None:
    await asyncio.to_thread(inbox.put, agent, f"run:S:{number}:ready", {"number": number})


async def test_who_waits_is_woken_also_after_the_slot_moved_to_another_node(
    cluster: Cluster, inbox: Inbox, reader: InboxReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.cluster.news._SILENT_S", LONG_S)  # the node says so itself
    source, target, _ = cluster.primaries()
    (agent,) = agents_of(cluster, [source])
    task = await asleep(cluster, reader, agent)
    await asyncio.to_thread(cluster.move, slot(agent), target)
    await until(lambda: listener_ids(target), PATIENCE_S)
    assert listener_ids(source) == []
    await put(inbox, agent, 1)
    assert await event_of(task) == {"number": 1}


async def test_a_killed_primary_ends_the_waits_for_its_agents_alone_and_later_ones_work(
    cluster: Cluster, inbox: Inbox, reader: InboxReader
) -> None:
    killed, other, _ = cluster.primaries()
    agent, undisturbed = agents_of(cluster, [killed, other])
    task, of_other = await asleep(cluster, reader, agent), await asleep(cluster, reader, undisturbed)
    killed.kill()
    with pytest.raises(StoreUnavailable, match="Redis cannot be reached"):
        await event_of(task)
    await until(cluster.is_whole, PATIENCE_S)
    task = await asleep(cluster, reader, agent)
    for name in (agent, undisturbed):
        await put(inbox, name, 2)
    assert [await event_of(task), await event_of(of_other)] == [{"number": 2}] * 2
    await asyncio.to_thread(cluster.restart, killed)


async def test_who_waits_at_a_primary_that_is_frozen_and_replaced_is_woken_by_its_replica(
    cluster: Cluster, inbox: Inbox, reader: InboxReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_SILENT_S", "_PATIENCE_S"):
        monkeypatch.setattr(f"dcf.store.cluster.news.{name}", 1.0)
    frozen, *_ = cluster.primaries()
    replica = cluster.replica_of(frozen)
    (agent,) = agents_of(cluster, [frozen])

    async def wait() -> Message | None:
        while True:
            try:
                return await reader.next(agent, LONG_S)
            except StoreUnavailable:  # the replica did not have its place yet
                continue

    task = asyncio.create_task(wait())
    await until(lambda: listener_ids(frozen), PATIENCE_S)
    with frozen.stopped():
        await until(lambda: replica.ask("ROLE")[0] == "master" and listener_ids(replica), PATIENCE_S)
        await put(inbox, agent, 3)
        assert await event_of(task) == {"number": 3}


async def test_a_primary_that_is_cut_off_from_the_others_is_not_listened_to(
    cluster: Cluster, inbox: Inbox, reader: InboxReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers, and takes subscriptions; what comes is put in at the replica that has its place."""
    monkeypatch.setattr("dcf.store.cluster.news._SILENT_S", 0.2)
    monkeypatch.setattr("dcf.store.cluster.news._SOON_S", LONG_S)
    cut_off, *_ = cluster.primaries()
    task = await asleep(cluster, reader, *agents_of(cluster, [cut_off]))
    others = [node.process.pid for node in cluster.nodes if node is not cut_off and node.process is not None]
    for pid in others:
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable, match="does not serve this key now"):
            await event_of(task)
    finally:
        for pid in others:
            os.kill(pid, signal.SIGCONT)
