"""A transaction that a power loss tore is dropped before Redis starts: what is written afterwards stays."""

from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from dcf.store.embedded import server as embedded
from dcf.store.embedded.append_log import drop_torn_transaction
from tests.support.redis.servers import redis_server
from tests.support.waiting import wait_until

LOGGED = ("--appendonly", "yes", "--appendfsync", "always")


def log_of(home: Path) -> Path:
    return next(home.glob("appendonlydir/*.incr.aof"))


def on(home: Path, do: Callable[[redis.Redis], object]) -> None:
    with redis_server(home, *LOGGED) as port, redis.Redis(port=port, protocol=2) as client:
        wait_until(lambda: not client.info("persistence")["loading"])
        do(client)


def count(*names: str) -> Callable[[redis.Redis], object]:
    """Count these up together, in one transaction."""

    def do(client: redis.Redis) -> None:
        with client.pipeline(transaction=True) as together:
            for name in names:
                together.incr(name)
            together.execute()

    return do


@pytest.mark.parametrize("torn_at", ["MULTI", "first", "second", "EXEC"])
def test_what_is_written_after_a_torn_transaction_is_there_after_the_next_start(tmp_path: Path, torn_at: str) -> None:
    on(tmp_path, count("before"))
    size = log_of(tmp_path).stat().st_size
    on(tmp_path, count("first", "second"))
    whole = log_of(tmp_path).read_bytes()
    log_of(tmp_path).write_bytes(whole[: whole.index(torn_at.encode(), size) + 3])

    assert drop_torn_transaction(tmp_path) == (0 if torn_at == "MULTI" else len(log_of_torn(whole, size, torn_at)))
    on(tmp_path, count("after"))
    assert drop_torn_transaction(tmp_path) == 0
    result: list[object] = []
    on(tmp_path, lambda client: result.append(client.mget("before", "first", "second", "after")))
    assert result == [[b"1", None, None, b"1"]]


def log_of_torn(whole: bytes, size: int, torn_at: str) -> bytes:
    """The beginning of the transaction, which is what is dropped."""
    begin = whole.index(b"*1\r\n$5\r\nMULTI", size)
    return whole[begin : whole.index(torn_at.encode(), size) + 3]


def test_the_embedded_server_does_so_before_it_starts(short_directory: Path) -> None:
    home = short_directory / "torn"
    with embedded.start(home, appendfsync="always") as server, redis.Redis.from_url(server.url) as client:
        count("before")(client)
        count("first", "second")(client)
    whole = log_of(home).read_bytes()
    log_of(home).write_bytes(whole[: whole.index(b"second")])
    for expected in ([b"1", None, None], [b"1", None, b"1"]):
        with embedded.start(home, appendfsync="always") as server, redis.Redis.from_url(server.url) as client:
            assert client.mget("before", "first", "after") == expected
            count("after")(client)


def test_a_log_that_is_whole_stays_as_it_is(tmp_path: Path) -> None:
    assert drop_torn_transaction(tmp_path) == 0
    on(tmp_path, count("one"))
    on(tmp_path, lambda client: client.set("two", 2))
    before = log_of(tmp_path).read_bytes()
    assert drop_torn_transaction(tmp_path) == 0
    assert log_of(tmp_path).read_bytes() == before


def test_a_value_that_looks_like_a_transaction_is_none(tmp_path: Path) -> None:
    on(tmp_path, lambda client: client.set("strange", b"*1\r\n$5\r\nMULTI\r\n"))
    assert drop_torn_transaction(tmp_path) == 0


def test_a_transaction_that_is_longer_than_what_is_read_at_once_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.embedded.append_log._PIECE", 16)
    on(tmp_path, count("before"))
    on(tmp_path, count(*(f"name-{number}" for number in range(50))))
    whole = log_of(tmp_path).read_bytes()
    log_of(tmp_path).write_bytes(whole[:-5])
    assert drop_torn_transaction(tmp_path) > 0
    assert log_of(tmp_path).stat().st_size == whole.index(b"*1\r\n$5\r\nMULTI")
