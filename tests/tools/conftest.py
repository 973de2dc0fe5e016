import itertools
import secrets
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import redis
from mcp.client import Client

from dcf.application import Application, open_application
from dcf.settings import Settings
from dcf.tools.server import build_server
from tests.tools.calls import Tools


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A real embedded server, shared by all tests of this directory."""
    with open_application(Settings(redis_url=None, data_dir=tmp_path_factory.mktemp("data"))) as opened:
        yield opened


@pytest.fixture(scope="session", autouse=True)
def _no_clock() -> Iterator[None]:
    """Nothing happens by itself while these tests look."""

    async def stand_still(_: Application) -> None:
        return

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcf.tools.server.keep_pulse", stand_still)
        yield


@pytest.fixture(scope="session")
def replica(application: Application) -> Iterator[Callable[..., Application]]:
    """Makes further applications on the same Redis, as other processes would have; settings may differ."""
    managers = []

    def make(**settings: object) -> Application:
        found = Settings.model_validate({"redis_url": application.redis_url, "auth": "off", **settings})
        manager = open_application(found)
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
def raw_redis(application: Application) -> Iterator[redis.Redis]:
    """Redis as an onlooker sees it."""
    client = redis.Redis.from_url(application.redis_url)
    yield client
    client.close()
