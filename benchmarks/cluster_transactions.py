"""`python -m benchmarks.cluster_transactions`: dcf's two round trips and the transactions of redis-py's cluster client.

Both do what a step does: watch two keys, read three documents of one slot, decide, write four keys between MULTI and
EXEC. They take turns on one cluster of three, so that other load meets both alike. Then both are tried where something
happens in between (`cluster_trials`).
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import redis
from redis.cluster import ClusterNode, RedisCluster

from benchmarks.cluster import heading, write
from benchmarks.cluster_trials import trials
from benchmarks.measuring import Counters
from benchmarks.peers.redis_cluster import ClusterProbe, redis_cluster
from dcf.store.cluster.keys import cluster_key, on_cluster
from dcf.store.cluster.url import open_cluster
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections, all_checked, exchange
from dcf.store.forms.form import DocumentForm
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.attempts import commit
from dcf.values.json_text import dump, load

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "decisions" / "storage" / "cluster-transactions.md"
BEGIN: Final = "<!-- figures: written by python -m benchmarks.cluster_transactions -->"
DCF: Final = "dcf: `WATCH` with the reads, then `MULTI` … `EXEC`"
REDIS_PY: Final = "redis-py: `WATCH`, three reads, `MULTI` … `EXEC`"
REDIS_PY_MGET: Final = "redis-py: `WATCH`, one read of all three, `MULTI` … `EXEC`"
_FILLING: Final = "x" * 300
_WARM: Final = 20

Transaction = Callable[[RunKeys], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The cost of a number of transactions: seconds, of CPU in this process, and what the nodes counted."""

    times: int
    seconds: float
    cpu: float
    counters: Counters


def of_dcf(connections: Connections, run: RunKeys) -> None:
    """Carry out the transaction as dcf does."""
    form = connections.form
    with connections.one() as connection:
        reads = map(form.read, _documents(run))
        _, *replies = all_checked(exchange(connection, [("WATCH", *_watched(run)), *reads]))
        commit(connection, _decided(form, run, map(form.text, replies)))


def of_redis_py(client: Any, form: DocumentForm, run: RunKeys, *, at_once: bool) -> None:
    """Carry it out as a user of redis-py does; the reads are one command, or one each."""
    documents = [cluster_key(key) for key in _documents(run)]
    with client.pipeline(transaction=True) as pipe:
        pipe.watch(*map(cluster_key, _watched(run)))
        if at_once:
            texts = form.texts(pipe.execute_command(*form.read_many(documents)))
        else:
            texts = [form.text(pipe.execute_command(*form.read(key))) for key in documents]
        pipe.multi()
        for command in _decided(form, run, texts):
            pipe.execute_command(*on_cluster(command)[0])
        pipe.execute()


def _watched(run: RunKeys) -> tuple[str, str]:
    return run.state("A"), run.state("B")


def _documents(run: RunKeys) -> tuple[str, str, str]:
    return (*_watched(run), run.input("A"))


def _decided(form: DocumentForm, run: RunKeys, texts: Iterable[bytes | None]) -> list[Command]:
    first, second, entry = (load(text or b"null") for text in texts)
    changed = first | {"number": first["number"] + entry["by"]}
    return [
        form.put(run.state("A"), dump(changed)),
        form.put(run.state("B"), dump(second | {"number": changed["number"]})),
        ("XADD", run.events, "MAXLEN", "~", 100, "*", "e", dump({"type": "Counted", "number": changed["number"]})),
        ("ZADD", run.timers, changed["number"], "A"),
    ]


def _begun(connections: Connections, number: int) -> RunKeys:
    run = RunKeys(f"transactions-{number}")
    document = dump({"number": 0, "by": 1, "text": _FILLING})
    connections.send(*(connections.form.put(key, document) for key in _documents(run)))
    return run


def _turn(probe: ClusterProbe, transaction: Transaction, runs: Sequence[RunKeys]) -> Turn:
    took: list[float] = []

    def work() -> None:
        began, cpu = time.perf_counter(), time.process_time()
        for run in runs:
            transaction(run)
        took.extend((time.perf_counter() - began, time.process_time() - cpu))

    counters = probe.spent(work)
    return Turn(times=len(runs), seconds=took[0], cpu=took[1], counters=counters)


def measure(folder: Path, *, rounds: int, times: int) -> tuple[dict[str, list[Turn]], str, list[str]]:
    """Return the turns of each way, the version of Redis, and the lines about the trials."""
    with redis_cluster(folder) as url:
        places = [place.rpartition(":") for place in url.partition("://")[2].split(",")]
        make: Any = ClusterNode  # redis-py leaves it untyped
        client: Any = RedisCluster(startup_nodes=[make(host, int(port)) for host, _, port in places], protocol=2)
        connections, probe = open_cluster(url), ClusterProbe(url)
        ways: Mapping[str, Transaction] = {
            DCF: lambda run: of_dcf(connections, run),
            REDIS_PY: lambda run: of_redis_py(client, connections.form, run, at_once=False),
            REDIS_PY_MGET: lambda run: of_redis_py(client, connections.form, run, at_once=True),
        }
        runs = [_begun(connections, number) for number in range(times)]
        for transaction in ways.values():
            _turn(probe, transaction, runs[:_WARM])
        turns: dict[str, list[Turn]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, transaction in ways.items():
                turns[name].append(_turn(probe, transaction, runs))
        version, tried = probe.version(), [*trials(client, connections, probe.urls)]
        client.close()
        connections.close()
    return turns, version, tried


def table(turns: Mapping[str, Sequence[Turn]]) -> Iterator[str]:
    """Yield the table: medians, and ratios within a round."""
    yield "| way | a transaction, µs | : dcf | CPU of the client, µs | : dcf | packets | commands |"
    yield f"|---|{'---:|' * 6}"
    ours = turns[DCF]
    for name, own in turns.items():
        cells = [
            *_beside([item.seconds / item.times for item in own], [own.seconds / own.times for own in ours]),
            *_beside([item.cpu / item.times for item in own], [own.cpu / own.times for own in ours]),
            f"{statistics.median(item.counters.reads / item.times for item in own):.1f}",
            f"{statistics.median(item.counters.commands / item.times for item in own):.1f}",
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def _beside(own: Sequence[float], ours: Sequence[float]) -> tuple[str, str]:
    ratio = statistics.median(first / other for first, other in zip(own, ours, strict=True))
    return f"{statistics.median(own) * 1e6:,.0f}", f"{ratio:.2f}"


def report(*, rounds: int, times: int) -> Iterator[str]:
    """Measure, and yield the lines of the document."""
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="dcf-transactions-") as folder:
        turns, version, tried = measure(Path(folder), rounds=rounds, times=times)
    yield from (f"{heading(version, (load_before, os.getloadavg()[0]))} redis-py {redis.__version__}.", "")
    yield from table(turns)
    yield from ("", f"Medians of {rounds} rounds of {times} transactions each, one at a time.", "", *tried)


def read_options() -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_transactions", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="how often each way has its turn (default 15)")
    parser.add_argument("--times", type=int, default=300, help="transactions of a turn (default 300)")
    parser.add_argument("--dry", action="store_true", help="print the tables, write no file")
    return parser.parse_args()


def main() -> None:
    """Measure and write docs/decisions/storage/cluster-transactions.md."""
    namespace = read_options()
    lines = list(report(rounds=namespace.rounds, times=namespace.times))
    print("\n".join(lines))
    if not namespace.dry:
        write(DOCUMENT, lines, BEGIN)


if __name__ == "__main__":
    main()
