"""An agent's inbox hands out each event once, and again when it was not acknowledged."""

import uuid

import pytest

from dcf.adapters.mailbox import Mailbox
from dcf.errors import StoreUnsuitable
from dcf.store.events.inbox import VISIBILITY_S, Inbox, Message
from dcf.store.keys import table as keys
from tests.support.world import World


@pytest.fixture
def agent() -> str:
    return f"agent-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def inbox(real: World) -> Inbox:
    return real.inbox


def next_of(inbox: Inbox, agent: str) -> Message | None:
    return inbox.take(agent).message


def grow_old(real: World, agent: str, seconds: int = VISIBILITY_S + 1) -> None:
    """As if what was handed out had been handed out so long ago."""
    _, _, taken, _ = keys.inbox_parts(agent)
    for message_id in real.ask("ZRANGE", taken, 0, -1):
        real.ask("ZINCRBY", taken, -1000 * seconds, message_id)


def test_events_are_handed_out_in_order_once_each(inbox: Inbox, agent: str) -> None:
    for number in range(3):
        inbox.put(agent, f"e{number}", {"n": number})
    nexts = [next_of(inbox, agent) for _ in range(4)]
    assert [message and message.event for message in nexts] == [{"n": 0}, {"n": 1}, {"n": 2}, None]


def test_the_first_look_into_an_inbox_that_nobody_wrote_to_finds_nothing(inbox: Inbox, agent: str) -> None:
    assert next_of(inbox, agent) is None
    assert next_of(inbox, agent) is None


def test_an_inbox_that_is_only_looked_into_does_not_stay_for_ever(real: World, inbox: Inbox, agent: str) -> None:
    next_of(inbox, agent)
    assert 0 < real.ask("TTL", keys.inbox(agent)) <= 7 * 24 * 3600


def test_an_acknowledged_event_is_gone(real: World, inbox: Inbox, agent: str) -> None:
    inbox.put(agent, "e", {})
    message = next_of(inbox, agent)
    assert message is not None
    assert inbox.acknowledge(agent, message.message_id) is True
    assert inbox.acknowledge(agent, message.message_id) is False
    grow_old(real, agent)
    assert next_of(inbox, agent) is None
    assert real.ask("XLEN", keys.inbox(agent)) == 0


def test_an_event_that_was_not_acknowledged_comes_again_before_newer_ones(
    real: World, inbox: Inbox, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.events.inbox.VISIBILITY_S", 600)
    inbox.put(agent, "e1", {"n": 1})
    first = next_of(inbox, agent)
    inbox.put(agent, "e2", {"n": 2})
    grow_old(real, agent, 300)
    second = next_of(inbox, agent)
    assert second is not None
    assert second.event == {"n": 2}, "its reader may still be at work on the first"
    grow_old(real, agent, 301)
    assert next_of(inbox, agent) == first


def test_an_inbox_key_of_a_foreign_type_is_one_clear_error(real: World, inbox: Inbox, agent: str) -> None:
    real.ask("SET", keys.inbox(agent), "text")
    with pytest.raises(StoreUnsuitable, match="changed by hand"):
        next_of(inbox, agent)


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
