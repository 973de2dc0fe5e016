"""The replies to a packet: all of them, in order, however they arrive."""

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from dcf.store.connection.connections import Connections, exchange
from dcf.store.connection.packets import PacketParser


@pytest.fixture
def server_side() -> Iterator[tuple[socket.socket, Any]]:
    """The server's end of a connection, and what reads the other end."""
    ours, theirs = socket.socketpair()
    make: Any = PacketParser  # redis-py leaves its parsers untyped
    parser = make(socket_read_size=65536)
    encoder = SimpleNamespace(encoding="utf-8", encoding_errors="strict", decode_responses=False)
    parser.on_connect(SimpleNamespace(_sock=ours, socket_timeout=None, encoder=encoder))
    with ours, theirs:
        yield theirs, parser


def test_replies_are_read_whole_and_in_order_however_many_reads_they_take(onlooker: Connections) -> None:
    texts = [letter * 300_000 for letter in ("a", "b", "c")]
    commands = [("ECHO", text) for text in texts]
    replies = onlooker.over_one(lambda item: exchange(item, [("PING",), *commands, ("ECHO", "last")]))
    assert replies == [b"PONG", *(text.encode() for text in texts), b"last"]


def test_an_error_among_the_replies_is_returned_in_its_place(onlooker: Connections) -> None:
    first, wrong, last = onlooker.over_one(lambda item: exchange(item, [("ECHO", "1"), ("ECHO",), ("ECHO", "2")]))
    assert (first, last) == (b"1", b"2")
    assert isinstance(wrong, redis.ResponseError)


def test_a_reply_after_which_the_connection_cannot_be_used_is_raised(
    server_side: tuple[socket.socket, Any],
) -> None:
    server, parser = server_side
    server.sendall(b"+OK\r\n+QUEUED\r\n-LOADING Redis is loading the dataset in memory\r\n")
    assert parser.read_response() == b"OK"
    assert parser.arrived(1) == [b"QUEUED"]
    with pytest.raises(redis.BusyLoadingError):
        parser.arrived(1)


def test_no_more_is_handed_out_than_has_arrived(server_side: tuple[socket.socket, Any]) -> None:
    server, parser = server_side
    server.sendall(b"+OK\r\n$5\r\nwo")
    assert parser.read_response() == b"OK"
    assert parser.arrived(2) == []
    server.sendall(b"rds\r\n")
    assert parser.read_response() == b"words"


def test_nothing_has_arrived_over_a_connection_that_was_closed(server_side: tuple[socket.socket, Any]) -> None:
    _, parser = server_side
    parser.on_disconnect()
    assert parser.arrived(1) == []
