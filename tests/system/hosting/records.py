"""The dated record of an acceptance run of hosted agents: what was run, with which versions, what it took.

Written only when DCF_AGENTS_RECORD names the directory for it, and only if every run in it succeeded.
"""

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.system.hosting.environments import CASES


@dataclass(kw_only=True)
class AgentsRun:
    """A run: its recipe, what happened to it, how long it took, and what the process of its agents used."""

    case: str
    fault: str
    seconds: float = 0.0
    use: str = ""

    def used(self, cpu_s: float, memory_mb: float) -> None:
        self.use = f"{cpu_s:.1f} CPU s, {memory_mb:.0f} MB"


@dataclass(kw_only=True)
class AgentsRecord:
    runs: list[AgentsRun] = field(default_factory=list)
    failed: list[AgentsRun] = field(default_factory=list)

    @contextmanager
    def timed(self, case: str, fault: str) -> Iterator[AgentsRun]:
        """Note a run and its time when it succeeds."""
        began, run = time.monotonic(), AgentsRun(case=case, fault=fault)
        self.failed.append(run)
        yield run
        self.failed.remove(run)
        run.seconds = time.monotonic() - began
        self.runs.append(run)


@contextmanager
def agents_record() -> Iterator[AgentsRecord]:
    record = AgentsRecord()
    yield record
    folder = os.environ.get("DCF_AGENTS_RECORD")
    if folder and record.runs and not record.failed:
        path = Path(folder) / f"{datetime.now(UTC):%Y-%m-%d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(record), "utf-8")


def written(record: AgentsRecord) -> str:
    """The record as Markdown."""
    ordered = sorted(record.runs, key=lambda run: (run.case, run.fault))
    rows = "\n".join(f"| {run.case} | {run.fault} | succeeded | {run.seconds:.0f} | {run.use} |" for run in ordered)
    packages = sorted({package for case in CASES.values() for package in case.packages})
    used = "\n".join(f"- {line}" for line in (f"Python {platform.python_version()}", *packages))
    return f"""# Acceptance run with hosted agents, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC

`make accept-agents`: the order of `workflows/order_processing/order.json` by three agents of one host, for each recipe;
the model is scripted, all else is real. Each run ended with the total 242.77 and one effective completion per state.

Seconds are those of the whole run with the start of its host. What the agents' process used is that of one run of three
states and eight tool calls, with the import of its SDK; memory is its peak without that of a Claude Code it started.

| agents | fault | result | seconds | their process |
|---|---|---|---|---|
{rows}

{used}
- Claude Code: `tests/system/clients/package-lock.json`
"""
