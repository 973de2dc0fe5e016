"""The order pipeline with hosted agents: real servers, a scripted model, and a host process that a test may kill."""

import json
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dcf.tools.calling.client import ToolClient
from tests.support.waiting import wait_until
from tests.system.hosting.model_server import Heard, ModelServer, Said
from tests.system.hosting.order_mind import order_mind
from tests.system.processes.shop import Shop
from tests.system.processes.site import LONG, ORDER, STATES, WORKFLOW, Process, children, effective, first_line

TOTAL = "242.77"
LEASE_S = 3
AGENTS = dict(zip(STATES, ("orders-1", "pricing-1", "invoices-1"), strict=True))
RUN_S = 150.0


@dataclass(kw_only=True)
class GatedMind:
    """The model at work on orders; it can be kept from answering about one state."""

    closed: str | None = None
    entered: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def __call__(self, heard: Heard) -> Said:
        if heard.state == self.closed and not self.opened.is_set():
            self.entered.set()
            self.opened.wait(LONG)
        return order_mind(heard)


@dataclass(kw_only=True)
class Yard:
    """One run of the order pipeline, and the host of its agents."""

    shop: Shop
    tools: ToolClient
    model: ModelServer
    mind: GatedMind
    agents: Path
    run: str
    host: Process | None = None

    def begin(self) -> None:
        """Start the host, then the run."""
        self.start_host()
        answer = self.tools.call(
            "start_run",
            workflow_json=json.loads(WORKFLOW.read_text()),
            workflow_id=self.run,
            input_json=ORDER.read_text(),
            agents_map_json=AGENTS,
        )
        assert answer["code"] == "ok", answer

    def start_host(self) -> None:
        options = ("--server", self.shop.server_url, "--lease-ttl", str(LEASE_S), "--json")

        self.host = self.shop.site.dcf("host", str(self.agents), *options)
        first_line(self.host)

    def stop_host(self) -> None:
        if self.host is not None and self.host.poll() is None:
            self.host.send_signal(signal.SIGTERM)
            self.host.communicate(timeout=LONG)

    def child(self) -> int:
        """The process that the handlers live in."""
        assert self.host is not None
        (pid,) = children(self.host.pid)
        return pid

    def said(self) -> str:
        assert self.host is not None
        return self.shop.site.said(self.host)

    def states(self) -> dict[str, Any]:
        states: dict[str, Any] = self.tools.call("read_workflow_control_plane", workflow_id=self.run)["states"]
        return states

    def wait_for_turn(self, state: str) -> None:
        """Wait until the model is asked about a state, which it then does not answer."""
        assert self.mind.closed == state
        assert self.mind.entered.wait(LONG)

    def finish(self) -> dict[str, int]:
        """Wait for the end and check what must be true of every run; return the attempts of each state."""

        def read() -> dict[str, Any]:
            return self.tools.call("read_workflow_control_plane", workflow_id=self.run)

        wait_until(lambda: read()["meta"]["status"] != "running", RUN_S)
        result = read()
        assert result["meta"]["status"] == "succeeded", result["meta"]
        assert result["meta"]["output"]["total"] == TOTAL
        assert effective(self.shop.site.events(self.run)) == dict.fromkeys(STATES, 1)
        return {state: result["states"][state]["attempts"] for state in STATES}


def agents_file(folder: Path, common: Mapping[str, Any], name: str = "agents.toml") -> Path:
    """Write an agents file with an agent for each Task of the order pipeline."""
    lines = []
    for state, agent in AGENTS.items():
        lines += [f"[agents.{agent}]", f"tasks = {json.dumps([state])}"]
        lines += [f"{key} = {_toml(value)}" for key, value in common.items()]
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def use_of(pid: int) -> tuple[float, float]:
    """CPU seconds of a process and of what it started and waited for, and its largest memory in MB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    cpu_s = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    status = Path(f"/proc/{pid}/status").read_text()
    return cpu_s, int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)
