"""`python -m benchmarks.findings`: pages of a search over 1,000 findings and over 100,000, and with the search module.

Both sizes are asked in turns, on one embedded Redis, so that a busy machine slows both. The search module indexes the
same words and facets in an index of its own; it is only measured here (docs/decisions/storage/searching.md).
"""

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from dcf.application.application import open_application
from dcf.core.text.entries import TextSearch
from dcf.core.text.query import read_query
from dcf.features.findings.changing import FindingFilters, NewFinding, new_finding
from dcf.features.findings.model import Severity, as_entry
from dcf.settings.process import Settings
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.text_index.index import TextIndex

T = TypeVar("T")

FEW: Final = 1_000
MANY: Final = 100_000
ROUNDS: Final = 60
BOUND: Final = 1.5
_BATCH: Final = 200
_FIRST: Final = 1_700_000_000_000_000
_COMMON: Final = ("update", "lease", "agent", "state", "worker")
"""Words that every tenth finding or more has."""

_SEARCHES: Final[dict[str, tuple[str | None, FindingFilters, str]]] = {
    "newest": (None, FindingFilters(), "@status:{active}"),
    "of a project and global": (None, FindingFilters(project="p1"), "@status:{active} @of:{p1|global}"),
    "project, severity, tag": (
        None,
        FindingFilters(project="p1", severities=(Severity.HIGH,), tags=("t1",)),
        "@status:{active} @of:{p1|global} @severity:{high} @tag:{t1}",
    ),
    "a rare word": ("rare1", FindingFilters(), "rare1 @status:{active}"),
    "a word that all have": ("finding", FindingFilters(), "finding @status:{active}"),
    "three words that many have": (
        "finding update lease",
        FindingFilters(project="p1"),
        "finding update lease @status:{active} @of:{p1|global}",
    ),
    "a phrase": ('"state worker"', FindingFilters(), '"state worker" @status:{active}'),
}
"""Each search as dcf asks it, and in the language of the search module."""


def findings(number: int) -> Iterator[NewFinding]:
    """Yield so many different findings, the same each time."""
    chance = random.Random(7)
    for item in range(number):
        words = [*chance.choices(_COMMON, k=6), *(f"word{chance.randrange(5000)}" for _ in range(14))]
        chance.shuffle(words)
        yield NewFinding(
            severity=chance.choice(list(Severity)),
            category=chance.choice(("speed", "security", "data")),
            title=f"finding {item} {chance.choice(words)}",
            text=" ".join(words) + (f" rare{item % 7}" if item % (number // 500) == 0 else ""),
            author="benchmark",
            tags=tuple(chance.sample(("t1", "t2", "t3", "t4"), 2)),
            project=chance.choice((None, "p1", "p2", "p3")),
        )


def fill(connections: Connections, name: str, number: int) -> TextIndex:
    """Return an index with this number of findings."""
    index = TextIndex(connections, name, most=number)
    made = (new_finding(wish, _FIRST + at * 1000) for at, wish in enumerate(findings(number)))
    putting = index._putting  # noqa: SLF001 - many in one packet
    for batch in _batches(made):
        connections.send(*(putting(as_entry(item, 1), None, None) for item in batch))
    return index


def _batches(result: Iterable[T]) -> Iterator[list[T]]:
    left = iter(result)
    while batch := list(islice(left, _BATCH)):
        yield batch


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="dcf-bench-") as folder:
        settings = Settings(data_dir=Path(folder), redis_url=None)
        with open_application(settings) as app:
            connections = Connections(open_pool(app.redis_url))
            begun = time.perf_counter()
            small, large = fill(connections, "few", FEW), fill(connections, "many", MANY)
            print(f"filled in {time.perf_counter() - begun:.0f} s; {_memory(connections):.0f} MB")
            _with_module(connections)
            print(f"{'':32} {FEW:>9,} {MANY:>9,}   ratio   total      search module: {FEW:,} {MANY:,} ratio")
            for name, (text, filters, module) in _SEARCHES.items():
                search = TextSearch(limit=20, query=read_query(text), filters=filters.as_facets)
                _row(connections, name, search, module, (small, large))


def _row(
    connections: Connections, name: str, search: TextSearch, of_module: str, indexes: tuple[TextIndex, TextIndex]
) -> None:
    small, large = indexes
    few, many = _in_turns(lambda: small.search(search), lambda: large.search(search))
    page = large.search(search)
    total = f"{page.total}{'' if page.exact else '+'}"
    first, second = (_module_search(index, of_module, is_text=bool(search.query.words)) for index in ("few", "many"))
    module = _in_turns(lambda: connections.send(first), lambda: connections.send(second))
    print(
        f"{name:32} {few:6.2f} ms {many:6.2f} ms   {many / few:5.2f}   {total:>7}"
        f"      {module[0]:6.2f} ms {module[1]:6.2f} ms {module[1] / module[0]:6.2f}"
    )


def _in_turns(*calls: Callable[[], Any]) -> tuple[float, ...]:
    """Return the median of each call in milliseconds."""
    took: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for item, call in zip(took, calls, strict=True):
            begun = time.perf_counter()
            call()
            item.append((time.perf_counter() - begun) * 1000)
    return tuple(statistics.median(read) for read in took)


def _memory(connections: Connections) -> float:
    (info,) = connections.send(("INFO", "memory"))
    result = next(line for line in info.decode().splitlines() if line.startswith("used_memory:"))
    return int(result.partition(":")[2]) / 1e6


def _with_module(connections: Connections) -> None:
    """Index copies of the findings with the search module."""
    before = _memory(connections)
    for name, number in (("few", FEW), ("many", MANY)):
        schema: Command = ("title", "TEXT", "NOSTEM", "WEIGHT", 8, "body", "TEXT", "NOSTEM")
        facets: Command = (
            *("of", "TAG", "severity", "TAG", "status", "TAG", "tag", "TAG"),
            "at",
            "NUMERIC",
            "SORTABLE",
        )
        create: Command = ("FT.CREATE", f"m-{name}", "ON", "HASH", "PREFIX", 1, f"m:{name}:", "STOPWORDS", 0, "SCHEMA")
        connections.send((*create, *schema, *facets))
        for batch in _batches(enumerate(findings(number))):
            connections.send(*(_hash(f"m:{name}:{at}", wish, at) for at, wish in batch))
    print(f"the search module beside it: {_memory(connections) - before:.0f} MB")


def _hash(key: str, wish: NewFinding, at: int) -> Command:
    words: Command = ("title", wish.title, "body", wish.text)
    tags: Command = ("of", wish.project or "global", "severity", str(wish.severity), "status", "active")
    return ("HSET", key, *words, *tags, "tag", ",".join(wish.tags), "at", at)


def _module_search(name: str, query: str, *, is_text: bool) -> Command:
    order: Command = () if is_text else ("SORTBY", "at", "DESC")
    return ("FT.SEARCH", f"m-{name}", query, *order, "LIMIT", 0, 20)


if __name__ == "__main__":
    main()
