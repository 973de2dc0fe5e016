"""The services of the compose file, started with its settings: each becomes well, and the documented steps work."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.deployment.files import services
from tests.system.deployment.composed import Composed, composed_in
from tests.system.deployment.conftest import Container, container_in
from tests.system.stories.test_seed_steps import OUTPUTS, begin, finish, work
from tests.tools.calls import Tools

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

PLANNER = "planner-1"
OURS = ("stub-mcp", "dcf-mcp", "pulse")


@pytest.fixture
def redis(short_directory: Path, tmp_path: Path) -> Iterator[Container]:
    container = container_in(short_directory / tmp_path.name[-8:])
    with container.running():
        yield container


@pytest.fixture
def composed(redis: Container, tmp_path: Path) -> Composed:
    return composed_in(tmp_path, redis)


def key_of(composed: Composed, *options: str) -> str:
    """Make a key by the command that the documentation has."""
    made = composed.run("dcf-mcp", "keys", "add", *options, "--json")
    return str(json.loads(made)["key"])


@asynccontextmanager
async def connected(composed: Composed, key: str) -> AsyncIterator[Tools]:
    """Call the server as a client with this key that lists all tools."""
    url = f"http://127.0.0.1:{composed.ports['dcf-mcp']}/mcp"
    headers = {"Authorization": f"Bearer {key}", "X-DCF-Profile": "all"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield await Tools.of(client)


def test_the_services_are_those_that_are_tried_here() -> None:
    assert set(services()) == {"redis", "letta", *OURS}


async def test_the_nine_steps_of_both_sides_go_through_the_services(composed: Composed) -> None:
    keys = [
        key_of(composed, "--scope", "plan", "--scope", "work", "--agent-id", PLANNER),
        key_of(composed, "--any-agent", "--scope", "work"),
    ]
    with ExitStack() as stack:
        for service in OURS:
            stack.enter_context(composed.up(service))
        async with connected(composed, keys[0]) as planner, connected(composed, keys[1]) as worker:
            agents = await begin(planner, composed.home / ".local" / "share" / "dcf" / "workflows", PLANNER)
            for state in OUTPUTS:
                await work(worker, state, agents[state])
            await finish(planner)
        assert [composed.is_well(service) for service in OURS] == [True] * len(OURS)


def test_the_server_does_not_start_without_a_key(composed: Composed) -> None:
    with pytest.raises(AssertionError, match="keys add"), composed.up("dcf-mcp"):
        pass
