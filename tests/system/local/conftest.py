"""A real dcf server, a real git repository, and agents' clients that start a real `dcf local` beside it."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.system.processes.conftest import _site
from tests.system.processes.site import Server, Site

Json = Any
ONE_TASK = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}


@dataclass(frozen=True)
class Repository:
    """A git repository with one commit."""

    root: Path

    def git(self, *arguments: str) -> str:
        own = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(["git", *own, *arguments], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, message: str = "work") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")

    def __truediv__(self, name: str) -> Path:
        return self.root / name


@dataclass(frozen=True)
class Agent:
    """An agent's client, behind which `dcf local` runs."""

    client: Client

    async def call(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        answer = await self.client.call_tool(tool, arguments)
        assert isinstance(answer.structured_content, dict), answer
        return answer.structured_content

    async def ok(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        found = await self.call(tool, **arguments)
        assert found["code"] == "ok", found
        return found


Connecting = Callable[..., AbstractAsyncContextManager[Agent]]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository((tmp_path / "project").resolve())
    found.root.mkdir()
    found.git("init", "--quiet", "--initial-branch", "main")
    found.write("README.md", "hello\n")
    found.commit("first")
    return found


@pytest.fixture
def site() -> Iterator[Site]:
    """Data and servers of one test."""
    yield from _site()


@pytest.fixture(scope="session")
def local_site() -> Iterator[Site]:
    yield from _site()


@pytest.fixture(scope="session")
def local_server(local_site: Site) -> Server:
    """One server for all tests that do not hurt it."""
    return local_site.serve("--port", "0")


def command(url: str, *options: str) -> list[str]:
    return ["-m", "dcf", "local", "--server", url, *options]


@asynccontextmanager
async def agent_at(site: Site, url: str, *options: str, env: Json = None, **client: Json) -> AsyncIterator[Agent]:
    """Start `dcf local` for a client, in a directory that is nobody's project."""
    elsewhere = site.folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    parameters = StdioServerParameters(
        command=sys.executable, args=command(url, *options), env=site.environment() | (env or {}), cwd=elsewhere
    )
    log = (site.folder / "local.log").open("a+")
    with log:
        async with Client(stdio_client(parameters, errlog=log), **client) as found:
            yield Agent(found)


@pytest.fixture
def connecting(local_site: Site, local_server: Server) -> Connecting:
    """Connects an agent: options of `dcf local`, and what the client is given."""

    def connect(*options: str, **client: Json) -> AbstractAsyncContextManager[Agent]:
        return agent_at(local_site, local_server.url, *options, **client)

    return connect


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """A client of the present revision, and one of those before 2026."""
    found: str = request.param
    return found


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
