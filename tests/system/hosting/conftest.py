"""A real Redis with dcf in this process, and hosts that tests describe in a few lines."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dcf
from dcf.application.application import open_application
from dcf.client import Client
from dcf.hosting.agents_file import read_agents_file
from dcf.hosting.host import AgentHost, HostOptions
from dcf.settings.process import Settings
from dcf.tools.calling.direct import DirectTools, control_plane_here
from tests.support.redis.restricted import RestrictedRedis, restricted_redis

LEASE_S = 2
NUMBERS = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Hosted:
    """A host that serves, and a client to start runs with."""

    host: AgentHost
    client: Client
    folder: Path
    failures: list[BaseException]
    agent: str

    def start(self, *states: dict[str, Any], given: Any = None) -> str:
        """Start a run of Tasks in a row, called A, B and so on."""
        names = [chr(ord("A") + at) for at in range(len(states))]
        tasks = {
            name: {"Type": "Task", **state, **({"Next": following} if following else {"End": True})}
            for name, state, following in zip(names, states, [*names[1:], None], strict=True)
        }
        run = self.client.start({"asl": {"StartAt": "A", "States": tasks}}, given, agents=self.agent)
        return run.workflow_id

    def result(self, *states: dict[str, Any], given: Any = None) -> Any:
        return self.client.result(self.start(*(states or ({},)), given=given))

    def state(self, run: str, name: str = "A") -> Any:
        return self.client.get(run).states[name]


Hosting = Callable[..., AbstractContextManager[Hosted]]


@pytest.fixture(scope="session")
def host_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    with restricted_redis(short_directory / "host") as result:
        yield result


@pytest.fixture(scope="session")
def host_tools(host_redis: RestrictedRedis) -> Iterator[DirectTools]:
    """The tools with a clock."""
    chosen = {"redis_url": host_redis.url, "pulse_interval_s": 0.1}
    with open_application(Settings.model_validate(chosen)) as opened, control_plane_here(opened) as here:
        yield DirectTools(here)


@pytest.fixture(scope="session")
def host_client(host_redis: RestrictedRedis) -> Iterator[Client]:
    with dcf.connect(host_redis.url) as connect:
        yield connect


@pytest.fixture
def hosting(host_tools: DirectTools, host_client: Client, tmp_path: Path) -> Hosting:
    """Serves the agents of a file, with the handlers of `handlers.py` next to it, until the block ends.

    The agent `me` gets a name of its own, so that it meets no event of an earlier test.
    """
    name = f"me-{next(NUMBERS)}"

    @contextmanager
    def serve(agents: str, handlers: str = "") -> Iterator[Hosted]:
        (tmp_path / "handlers.py").write_text(handlers)
        (tmp_path / "agents.toml").write_text(agents.replace("agents.me", f"agents.{name}"))
        file = read_agents_file(tmp_path / "agents.toml")
        options = HostOptions(lease_ttl_s=LEASE_S, wait_s=0.5, pause_s=0.01)
        host = AgentHost(host_tools, file, options)
        failures: list[BaseException] = []
        try:
            host.begin()
            host.serve(failures.append)
            yield Hosted(host=host, client=host_client, folder=tmp_path, failures=failures, agent=name)
        finally:
            host.drain(0)
            host.close()
        assert failures == []

    return serve
