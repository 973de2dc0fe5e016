"""A clock of Redis that steps back is noticed, also while the step before is still being dealt with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.store.connection.connections import Connections, Pool
from dcf.store.connection.server_time import ServerTime
from dcf.store.keys import table as keys
from lab.server_time import SharedTime, TimedPool


@pytest.fixture
def shared(tmp_path: Path) -> SharedTime:
    return SharedTime(tmp_path / "time")


@pytest.fixture
def time(real_pool: Pool, shared: SharedTime) -> Iterator[ServerTime]:
    connections = Connections(TimedPool(real_pool, shared))
    connections.send(("DEL", keys.SERVER_TIME))
    yield ServerTime(connections)
    connections.send(("DEL", keys.SERVER_TIME))


def test_a_step_back_is_told_until_it_was_dealt_with(time: ServerTime, shared: SharedTime) -> None:
    assert not time.read().has_stepped_back
    shared.step(-600)
    assert time.read().has_stepped_back
    assert time.read().has_stepped_back
    time.accept_reading()
    assert not time.read().has_stepped_back


def test_a_second_step_back_while_the_first_is_dealt_with_is_told_as_well(time: ServerTime, shared: SharedTime) -> None:
    time.read()
    shared.step(-600)
    time.read()
    shared.step(-600)
    time.accept_reading()
    assert time.read().has_stepped_back
