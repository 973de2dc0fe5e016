"""The dated record of an acceptance run: what was run, with which versions, how long it took.

Written only when DCF_LETTA_RECORD names the directory for it, and only if every run in it succeeded.
"""

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.system.letta.installed import packages

_SHOWN = ("letta", "letta-client", "pgserver")


@dataclass(kw_only=True)
class Record:
    """The runs so far, with their seconds."""

    runs: list[tuple[str, float]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self, document: str) -> Iterator[None]:
        """Note a run and its time when it succeeds."""
        began = time.monotonic()
        self.failed.append(document)
        yield
        self.failed.remove(document)
        self.runs.append((document, time.monotonic() - began))


@contextmanager
def acceptance_record() -> Iterator[Record]:
    record = Record()
    yield record
    folder = os.environ.get("DCF_LETTA_RECORD")
    if folder and record.runs and not record.failed:
        path = Path(folder) / f"{datetime.now(UTC):%Y-%m-%d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(record), "utf-8")


def written(record: Record) -> str:
    """The record as Markdown."""
    rows = "\n".join(f"| {subject} | succeeded | {seconds:.0f} |" for subject, seconds in sorted(record.runs))
    used = "\n".join(f"- {line}" for line in _versions())
    return f"""# Acceptance run with real agents, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC

`make accept-letta`: a planner and three workers on a real Letta server process the order of
`workflows/order_processing/order.json` through MCP tools; the model is scripted. Each run ended with the total
242.77, three outputs, one effective completion per state, an audit record, its workers deleted, and calls of all
eight tools on the stub.

| run | result | seconds |
|---|---|---|
{rows}

Run with:

{used}
"""


def _versions() -> list[str]:
    pins = dict(line.split("==") for line in packages.PINS.read_text().splitlines() if "==" in line and line[0] != "#")
    used = f"dcf-mcp {version('dcf-mcp')}, letta-client {version('letta-client')}, mcp {version('mcp')}"
    machine = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    return [f"{used}, {machine}", "server: " + ", ".join(f"{name} {pins[name]}" for name in _SHOWN)]
