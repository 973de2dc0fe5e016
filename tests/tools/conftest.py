import itertools
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import redis
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.tools.calls import Tools


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def own_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A real server, shared by all tests of a directory that has this fixture, with dcf as the user of a deployment."""
    with restricted_redis(short_directory / "tools") as result:
        yield result


@pytest.fixture(scope="session")
def application(own_redis: RestrictedRedis) -> Iterator[Application]:
    with open_application(Settings.model_validate({"redis_url": own_redis.url})) as opened:
        yield opened


@pytest.fixture(scope="module", autouse=True)
def _no_clock() -> Iterator[None]:
    """Nothing happens by itself while these tests look; tests elsewhere in the same process have their clock."""

    async def stand_still(_: Application) -> None:
        return

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcf.tools.mcp.server.keep_pulse", stand_still)
        yield


@pytest.fixture(scope="session")
def replica(application: Application) -> Iterator[Callable[..., Application]]:
    """Makes further applications on the same Redis, as other processes would have; settings may differ."""
    managers = []

    def make(**settings: object) -> Application:
        model_validate = Settings.model_validate({"redis_url": application.redis_url, "auth": "off", **settings})
        manager = open_application(model_validate)
        managers.append(manager)
        return manager.__enter__()

    yield make
    for manager in managers:
        manager.__exit__(None, None, None)


@pytest.fixture(scope="module")
async def tools(application: Application) -> AsyncIterator[Tools]:
    async with Client(build_server(application)) as client:
        yield await Tools.of(client)


@pytest.fixture(scope="module")
async def operator(replica: Callable[..., Application]) -> AsyncIterator[Tools]:
    """The same tools on a server that grants an operator's rights."""
    async with Client(build_server(replica(allow_operator=True))) as client:
        yield await Tools.of(client)


@pytest.fixture
async def alone(application: Application) -> AsyncIterator[Application]:
    """The application without a server; what waits for events is closed in the loop that opened it."""
    yield application
    await application.reader.close()


@pytest.fixture(scope="session")
def walled(replica: Callable[..., Application], tmp_path_factory: pytest.TempPathFactory) -> Application:
    """The application with directories of its own for all that tools read and write."""
    place = tmp_path_factory.mktemp("walled")
    for name in ("files", "manifests", "sources"):
        (place / name).mkdir()
    return replica(
        manifests_dir=place / "manifests",
        skills_catalog=place / "catalog.json",
        stub_config=place / "stub.json",
        skills_src_dir=place / "sources",
        files_write=(place / "files",),
    )


_numbers = itertools.count(1)


@pytest.fixture
def run_id() -> str:
    return f"run-{secrets.token_hex(4)}-{next(_numbers)}"


@pytest.fixture(scope="session")
def raw_redis(own_redis: RestrictedRedis) -> Iterator[redis.Redis]:
    """Redis as an onlooker sees it."""
    client = redis.Redis.from_url(own_redis.admin_url)
    yield client
    client.close()
