"""Follows the news of inboxes on a cluster: one connection to each node, however many parts the inboxes are in.

As `news` does on one server. Redis refuses one read over streams of several slots, but a connection can receive the
messages in channels of all slots of its node. So the script that puts an event in also publishes the agent in the
channel of its part. A message without a listener is lost: whenever a channel begins to be followed, on this node or on
another, its agents may have got something.

A node reports when it hands a slot over, and so does a primary that is replaced. A node that was cut off does not: it
still accepts subscriptions, as replicas do. So each subscription goes with a question about a key of the same slot. The
question is repeated whenever a node was silent for a while.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import redis
import redis.asyncio
from hiredis import PushNotification
from redis.exceptions import AskError, MovedError

from dcf.errors import StoreUnavailable, StoreUnsuitable
from dcf.store.cluster.connections import ClusterConnections
from dcf.store.cluster.stages import Node
from dcf.store.connection.connections import CONNECTION_ERRORS
from dcf.store.connection.faults import PassingError, connection_error, refusal
from dcf.store.connection.pools import close_async_client
from dcf.store.events.news import NewsHeard, NewsLost
from dcf.store.keys import table as keys

_SILENT_S: Final = 5.0
"""Seconds of silence after which a node is asked whether it still serves the channels that are followed there."""
_PATIENCE_S: Final = 5.0
"""Seconds in which it must answer, or counts as away."""
_SOON_S: Final = 1.0
"""A connection that breaks earlier than this is not replaced, so that no loop reconnects without end."""
_AGAIN_S: Final = 0.05
"""Seconds before the next search for the node of a part that has moved: the other nodes may not know it yet."""
_MOST_IN_VAIN: Final = 100
"""Nodes that are tried in a row for a part, at intervals of `_AGAIN_S`."""


class ClusterNews:
    """Follows the channels of the agents until `close`, or until a node cannot be reached; belongs to one event loop.

    A channel is followed as long as its node is reached, also when no process waits for its agents: there are few.
    """

    def __init__(
        self, connections: ClusterConnections, waiting: Collection[str], heard: NewsHeard, lost: NewsLost
    ) -> None:
        """Follow for the agents that `waiting` has at any moment."""
        self._connections = connections
        self._waiting = waiting
        self._heard = heard
        self._lost = lost
        self._followed: set[str] = set()
        self._unplaced: set[str] = set()
        self._in_vain: Counter[str] = Counter()
        self._listeners: dict[Node, _Listener] = {}
        self._placing: asyncio.Task[None] | None = None
        self._listening: set[asyncio.Task[None]] = set()

    def follow(self, agent_id: str) -> None:
        """Tell from now on what this agent gets. Idempotent."""
        channel = self._channel(agent_id)
        if channel not in self._followed:
            self._followed.add(channel)
            self._place({channel})

    async def close(self) -> None:
        """Close the connections, before the event loop that they belong to ends."""
        tasks = [*self._listening, *([] if self._placing is None else [self._placing])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._placing = None
        for collection in (self._listeners, self._followed, self._unplaced):
            collection.clear()

    def _channel(self, agent_id: str) -> str:
        return keys.news(agent_id, self._connections.shards)

    def _agents(self, channels: Collection[str]) -> Sequence[str]:
        """Return who is waited for of the agents of these channels."""
        return [agent_id for agent_id in self._waiting if self._channel(agent_id) in channels]

    def _place(self, channels: Iterable[str]) -> None:
        """Have channels followed by the connection to the node that serves them."""
        self._unplaced.update(channels)
        if self._placing is None or self._placing.done():
            self._placing = asyncio.create_task(self._place_all())

    async def _place_all(self) -> None:
        while self._unplaced:
            if any(self._in_vain[channel] for channel in self._unplaced):
                await asyncio.sleep(_AGAIN_S)
            channels, self._unplaced = self._unplaced, set()
            try:
                nodes = await asyncio.to_thread(self._connections.nodes_of, channels)
            except CONNECTION_ERRORS as error:
                self._give_up(channels, self._connections.unavailable(error))
                continue
            for node, of_node in nodes.items():
                await self._listener(node).follow(of_node)

    def _place_again(self, channels: Iterable[str]) -> None:
        """Have channels followed elsewhere, or there again. Give up those that no node wants."""
        self._in_vain.update(channels)
        in_vain = {channel for channel in channels if self._in_vain[channel] > _MOST_IN_VAIN}
        if in_vain:
            self._give_up(in_vain, self._connections.unavailable(PassingError("MOVED")))
        self._place(set(channels) - in_vain)

    def _give_up(self, channels: Iterable[str], error: StoreUnavailable | StoreUnsuitable) -> None:
        """Stop following channels. Present waits get the error; a later wait follows its channel again."""
        for channel in channels:
            self._followed.discard(channel)
            del self._in_vain[channel]
        self._lost(error, self._agents(set(channels)))

    def _begun(self, channels: Iterable[str]) -> None:
        for channel in channels:
            del self._in_vain[channel]
        self._heard(self._agents(set(channels)))

    def _listener(self, node: Node) -> "_Listener":
        """Return what listens to a node; it begins to, unless it does already."""
        if node not in self._listeners:
            client = self._connections.open_listening(node)
            self._listeners[node] = _Listener(client, self._heard, self._begun, self._place_again)
            task = asyncio.create_task(self._listen(node))
            self._listening.add(task)
            task.add_done_callback(self._listening.discard)
        return self._listeners[node]

    async def _listen(self, node: Node) -> None:
        """Listen to a node until the connection breaks. Then try once more, unless it broke at once."""
        listener, error = self._listeners[node], None
        try:
            await listener.listen()
        except MovedError:
            pass
        except redis.ResponseError as refused:
            error = refusal(refused, node)
        except CONNECTION_ERRORS as broken:
            error = connection_error(broken, node)
        finally:
            del self._listeners[node]
            await listener.close()
        if error is None or listener.has_lasted():
            self._place_again(listener.channels)
        else:
            self._give_up(listener.channels, error)


class _Listener:
    """One connection to a node, that follows channels there.

    `begun` is called with channels that it follows from now on, `left` with those that the node does not serve.
    """

    def __init__(
        self,
        client: redis.asyncio.Redis,
        heard: NewsHeard,
        begun: Callable[[Iterable[str]], object],
        left: Callable[[Iterable[str]], object],
    ) -> None:
        self.channels: set[str] = set()
        self._client = client
        self._pool: Any = client.connection_pool  # redis-py leaves it untyped
        self._connection: Any = None
        self._heard = heard
        self._begun = begun
        self._left = left
        self._asked: deque[str] = deque()
        self._unsure: set[str] = set()
        self._sure: set[str] = set()
        self._since: float | None = None

    def has_lasted(self) -> bool:
        """Return whether it followed something, and not only for a moment."""
        return self._since is not None and asyncio.get_running_loop().time() >= self._since + _SOON_S

    async def follow(self, channels: Iterable[str]) -> None:
        """Follow these channels too."""
        self.channels.update(channels)
        if self._connection is not None:
            with suppress(*CONNECTION_ERRORS):  # `listen` learns of it
                await self._subscribe(channels)

    async def listen(self) -> None:
        """Tell until no channel is left; raise an error of the connection or of the node."""
        async with asyncio.timeout(_PATIENCE_S):
            self._connection = await self._pool.get_connection()
            await self._subscribe(set(self.channels))
        while self.channels:
            await self._note_next()

    async def close(self) -> None:
        """Close the connection."""
        await close_async_client(self._client)

    async def _subscribe(self, channels: Iterable[str]) -> None:
        """Subscribe to each by a command of its own, and ask for a key of that name: only its present node answers."""
        self._unsure.update(channels)
        await self._send([(name, channel) for channel in channels for name in ("SSUBSCRIBE", "EXISTS")])

    async def _send(self, commands: Sequence[tuple[str, str]]) -> None:
        self._asked.extend(channel for _, channel in commands)
        await self._connection.send_packed_command(self._connection.pack_commands(commands))

    async def _note_next(self) -> None:
        """Read and note the next message of the node. Report the followed channels once all questions are answered."""
        try:
            message = await self._next()
        except AskError as error:
            self._note_redirected(self._asked.popleft(), error)
        else:
            self._note(message)
        if self._sure and not self._asked:
            sure, self._sure = self._sure, set()
            self._since = self._since or asyncio.get_running_loop().time()
            self._begun(sure)

    def _note(self, message: Any) -> None:
        if not isinstance(message, PushNotification):
            self._be_sure(self._asked.popleft())
            return
        kind, channel, payload = message
        if kind == b"smessage":
            self._heard((payload.decode("utf-8", "replace"),))
        elif kind == b"sunsubscribe":
            self._leave(channel.decode())
        else:
            self._asked.popleft()

    def _note_redirected(self, channel: str, error: AskError) -> None:
        """Note an answer that names another node. Raise it if this one should have said that it gave the slot away."""
        if not isinstance(error, MovedError):
            self._be_sure(channel)  # the slot moves, and is served here until it has
        elif channel in self._unsure:
            self._leave(channel)
        elif channel in self.channels:
            raise error

    async def _next(self) -> Any:
        """Return the next reply, or what was pushed. Raise TimeoutError if the node is away."""
        try:
            async with asyncio.timeout(_SILENT_S):
                return await self._read()
        except TimeoutError:
            await self._send([("EXISTS", next(iter(self.channels)))])
        async with asyncio.timeout(_PATIENCE_S):
            return await self._read()

    async def _read(self) -> Any:
        return await self._connection.read_response(disconnect_on_error=False, push_request=True)

    def _be_sure(self, channel: str) -> None:
        if channel in self._unsure and channel in self.channels:
            self._unsure.discard(channel)
            self._sure.add(channel)

    def _leave(self, channel: str) -> None:
        if channel in self.channels:
            self.channels.discard(channel)
            self._sure.discard(channel)
            self._left({channel})
