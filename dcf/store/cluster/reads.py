"""Splits reads of several documents, since a cluster must be asked for each document in a separate command. Pure.

RedisJSON tells Redis of the first key of JSON.MGET only (2.8.3; RedisJSON issue 1094). While a slot moves, Redis
therefore looks for that one document, and those that are at the other node are answered as if they were not there. It
refuses MGET until all keys have moved. Of JSON.GET and GET it knows the one key: it says where to ask for a document
that has moved.
"""

from collections.abc import Iterator, Sequence

from dcf.store.connection.commands import Command, Reply


def parts(command: Command) -> list[Command]:
    """Return the commands to send in place of one: itself, or one for each document of a read of several."""
    if command[0] == "JSON.MGET":
        return [("JSON.GET", key, command[-1]) for key in command[1:-1]]
    return [("GET", key) for key in command[1:]] if command[0] == "MGET" else [command]


def joined(commands: Sequence[Command], replies: Iterator[Reply]) -> Iterator[Reply]:
    """Yield the reply to each command, from the replies to its parts. If one of them is an error, so is the reply."""
    for command in commands:
        if command[0] not in ("JSON.MGET", "MGET"):
            yield next(replies)
            continue
        joined_replies = [next(replies) for _ in parts(command)]
        yield next((reply for reply in joined_replies if isinstance(reply, Exception)), joined_replies)
