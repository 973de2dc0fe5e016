"""A place of its own for real dcf processes: a data directory, an environment, and the end of everything started."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.store.embedded import server as embedded
from tests.support.paths import ROOT
from tests.support.waiting import wait_until

WORKFLOW = ROOT / "workflows" / "order_processing.json"
ORDER = ROOT / "workflows" / "order_processing" / "order.json"
HOOKED = Path(__file__).with_name("hooked_order.py")
STATES = ("ValidateOrder", "CalculatePricing", "GenerateInvoice")
LONG = 180.0
"""Seconds that nothing here takes, not even on a busy machine."""

Process = subprocess.Popen[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    url: str
    process: Process

    @property
    def port(self) -> str:
        return self.url.rsplit(":", 1)[1].removesuffix("/mcp")


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.hooks = folder / "hooks"
        self.hooks.mkdir()
        self.within: list[str] = []
        self._processes: list[Process] = []
        self._logs: list[IO[str]] = []

    def start(self, *command: str, **environment: str) -> Process:
        """Start Python with these arguments, `within` a command; standard output is a pipe, standard error a log."""
        self._logs.append((self.folder / f"{len(self._logs)}.log").open("w+"))
        process = subprocess.Popen(
            [*self.within, sys.executable, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._logs[-1],
            text=True,
            env=self.environment() | environment,
            cwd=ROOT,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "DCF_AUTH": "off",
            "DCF_DATA_DIR": str(self.data_dir),
            "DCF_DOCUMENTS": os.environ.get("DCF_DOCUMENTS", "auto"),
            "DCF_TEST_HOOKS": str(self.hooks),
            "PYTHONPATH": str(ROOT),
        }

    def dcf(self, *arguments: str, **environment: str) -> Process:
        return self.start("-m", "dcf", *arguments, **environment)

    def run(self, *arguments: str, order: Path = ORDER, **environment: str) -> Process:
        """Start `dcf run` on the order pipeline."""
        return self.dcf("run", str(WORKFLOW), "--input", str(order), "--json", *arguments, **environment)

    def serve(self, *arguments: str, **environment: str) -> Server:
        """Start a server and wait until it is ready."""
        process = self.dcf("serve", "--transport", "http", "--json", *arguments, **environment)
        return Server(url=json.loads(first_line(process))["url"], process=process)

    def worker(self, url: str, agent_id: str, *arguments: str, functions: Path = HOOKED, **environment: str) -> Process:
        """Start a worker with the hooked functions and wait until it has imported everything."""
        command = ("worker", str(functions), "--agent-id", agent_id, "--server", url, "--json", *arguments)
        process = self.dcf(*command, **environment)
        first_line(process)
        return process

    def events(self, run_id: str) -> list[dict[str, Any]]:
        """Read a run's history."""
        with open_application(Settings(redis_url=None, data_dir=self.data_dir)) as application:
            return [happening.as_json() for happening in application.history.after(run_id)]

    def printed_events(self, run_id: str) -> list[dict[str, Any]]:
        """Read a run's history with `dcf runs events`."""
        output, code = finish(self.dcf("runs", "events", run_id, "--json"))
        assert code == 0
        return [json.loads(line) for line in output.splitlines()]

    def hook(self, name: str, text: str = "") -> None:
        (self.hooks / name).write_text(text)

    def entered(self, state: str) -> list[int]:
        """Name the processes that began to work on a state, one entry for each attempt."""
        with suppress(FileNotFoundError):
            return [int(line) for line in (self.hooks / f"{state}.entered").read_text().splitlines()]
        return []

    def wait_entered(self, state: str, times: int = 1) -> None:
        wait_until(lambda: len(self.entered(state)) >= times, LONG)

    def redis_pid(self) -> int:
        return int((self.data_dir / "redis.pid").read_text())

    def said(self, process: Process) -> str:
        """Return what a process has written to standard error so far."""
        return (self.folder / f"{self._processes.index(process)}.log").read_text()

    def close(self) -> None:
        """End every process started here; their children end with them, the Redis with its last user."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        for log in self._logs:
            log.close()
            sys.stdout.write(f"--- {log.name}\n{Path(log.name).read_text()[-5000:]}\n")  # shown if the test failed
        try:
            wait_until(lambda: not descendants_in(self.folder))
        finally:
            for pid in descendants_in(self.folder):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if self.data_dir.exists():
            embedded.start(self.data_dir).close()


def first_line(process: Process) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "it ended without a word"
    return line


def finish(process: Process) -> tuple[str, int]:
    """Wait for the end: what it printed and its exit code. A process that never ends is killed.

    `communicate` would lose what was read together with an earlier line.
    """
    assert process.stdout is not None
    overdue = threading.Timer(LONG, process.kill)
    overdue.start()
    try:
        return process.stdout.read(), process.wait()
    finally:
        overdue.cancel()


def result_of(process: Process) -> tuple[dict[str, Any], int]:
    """Wait for the end of `dcf run --json`: the one object it printed and its exit code."""
    output, code = finish(process)
    return json.loads(output), code


def children(pid: int) -> dict[int, str]:
    """Find the live children of a process: their ids and command lines."""
    rows = (line.split(None, 3) for line in _listed("pid=,ppid=,stat=,command="))
    return {int(row[0]): row[3] for row in rows if int(row[1]) == pid and not row[2].startswith("Z")}


def descendants_in(folder: Path) -> dict[int, str]:
    """Find processes of dcf whose environment names this folder (nothing where the system does not tell)."""
    descendants = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(folder).encode() in (process / "environ").read_bytes():
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if command and "redis-server" not in command:
                    descendants[int(process.name)] = command
    return descendants


def redis_servers_in(folder: Path) -> list[str]:
    return [line for line in _listed("command=") if "redis-server" in line and str(folder) in line]


def _listed(columns: str) -> list[str]:
    command = ["ps", "-A", "-ww", "-o", columns]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def is_alive(pid: int) -> bool:
    """Say whether a process runs; an ended process counts as gone before its exit code is read."""
    rows = (line.split() for line in _listed("pid=,stat="))
    return any(int(row[0]) == pid and not row[1].startswith("Z") for row in rows)


def effective(events: list[dict[str, Any]]) -> dict[str, int]:
    """Count the completions of each state that took effect."""
    return dict(Counter(event["state"] for event in events if event["type"] == "StateSucceeded"))


@contextmanager
def opened(folder: Path) -> Iterator[Site]:
    site = Site(folder)
    try:
        yield site
    finally:
        site.close()
