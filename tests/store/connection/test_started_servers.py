"""The servers that tests start: when one counts as there."""

import socket
import threading
from pathlib import Path

from tests.support.redis.servers import listens


def test_a_server_that_has_made_its_socket_but_does_not_listen_yet_is_waited_for(short_directory: Path) -> None:
    """A busy machine may stop redis-server between the two; a client that connects then is refused."""
    place = short_directory / "early.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        assert place.exists()
        assert not listens(place)
        server.listen()
        answering = threading.Thread(target=_answer_one, args=(server,))
        answering.start()
        assert listens(place)
        answering.join()


def _answer_one(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(100)
        connection.sendall(b"+PONG\r\n")
