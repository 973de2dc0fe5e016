"""`python -m benchmarks.live`: how fast an event of a run reaches its open pages, and what the pages cost the server.

The pages are sockets of this process that do what `live.js` does: each reads its stream, and when it is told to, asks
for its HTML again. An event's delay is counted from its time in the history, which is Redis's clock in milliseconds, to
the moment at which the page has read it. CPU is that of the process of `dcf web`, as /proc has it (Linux only).
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks import workloads
from benchmarks.figures import Row
from benchmarks.runs import Held
from benchmarks.waiting import Served, serving
from dcf.application.application import Application, open_application
from dcf.settings.process import Settings

_STATES: Final = 20
_QUIET: Final = 100
_WARM_S: Final = 2.0
_PATIENCE_S: Final = 30.0
_BOUND_MS: Final = 300
_BOUND_CPU: Final = 100
_TABS: Final = ("graph", "table", "events")


@dataclass(slots=True, eq=False)
class Page:
    """One open page of a run."""

    served: Served
    run: str
    tab: str
    delays: list[float] = field(default_factory=list)
    events: int = 0
    refreshes: int = 0
    bytes_fetched: int = 0
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    _version: str = ""
    is_open: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        """Read the stream for ever."""
        reader, writer = await asyncio.open_connection(self.served.host, self.served.port)
        try:
            writer.write(_request(self.served, f"/ui/runs/{self.run}/live"))
            while line := await reader.readline():
                self._take(line)
        finally:
            writer.close()

    async def refresh(self) -> None:
        """Ask for the page again whenever the stream says so, for ever."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            reader, writer = await asyncio.open_connection(self.served.host, self.served.port)
            try:
                writer.write(_request(self.served, f"/ui/runs/{self.run}?tab={self.tab}", self._version))
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
            finally:
                writer.close()
            self.refreshes += 1
            self.bytes_fetched += length

    def _take(self, line: bytes) -> None:
        if line.startswith(b"id: "):
            self.delays.append(time.time() * 1000 - int(line[4:].partition(b"-")[0]))
            self.is_open.set()
        elif line.startswith(b'data: {"events"'):
            self.events += line.count(b'"type"')
        elif line.startswith(b'data: {"version"'):
            self._version = json.loads(line[6:])["version"]
            self._wanted.set()


def _request(served: Served, path: str, version: str = "") -> bytes:
    more = f"Accept-Encoding: gzip\r\ndcf-version: {version}\r\n" if version else ""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n{more}\r\n".encode()


def measure_live(app: Application, pages: int, runs: int, rate: int, seconds: float) -> list[Row]:
    """Delays of events on a quiet server, and with a number of pages, runs and events a second."""
    if not Path("/proc/self/status").exists():
        return []
    with serving(app, "web") as served:
        return [
            *asyncio.run(_quiet(app, served)),
            *asyncio.run(_busy(app, served, pages, runs, rate, seconds)),
        ]


async def _quiet(app: Application, served: Served) -> list[Row]:
    holding = Held(app.control_plane, workloads.chain(_STATES))
    page = Page(served, holding.run, "graph")
    async with asyncio.TaskGroup() as tasks:
        open_tasks = await _opened(tasks, [page])
        page.delays.clear()
        for _ in range(_QUIET):
            await asyncio.to_thread(_toggle, holding)
            await asyncio.sleep(0.05)
        for task in open_tasks:
            task.cancel()
    return _delays("one page, an event each 50 ms", page.delays)


async def _busy(app: Application, served: Served, pages: int, runs: int, rate: int, seconds: float) -> list[Row]:
    holding = [Held(app.control_plane, workloads.chain(_STATES)) for _ in range(runs)]
    opened = [Page(served, holding[n % runs].run, _TABS[n % len(_TABS)]) for n in range(pages)]
    async with asyncio.TaskGroup() as tasks:
        open_tasks = await _opened(tasks, opened)
        await _load(holding, rate, _WARM_S)
        for page in opened:
            page.delays.clear()
            page.events = page.refreshes = page.bytes_fetched = 0
        before, began = served.cpu_s(), time.perf_counter()
        sent = await _load(holding, rate, seconds)
        spent = (served.cpu_s() - before) / (time.perf_counter() - began)
        for task in open_tasks:
            task.cancel()
    text = f"{pages} pages of {runs} runs, {sent / seconds:.0f} events/s"
    refreshes = sum(page.refreshes for page in opened)
    return [
        *_delays(text, [delay for page in opened for delay in page.delays]),
        Row(what=text, figure=round(spent * 100, 1), unit="% of a core", bound=_BOUND_CPU),
        Row(what=text, figure=round(sum(page.events for page in opened) / seconds), unit="events told/s"),
        Row(what=text, figure=round(refreshes / seconds, 1), unit="pages fetched/s"),
        Row(what=text, figure=round(sum(item.bytes_fetched for item in opened) / max(1, refreshes)), unit="bytes/page"),
    ]


async def _opened(tasks: asyncio.TaskGroup, pages: Sequence[Page]) -> list[asyncio.Task[None]]:
    """Open these pages; return when each has been told how its run stands."""
    create_tasks = [tasks.create_task(work) for page in pages for work in (page.listen(), page.refresh())]
    async with asyncio.timeout(_PATIENCE_S):
        for page in pages:
            await page.is_open.wait()
    return create_tasks


async def _load(leases: Sequence[Held], rate: int, seconds: float) -> int:
    """Let events happen at this rate, in turn in each run; return how many did."""
    began, sent = time.perf_counter(), 0
    while (now := time.perf_counter()) < began + seconds:
        due = int((now - began) * rate) - sent
        for _ in range(due):
            await asyncio.to_thread(_toggle, leases[(sent // 2) % len(leases)])
            sent += 1
        await asyncio.sleep(1 / rate / 2)
    return sent


def _toggle(holding: Held) -> None:
    """Let one event happen: the state is leased, or given back."""
    if holding.is_held:
        holding.release()
    else:
        holding.acquire()


def _delays(subject: str, delays: Sequence[float]) -> list[Row]:
    parts = statistics.quantiles(delays, n=100)
    return [
        Row(what=f"an event is on the page: {subject}", figure=round(parts[49], 1), unit="ms, p50"),
        Row(what=f"an event is on the page: {subject}", figure=round(parts[94], 1), unit="ms, p95", bound=_BOUND_MS),
    ]


def main() -> None:
    """Measure on a fresh embedded server, and print the figures."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--pages", type=int, default=100, help="how many are open")
    parser.add_argument("--runs", type=int, default=10, help="of how many runs")
    parser.add_argument("--rate", type=int, default=50, help="events a second, of all runs together")
    parser.add_argument("--seconds", type=float, default=10, help="how long")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="dcf-bench-") as folder,
        open_application(Settings(data_dir=Path(folder), redis_url=None)) as app,
    ):
        for row in measure_live(app, options.pages, options.runs, options.rate, options.seconds):
            print(f"{row.what}: {row.figure:g} {row.unit}{'' if row.holds else f', more than {row.limit}'}")


if __name__ == "__main__":
    main()
