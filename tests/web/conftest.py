"""Control planes for the web page, over ASGI."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.web.live.streams import LivePages
from dcf.web.site import build_site
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.support.world import World


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def web_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A real server with the users of a deployment; that dcf tried what they may not is an error at the end."""
    with restricted_redis(short_directory / "web") as redis:
        yield redis


@pytest.fixture(scope="session")
def application(web_redis: RestrictedRedis) -> Iterator[Application]:
    """A control plane as the user of a deployment, without keys."""
    with open_application(Settings.model_validate({"redis_url": web_redis.url, "auth": "off"})) as opened:
        yield opened


@pytest.fixture(scope="session")
def keyed(web_redis: RestrictedRedis) -> Iterator[Application]:
    """The same control plane, where callers must show a key."""
    with open_application(Settings.model_validate({"redis_url": web_redis.url, "auth": "keys"})) as opened:
        yield opened


@pytest.fixture(scope="session")
def agents(web_redis: RestrictedRedis) -> Iterator[World]:
    """The work of agents in the runs that pages show, from another process than that of the pages."""
    connections, onlooker = Connections(open_pool(web_redis.url)), Connections(open_pool(web_redis.admin_url))
    yield World(connections=connections, onlooker=onlooker)
    connections.close()
    onlooker.close()


@pytest.fixture
async def live(application: Application) -> AsyncIterator[LivePages]:
    live_pages = LivePages(application)
    yield live_pages
    await live_pages.close()


@pytest.fixture
def site(application: Application, live: LivePages) -> Starlette:
    return build_site(application, live)
