"""The reserve for what frees memory: cancelling, finalizing, deleting and expiring runs write although Redis is full.

Redis refuses commands that may need memory once it uses `maxmemory`, but not a script that is marked `allow-oom`. So
the reserve is what the machine has beyond `maxmemory`, and nothing else can use it up: only what runs within `freeing`
or `with_reserve` sends its writes that way. Each of these operations writes little, and ends in less being kept.

Between MULTI and EXEC no such script is accepted. In place of WATCH, a transaction that finds Redis full is tried again
with the digests of the keys that it would watch; one script compares these and writes. A script can send no other one,
so a transaction that has one is not sent at all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from dcf.errors import StoreUnavailable
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import SENDING, Connection, Exchange, Sending, will_unwatch
from dcf.store.connection.reserve_scripts import COMMIT, DIGESTS, ONE, allowed
from dcf.values.records import record

Result = TypeVar("Result")
Self = TypeVar("Self")
Arguments = ParamSpec("Arguments")
Word: TypeAlias = str | bytes | int | float


_GROWS: Final = {"SET": 1, "JSON.SET": 1, "HSET": 1, "HINCRBY": 1, "ZADD": 1, "XADD": 1, "XGROUP": 2}
"""Commands of one key that Redis refuses when it is full, and where the key is."""


_WATCHED: Final = "dcf_digests"
"""Attribute of a connection: the keys that a transaction rests on, with their digests."""


@contextmanager
def freeing() -> Iterator[None]:
    """Let the scripts and single commands of this block use the reserve."""
    with _sending(SENDING.get() or _by_scripts):
        yield


def with_reserve(work: Callable[[], Result]) -> Result:
    """Return what `work` returns, which may use the reserve. It must be safe to repeat, and is where Redis is full."""
    if SENDING.get() is _all:
        return work()
    with freeing():
        try:
            return work()
        except StoreUnavailable as error:
            if not error.is_full:
                raise
            with _sending(_all):
                return work()


def frees_memory(
    method: Callable[Concatenate[Self, Arguments], Result],
) -> Callable[Concatenate[Self, Arguments], Result]:
    """Let a method use the reserve. It must be safe to repeat."""

    @wraps(method)
    def freed(self: Self, /, *args: Arguments.args, **more: Arguments.kwargs) -> Result:
        return with_reserve(lambda: method(self, *args, **more))

    return freed


def _by_scripts(connection: Connection, commands: Sequence[Command], exchange: Exchange) -> list[Reply]:
    """Exchange a packet whose scripts and single writes Redis accepts when it is full."""
    return _exchanged(connection, commands, exchange, transactions=False)


def _all(connection: Connection, commands: Sequence[Command], exchange: Exchange) -> list[Reply]:
    """Exchange a packet of which Redis accepts everything when it is full."""
    return _exchanged(connection, commands, exchange, transactions=True)


def _exchanged(
    connection: Connection, commands: Sequence[Command], exchange: Exchange, *, transactions: bool
) -> list[Reply]:
    """Return the replies to the commands as they were given."""
    if will_unwatch(connection):
        vars(connection).pop(_WATCHED, None)
    translate = _translated_transaction if transactions else _translated
    parts = [translate(connection, commands[first:end]) for first, end in _parts(commands)]
    replies = iter(exchange(connection, [command for part in parts for command in part.sent]))
    return [reply for part in parts for reply in part.understand([next(replies) for _ in part.sent])]


@record(frozen=True, slots=True, kw_only=True)
class _Translation:
    """A command of a packet, or all from MULTI to EXEC: the commands sent for it, and the reading of their replies."""

    sent: Sequence[Command]
    understand: Callable[[list[Reply]], list[Reply]] = list


def _parts(commands: Sequence[Command]) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a packet begin and end."""
    at = 0
    while at < len(commands):
        end = at + 1
        if commands[at][0] == "MULTI":
            end += next(more for more, command in enumerate(commands[at + 1 :], 1) if command[0] == "EXEC")
        yield at, end
        at = end


def _translated(_: Connection, commands: Sequence[Command]) -> _Translation:
    return _Translation(sent=commands if len(commands) > 1 else [_allowed(commands[0])])


def _translated_transaction(connection: Connection, commands: Sequence[Command]) -> _Translation:
    first, inner = commands[0], commands[1:-1]
    if first[0] == "WATCH":
        keys = first[1:]
        return _Translation(sent=[("EVAL", DIGESTS, len(keys), *keys)], understand=partial(_watched, connection, keys))
    if first[0] != "MULTI":
        return _translated(connection, commands)
    digests: dict[Word, bytes] = vars(connection).pop(_WATCHED, {})
    if any(command[0] == "EVAL" for command in inner):
        raise AssertionError(
            "A script within a transaction cannot be sent from the reserve: no digests would guard it."
        )
    return _Translation(sent=[_commit(digests, inner)], understand=partial(_executed, len(inner)))


def _allowed(command: Command) -> Command:
    """Return the command as Redis accepts it when it is full."""
    name = command[0]
    at = _GROWS.get(str(name))
    if at is not None:
        return ("EVAL", ONE, 1, command[at], at + 1, *command[:at], *command[at + 1 :])
    return (name, allowed(str(command[1])), *command[2:]) if name == "EVAL" else command


def _commit(digests: Mapping[Word, bytes], commands: Sequence[Command]) -> Command:
    from dcf.store.cluster.keys import key_places  # noqa: PLC0415 - only where Redis is full

    written = dict.fromkeys(command[at] for command in commands for at in key_places(command))
    words = [word for command in commands for word in (len(command), *command)]
    count = len(digests) + len(written)
    return ("EVAL", COMMIT, count, *digests, *written, len(digests), *digests.values(), *words)


def _executed(count: int, replies: list[Reply]) -> list[Reply]:
    return [b"OK", *[b"QUEUED"] * count, *replies]


def _watched(connection: Connection, keys: Command, replies: list[Reply]) -> list[Reply]:
    """Keep the digests for the commit over this connection, as WATCH adds to the watched keys."""
    (digests,) = replies
    if isinstance(digests, list):
        vars(connection)[_WATCHED] = dict(zip(keys, digests, strict=True)) | vars(connection).get(_WATCHED, {})
    return replies


@contextmanager
def _sending(how: Sending) -> Iterator[None]:
    before = SENDING.set(how)
    try:
        yield
    finally:
        SENDING.reset(before)
