"""A place for stories: real servers of a profile that are killed, and clients that go on at the next one."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.profiles.clients import ProfileClient
from tests.system.processes.site import Server, Site, opened


@contextmanager
def place() -> Iterator[Site]:
    """A data directory with a short path, for one story."""
    folder = Path(tempfile.mkdtemp(prefix="dcfs-", dir="/tmp"))
    with opened(folder) as found:
        yield found
    shutil.rmtree(folder)


@asynccontextmanager
async def client_of(server: Server) -> AsyncIterator[ProfileClient]:
    async with Client(streamable_http_client(server.url)) as found:
        yield ProfileClient(client=found)


def kill(server: Server) -> None:
    """End a server at once, as a crash does."""
    server.process.kill()
    server.process.wait()
