"""One server with keys, as a process; agents sit down at it as MCP clients over HTTP."""

import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from tests.system.agents.seat import Seat, seated
from tests.system.processes.site import Server, Site, opened

SCOPES = {
    "planner": (Scope.READ, Scope.WORK, Scope.PLAN),
    "worker": (Scope.READ, Scope.WORK),
    "person": (Scope.READ, Scope.WORK, Scope.ANSWER),
}


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="dcfa-", dir="/tmp"))
    with opened(folder) as result:
        yield result
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def onlooker(site: Site) -> Iterator[Application]:
    """The same Redis: makes keys, and looks at runs; it does nothing for any agent."""
    with open_application(Settings(redis_url=None, data_dir=site.data_dir)) as application:
        application.keys.create(tuple(Scope), agent_id=None, label=None, life_s=None)
        yield application


@pytest.fixture(scope="session")
def server(site: Site, onlooker: Application) -> Server:
    return site.serve("--port", "0", DCF_AUTH="keys")


@pytest.fixture
async def sit(server: Server, onlooker: Application) -> AsyncIterator[Callable[..., Any]]:
    """Seat an agent with a key of its role; its id begins with the role, unless another name is wanted."""
    async with AsyncExitStack() as stack:

        async def seat(role: str, agent_id: str | None = None) -> Seat:
            name = agent_id or f"{role}-{secrets.token_hex(4)}"
            key = onlooker.keys.create(SCOPES[role], agent_id=name, label=None, life_s=None).text
            return await stack.enter_async_context(seated(server.url, name, key))

        yield seat
