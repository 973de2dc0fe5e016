"""A real host that is stopped for longer than a reservation lasts, and continues: its turn is counted once."""

import os
import secrets
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.tools.calling.client import ToolClient, connect
from dcf.values.instants import SECOND, from_text
from tests.support.waiting import wait_until
from tests.system.hosting.limits.rejecting import serving
from tests.system.processes.shop import Shop, shop
from tests.system.processes.site import LONG, Process, first_line

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]

TOKENS = 100
SLOTS = 1
LEASE_S = 300
"""Longer than the host is stopped, so that it keeps its state."""

HANDLER = """
import asyncio, urllib.request

def ask(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()

async def handle(work, tools):
    answer = await asyncio.to_thread(ask, f"{work.agent.base_url}/{work.agent.name}")
    tools.report_usage(tokens_in=TOKENS, cost="0.250000001", currency="EUR")
    return answer
"""


@dataclass(kw_only=True)
class Provider:
    """Answers the calls of an agent once they may end; it counts those that it works on at once."""

    url: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    at_work: int = 0
    most: int = 0
    may_end: threading.Event = field(default_factory=threading.Event)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, agent: str) -> None:
        with self.guard:
            self.calls[agent] += 1
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        self.may_end.wait(LONG)
        with self.guard:
            self.at_work -= 1


@contextmanager
def provider() -> Iterator[Provider]:
    result = Provider()

    def reply(path: str) -> None:
        result.answer(path.removeprefix("/"))

    with serving(reply) as result.url:
        yield result
        result.may_end.set()


@dataclass(kw_only=True)
class Trial:
    """An account with one slot, and two agents, each with a host of its own."""

    shop: Shop
    tools: ToolClient
    provider: Provider
    folder: Path
    account: str = field(default_factory=lambda: f"acc-{secrets.token_hex(4)}")
    hosts: list[Process] = field(default_factory=list)

    def start_host(self, agent: str) -> Process:
        (self.folder / "handler.py").write_text(HANDLER.replace("TOKENS", str(TOKENS)))
        file = self.folder / f"{agent}.toml"
        table = f'handler = "handler.py:handle"\nbase_url = "{self.provider.url}"\naccount = "{self.account}"\n'
        file.write_text(f"[agents.{agent}]\n{table}")
        options = ("--server", self.shop.server_url, "--lease-ttl", str(LEASE_S), "--json")
        host = self.shop.site.dcf("host", str(file), *options)
        first_line(host)
        self.hosts.append(host)
        return host

    def start_run(self, agent: str) -> str:
        machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}
        run = f"still-{secrets.token_hex(4)}"
        started = {"workflow_id": run, "workflow_json": {"asl": machine}, "agents_map_json": {"A": agent}}
        answer = self.tools.call("start_run", **started, max_attempts=1)
        assert answer["code"] == "ok", answer
        return run

    def keeps_its_lease(self, run: str) -> bool:
        """Whether its holder has renewed the lease: the first term is short."""
        lease = self.tools.call("read_workflow_control_plane", workflow_id=run)["states"]["A"]["lease"]
        begin, end = from_text(lease["ts"]), from_text(lease["expires_at"])
        return begin is not None and end is not None and end - begin == LEASE_S * SECOND

    def has_succeeded(self, run: str) -> bool:
        states = self.tools.call("read_workflow_control_plane", workflow_id=run)["states"]
        return bool(states["A"]["status"] == "succeeded")

    def shown(self) -> dict[str, Any]:
        return self.tools.call("read_account", account=self.account)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with shop() as site, provider() as scripted, connect(site.server_url) as tools:
        result = Trial(shop=site, tools=tools, provider=scripted, folder=tmp_path)
        with open_application(Settings(redis_url=None, data_dir=site.site.data_dir)) as dcf:
            dcf.accounts.put(result.account, {"in_flight": SLOTS})
        yield result
        scripted.may_end.set()
        for host in result.hosts:
            if host.poll() is None:
                os.kill(host.pid, signal.SIGCONT)
                host.terminate()
                host.communicate(timeout=LONG)


def test_a_host_that_was_stopped_settles_once_and_exceeds_slots_by_its_turn_alone(trial: Trial) -> None:
    still, other = (f"{name}-{secrets.token_hex(4)}" for name in ("still", "other"))
    host = trial.start_host(still)
    first = trial.start_run(still)
    wait_until(lambda: trial.provider.calls[still] == 1, LONG)
    wait_until(lambda: trial.keeps_its_lease(first), LONG)
    os.kill(host.pid, signal.SIGSTOP)
    trial.start_host(other)
    second = trial.start_run(other)
    wait_until(lambda: trial.provider.calls[other] == 1, LONG)  # its reservation has lapsed
    assert trial.shown()["in_flight"] == SLOTS
    os.kill(host.pid, signal.SIGCONT)
    trial.provider.may_end.set()
    wait_until(lambda: trial.has_succeeded(first) and trial.has_succeeded(second), LONG)
    wait_until(lambda: trial.shown()["in_flight"] == 0, LONG)
    assert trial.provider.most == SLOTS + 1
    assert trial.provider.calls == {still: 1, other: 1}
    today = trial.shown()["today"]
    assert (today["tokens_in"], today["cost"]) == (2 * TOKENS, {"EUR": "0.500000002"})
