"""An agent's inbox: waits without polling, hands out each event once, and again when it was not acknowledged."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import pytest

from dcf.adapters.mailbox import Mailbox
from dcf.core.attention import REMINDER_DELAY
from dcf.errors import StoreUnavailable, StoreUnsuitable
from dcf.store import keys
from dcf.store.connection import Connections, open_async_client
from dcf.store.inbox import VISIBILITY_S, Inbox, InboxReader, Message
from dcf.values.instants import SECOND
from tests.support.proxy import Fault, Proxy
from tests.support.restricted import RestrictedRedis
from tests.support.servers import free_port
from tests.support.waiting import wait_until
from tests.support.world import World

Found = TypeVar("Found")
PATIENCE_S = 10.0


@pytest.fixture
def agent() -> str:
    return f"agent-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def inbox(real: World) -> Inbox:
    return real.inbox


@pytest.fixture
def read(server: RestrictedRedis) -> Callable[[Callable[[InboxReader], Awaitable[Found]]], Found]:
    """Runs a coroutine function on a reader in an event loop of its own."""

    def run(work: Callable[[InboxReader], Awaitable[Found]]) -> Found:
        async def opened() -> Found:
            reader = InboxReader(partial(open_async_client, server.url))
            try:
                return await work(reader)
            finally:
                await reader.close()

        return asyncio.run(opened())

    return run


Read = Callable[[Callable[[InboxReader], Awaitable[object]]], object]


def next_of(read: Read, agent: str, timeout_s: float = 0) -> Message | None:
    found = read(lambda reader: reader.next(agent, timeout_s))
    assert found is None or isinstance(found, Message)
    return found


def grow_old(real: World, agent: str, seconds: int = VISIBILITY_S + 1) -> None:
    """As if what was handed out had been handed out so long ago."""
    _, _, taken, _ = keys.inbox_parts(agent)
    for message_id in real.ask("ZRANGE", taken, 0, -1):
        real.ask("ZINCRBY", taken, -1000 * seconds, message_id)


def test_events_are_handed_out_in_order_once_each(inbox: Inbox, read: Read, agent: str) -> None:
    for number in range(3):
        inbox.put(agent, f"e{number}", {"n": number})
    found = [next_of(read, agent) for _ in range(4)]
    assert [message and message.event for message in found] == [{"n": 0}, {"n": 1}, {"n": 2}, None]


def test_the_first_look_into_an_inbox_that_nobody_wrote_to_finds_nothing(read: Read, agent: str) -> None:
    assert next_of(read, agent) is None
    assert next_of(read, agent) is None


def test_an_inbox_that_is_only_looked_into_does_not_stay_for_ever(real: World, read: Read, agent: str) -> None:
    next_of(read, agent)
    assert 0 < real.ask("TTL", keys.inbox(agent)) <= 7 * 24 * 3600


def test_a_waiter_is_woken_at_once_when_an_event_comes(
    inbox: Inbox, onlooker: Connections, read: Read, agent: str
) -> None:
    async def wait(reader: InboxReader) -> tuple[Message | None, float]:
        waiting = asyncio.create_task(reader.next(agent, PATIENCE_S))
        await asyncio.to_thread(wait_until, lambda: is_blocked(onlooker))
        began = time.monotonic()
        await asyncio.to_thread(inbox.put, agent, "e", {"n": 1})
        return await waiting, time.monotonic() - began

    found = read(wait)
    assert isinstance(found, tuple)
    assert found[0].event == {"n": 1}
    assert found[1] < PATIENCE_S / 4


def is_blocked(onlooker: Connections) -> bool:
    """Whether any client of the server waits for events."""
    (clients,) = onlooker.send(("CLIENT", "LIST"))
    return any("cmd=xread" in line and "flags=b" in line for line in clients.decode().splitlines())


def test_waiting_ends_after_the_time_given(read: Read, agent: str) -> None:
    began = time.monotonic()
    assert next_of(read, agent, 0.05) is None
    assert 0.04 < time.monotonic() - began < PATIENCE_S


def test_an_acknowledged_event_is_gone(real: World, inbox: Inbox, read: Read, agent: str) -> None:
    inbox.put(agent, "e", {})
    message = next_of(read, agent)
    assert message is not None
    assert inbox.acknowledge(agent, message.message_id) is True
    assert inbox.acknowledge(agent, message.message_id) is False
    grow_old(real, agent)
    assert next_of(read, agent) is None
    assert real.ask("XLEN", keys.inbox(agent)) == 0


def test_an_event_that_was_not_acknowledged_comes_again_before_newer_ones(
    real: World, inbox: Inbox, read: Read, agent: str
) -> None:
    inbox.put(agent, "e1", {"n": 1})
    first = next_of(read, agent)
    inbox.put(agent, "e2", {"n": 2})
    grow_old(real, agent, VISIBILITY_S - 1)
    second = next_of(read, agent)
    assert second is not None
    assert second.event == {"n": 2}, "its reader may still be at work on the first"
    grow_old(real, agent)
    assert next_of(read, agent) == first


def test_a_process_that_waits_gets_what_a_frozen_one_was_handed_before_its_wait_ends(
    inbox: Inbox, read: Read, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen agent swallowed the event, and the state was announced again only by its first reminder."""
    assert VISIBILITY_S * SECOND < REMINDER_DELAY
    monkeypatch.setattr("dcf.store.inbox.VISIBILITY_S", 1)
    inbox.put(agent, "e", {"n": 1})
    handed = next_of(read, agent)

    async def wait(reader: InboxReader) -> Message | None:
        async with asyncio.timeout(PATIENCE_S):
            return await reader.next(agent, 6 * PATIENCE_S)

    assert handed is not None
    assert read(wait) == handed


def test_fifty_waiters_each_get_their_own_event(inbox: Inbox, read: Read, agent: str) -> None:
    names = [f"{agent}-{number}" for number in range(50)]

    async def wait(reader: InboxReader) -> list[Message | None]:
        waiting = [asyncio.create_task(reader.next(name, PATIENCE_S)) for name in names]
        for name in names:
            await asyncio.to_thread(inbox.put, name, "e", {"for": name})
        return await asyncio.gather(*waiting)

    found = read(wait)
    assert isinstance(found, list)
    assert [message.event["for"] for message in found] == names


def test_of_many_processes_of_one_agent_one_gets_the_event(inbox: Inbox, read: Read, agent: str) -> None:
    async def wait(reader: InboxReader) -> list[Message | None]:
        waiting = [asyncio.create_task(reader.next(agent, 0.3)) for _ in range(8)]
        await asyncio.to_thread(inbox.put, agent, "e", {})
        return await asyncio.gather(*waiting)

    found = read(wait)
    assert isinstance(found, list)
    assert [message is not None for message in found].count(True) == 1


def test_a_reader_whose_waiting_is_cancelled_works_again_and_loses_nothing(
    real: World, inbox: Inbox, onlooker: Connections, read: Read, agent: str
) -> None:
    async def wait(reader: InboxReader) -> Message | None:
        for _ in range(5):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.next(agent, PATIENCE_S), 0.02)
        await asyncio.to_thread(wait_until, lambda: not is_blocked(onlooker))
        await asyncio.to_thread(inbox.put, agent, "e", {"n": 1})
        found = await reader.next(agent, 1)
        if found is None:  # the server gave it to a wait that it did not yet know to be cancelled: it comes again
            await asyncio.to_thread(grow_old, real, agent)
            found = await reader.next(agent, 1)
        return found

    found = read(wait)
    assert isinstance(found, Message)
    assert found.event == {"n": 1}


def test_a_wait_that_is_cancelled_ends_at_once_however_early_that_is(read: Read, agent: str) -> None:
    async def wait(reader: InboxReader) -> float:
        began = time.monotonic()
        for number in range(100):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.next(f"{agent}-{number}", PATIENCE_S), 0.0001 * (number % 30))
        return time.monotonic() - began

    assert read(wait) < PATIENCE_S / 2  # type: ignore[operator]


def test_a_server_that_falls_silent_is_not_waited_for_much_longer_than_asked(
    proxy: Proxy, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.inbox._PATIENCE_S", 0.1)
    proxy.plan(Fault.STALL, command="EVAL")

    async def look() -> None:
        reader = InboxReader(partial(open_async_client, proxy.url))
        with pytest.raises(StoreUnavailable, match=r"did not answer in time\.$"):
            await reader.next(agent, 0.1)
        await reader.close()

    asyncio.run(look())


def test_a_reader_of_a_server_that_is_away_may_be_closed_twice(agent: str) -> None:
    async def look() -> None:
        reader = InboxReader(partial(open_async_client, f"redis://:canary@127.0.0.1:{free_port()}"))
        with pytest.raises(StoreUnavailable, match="nobody listens there"):
            await reader.next(agent, 0)
        await reader.close()
        await reader.close()

    asyncio.run(look())


def test_an_inbox_key_of_a_foreign_type_is_one_clear_error(real: World, read: Read, agent: str) -> None:
    real.ask("SET", keys.inbox(agent), "text")
    with pytest.raises(StoreUnsuitable, match="changed by hand"):
        next_of(read, agent)


def test_the_mailbox_puts_an_event_in_once(world: World, agent: str) -> None:
    mailbox = Mailbox(world.inbox, world.records)
    first = mailbox.deliver(agent, "run:A:1:state_ready", {"n": 1})
    again = mailbox.deliver(agent, "run:A:1:state_ready", {"n": 1})
    assert (first.duplicate, again.duplicate) == (False, True)
    assert first.message_id == again.message_id
    assert mailbox.deliver(f"{agent}-2", "run:A:1:state_ready", {}).duplicate is False
    assert world.ask("XLEN", keys.inbox(agent)) == 1
    assert world.ask("TTL", keys.inbox(agent)) > 0
    assert world.ask("TTL", keys.sent(agent, "run:A")) > 0
