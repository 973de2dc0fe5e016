"""A server with keys, and callers without intelligence that are connected to it."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.tools.mcp.server import build_http_app
from tests.tools.calls import Json, serving
from tests.tools.following.follower import Follower, follower

Join: TypeAlias = Callable[..., AbstractAsyncContextManager[Follower]]


@pytest.fixture(scope="module")
def site(replica: Callable[..., Application]) -> Application:
    return replica(auth="keys", public_url="https://dcf.example/mcp")


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


@pytest.fixture
def join(site: Application, url: str) -> Join:
    """Connects a caller with a key and an id of its own."""

    def connect(role: str, *scopes: Scope, **wish: Json) -> AbstractAsyncContextManager[Follower]:
        me = f"{role}-{secrets.token_hex(4)}"
        key = site.keys.create(scopes, agent_id=me, label=None, life_s=None).text
        return follower(url, key, me, **wish)

    return connect
