"""A real host and a provider that rejects every call for some seconds: no state fails, and no attempt is counted.

The runs allow one attempt, so that a single counted one would end them.
"""

import json
import secrets
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dcf.tools.calling.client import ToolClient, connect
from tests.support.waiting import wait_until
from tests.system.hosting.limits.rejecting import serving
from tests.system.processes.shop import Shop, shop
from tests.system.processes.site import LONG, Process, first_line

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]

WINDOW_S = 6
LEASE_S = 3
RUNS = 4

HANDLER = """
import asyncio, urllib.request

def ask(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read().decode()

async def handle(work, tools):
    tools.report_usage(tokens_in=10)
    return await asyncio.to_thread(ask, work.agent.base_url + "/" + work.workflow_id)
"""


FAMILY = """
import os
from dcf.hosting.protocol import AgentLimited

async def handle(work, tools):
    if "opus" in work.agent.model and not os.path.exists(OPEN):
        raise AgentLimited(after_s=3600, family="opus")
    return work.agent.model
"""

SLOW = """
import asyncio, os

async def handle(work, tools):
    await asyncio.sleep(0 if os.path.exists(READY) else 3600)
    return 1
"""


@dataclass(kw_only=True)
class Provider:
    """Rejects the first call of a run, and every call in the seconds after it; remembers its answers."""

    url: str = ""
    opens_at: dict[str, float] = field(default_factory=dict)
    statuses: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def status(self, run: str) -> int:
        now = time.monotonic()
        status = 429 if now < self.opens_at.setdefault(run, now + WINDOW_S) else 200
        self.statuses[run].append(status)
        return status


@contextmanager
def provider() -> Iterator[Provider]:
    provider = Provider()
    with serving(lambda path: WINDOW_S if provider.status(path) == 429 else None) as provider.url:
        yield provider


@pytest.fixture(scope="module")
def one_shop() -> Iterator[Shop]:
    with shop() as result:
        yield result


@dataclass(kw_only=True)
class Trial:
    """Some runs of one agent, whose provider is scripted."""

    shop: Shop
    tools: ToolClient
    provider: Provider
    file: Path
    agent: str
    runs: list[str] = field(default_factory=list)
    hosts: list[Process] = field(default_factory=list)

    def start_host(self, *more: str) -> Process:
        options = ("--server", self.shop.server_url, "--lease-ttl", str(LEASE_S), "--json", *more)
        self.hosts.append(self.shop.site.dcf("host", str(self.file), *options))
        first_line(self.hosts[-1])
        return self.hosts[-1]

    def start_runs(self) -> None:
        machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}
        for _ in range(RUNS):
            run = f"limit-{secrets.token_hex(4)}"
            started = {"workflow_id": run, "workflow_json": {"asl": machine}, "agents_map_json": {"A": self.agent}}
            answer = self.tools.call("start_run", **started, max_attempts=1)
            assert answer["code"] == "ok", answer
            self.runs.append(run)

    def read(self, run: str) -> dict[str, Any]:
        return self.tools.call("read_workflow_control_plane", workflow_id=run)

    def states(self) -> list[dict[str, Any]]:
        return [self.read(run)["states"]["A"] for run in self.runs]

    def are_parked(self) -> bool:
        return all(state.get("parked") and state["status"] == "pending" for state in self.states())

    def succeeded(self) -> bool:
        return all(state["status"] == "succeeded" for state in self.states())


@pytest.fixture
def trial(one_shop: Shop, tmp_path: Path) -> Iterator[Trial]:
    agent = f"coder-{secrets.token_hex(4)}"
    (tmp_path / "handler.py").write_text(HANDLER)
    with provider() as scripted, connect(one_shop.server_url) as tools:
        table = {"handler": "handler.py:handle", "base_url": scripted.url}
        lines = [f"[agents.{agent}]", "process = true", "concurrency = 2"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in table.items()]
        file = tmp_path / "agents.toml"
        file.write_text("\n".join(lines) + "\n")
        trial = Trial(shop=one_shop, tools=tools, provider=scripted, file=file, agent=agent)
        yield trial
        for host in trial.hosts:
            if host.poll() is None:
                host.terminate()
                host.communicate(timeout=LONG)


@pytest.mark.parametrize("is_killed", [False, True], ids=["host lives", "host killed in the window"])
def test_a_limit_with_a_time_costs_no_state_and_no_attempt(trial: Trial, is_killed: bool) -> None:
    host = trial.start_host()
    trial.start_runs()
    wait_until(trial.are_parked, LONG)
    assert not any(state.get("lease") for state in trial.states())
    why = trial.tools.call("explain_run", workflow_id=trial.runs[0])
    (finding,) = why["findings"]
    assert (finding["cause"], finding["evidence"]["reported_by"]) == ("account_closed", trial.agent)
    if is_killed:
        host.kill()
        host.wait(LONG)
        trial.start_host()
    wait_until(trial.succeeded, LONG)
    assert [state["attempts"] for state in trial.states()] == [2] * RUNS, "one was rejected, one succeeded"
    assert list(trial.provider.statuses.values()) == [[429, 200]] * RUNS, "no turn starts before the told time"
    for run in trial.runs:
        sums = trial.tools.call("read_usage", workflow_id=run)
        assert sums["total"]["tokens_in"] == 20, "the rejected turn is billed too"


def test_restarts_of_a_host_in_its_turns_count_no_attempt(trial: Trial) -> None:
    ready = trial.file.with_name("ready")
    trial.file.with_name("handler.py").write_text(SLOW.replace("READY", repr(str(ready))))
    trial.start_runs()
    for _ in range(3):
        host = trial.start_host("--grace", "0")
        wait_until(lambda: sum(state["status"] == "running" for state in trial.states()) == 2, LONG)
        host.terminate()
        host.communicate(timeout=LONG)
        wait_until(lambda: all(state["status"] == "pending" for state in trial.states()), LONG)
    ready.touch()
    trial.start_host()
    wait_until(trial.succeeded, LONG)


def test_a_limit_on_a_family_of_models_parks_only_their_agents(trial: Trial) -> None:
    is_open, other, account = trial.file.with_name("open"), f"{trial.agent}-2", f"acc-{secrets.token_hex(4)}"
    trial.file.with_name("handler.py").write_text(FAMILY.replace("OPEN", repr(str(is_open))))
    lines = [
        line
        for agent, name in ((trial.agent, "claude-opus-5"), (other, "claude-sonnet-5"))
        for line in (
            f"[agents.{agent}]",
            'process = true\nhandler = "handler.py:handle"',
            f'model = "{name}"\naccount = "{account}"',
        )
    ]
    trial.file.write_text("\n".join(lines) + "\n")
    trial.start_host()
    trial.start_runs()
    wait_until(trial.are_parked, LONG)
    limited, trial.runs = trial.runs, []
    trial.agent = other
    trial.start_runs()
    wait_until(trial.succeeded, LONG)
    trial.runs = limited
    assert trial.are_parked()
    shown = trial.tools.call("read_account", account=account)
    assert (shown["status"], list(shown["closed_models"])) == ("open", ["opus"])
    (finding,) = trial.tools.call("explain_run", workflow_id=limited[0])["findings"]
    assert (finding["cause"], finding["evidence"]["kind"]) == ("account_closed", "models")
    assert f"Account {account} is closed for the model of this agent until" in finding["sentence"]
    is_open.touch()
    opened, errors = trial.shop.site.dcf("accounts", "open", account).communicate(timeout=LONG)
    assert "opens" in opened, errors
    wait_until(trial.succeeded, LONG)
