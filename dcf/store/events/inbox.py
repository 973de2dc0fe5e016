"""An agent's inbox: a stream that keeps events until the agent acknowledges them.

The inbox holds only the newest event about a state. Runs and their creators take turns, so that many events of one
creator do not delay those of others. A creator has at most `MOST_UNREAD` events in an inbox. An event that was handed
out and not acknowledged within `VISIBILITY_S` is handed out again, to any process of that agent that waits.
`inbox_waits` waits for events; each new event in an inbox wakes its waits.
"""

from collections.abc import Sequence
from typing import Final, Literal

from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.events.inbox_scripts import ON_A_CLUSTER, ON_ONE_SERVER, REMOVE, TAKE
from dcf.store.keys import companions as companion_keys
from dcf.store.keys import table as keys
from dcf.store.transaction.attempts import Attempts
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record

VISIBILITY_S = 5
"""Visibility timeout in seconds. Short, since an answer may be lost; outdated events are dropped when handed out."""

MOST_UNREAD: Final = 10_000
"""Events of runs of one creator that an inbox keeps; further ones wait until some were read."""

MOST_NEWS: Final = 1000
"""Entries of the news that are kept. A process that fell further behind looks into all inboxes that it waits for."""

_INBOX_LIFE_S = 7 * 24 * 3600
_LOOKED_AT_S = 900
"""Seconds that an inbox without events is kept after it was looked into."""
_SENT_LIFE_S = 24 * 3600
_DEADLINE_S: Final = 2.0
"""Seconds for which a put waits for replicas. Short, since the outbox offers the event again."""


@record(frozen=True, slots=True, kw_only=True)
class Message:
    """An event in an inbox; acknowledge it by `message_id`."""

    message_id: str
    event: Json


@record(frozen=True, slots=True, kw_only=True)
class Letter:
    """An event of a run for an agent's inbox. `sender` is the run's creator."""

    agent_id: str
    event_id: str
    event: Json
    run: str = ""
    sender: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Posted:
    """The outcome of putting an event into an inbox.

    `duplicate`: it is or was there, as `message_id`. `full`: its sender has too many unread ones. `gone`: the agent was
    deleted.
    """

    outcome: Literal["put", "duplicate", "full", "gone"]
    message_id: str


@record(frozen=True, slots=True, kw_only=True)
class Taken:
    """The result of a read of an inbox: a message, or None and the seconds until one is handed out again, if any.

    `is_gone`: the agent was deleted. `was_there`: the message that was acknowledged before was still there.
    """

    message: Message | None = None
    again_in_s: float | None = None
    is_gone: bool = False
    was_there: bool | None = None


class Inbox:
    """The inboxes of all agents, without waiting. Deliveries put events in; `inbox_waits` takes them out."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0) -> None:
        self._connections = connections
        self._attempts = Attempts(connections=connections, deadline_s=_DEADLINE_S, wait_replicas=wait_replicas)
        self._telling = ON_ONE_SERVER if connections.shards == 1 else ON_A_CLUSTER

    def put(self, agent_id: str, event_id: str, event: Json, *, run: str = "", sender: str = "") -> Posted:
        """Put an event of a run in; it replaces an unread one about the same state. `sender` is the run's creator."""
        letter = Letter(agent_id=agent_id, event_id=event_id, event=event, run=run, sender=sender)
        (posted,) = self.put_all([letter])
        return posted

    def put_all(self, letters: Sequence[Letter]) -> list[Posted]:
        """Put several events into their inboxes, in one packet. The outcomes are independent.

        Replicas confirm them before this returns. Otherwise a failover could undo them after their outbox was settled.
        """
        if not letters:
            return []
        barrier = companion_keys.barrier(keys.inbox_parts(letters[0].agent_id)[0])
        replies = self._attempts.surely([self._put(letter) for letter in letters], barrier)
        return [Posted(outcome=outcome.decode(), message_id=message_id.decode()) for outcome, message_id in replies]

    def take(self, agent_id: str, acknowledged: str | None = None) -> Taken:
        """Take the next event not handed out, or handed out too long ago; acknowledge a message before, in one packet.

        An event whose reply was lost is handed out again later.
        """
        script_keys = (*keys.inbox_parts(agent_id), keys.gone(agent_id))
        limits = (VISIBILITY_S * 1000, _LOOKED_AT_S, _INBOX_LIFE_S)
        take: Command = ("EVAL", TAKE, len(script_keys), *script_keys, *limits)
        before = () if acknowledged is None else (_removal(agent_id, acknowledged),)
        *removed, (message_id, event, again_in_ms) = self._connections.send(*before, take)
        was_there = bool(removed[0]) if removed else None
        if event:
            return Taken(message=Message(message_id=message_id.decode(), event=load(event)), was_there=was_there)
        again_in_s = None if again_in_ms < 0 else again_in_ms / 1000
        return Taken(again_in_s=again_in_s, is_gone=message_id == b"gone", was_there=was_there)

    def waiting(self, agent_id: str, most: int) -> list[Message]:
        """Return at most `most` of the next messages that are not taken. They stay in the inbox."""
        stream, waiting, *_ = keys.inbox_parts(agent_id)
        (ids,) = self._connections.send(("ZRANGE", waiting, 0, most - 1))
        return self._messages(stream, ids)

    def read(self, agent_id: str, message_id: str) -> Message | None:
        """Return a message, taken or not; None if it is gone."""
        stream, *_ = keys.inbox_parts(agent_id)
        return next(iter(self._messages(stream, [message_id])), None)

    def _messages(self, stream: str, ids: Sequence[str]) -> list[Message]:
        replies = self._connections.send(*(("XRANGE", stream, entry_id, entry_id) for entry_id in ids)) if ids else []
        entries = ((entry_id, fields) for entry in replies for entry_id, fields in entry)
        letters = ((entry_id, dict(zip(fields[::2], fields[1::2], strict=True))) for entry_id, fields in entries)
        return [Message(message_id=entry_id.decode(), event=load(named[b"event"])) for entry_id, named in letters]

    def remove(self, agent_id: str, message_ids: Sequence[str]) -> None:
        """Remove messages that are no longer needed, in one packet. Idempotent."""
        if message_ids:
            self._connections.send(*(_removal(agent_id, message_id) for message_id in message_ids))

    def give_back(self, agent_id: str, message_id: str) -> None:
        """Make a message that was taken but not received the next that is handed out. Idempotent."""
        script_keys = (*keys.inbox_parts(agent_id), self._news_of(agent_id))
        arguments = (message_id, agent_id, MOST_NEWS)
        self._connections.send(("EVAL", self._telling.give_back, len(script_keys), *script_keys, *arguments))

    def acknowledge(self, agent_id: str, message_id: str) -> bool:
        """Remove the message. Return False if it was gone already."""
        (removed,) = self._connections.send(_removal(agent_id, message_id))
        return bool(removed)

    def _news_of(self, agent_id: str) -> str:
        return keys.news(agent_id, self._connections.shards)

    def _put(self, letter: Letter) -> Command:
        agent_id, event_id, sender = letter.agent_id, letter.event_id, letter.sender
        news_keys = (_sent(agent_id, event_id), keys.gone(agent_id), self._news_of(agent_id))
        script_keys = (*keys.inbox_parts(agent_id), *news_keys)
        lane, lives = dump([sender, letter.run]), (_INBOX_LIFE_S, _SENT_LIFE_S)
        arguments = (event_id, sender, lane, dump(letter.event), MOST_UNREAD, *lives, agent_id, MOST_NEWS)
        return ("EVAL", self._telling.put, len(script_keys), *script_keys, *arguments)


def _removal(agent_id: str, message_id: str) -> Command:
    parts = keys.inbox_parts(agent_id)
    return ("EVAL", REMOVE, len(parts), *parts, message_id)


def _sent(agent_id: str, event_id: str) -> str:
    """Return the key that remembers the newest event of a state: the event id without the epoch and type at its end."""
    return keys.sent(agent_id, event_id.rsplit(":", 2)[0])
