"""Waiting for events on a cluster: one connection to each node, however many parts the inboxes are in."""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping

import pytest

from dcf.errors import StoreUnavailable
from dcf.store.cluster.connections import SHARDS, ClusterConnections
from dcf.store.connection.connections import Connections
from dcf.store.events.inbox import Inbox, Message, Taken
from dcf.store.events.inbox_waits import InboxReader
from dcf.store.keys import table as keys
from dcf.store.keys.parts import AGENT_SHARDS
from tests.support.redis.cluster import Cluster, Node
from tests.support.redis.inboxes import listener_ids, reading
from tests.support.waiting import until, wait_until

pytestmark = pytest.mark.anyio

LONG_S = 60.0
"""Seconds that a wait would last; tests end it earlier, or fail."""
PATIENCE_S = 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def agent() -> str:
    return f"agent-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def inbox(cluster_connections: Connections) -> Inbox:
    return Inbox(cluster_connections)


@pytest.fixture
async def reader(cluster: Cluster) -> AsyncIterator[InboxReader]:
    async with reading(cluster.url) as result:
        yield result


def waiting(reader: InboxReader, agent: str) -> "asyncio.Task[Message | None]":
    return asyncio.create_task(reader.next(agent, LONG_S))


async def event_of(task: "asyncio.Task[Message | None]") -> object:
    async with asyncio.timeout(PATIENCE_S):
        result = await task
    assert result is not None
    return result.event


def listeners(nodes: Iterable[Node]) -> list[str]:
    return [listener_id for node in nodes for listener_id in listener_ids(node)]


def of_the_part_of(agent: str) -> str:
    """Another agent of the same part."""
    names = (f"{agent}-{number}" for number in range(100 * AGENT_SHARDS))
    return next(name for name in names if keys.news(name, SHARDS) == keys.news(agent, SHARDS))


async def test_agents_of_many_parts_wait_over_one_connection_to_each_node(
    cluster: Cluster, inbox: Inbox, agent: str
) -> None:
    names = [f"{agent}-{number}" for number in range(100)]
    async with reading(cluster.url) as reader:
        tasks = {name: waiting(reader, name) for name in names}
        await until(lambda: channels_followed(cluster) == len({keys.news(name, SHARDS) for name in names}))
        assert [len(listener_ids(node)) for node in cluster.primaries()] == [1, 1, 1]
        for name in names:
            await asyncio.to_thread(inbox.put, name, "e", {"for": name})
        assert [await event_of(tasks[name]) for name in names] == [{"for": name} for name in names]
    await until(lambda: not listeners(cluster.nodes))


def channels_followed(cluster: Cluster) -> int:
    return sum(len(node.ask("PUBSUB", "SHARDCHANNELS")) for node in cluster.primaries())


async def test_an_event_that_comes_before_its_channel_is_followed_is_not_missed(
    inbox: Inbox, reader: InboxReader, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes_of = ClusterConnections.nodes_of

    def nodes_later(connections: ClusterConnections, names: Iterable[str]) -> Mapping[str, set[str]]:
        inbox.put(agent, "e", {"n": 1})
        return nodes_of(connections, names)

    monkeypatch.setattr(ClusterConnections, "nodes_of", nodes_later)
    assert await event_of(waiting(reader, agent)) == {"n": 1}


async def test_no_event_is_lost_while_its_agent_looks_and_another_begins_to_be_followed(
    cluster: Cluster, inbox: Inbox, reader: InboxReader, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_come, nodes_of, take = threading.Event(), ClusterConnections.nodes_of, Inbox.take

    def nodes_later(connections: ClusterConnections, names: Iterable[str]) -> Mapping[str, set[str]]:
        assert has_come.wait(PATIENCE_S)
        return nodes_of(connections, names)

    def slow_take(its: Inbox, agent_id: str, acknowledged: str | None = None) -> Taken:
        taken = take(its, agent_id, acknowledged)
        if agent_id == agent and not has_come.is_set():
            inbox.put(agent, "e", {"n": 1})
            has_come.set()
            wait_until(lambda: listeners(cluster.nodes))
        return taken

    monkeypatch.setattr(ClusterConnections, "nodes_of", nodes_later)
    monkeypatch.setattr(Inbox, "take", slow_take)
    other = waiting(reader, of_the_part_of(agent))
    await until(lambda: reader._news._followed)  # type: ignore[attr-defined]
    assert await event_of(waiting(reader, agent)) == {"n": 1}
    other.cancel()


async def test_waits_go_on_over_a_new_connection_and_miss_nothing(
    cluster: Cluster, inbox: Inbox, reader: InboxReader, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.cluster.news._SOON_S", 0)
    names = [agent, of_the_part_of(agent)]
    tasks = [waiting(reader, name) for name in names]
    await until(lambda: listeners(cluster.nodes))
    for node in cluster.primaries():
        for listener_id in listener_ids(node):
            node.ask("CLIENT", "KILL", "ID", listener_id)
    for name in names:
        await asyncio.to_thread(inbox.put, name, "e", {"for": name})
    assert [await event_of(task) for task in tasks] == [{"for": name} for name in names]


async def test_waits_end_when_no_node_serves_their_part(
    cluster: Cluster, reader: InboxReader, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.cluster.news._MOST_IN_VAIN", 2)
    replica = cluster.replica_of(cluster.primaries()[0])
    elsewhere = f"{replica.address}:{replica.port}"
    monkeypatch.setattr(ClusterConnections, "nodes_of", lambda _, names: {elsewhere: set(names)})
    with pytest.raises(StoreUnavailable, match=r"has moved this key \(MOVED\)"):
        await event_of(waiting(reader, agent))


async def test_what_a_replica_tells_is_not_relied_on(
    cluster: Cluster, reader: InboxReader, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes subscriptions, and so does a primary that was replaced."""
    monkeypatch.setattr("dcf.store.cluster.news._SILENT_S", LONG_S)
    request, nodes_of = list[str](), ClusterConnections.nodes_of

    def nodes_as_they_were(connections: ClusterConnections, names: Iterable[str]) -> Mapping[str, set[str]]:
        ((node, result),) = nodes_of(connections, names).items()
        request.append(node)
        primary = next(item for item in cluster.nodes if node.endswith(f":{item.port}"))
        replica = cluster.replica_of(primary)
        return {f"{replica.address}:{replica.port}" if len(request) == 1 else node: result}

    monkeypatch.setattr(ClusterConnections, "nodes_of", nodes_as_they_were)
    task = waiting(reader, agent)
    await until(lambda: listeners(cluster.primaries()))
    assert len(request) == 2
    task.cancel()
