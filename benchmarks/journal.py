"""The cost of a page of a journal with a thousand entries and a hundred thousand. `python -m benchmarks.journal`."""

import statistics
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.measuring import Probe
from dcf.application.application import Application, open_application
from dcf.features.journal.keys import entry_commands
from dcf.features.journal.model import EntryKind, JournalEntry, entry_id_of
from dcf.features.journal.query import JournalQuery
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys.table import keys_of
from dcf.values.instants import SECOND

_FEW: Final = 1_000
_MANY: Final = 100_000
_PAGE: Final = 50
_BATCH: Final = 1_000
_AGENTS: Final = 10
_ROUND_TRIPS: Final = 3
_RATIO: Final = 1.5
_BEGAN: Final = 1_795_000_000 * SECOND
_KINDS: Final = tuple(EntryKind)

_QUERIES: Final = {
    "no filter": JournalQuery(limit=_PAGE),
    "by kind": JournalQuery(limit=_PAGE, kind=EntryKind.DECISION),
    "by kind and agent": JournalQuery(limit=_PAGE, kind=EntryKind.DECISION, agent="agent-1"),
    "by agent since a time, oldest first": JournalQuery(
        limit=_PAGE, agent="agent-2", since=_BEGAN + 200 * SECOND, oldest_first=True
    ),
}


def measure_journal(app: Application, probe: Probe, rounds: int) -> list[Row]:
    """Time and round trips of pages at both sizes, in turns."""
    few, many = _written(app, _FEW), _written(app, _MANY)
    return [row for name in _QUERIES for row in _compared(name, few, many, app, probe, rounds)]


def _written(app: Application, number: int) -> str:
    """Create a run with a journal of this number of entries, a second apart."""
    name = workloads.create(app.control_plane, workloads.chain(3))
    run = keys_of(name)
    with closing(Connections(open_pool(app.redis_url))) as connections:
        for start in range(0, number, _BATCH):
            entries = (_entry(at) for at in range(start, min(number, start + _BATCH)))
            connections.send(*(command for entry in entries for command in entry_commands(run, entry)))
    return name


def _entry(number: int) -> JournalEntry:
    kind = _KINDS[number % len(_KINDS)]
    return JournalEntry(
        entry_id=entry_id_of(str(number)),
        kind=kind,
        text=f"Entry {number} of this journal says what somebody did and why, in a sentence or two.",
        agent=f"agent-{number % (_AGENTS + 1)}",
        at=_BEGAN + number * SECOND,
        content="0" * 16,
        details={"chosen": "A", "options": ["A", "B"]} if kind is EntryKind.DECISION else {},
    )


def _compared(name: str, few: str, many: str, app: Application, probe: Probe, rounds: int) -> list[Row]:
    query = _QUERIES[name]
    times: dict[str, list[float]] = {few: [], many: []}
    for _ in range(max(100, rounds // 2)):
        for run in (few, many):
            began = time.perf_counter()
            page = app.journal.read_journal(run, query)
            times[run].append(time.perf_counter() - began)
            assert page.entries
    small, large = statistics.median(times[few]), statistics.median(times[many])
    text = f"a page of {_PAGE} entries, {name}, {_MANY} entries"
    trips = probe.spent(partial(app.journal.read_journal, many, query)).reads
    return [
        Row(what=text, figure=round(large * 1000, 2), unit="ms"),
        Row(what=text, figure=trips, unit="round trips", bound=_ROUND_TRIPS),
        Row(what=f"{text} : {_FEW}", figure=round(large / small, 2), unit="ratio", bound=_RATIO),
    ]


def main() -> None:
    """Measure on a fresh embedded server, and print the figures."""
    with (
        tempfile.TemporaryDirectory(prefix="dcf-bench-") as folder,
        open_application(Settings(data_dir=Path(folder), redis_url=None)) as app,
    ):
        for row in measure_journal(app, Probe(app.redis_url), 500):
            print(f"{row.what}: {row.figure:g} {row.unit}{'' if row.holds else ' (too much)'}")


if __name__ == "__main__":
    main()
