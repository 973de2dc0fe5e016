"""A git repository, and agents' clients: with the helper in this process, or with a `dcf agents local` of their own."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.local.conftest import anyio_backend, connecting, local_url, mode
from tests.local.helper import Agent, Connecting, Json
from tests.system.processes.conftest import _site
from tests.system.processes.site import Server, Site

__all__ = ["Agent", "Connecting", "Json", "anyio_backend", "connecting", "local_url", "mode"]


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


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository((tmp_path / "project").resolve())
    repository.root.mkdir()
    repository.git("init", "--quiet", "--initial-branch", "main")
    repository.write("README.md", "hello\n")
    repository.commit("first")
    return repository


@pytest.fixture(scope="session")
def local_site() -> Iterator[Site]:
    yield from _site()


@pytest.fixture(scope="session")
def local_server(local_site: Site) -> Server:
    """One server for all tests that do not hurt it."""
    return local_site.serve("--port", "0")


def command(url: str, *options: str) -> list[str]:
    return ["-m", "dcf", "agents", "local", "--server", url, *options]


@asynccontextmanager
async def agent_at(site: Site, url: str, *options: str, env: Json = None, **client: Json) -> AsyncIterator[Agent]:
    """Start `dcf agents local` for a client, in a directory without a project."""
    elsewhere = site.folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    parameters = StdioServerParameters(
        command=sys.executable, args=command(url, *options), env=site.environment() | (env or {}), cwd=elsewhere
    )
    log = (site.folder / "local.log").open("a+")
    with log:
        async with Client(stdio_client(parameters, errlog=log), **client) as result:
            yield Agent(result)


@pytest.fixture
def starting(local_site: Site, local_server: Server) -> Connecting:
    """Starts a `dcf agents local` for an agent: its options, and what the client is given."""

    def start(*options: str, **client: Json) -> AbstractAsyncContextManager[Agent]:
        return agent_at(local_site, local_server.url, *options, **client)

    return start
