"""Real servers of a profile, on a Redis of their own, with real MCP clients."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.profiles.clients import ProfileClient
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.tools.calls import serving

Connect = Callable[..., AbstractAsyncContextManager[ProfileClient]]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def profiles_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A real server with dcf as the user of a deployment."""
    with restricted_redis(short_directory / "profiles") as result:
        yield result


@pytest.fixture(scope="session")
def site(profiles_redis: RestrictedRedis) -> Iterator[Application]:
    """An application that asks for keys."""
    with open_application(Settings.model_validate({"redis_url": profiles_redis.url})) as opened:
        yield opened


@pytest.fixture(scope="session")
def url(site: Application) -> Iterator[str]:
    """A server of any profile: keys and headers say which."""
    with serving(build_http_app(site)) as server_url:
        yield server_url


@pytest.fixture(scope="session")
def connect(url: str) -> Connect:
    """Opens a connection with a key, and with the header of a profile."""

    @asynccontextmanager
    async def opened(
        key: str, profile: str | None = None, mode: Any = "auto", path: str = "/mcp"
    ) -> AsyncIterator[ProfileClient]:
        headers = {"Authorization": f"Bearer {key}"} | ({} if profile is None else {"x-dcf-profile": profile})
        async with (
            httpx2.AsyncClient(headers=headers, timeout=90) as http,  # on a busy machine too
            Client(streamable_http_client(f"{url}{path}", http_client=http), mode=mode) as client,
        ):
            yield ProfileClient(client=client)

    return opened
