"""The acknowledged writes that an embedded server loses when it is killed under load: `python -m benchmarks.kills`.

It starts the server that dcf would start here, so another server is measured in an environment that has another. Each
transaction writes two strings, a counter and an entry of a stream; a transaction that is there in part is torn.
"""

import argparse
import os
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from dcf.store.embedded import server as embedded

_WRITERS: Final = 4
_LOADED_S: Final = (0.2, 1.4)
"""Seconds of load before the kill of the first round, and of the last."""


@dataclass(frozen=True, slots=True)
class Round:
    """Transactions that were acknowledged, lost of them, and torn."""

    acknowledged: int
    lost: int
    torn: int


def main() -> None:
    """Kill the server a number of times with each setting of appendfsync, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds: int = parser.parse_args().rounds
    for fsync in ("everysec", "always"):
        with tempfile.TemporaryDirectory(prefix="dcf-kill-", dir="/tmp") as folder:
            print_row(Path(folder), fsync, rounds)


def print_row(folder: Path, fsync: Literal["everysec", "always"], rounds: int) -> None:
    """Print the row of one setting."""
    with embedded.start(folder / "data", appendfsync=fsync) as server:
        results = [kill_under_load(server, number, _loaded_s(number, rounds)) for number in range(rounds)]
        with _client(server.url) as client:
            info = client.info("server")
    name = f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"
    acknowledged, lost, torn = (sum(getattr(result, field) for result in results) for field in Round.__slots__)
    print(f"{name}, appendfsync {fsync}: {rounds} kills, {acknowledged} acknowledged, {lost} lost, {torn} torn")


def kill_under_load(server: embedded.EmbeddedServer, number: int, loaded_s: float) -> Round:
    """Let writers write, kill the server, start it again, and compare."""
    ready = threading.Barrier(_WRITERS + 1)
    with ThreadPoolExecutor(_WRITERS) as writers:
        names = [f"{number}:{writer}" for writer in range(_WRITERS)]
        counts = [writers.submit(_write_until_it_ends, server.url, name, ready) for name in names]
        ready.wait()
        time.sleep(loaded_s)
        os.kill(server.pid, signal.SIGKILL)
        acknowledged = {name: count.result() for name, count in zip(names, counts, strict=True)}
    server.revive()
    with _client(server.url) as client:
        stored = {name: _kept(client, name) for name in names}
    lost = sum(max(0, acknowledged[name] - whole) for name, (whole, _) in stored.items())
    return Round(sum(acknowledged.values()), lost, sum(torn for _, torn in stored.values()))


def _loaded_s(number: int, rounds: int) -> float:
    shortest, longest = _LOADED_S
    return shortest + (longest - shortest) * number / max(1, rounds - 1)


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, decode_responses=True, retry=Retry(NoBackoff(), 0))


def _write_until_it_ends(url: str, name: str, ready: threading.Barrier) -> int:
    """Return how many transactions were acknowledged."""
    with _client(url) as client:
        client.ping()
        ready.wait()
        number = 0
        while True:
            try:
                with client.pipeline(transaction=True) as packet:
                    packet.mset({f"a:{name}:{number + 1}": "x" * 300, f"b:{name}:{number + 1}": "x" * 300})
                    packet.set(f"count:{name}", number + 1, keepttl=True)
                    packet.xadd(f"stream:{name}", {"number": number + 1})
                    packet.execute()
            except redis.ConnectionError:
                return number
            number += 1


def _kept(client: redis.Redis, name: str) -> tuple[int, int]:
    """Return how many transactions are there as a whole, and how many in part."""
    count = int(client.get(f"count:{name}") or 0)
    stream: Any = client.xrange(f"stream:{name}")
    entries = {int(fields["number"]) for _, fields in stream}
    strings = {
        side: {int(key.rpartition(":")[2]) for key in client.scan_iter(f"{side}:{name}:*", count=10_000)}
        for side in ("a", "b")
    }
    whole = entries & strings["a"] & strings["b"] & set(range(1, count + 1))
    partly = (entries | strings["a"] | strings["b"] | set(range(1, count + 1))) - whole
    return len(whole), len(partly)


if __name__ == "__main__":
    main()
