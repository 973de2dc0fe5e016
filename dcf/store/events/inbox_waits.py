"""Waits for the next event of an agent (long poll). All waits of a process share one connection to Redis (`news`).

On a cluster they share one to each node (`cluster.news`).

The waits for one agent form a queue. News of that agent wakes the first wait, which reads the inbox; that read decides
which wait gets the event, in this process or another. A wait that was woken and then ended passes the wake on. A
cancelled wait returns the message that was taken for it to the inbox.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import anyio
import anyio.to_thread

from dcf.errors import AgentUnknown, DcfError
from dcf.store.events.inbox import Inbox, Message
from dcf.store.events.news import AnyNews, NewsHeard, NewsLost

_THREADS: Final = 8
"""Looks into inboxes at once. Apart from the threads of tools, which must not wait when many are woken."""
_DROPPED_TOGETHER: Final = 20
"""Unwanted events that are looked at and dropped together, besides the one that was taken."""
_TAKEN_IN_VAIN: Final = 4
"""Unwanted events that one look takes, before others get their turn."""
_LONGEST_CLEANING_S: Final = 2.0
"""Seconds beyond the requested wait in which unwanted events are dropped."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """One wait. `taken` is a message that was taken for it and that its caller has not received yet."""

    is_woken: bool = False
    error: DcfError | None = None
    sleep: "asyncio.Future[None] | None" = None
    taken: Message | None = None
    has_received: bool = False
    is_left: bool = False

    def receive(self) -> Message | None:
        """Return what was taken."""
        taken_message, self.taken = self.taken, None
        self.has_received = True
        return taken_message

    def wake(self) -> None:
        """Let it look again."""
        self.is_woken = True
        self._rouse()

    def fail(self, error: DcfError) -> None:
        """Let it end with this error."""
        self.error = error
        self._rouse()

    async def woken_within(self, seconds: float) -> bool:
        """Sleep until it is woken, at most `seconds`. Return False if it was not."""
        if not self.is_woken and self.error is None:
            loop = asyncio.get_running_loop()
            self.sleep = loop.create_future()
            alarm = loop.call_later(seconds, self._rouse)
            try:
                await self.sleep
            finally:
                alarm.cancel()
                self.sleep = None
        if self.error is not None:
            raise self.error.with_traceback(None)  # the same error ends all waits
        was_woken, self.is_woken = self.is_woken, False
        return was_woken

    def _rouse(self) -> None:
        if self.sleep is not None and not self.sleep.done():
            self.sleep.set_result(None)


@dataclass(slots=True)
class _Queue:
    """The waits for one agent, the first in front, and when an event may have to be handed out again."""

    waiters: dict[_Waiter, None] = field(default_factory=dict)
    alarm: asyncio.TimerHandle | None = None

    def wake_first(self) -> None:
        """Wake the first that is not awake."""
        asleep = next((waiter for waiter in self.waiters if not waiter.is_woken), None)
        if asleep is not None:
            asleep.wake()

    def wake_later(self, seconds: float) -> None:
        """Wake the first after `seconds`, or earlier if that is planned."""
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if self.alarm is None or self.alarm.when() > at:
            self.stop()
            self.alarm = loop.call_at(at, self._ring)

    def stop(self) -> None:
        """Cancel the planned wake."""
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None

    def _ring(self) -> None:
        self.alarm = None
        self.wake_first()


Judge: TypeAlias = Callable[[Sequence[Message]], Sequence[bool]]
"""Function that says of each message whether it is wanted."""


Heard: TypeAlias = Callable[[bool], object]
"""Function that receives whether the acknowledged message was still there."""


OpenNews: TypeAlias = Callable[[Collection[str], NewsHeard, NewsLost], AnyNews]
"""Opens a follower of the news of agents, who come and go; it reports the news, or their loss, to the callbacks."""


def _nobody(_: bool) -> None:
    """Ignore the outcome of an acknowledgement."""


def _any_message(messages: Sequence[Message]) -> Sequence[bool]:
    return [True] * len(messages)


class InboxReader:
    """The waits of one process for events, in one event loop."""

    def __init__(self, inbox: Inbox, open_news: OpenNews) -> None:
        self._inbox = inbox
        self._queues: dict[str, _Queue] = {}
        self._news = open_news(self._queues, self._heard, self._lost)
        self._threads = anyio.CapacityLimiter(_THREADS)

    @property
    def waiting(self) -> int:
        """How many wait now."""
        return sum(len(queue.waiters) for queue in self._queues.values())

    async def next(
        self,
        agent_id: str,
        timeout_s: float,
        *,
        acknowledged: str | None = None,
        are_wanted: Judge = _any_message,
        heard: Heard = _nobody,
    ) -> Message | None:
        """Return the next event not handed out, or handed out too long ago; None after `timeout_s` seconds.

        Acknowledge a message first, and call `heard` with the outcome. Unwanted events are acknowledged and dropped. If
        there are many, this ends before it found a wanted event, and the next call continues. Raise AgentUnknown if the
        agent was deleted.
        """
        until = time.monotonic() + timeout_s
        queue, waiter = self._queues.setdefault(agent_id, _Queue()), _Waiter()
        queue.waiters[waiter] = None
        try:
            while True:
                look = partial(self._look, agent_id, waiter, acknowledged, are_wanted, heard)
                again_in_s = await anyio.to_thread.run_sync(look, limiter=self._threads)
                acknowledged, heard = None, _nobody
                if waiter.taken is not None:
                    return waiter.receive()
                if again_in_s is not None:
                    queue.wake_later(again_in_s)
                left = until - time.monotonic()
                if left <= 0 and not (waiter.is_woken and left > -_LONGEST_CLEANING_S):
                    return None
                self._news.follow(agent_id)
                if not await waiter.woken_within(left):
                    return None
        finally:
            self._leave(agent_id, queue, waiter)
            if waiter.taken is not None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(self._give_back, agent_id, waiter.taken, limiter=self._threads)

    async def close(self) -> None:
        """Close the connections, before the event loop that they belong to ends."""
        await self._news.close()

    def _look(
        self, agent_id: str, waiter: _Waiter, acknowledged: str | None, are_wanted: Judge, heard: Heard
    ) -> float | None:
        """Take the next wanted event for a waiter. Return after how many seconds to look again, if that is known."""
        is_asked = acknowledged is not None
        for _ in range(_TAKEN_IN_VAIN):
            messages = self._inbox.take(agent_id, acknowledged)
            if is_asked and messages.was_there is not None:
                heard(messages.was_there)
                is_asked = False  # what follows are acknowledgements of unwanted events
            if messages.is_gone:
                raise AgentUnknown(f"Agent '{agent_id}' was deleted.", "Stop: there is nothing more for you to do.")
            if messages.message is None:
                return messages.again_in_s
            if all(are_wanted([messages.message])):
                waiter.taken = messages.message
                if waiter.is_left:  # a cancelled task does not wait for its thread
                    self._give_back(agent_id, messages.message)
                return None
            acknowledged = messages.message.message_id
            self._drop_unwanted(agent_id, are_wanted)
        if acknowledged is not None:
            self._inbox.acknowledge(agent_id, acknowledged)
        waiter.is_woken = True  # there may be more
        return None

    def _drop_unwanted(self, agent_id: str, are_wanted: Judge) -> None:
        """Drop unwanted ones of the next messages: they often come together, about states that were leased together."""
        following = self._inbox.waiting(agent_id, _DROPPED_TOGETHER)
        judged = zip(following, are_wanted(following), strict=True)
        self._inbox.remove(agent_id, [message.message_id for message, is_wanted in judged if not is_wanted])

    def _give_back(self, agent_id: str, message: Message) -> None:
        with suppress(DcfError):  # then it is handed out again a little later
            self._inbox.give_back(agent_id, message.message_id)

    def _leave(self, agent_id: str, queue: _Queue, waiter: _Waiter) -> None:
        waiter.is_left = True
        del queue.waiters[waiter]
        if not queue.waiters:
            queue.stop()
            del self._queues[agent_id]
        elif waiter.is_woken or waiter.has_received:
            queue.wake_first()  # there may be something for the next one too

    def _heard(self, agent_ids: Iterable[str] | None) -> None:
        for queue in self._queues_of(agent_ids):
            queue.wake_first()

    def _lost(self, error: DcfError, agent_ids: Iterable[str] | None) -> None:
        for queue in self._queues_of(agent_ids):
            for waiter in queue.waiters:
                waiter.fail(error)

    def _queues_of(self, agent_ids: Iterable[str] | None) -> Iterable[_Queue]:
        if agent_ids is None:
            return self._queues.values()
        return [self._queues[agent_id] for agent_id in agent_ids if agent_id in self._queues]
