"""Runs the tests as on a Redis Cluster, on one server that has all slots and refuses commands with keys of several.

Set DCF_CHECK_SLOTS to a file: the tests' server is then in cluster mode, every command is sent with hash tags, and each
command with keys in several slots is written to that file and fails its test. conftest imports it before all of dcf.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dcf.store.cluster.keys import cluster_key, on_cluster, plain_key
from dcf.store.connection import connections as sending
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection

_SHARDS: Final = 16
_OF_TESTS: Final = frozenset(
    (
        "KEYS",
        "ACL",
        "DEBUG",
        "FLUSHALL",
        "FLUSHDB",
        "SHUTDOWN",
        "DUMP",
        "RENAME",
        "RESTORE",
        "LPUSH",
        "ECHO",
    )
)
"""Commands that only tests send."""

_sent = sending.exchange


def _exchange(connection: Connection, commands: Sequence[Command]) -> list[Reply]:
    """Do what `exchange` does, with the commands as they are on a cluster."""
    placed: list[Command] = []
    group: set[int] | None = None
    for command in commands:
        if command[0] in _OF_TESTS:
            placed.append(
                (
                    command[0],
                    *(cluster_key(command) if isinstance(command, str) else command for command in command[1:]),
                )
            )
            continue
        try:
            words, slot = on_cluster(command)
        except AssertionError as error:
            _report(f"{error} {str(command[1])[:80]!r}")
            raise
        placed.append(words)
        if command[0] == "MULTI":
            group = set()
        elif command[0] == "EXEC":
            group = None
        elif group is not None and slot is not None:
            group.add(slot)
            if len(group) > 1:
                _report(f"MULTI with {len(group)} slots: {[command[:2] for command in commands]}")
                raise AssertionError("a transaction of several slots")
    replies = _sent(connection, placed)
    return [_plain(*item) for item in zip(commands, replies, strict=True)]


def _plain(command: Command, reply: Reply) -> Reply:
    if command[0] == "KEYS":
        return [plain_key(key.decode()).encode() for key in reply]
    if command[0] != "SCAN" or isinstance(reply, Exception):
        return reply
    cursor, result = reply
    return [cursor, [plain_key(key.decode()).encode() for key in result]]


def _report(subject: str) -> None:
    with Path(os.environ["DCF_CHECK_SLOTS"]).open("a") as file:
        file.write(f"{os.environ.get('PYTEST_CURRENT_TEST', '?')}\t{subject}\n")


sending.exchange = _exchange
sending.Connections.shards = _SHARDS
