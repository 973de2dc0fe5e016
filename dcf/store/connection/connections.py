"""Connections to Redis: opened from a URL, each exchange one packet of commands. Errors are translated by `faults`.

The protocol needs exactly two packets per transaction on one connection, and no automatic retries: redis-py's own
pipeline sends WATCH and each read alone, and its default retries execute a lost EXEC twice (reliability notes,
section 3).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import redis
from hiredis import pack_command

from dcf import metrics
from dcf.errors import StoreUnavailable
from dcf.store.connection import faults
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.handshake import BEGUN, answer_of
from dcf.store.connection.pools import place_of, pool_of, pool_options, sentinel_pool, sentinels
from dcf.store.connection.routes import RoutedConnection
from dcf.store.connection.url import names_sentinels
from dcf.store.forms.form import DocumentForm
from dcf.store.forms.record import WantedForm, form_of

Answer = TypeVar("Answer")
Exchange: TypeAlias = "Callable[[Connection, Sequence[Command]], list[Reply]]"
Sending: TypeAlias = "Callable[[Connection, Sequence[Command], Exchange], list[Reply]]"

SENDING: ContextVar["Sending | None"] = ContextVar("dcf_sending", default=None)
"""How packets are exchanged where it is not as they are (`reserve`). Every operation would have to pass it on."""

CONNECTION_ERRORS = (redis.ConnectionError, redis.TimeoutError, OSError)
"""Errors after which it is unknown whether the server did the work; `faults.PassingError` is one of them."""

_OF_GROUPS = ("NOGROUP", "BUSYGROUP", "requires the key")
_WATCHES = "dcf_watches"
"""Attribute of a connection whose WATCH no caller uses any longer."""
# hiredis is typed for one argument, but packs a whole command.
_pack = cast("Callable[[Command], bytes]", pack_command)


class Connection(Protocol):
    """The part of a redis-py connection that dcf uses."""

    def send_packed_command(self, command: list[bytes], check_health: bool = ...) -> None:
        """Send packed commands."""

    def read_response(self) -> Reply:
        """Read one reply; raise it if it is an error."""

    def disconnect(self) -> None:
        """Close the socket; the next command opens another."""


class Pool(Protocol):
    """The part of a redis-py connection pool that dcf uses."""

    def get_connection(self) -> Any:
        """Return an open connection."""

    def release(self, connection: Any) -> None:
        """Return a connection to the pool."""

    def disconnect(self) -> None:
        """Close every connection."""


def as_it_is(pool: Pool) -> Pool:
    """Return a pool with nothing around it."""
    return pool


class Connections:
    """Connections to one Redis. `revive` is called after a connection error, to restart an embedded server.

    Idle connections are kept here and not returned to redis-py's pool between calls, since its bookkeeping costs half
    a PING each time (measured, redis-py 8.1).
    """

    shards: int = 1
    """In how many parts families of keys are: more than one on a Redis Cluster."""

    wanted: WantedForm = "auto"
    """In which form documents are to be kept, if Redis is empty."""

    follows_record: bool = True
    """Whether the form is that of the record. False for the move of documents from one form to the other."""

    node: str | None = None
    """Address of the node of a cluster that these are connections to; None for a server alone, or a whole cluster."""

    def __init__(self, pool: Pool, revive: Callable[[], None] | None = None) -> None:
        self._pool = pool
        self._revive = revive
        self._idle: list[Connection] = []
        self._form: DocumentForm | None = None

    @property
    def form(self) -> DocumentForm:
        """How documents are kept there: known since the first connection was opened."""
        if self._form is None:
            self._repeated(lambda: self.give_back(self.take(), is_broken=False))
        if self._form is None:
            raise faults.node_of_cluster()
        return self._form

    def one(self) -> "Lent":
        """Lend a connection. If the block fails, the connection is closed, so that no stray reply is read later."""
        return Lent(self)

    def send(self, *commands: Command) -> list[Reply]:
        """Send one packet of idempotent commands; retried once, on a new connection."""
        return self._repeated(partial(self._attempt, commands, checked))

    def ask(self, *commands: Command) -> list[Reply]:
        """Send one packet as `send` does, but return error replies instead of raising them."""
        return self._repeated(partial(self._attempt, commands))

    def send_to_group(self, stream: str, group: str, command: Command) -> Reply:
        """Send a command of a consumer group. If the group is missing, create it first, reading from the beginning.

        Return None if there is no such stream; it is not created. Entries of a lost reply are delivered again later.
        """
        (reply,) = self._repeated(partial(self._attempt, [command], _checked_but_for_group))
        if _is_missing_group(reply):
            create = ("XGROUP", "CREATE", stream, group, "0")
            made, reply = self._repeated(partial(self._attempt, [create, command], _checked_but_for_group))
            if isinstance(made, redis.ResponseError) and "requires the key" in str(made):
                return None
        return checked(reply)

    def over_one(self, work: Callable[[Connection], Answer]) -> Answer:
        """Exchange several packets over one connection, so with one server. Not retried."""
        try:
            with self.one() as connection:
                return work(connection)
        except CONNECTION_ERRORS as error:
            self.recover()
            raise self.unavailable(error) from None

    def recover(self) -> None:
        """After a connection error: close the idle connections, and restart the embedded server if dcf uses one."""
        with suppress(IndexError):  # other threads may empty it at the same time
            while True:
                self._discard(self._idle.pop())
        if self._revive is not None:
            self._revive()

    def unavailable(self, error: Exception) -> StoreUnavailable:
        """Return the error to raise for a connection error, without redis-py's text."""
        return faults.connection_error(error, place_of(self._pool))

    def servers(self) -> "Sequence[Connections]":
        """Return the connections to each server that has keys, for commands about a server and not about keys."""
        return (self,)

    def own_key(self, key: str) -> str:
        """Return a key that this server has, for a small write: this one, or on a node of a cluster one like it."""
        return key

    def named(self, key: bytes) -> str:
        """Return a key in a reply to SCAN, as dcf writes it."""
        return key.decode()

    def close(self) -> None:
        """Close every connection."""
        self._idle.clear()
        self._pool.disconnect()
        for sentinel in sentinels(self._pool):
            sentinel.close()

    def take(self) -> Connection:
        """Return an idle connection, or open one."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._opened()

    def give_back(self, connection: Connection, *, is_broken: bool) -> None:
        """Keep a connection for the next caller; close a broken one."""
        if is_broken:
            self._discard(connection)
        else:
            self._idle.append(connection)

    def _opened(self) -> Connection:
        try:
            fresh: Connection = self._pool.get_connection()
        except redis.ResponseError as error:
            raise faults.handshake_error(error) from None
        try:
            self._learn_form(fresh)
        except BaseException:
            self._discard(fresh)
            raise
        return fresh

    def _learn_form(self, connection: Connection) -> None:
        """Ask in which form the server of a new connection keeps documents. Raise StoreUnavailable if that is another.

        A caller is about to send commands in the form that was known before.
        """
        if not self.follows_record:
            return
        before, answered = self._form, answer_of(connection)
        if answered and isinstance(answered[0], redis.exceptions.MovedError):
            return  # a node of a cluster that is used as if it were alone: the replies to commands say so
        self._form = form_of(partial(_exchanged, connection), self.wanted, replies=answered)
        if before is not None and before is not self._form:
            raise StoreUnavailable(
                "Another Redis answers than before, which keeps documents in another form.", "Repeat the call."
            )

    def _discard(self, connection: Connection) -> None:
        connection.disconnect()
        self._pool.release(connection)

    def _repeated(self, attempt: Callable[[], Answer]) -> Answer:
        try:
            return attempt()
        except CONNECTION_ERRORS as error:
            if faults.is_refused_login(error):
                raise self.unavailable(error) from None
            self.recover()
        try:
            return attempt()
        except CONNECTION_ERRORS as error:
            raise self.unavailable(error) from None

    def _attempt(self, commands: Sequence[Command], check: Callable[[Reply], Reply] | None = None) -> list[Reply]:
        with self.one() as connection:
            replies = exchange(connection, commands)
            return replies if check is None else list(map(check, replies))


class Lent:
    """A connection for the length of a `with` block. A class of its own costs half of what a generator does."""

    __slots__ = ("_connection", "_connections")

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def __enter__(self) -> Connection:
        self._connection = self._connections.take()
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._connections.give_back(self._connection, is_broken=kind is not None)


def exchange(connection: Connection, commands: Sequence[Command]) -> list[Reply]:
    """Send commands in one packet and read all replies. Error replies are returned, not raised."""
    sending = SENDING.get()
    return _exchanged(connection, commands) if sending is None else sending(connection, commands, _exchanged)


def _exchanged(connection: Connection, commands: Sequence[Command]) -> list[Reply]:
    watches = vars(connection).pop(_WATCHES, False)
    kind: object = connection.__class__
    if kind is RoutedConnection:
        return cast("RoutedConnection", connection).route.exchange(commands, must_unwatch=watches)
    if watches:
        commands = [("UNWATCH",), *commands]
    connection.send_packed_command([b"".join(map(_pack, commands))], check_health=False)
    arrived: Callable[[int], list[Reply]] | None = getattr(connection, "arrived", None)
    replies: list[Reply] = []
    while (left := len(commands) - len(replies)) > 0:
        try:
            replies.append(connection.read_response())  # waits for it
        except redis.ResponseError as error:
            replies.append(error)
        if arrived is not None and left > 1:
            replies += arrived(left - 1)
    return replies[1:] if watches else replies


def unwatch_later(connection: Connection) -> None:
    """Have what the connection watches forgotten with its next packet: it costs no round trip of its own."""
    vars(connection)[_WATCHES] = True


def will_unwatch(connection: Connection) -> bool:
    """Return whether the next packet of a connection forgets what it watches."""
    return _WATCHES in vars(connection)


def is_to_unwatch(connection: Connection) -> bool:
    """Return whether `unwatch_later` was called since the latest packet, and forget it."""
    was_watched: bool = vars(connection).pop(_WATCHES, False)
    return was_watched


def packed(commands: Sequence[Command]) -> list[bytes]:
    """Return commands as they are sent."""
    return [b"".join(map(_pack, commands))]


def all_checked(replies: list[Reply]) -> list[Reply]:
    """Return the replies; if one is an error, raise as `checked` does."""
    for reply in replies:
        if isinstance(reply, redis.ResponseError):
            raise _error_of(reply)
    return replies


def checked(reply: Reply) -> Reply:
    """Return the reply; if it is an error, raise dcf's error for it, or a connection error."""
    if not isinstance(reply, redis.ResponseError):
        return reply
    raise _error_of(reply)


def _error_of(reply: redis.ResponseError) -> Exception:
    """Return the error to raise for an error reply; count a write that was rejected."""
    reason = None if metrics.current is None else faults.rejection(reply)
    if metrics.current is not None and reason is not None:
        metrics.current.rejected(reason)
    return faults.reply_error(reply)


def _checked_but_for_group(reply: Reply) -> Reply:
    """Return the reply, or an error about the stream or the group; raise dcf's error for any other."""
    is_error = isinstance(reply, redis.ResponseError)
    return reply if is_error and any(text in str(reply) for text in _OF_GROUPS) else checked(reply)


def _is_missing_group(reply: Reply) -> bool:
    return isinstance(reply, redis.ResponseError) and "NOGROUP" in str(reply)


def open_pool(url: str) -> Pool:
    """Open a connection pool for a Redis URL: redis://, rediss://, unix://, or redis+sentinel://host,host/name/db."""
    is_one = not names_sentinels(url)
    pool: Pool = pool_of(redis.ConnectionPool, url, pool_options() | BEGUN) if is_one else sentinel_pool(url)
    return pool
