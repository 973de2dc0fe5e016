"""Redis servers that have RedisJSON or not, whatever the form of the other tests is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import pytest
import redis

from dcf.store.connection.connections import Connections, open_pool
from dcf.store.forms.record import WantedForm
from tests.support.redis.servers import LOAD_JSON, listens, running
from tests.support.waiting import wait_until

Kind = Literal["plain", "with_json"]
_OPTIONS: Final = {"plain": (), "with_json": LOAD_JSON}


@pytest.fixture
def place(short_directory: Path) -> Iterator[Path]:
    """Where a server of a test listens."""
    result = short_directory / "form.sock"
    yield result
    result.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def both(short_directory: Path) -> Iterator[Connections]:
    """Connections to a Redis that can keep either form. They follow no record."""
    with Served(short_directory / "both.sock", "with_json"):
        result = connected(short_directory / "both.sock")
        result.follows_record = False
        yield result
        result.close()


def connected(place: Path, wanted: WantedForm = "auto") -> Connections:
    """Connect to the server there."""
    connections = Connections(open_pool(f"unix://{place}"))
    connections.wanted = wanted
    return connections


class Served:
    """A Redis at a place, empty and in memory only, for the length of a block."""

    def __init__(self, place: Path, kind: Kind) -> None:
        options = ("--port", "0", "--unixsocket", str(place), "--save", "", "--dir", str(place.parent))
        self._place = place
        self._running = running(*options, *_OPTIONS[kind])

    def __enter__(self) -> redis.Redis:
        self._running.__enter__()
        wait_until(lambda: listens(self._place))
        return redis.Redis(unix_socket_path=str(self._place), protocol=2)

    def __exit__(self, *error: object) -> None:
        self._running.__exit__(None, None, None)
