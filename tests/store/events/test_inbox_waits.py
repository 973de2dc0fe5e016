"""Waiting for events: woken at once, first come first served, over one connection however many wait."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from dcf.core.leasing.attention import REMINDER_DELAY
from dcf.errors import AgentUnknown, StoreUnavailable
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.events.inbox import VISIBILITY_S, Inbox, Message
from dcf.store.events.inbox_waits import InboxReader, _Waiter
from dcf.store.keys import table as keys
from dcf.store.lists.agents import AgentRecord
from dcf.values.instants import SECOND
from tests.support.redis.counting import CountingPool
from tests.support.redis.inboxes import follower_ids, is_followed, reading
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.restricted import RestrictedRedis
from tests.support.redis.servers import free_port, redis_server
from tests.support.waiting import until, wait_until
from tests.support.world import World

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
def inbox(real: World) -> Inbox:
    return real.inbox


@pytest.fixture
async def reader(server: RestrictedRedis) -> AsyncIterator[InboxReader]:
    async with reading(server.url) as result:
        yield result


async def waiting(reader: InboxReader, agent: str, timeout_s: float = LONG_S) -> "asyncio.Task[Message | None]":
    """A wait in the queue."""
    before = len(waiters(reader, agent))
    task = asyncio.create_task(reader.next(agent, timeout_s))
    await turns(lambda: len(waiters(reader, agent)) > before)
    return task


async def asleep(reader: InboxReader, agent: str) -> "asyncio.Task[Message | None]":
    """A wait that has looked into the inbox and found nothing."""
    task = await waiting(reader, agent)
    await turns(lambda: waiters(reader, agent)[-1].sleep is not None)
    return task


def waiters(reader: InboxReader, agent: str) -> list[_Waiter]:
    queue = reader._queues.get(agent)
    return [] if queue is None else list(queue.waiters)


async def turns(predicate: Callable[[], object]) -> None:
    """Let the event loop continue until this is true."""
    async with asyncio.timeout(PATIENCE_S):
        while not predicate():  # noqa: ASYNC110 - it looks into what has no event
            await asyncio.sleep(0)


async def received(task: "asyncio.Task[Message | None]") -> Message:
    async with asyncio.timeout(PATIENCE_S):
        message = await task
    assert message is not None
    return message


async def test_a_waiter_is_woken_at_once_when_an_event_comes(
    inbox: Inbox, onlooker: Connections, reader: InboxReader, agent: str
) -> None:
    task = await waiting(reader, agent)
    await until(lambda: is_followed(onlooker))
    inbox.put(agent, "e", {"n": 1})
    assert (await received(task)).event == {"n": 1}


async def test_what_nobody_wants_any_more_is_dropped_together(
    inbox: Inbox, reader: InboxReader, agent: str, counting: CountingPool
) -> None:
    for number in range(21):
        inbox.put(agent, f"r:S{number}:1:ready", {"n": number})
    inbox.put(agent, "r:S99:1:ready", {"n": 99})
    reader._inbox = Inbox(Connections(counting))
    judged: list[int] = []

    def are_wanted(messages: Sequence[Message]) -> list[bool]:
        judged.append(len(messages))
        return [message.event["n"] == 99 for message in messages]

    with counting.counted() as packets:
        agent_profile = await reader.next(agent, LONG_S, are_wanted=are_wanted)
    assert agent_profile is not None
    assert agent_profile.event == {"n": 99}
    assert judged == [1, 20, 1]
    assert len(packets) == 5, "one taken; the next ones named, read and dropped; one taken"
    assert inbox.waiting(agent, 10) == []


async def test_what_is_wanted_among_what_is_not_stays_in_order(inbox: Inbox, reader: InboxReader, agent: str) -> None:
    for number in range(10):
        inbox.put(agent, f"r:S{number}:1:ready", {"n": number})

    def are_wanted(messages: Sequence[Message]) -> list[bool]:
        return [message.event["n"] in {3, 7} for message in messages]

    agent_profiles = [await reader.next(agent, wait_s, are_wanted=are_wanted) for wait_s in (LONG_S, LONG_S, 0)]
    assert [None if message is None else message.event["n"] for message in agent_profiles] == [3, 7, None]


async def test_waiting_ends_after_the_time_given(reader: InboxReader, agent: str) -> None:
    """It ends by the clock of the event loop, so it lasts no shorter by that clock, however slow the machine is."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await reader.next(agent, 0.05) is None
    assert loop.time() - began >= 0.05 - time.get_clock_info("monotonic").resolution


async def test_a_process_that_waits_gets_what_a_frozen_one_was_handed_before_its_wait_ends(
    inbox: Inbox, reader: InboxReader, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen agent swallowed the event, and the state was announced again only by its first reminder."""
    assert VISIBILITY_S * SECOND < REMINDER_DELAY
    monkeypatch.setattr("dcf.store.events.inbox.VISIBILITY_S", 1)
    inbox.put(agent, "e", {"n": 1})
    handed = inbox.take(agent).message
    assert await received(await waiting(reader, agent)) == handed


async def test_an_earlier_waiter_gets_an_event_when_the_process_that_has_it_is_silent(
    inbox: Inbox, reader: InboxReader, server: RestrictedRedis, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.events.inbox.VISIBILITY_S", 1)
    async with reading(server.url) as other:
        tasks = [await waiting(reader, agent), await waiting(other, agent)]
        inbox.put(agent, "e", {"n": 1})
        messages = [await received(task) for task in tasks]
    assert messages[0] == messages[1]


async def test_fifty_waiters_each_get_their_own_event(inbox: Inbox, reader: InboxReader, agent: str) -> None:
    names = [f"{agent}-{number}" for number in range(50)]
    tasks = [await waiting(reader, name) for name in names]
    for name in names:
        inbox.put(name, "e", {"for": name})
    assert [(await received(task)).event["for"] for task in tasks] == names


async def test_of_many_processes_of_one_agent_one_gets_each_event(
    inbox: Inbox, onlooker: Connections, server: RestrictedRedis, agent: str
) -> None:
    async with reading(server.url) as item, reading(server.url) as two:
        tasks = [await waiting(reader, agent) for _ in range(4) for reader in (item, two)]
        await until(lambda: len(follower_ids(onlooker)) >= 2)
        for number in range(len(tasks)):
            inbox.put(agent, f"run:S{number}:1:e", {"n": number})
        ns = [(await received(task)).event["n"] for task in tasks]
    assert sorted(ns) == list(range(len(tasks)))


async def test_who_has_waited_longest_gets_the_first_event(
    inbox: Inbox, onlooker: Connections, reader: InboxReader, agent: str
) -> None:
    tasks = [await asleep(reader, agent) for _ in range(4)]
    await until(lambda: is_followed(onlooker))
    for number, task in enumerate(tasks):
        inbox.put(agent, f"e{number}", {"n": number})
        assert (await received(task)).event == {"n": number}


async def test_several_events_at_once_wake_as_many_waits(
    inbox: Inbox, onlooker: Connections, reader: InboxReader, agent: str
) -> None:
    tasks = [await asleep(reader, agent) for _ in range(4)]
    await until(lambda: is_followed(onlooker))
    for number in range(4):
        inbox.put(agent, f"run:S{number}:1:e", {"n": number})
    assert {(await received(task)).event["n"] for task in tasks} == {0, 1, 2, 3}


async def test_a_thousand_agents_wait_over_one_connection(
    inbox: Inbox, onlooker: Connections, server: RestrictedRedis, agent: str
) -> None:
    async with reading(server.url) as reader:
        inbox.put(f"{agent}-other", "e", {})  # its connection is open now
        before = connected(onlooker)
        await asyncio.gather(*(reader.next(f"{agent}-{number}", 0) for number in range(20)))
        tasks = [asyncio.create_task(reader.next(f"{agent}-{number}", LONG_S)) for number in range(1000)]
        await until(lambda: len(reader._queues) == 1000)
        await until(lambda: follower_ids(onlooker))
        for number in (999, 0):
            inbox.put(f"{agent}-{number}", "e", {"n": number})
            assert (await received(tasks[number])).event == {"n": number}
        assert connected(onlooker) - before <= 1 + 8, "one for all waits, and one for each look at the same time"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def connected(onlooker: Connections) -> int:
    (clients,) = onlooker.send(("CLIENT", "LIST"))
    return len(clients.splitlines())


# Waits that end early


async def test_what_was_taken_for_a_wait_that_was_cancelled_is_handed_out_again_at_once(
    real: World, proxy: Proxy, agent: str
) -> None:
    real.inbox.put(agent, "e", {"n": 1})
    async with reading(proxy.url) as reader:
        await reader.next(f"{agent}-other", 0)  # it is connected now
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(reader.next(agent, LONG_S))

        def give_up() -> None:
            loop.call_soon_threadsafe(task.cancel)
            wait_until(task.done)

        proxy.plan(Fault.HOLD, command="EVAL", meanwhile=give_up)
        with pytest.raises(asyncio.CancelledError):
            await task
        taken = keys.inbox_parts(agent)[2]
        await until(lambda: real.ask("ZRANGE", taken, 0, -1, "WITHSCORES")[1:] == [b"0"])
    message = real.inbox.take(agent).message
    assert message is not None
    assert message.event == {"n": 1}


async def test_an_event_that_woke_a_wait_just_when_it_was_cancelled_goes_to_the_next(
    inbox: Inbox, onlooker: Connections, reader: InboxReader, agent: str
) -> None:
    first, second = await asleep(reader, agent), await asleep(reader, agent)
    await until(lambda: is_followed(onlooker))
    inbox.put(agent, "e", {"n": 1})
    await turns(lambda: waiters(reader, agent)[0].is_woken)
    first.cancel()
    assert (await received(second)).event == {"n": 1}


async def test_a_wait_that_is_cancelled_ends_at_once_however_early_that_is(reader: InboxReader, agent: str) -> None:
    for number in range(100):
        async with asyncio.timeout(LONG_S / 2):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.next(f"{agent}-{number}", LONG_S), 0.0001 * (number % 30))
    assert reader._queues == {}


async def test_who_waits_for_an_agent_that_was_deleted_is_told_so(real: World, reader: InboxReader, agent: str) -> None:
    real.records.create(AgentRecord(agent_id=agent, name=agent))
    assert real.records.delete(agent)
    with pytest.raises(AgentUnknown, match="was deleted"):
        await reader.next(agent, LONG_S)


# Redis goes away


async def test_waits_go_on_over_a_new_connection_and_miss_nothing(
    inbox: Inbox, onlooker: Connections, reader: InboxReader, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.events.news._SOON_S", 0)
    tasks = [await waiting(reader, name) for name in (agent, agent, f"{agent}-2")]
    await until(lambda: is_followed(onlooker))
    for follower_id in follower_ids(onlooker):
        onlooker.send(("CLIENT", "KILL", "ID", follower_id))
    for name in (agent, f"{agent}-2"):
        inbox.put(name, "run:A:1:e", {"n": 1}, run="run", sender="key")
    inbox.put(agent, "run:B:1:e", {"n": 2}, run="run", sender="key")
    assert sorted([(await received(task)).event["n"] for task in tasks]) == [1, 1, 2]


async def test_when_redis_ends_all_waits_say_so_and_later_ones_work_again(tmp_path: Path, agent: str) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}"
    async with reading(url) as reader:
        with redis_server(tmp_path, at=port):
            connections = Connections(open_pool(url))
            tasks = [await waiting(reader, f"{agent}-{number}") for number in range(3)]
            await until(lambda: is_followed(connections))
            connections.close()
        for task in tasks:
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(StoreUnavailable, match="Redis cannot be reached"):
                    await task
        with pytest.raises(StoreUnavailable):
            await reader.next(agent, LONG_S)
        with redis_server(tmp_path, at=port):
            connections = Connections(open_pool(url))
            task = await waiting(reader, agent)
            await until(lambda: is_followed(connections))
            Inbox(connections).put(agent, "e", {"n": 1})
            assert (await received(task)).event == {"n": 1}
            connections.close()


async def test_waits_on_a_server_that_becomes_a_replica_say_so(tmp_path: Path, agent: str) -> None:
    with redis_server(tmp_path) as port:
        url = f"redis://127.0.0.1:{port}"
        connections = Connections(open_pool(url))
        async with reading(url) as reader:
            task = await waiting(reader, agent)
            await until(lambda: is_followed(connections))
            connections.send(("REPLICAOF", "127.0.0.1", free_port()))
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(StoreUnavailable, match=r"this server (is|became) a replica"):
                    await task
        connections.close()


async def test_a_server_that_falls_silent_is_waited_for_no_longer_than_asked(proxy: Proxy, agent: str) -> None:
    proxy.plan(Fault.STALL, command="XREAD")
    async with reading(proxy.url) as reader, asyncio.timeout(PATIENCE_S):
        assert await reader.next(agent, 0.3) is None


async def test_a_server_that_stays_silent_ends_the_waits(
    proxy: Proxy, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_BLOCK_S", "_PATIENCE_S"):
        monkeypatch.setattr(f"dcf.store.events.news.{name}", 0.1)
    proxy.plan(Fault.STALL, command="XREAD")
    async with reading(proxy.url) as reader, asyncio.timeout(PATIENCE_S):
        with pytest.raises(StoreUnavailable, match=r"did not answer in time\."):
            await reader.next(agent, LONG_S)


async def test_who_follows_so_slowly_that_news_were_dropped_looks_into_every_inbox(
    real: World, proxy: Proxy, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.events.news.MOST_NEWS", 3)

    def fall_behind() -> None:
        real.inbox.put(agent, "e", {"n": 1})
        for _ in range(5):
            real.ask("XADD", keys.NEWS, "*", "agent", "others")
        real.ask("XTRIM", keys.NEWS, "MAXLEN", 3)

    proxy.plan(Fault.HOLD, command="XREAD", meanwhile=fall_behind)
    async with reading(proxy.url) as reader:
        assert (await received(await waiting(reader, agent))).event == {"n": 1}


async def test_the_news_are_short(real: World, inbox: Inbox, agent: str) -> None:
    for number in range(1500):
        inbox.put(agent, f"run:A:{number}:e", {"n": number})
    assert real.ask("XLEN", keys.NEWS) < 1500


async def test_news_of_a_foreign_type_do_not_keep_events_from_their_inboxes(
    real: World, inbox: Inbox, reader: InboxReader, agent: str
) -> None:
    real.ask("DEL", keys.NEWS)
    real.ask("SET", keys.NEWS, "text")
    try:
        inbox.put(agent, "e", {"n": 1})
        assert (await received(await waiting(reader, agent))).event == {"n": 1}
        inbox.acknowledge(agent, "0-0")
    finally:
        real.ask("DEL", keys.NEWS)


async def test_a_reader_of_a_server_that_is_away_may_be_closed_twice(agent: str) -> None:
    async with reading(f"redis://:canary@127.0.0.1:{free_port()}") as reader:
        with pytest.raises(StoreUnavailable, match="no server listens there"):
            await reader.next(agent, 0)
        await reader.close()
