"""Clients of either kind, at a server and directly on Redis. Each test names its own runs."""

import itertools
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

import dcf
from dcf.application.application import open_application
from dcf.client import Client
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.python.awaiting import as_blocking
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.tools.calls import serving

Connect = Callable[[], AbstractContextManager[Client]]


@pytest.fixture(scope="session")
def python_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A real server for these tests, with dcf as the user of a deployment."""
    with restricted_redis(short_directory / "python") as result:
        yield result


@pytest.fixture(scope="session")
def server_url(python_redis: RestrictedRedis) -> Iterator[str]:
    """A server that gives the local user an operator's rights, with its clock."""
    chosen = {"redis_url": python_redis.url, "auth": "off", "allow_operator": True}
    with open_application(Settings.model_validate(chosen)) as opened, serving(build_http_app(opened)) as url:
        yield f"{url}/mcp"


@pytest.fixture(scope="session")
def clients(server_url: str, python_redis: RestrictedRedis) -> Iterator[dict[str, Client]]:
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        result = {
            "at a server": stack.enter_context(dcf.connect(server_url)),
            "on Redis": stack.enter_context(dcf.connect(python_redis.url)),
        }
        for name, address in (("at a server, awaited", server_url), ("on Redis, awaited", python_redis.url)):
            opened = stack.enter_context(portal.wrap_async_context_manager(dcf.connect_async(address)))
            result[name] = as_blocking(opened, portal)
        yield result


@pytest.fixture(params=["at a server", "on Redis", "at a server, awaited", "on Redis, awaited"])
def client(request: pytest.FixtureRequest, clients: dict[str, Client]) -> Client:
    """A client, in turn of each kind."""
    return clients[request.param]


@pytest.fixture
def served(clients: dict[str, Client]) -> Client:
    """The client of a server that blocks, where the kind does not matter."""
    return clients["at a server"]


_numbers = itertools.count(1)


@pytest.fixture
def run_id() -> str:
    return f"py-{next(_numbers)}-{secrets.token_hex(3)}"


@pytest.fixture
def agent(run_id: str) -> str:
    """An agent that no other test serves."""
    return f"agent-{run_id}"


@contextmanager
def greeter(client: Client, agent: str) -> Iterator[None]:
    """Functions for the workflows of these tests."""

    def fail(given: object) -> object:
        raise dcf.TaskFailed("NoName", "the input has no name")

    with client.serve({"Greet": lambda value: {"greeting": f"Hello, {value['name']}!"}, "Fail": fail}, agent):
        yield
