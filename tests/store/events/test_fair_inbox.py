"""An inbox under abuse: a busy sender delays no other, and ended events do not stay."""

import asyncio
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcf.adapters.mailbox import Mailbox
from dcf.ports import Undelivered
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.events.inbox import VISIBILITY_S, Inbox, Message, Posted
from dcf.store.events.inbox_waits import InboxReader
from dcf.store.keys import table as keys
from tests.support.redis.inboxes import reading
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.restricted import RestrictedRedis
from tests.support.world import World


def new_agent() -> str:
    return f"agent-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def agent() -> str:
    return new_agent()


@pytest.fixture
def inbox(real: World) -> Inbox:
    return real.inbox


class Taking:
    """Takes events as an agent does, without waiting."""

    def __init__(self, url: str) -> None:
        self._connections = Connections(open_pool(url))
        self._inbox = Inbox(self._connections)

    def __call__(self, agent: str) -> Message | None:
        return self._inbox.take(agent).message

    def close(self) -> None:
        self._connections.close()


@pytest.fixture(scope="module")
def take(server: RestrictedRedis) -> Iterator[Taking]:
    taking = Taking(server.url)
    yield taking
    taking.close()


def put(inbox: Inbox, agent: str, run: str, number: int, sender: str) -> Posted:
    event = {"run": run, "n": number}
    return inbox.put(agent, f"{run}:S{number}:1:state_ready", event, run=run, sender=sender)


def place_of(take: Taking, inbox: Inbox, agent: str, run: str, most: int = 2000) -> int:
    """After how many other events the first one of this run comes, when each is acknowledged."""
    for place in range(most):
        message = take(agent)
        assert message is not None
        assert inbox.acknowledge(agent, message.message_id)
        if message.event["run"] == run:
            return place
    raise AssertionError("it was not reached")


# Turns


def test_a_flood_of_one_creator_does_not_keep_the_event_of_another_from_being_read(
    inbox: Inbox, take: Taking, agent: str
) -> None:
    """A genuine event was not reached after 338 acknowledgements."""
    for number in range(300):
        put(inbox, agent, "flood", number, "key:aaaaaaaaaaaa")
    put(inbox, agent, "genuine", 1, "key:bbbbbbbbbbbb")
    assert place_of(take, inbox, agent, "genuine") <= 1


def test_a_flood_from_a_thousand_runs_of_one_creator_is_still_one_creator(
    inbox: Inbox, take: Taking, agent: str
) -> None:
    for number in range(300):
        put(inbox, agent, f"flood-{number}", 1, "key:aaaaaaaaaaaa")
    put(inbox, agent, "genuine", 1, "key:bbbbbbbbbbbb")
    assert place_of(take, inbox, agent, "genuine") <= 1


def test_a_large_run_does_not_hold_up_a_small_one_of_the_same_creator(inbox: Inbox, take: Taking, agent: str) -> None:
    for number in range(300):
        put(inbox, agent, "large", number, "local")
    put(inbox, agent, "small", 1, "local")
    assert place_of(take, inbox, agent, "small") <= 3


def test_who_goes_on_writing_while_others_wait_gains_little(inbox: Inbox, take: Taking, agent: str) -> None:
    for number in range(50):
        put(inbox, agent, "flood", number, "key:aaaaaaaaaaaa")
        put(inbox, agent, "genuine", number, "key:bbbbbbbbbbbb")
    seen = []
    for number in range(50, 100):
        put(inbox, agent, "flood", number, "key:aaaaaaaaaaaa")
        put(inbox, agent, f"flood-{number}", number, "key:aaaaaaaaaaaa")
        message = take(agent)
        assert message is not None
        inbox.acknowledge(agent, message.message_id)
        seen.append(message.event["run"])
    assert seen.count("genuine") >= len(seen) // 3


def test_events_that_nobody_acknowledges_do_not_keep_new_ones_from_being_read(
    real: World, inbox: Inbox, take: Taking, agent: str
) -> None:
    for number in range(3):
        put(inbox, agent, "ignored", number, "key:aaaaaaaaaaaa")
        assert take(agent) is not None
    put(inbox, agent, "genuine", 1, "key:bbbbbbbbbbbb")
    runs = []
    for _ in range(2):
        grow_old(real, agent)
        message = take(agent)
        assert message is not None
        runs.append(message.event["run"])
    assert "genuine" in runs


def grow_old(real: World, agent: str) -> None:
    """As if what was handed out had been handed out long ago."""
    taken = keys.inbox_parts(agent)[2]
    for message_id in real.ask("ZRANGE", taken, 0, -1):
        real.ask("ZINCRBY", taken, -1000 * (VISIBILITY_S + 1), message_id)


def test_what_was_handed_out_before_the_clock_stepped_back_is_handed_out_again(
    real: World, inbox: Inbox, take: Taking, agent: str
) -> None:
    put(inbox, agent, "run", 1, "local")
    first = take(agent)
    taken = keys.inbox_parts(agent)[2]
    assert first is not None
    assert take(agent) is None
    real.ask("ZINCRBY", taken, 3_600_000, first.message_id)
    assert take(agent) == first


# Repetitions


def test_events_about_one_state_that_come_at_the_same_time_are_one_entry(
    real: World, worlds: Callable[..., World], take: Taking, agent: str
) -> None:
    """773 calls made 773 entries: each looked for an older one before the other had written."""
    others = [worlds() for _ in range(8)]

    def nudge(number: int) -> Posted:
        return others[number % 8].inbox.put(agent, f"run:A:1:nudge-{number}", {"n": number}, run="run", sender="x")

    with ThreadPoolExecutor(16) as threads:
        assert all(posted.outcome == "put" for posted in threads.map(nudge, range(773)))
    assert real.ask("XLEN", keys.inbox(agent)) == 1
    assert take(agent) is not None
    assert take(agent) is None


def test_repeating_an_event_neither_moves_it_back_nor_forward(inbox: Inbox, take: Taking, agent: str) -> None:
    for number in range(3):
        put(inbox, agent, "run", number, "local")
    inbox.put(agent, "run:S0:1:reminder-1", {"run": "run", "n": "again"}, run="run", sender="local")
    takes = [take(agent) for _ in range(3)]
    assert [message and message.event["n"] for message in takes] == ["again", 1, 2]


def test_a_repetition_of_an_event_that_was_acknowledged_is_not_put_in(inbox: Inbox, take: Taking, agent: str) -> None:
    first = put(inbox, agent, "run", 1, "local")
    assert inbox.acknowledge(agent, first.message_id)
    assert put(inbox, agent, "run", 1, "local") == Posted(outcome="duplicate", message_id=first.message_id)
    assert take(agent) is None


# Bounds


def test_one_creator_has_only_so_many_unread_events_and_others_still_have_room(
    real: World, inbox: Inbox, take: Taking, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.events.inbox.MOST_UNREAD", 5)
    posted = [put(inbox, agent, f"run-{number}", number, "key:aaaaaaaaaaaa") for number in range(8)]
    assert [item.outcome for item in posted] == ["put"] * 5 + ["full"] * 3
    assert put(inbox, agent, "genuine", 1, "key:bbbbbbbbbbbb").outcome == "put"
    again = inbox.put(agent, "run-0:S0:1:reminder-1", {"run": "run-0"}, run="run-0", sender="key:aaaaaaaaaaaa")
    assert again.outcome == "put", "it takes the place of an older one"
    message = take(agent)
    assert message is not None
    inbox.acknowledge(agent, message.message_id)
    while message is not None and message.event["run"] == "genuine":
        message = take(agent)
        assert message is not None
        inbox.acknowledge(agent, message.message_id)
    assert put(inbox, agent, "run-7", 7, "key:aaaaaaaaaaaa").outcome == "put", "one was read"
    assert real.ask("XLEN", keys.inbox(agent)) <= 6


def test_an_event_for_a_full_inbox_is_offered_again_later(
    inbox: Inbox, real: World, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.events.inbox.MOST_UNREAD", 1)
    mailbox = Mailbox(inbox, real.records)
    events = [
        {"workflow_id": f"run-{number}", "provenance": {"from": "dcf", "run_by": "key:aaaaaaaaaaaa"}}
        for number in range(2)
    ]
    first, second = (mailbox.deliver(agent, f"run-{n}:A:1:state_ready", event) for n, event in enumerate(events))
    assert (first.failure, second.failure) == (None, Undelivered.BUSY)
    assert "unread events" in (second.error or "")


def test_what_is_a_week_old_goes_when_something_new_comes(real: World, inbox: Inbox, take: Taking, agent: str) -> None:
    stream, waiting, _, book = keys.inbox_parts(agent)
    long_ago = int(real.ask("TIME")[0]) * 1000 - 8 * 24 * 3600 * 1000
    fields = ("event", '{"run":"old"}', "lane", '["local","old"]', "sender", "local")
    real.ask("XADD", stream, f"{long_ago}-0", *fields)
    real.ask("ZADD", waiting, 0, f"{long_ago}-0")
    real.ask("HSET", book, 'unread:["local","old"]', 1, "lanes:local", 1, "size:local", 1)
    put(inbox, agent, "now", 2, "local")
    assert real.ask("HGET", book, "size:local") == b"1"
    assert real.ask("XLEN", stream) == 1
    message = take(agent)
    assert message is not None
    assert message.event == {"run": "now", "n": 2}


def test_everything_about_an_inbox_expires_and_is_deleted_with_its_agent(
    real: World, inbox: Inbox, take: Taking, agent: str
) -> None:
    put(inbox, agent, "run", 1, "local")
    put(inbox, agent, "run", 2, "local")
    assert take(agent) is not None
    parts = keys.inbox_parts(agent)
    assert all(0 < real.ask("TTL", key) <= 7 * 24 * 3600 for key in parts)
    assert real.records.delete(agent)
    assert real.ask("EXISTS", *parts) == 0


def test_looking_into_an_inbox_again_and_again_keeps_only_a_small_key_for_a_while(
    real: World, take: Taking, agent: str
) -> None:
    take(agent)
    stream, *others = keys.inbox_parts(agent)
    real.ask("EXPIRE", stream, 10)
    take(agent)
    assert 10 < real.ask("TTL", stream) <= 900
    assert real.ask("EXISTS", *others) == 0


# Any sequence


class Model:
    """An inbox, and what is known of it: which event stands for each thing, and what was taken and acknowledged."""

    def __init__(self, world: World, take: Taking) -> None:
        self.world, self.take, self.agent = world, take, new_agent()
        self.unread: dict[str, str] = {}  # by thing: the newest event, which was not acknowledged
        self.last: dict[str, str] = {}  # by thing: the newest event, acknowledged or not
        self.fresh: list[str] = []  # events that no waiter has taken, in the order in which they are to come
        self.out: list[Message] = []
        self.acknowledged: set[str] = set()

    def put(self, run: int, state: int, epoch: int) -> None:
        document, event = f"r{run}:S{state}", f"r{run}:S{state}:{epoch}:state_ready"
        content = {"thing": document, "id": event}
        posted = self.world.inbox.put(self.agent, event, content, run=f"r{run}", sender=f"key{run % 2}")
        assert (posted.outcome == "duplicate") == (self.last.get(document) == event)
        if posted.outcome == "put":
            self.unread[document] = self.last[document] = event
            if document not in self.fresh:
                self.fresh.append(document)

    def receive(self) -> bool:
        message = self.take(self.agent)
        if message is None:
            assert self.fresh == [], "it would be lost"
            return False
        subject = message.event["thing"]
        assert message.message_id not in self.acknowledged
        assert self.unread[subject] == message.event["id"], "only the newest of a state"
        if subject in self.fresh:
            run = subject.split(":")[0]
            assert next(branch_place for branch_place in self.fresh if branch_place.split(":")[0] == run) == subject, (
                "a run keeps its order"
            )
            self.fresh.remove(subject)
        self.out.append(message)
        return True

    def acknowledge(self, number: int) -> None:
        if not self.out:
            return
        message = self.out[number % len(self.out)]
        subject, event = message.event["thing"], message.event["id"]
        is_there = self.unread.get(subject) == event and message.message_id not in self.acknowledged
        done = self.world.inbox.acknowledge(self.agent, message.message_id)
        assert not done or is_there
        if done:
            self.acknowledged.add(message.message_id)
            self.unread.pop(subject)

    def later(self) -> None:
        """A waiter that took an event and did not acknowledge it is dead."""
        grow_old(self.world, self.agent)

    def empty(self) -> None:
        for _ in range(100):
            self.later()
            if not self.receive():
                return
            self.acknowledge(-1)


STATES = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 3), STATES, STATES),
        st.tuples(st.just("receive")),
        st.tuples(st.just("acknowledge"), st.integers(0, 5)),
        st.tuples(st.just("later")),
    ),
    min_size=1,
    max_size=40,
)


@given(steps=STEPS)
@settings(max_examples=150)
def test_each_event_arrives_before_its_acknowledgement_and_in_the_order_of_its_run(
    real_connections: Connections, onlooker: Connections, take: Taking, steps: list[tuple[str, int]]
) -> None:
    model = Model(World(connections=real_connections, onlooker=onlooker), take)
    for name, *arguments in steps:
        getattr(model, name)(*arguments)
    model.empty()
    assert model.unread == {}, "all came in the end"
    _, waiting, taken, book = keys.inbox_parts(model.agent)
    assert model.world.ask("EXISTS", waiting, taken) == 0
    assert set(model.world.ask("HGETALL", book)[::2]) <= {b"rank", b"turn"}, "the counts agree"


def test_an_inbox_whose_events_expired_before_its_counts_begins_anew(
    real: World, inbox: Inbox, take: Taking, agent: str
) -> None:
    stream, waiting, _, book = keys.inbox_parts(agent)
    for number in range(3):
        put(inbox, agent, "lost", number, "local")
    real.ask("DEL", stream)
    put(inbox, agent, "new", 1, "local")
    assert (real.ask("HGET", book, "size:local"), real.ask("ZCARD", waiting)) == (b"1", 1)
    message = take(agent)
    assert message is not None
    assert message.event["run"] == "new"


# Many at once, and replies that are lost


def test_with_many_writers_and_readers_at_once_every_event_is_handled_once(
    server: RestrictedRedis, worlds: Callable[..., World], agent: str
) -> None:
    """No waiter dies, and each acknowledges: then no event comes twice."""
    written = {(f"run-{writer}", number) for writer in range(4) for number in range(40)}
    handled: list[tuple[str, int]] = []

    def write(writer: int) -> None:
        world = worlds()
        for number in range(40):
            put(world.inbox, agent, f"run-{writer}", number, f"key{writer % 2}")

    async def read(reader: InboxReader, inbox: Inbox) -> None:
        while len(handled) < len(written):
            message = await reader.next(agent, 0.2)
            if message is not None:
                handled.append((message.event["run"], message.event["n"]))
                assert await asyncio.to_thread(inbox.acknowledge, agent, message.message_id)

    async def everybody() -> None:
        inbox = worlds().inbox
        writing = [asyncio.to_thread(write, writer) for writer in range(4)]
        async with AsyncExitStack() as stack, asyncio.timeout(60):
            readers = [await stack.enter_async_context(reading(server.url)) for _ in range(4)]
            await asyncio.gather(*writing, *(read(reader, inbox) for reader in readers))

    asyncio.run(everybody())
    assert sorted(handled) == sorted(written)


def test_an_event_whose_delivery_was_not_confirmed_is_put_in_once(
    proxy: Proxy, real: World, worlds: Callable[..., World], agent: str
) -> None:
    proxy.plan(Fault.LOSE_REPLY, command="EVAL")
    put(worlds(proxy.url).inbox, agent, "run", 1, "local")
    assert real.ask("XLEN", keys.inbox(agent)) == 1
    assert real.ask("HGET", keys.inbox_parts(agent)[3], "size:local") == b"1"


def test_an_event_whose_hand_out_was_not_confirmed_comes_again(
    proxy: Proxy, real: World, inbox: Inbox, take: Taking, agent: str
) -> None:
    put(inbox, agent, "run", 1, "local")
    lost = Taking(proxy.url)
    proxy.plan(Fault.LOSE_REPLY, command="EVAL")
    assert lost(agent) is None, "it may have arrived"
    lost.close()
    assert proxy.is_spent
    assert take(agent) is None
    grow_old(real, agent)
    assert take(agent) is not None
