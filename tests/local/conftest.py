"""A dcf server in this process, and agents' clients, each with a helper of its own in front of it."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.local.helper import Agent, Connecting, Json, Options, agent_of
from tests.support.redis.restricted import restricted_redis
from tests.tools.calls import serving


@pytest.fixture(scope="session")
def local_url(short_directory: Path) -> Iterator[str]:
    """One server for all tests that do not stop it."""
    with restricted_redis(short_directory / "local") as redis:
        store = f"dir:{short_directory / 'local-artifacts'}"
        chosen = {"redis_url": redis.url, "auth": "off", "allow_operator": True, "artifact_store": store}
        settings = Settings.model_validate(chosen)
        with open_application(settings) as application, serving(build_http_app(application)) as address:
            yield f"{address}/mcp"


@pytest.fixture
def connecting(local_url: str) -> Connecting:
    """Connects an agent."""

    def connect(
        root: Path | None = None, *, allow: tuple[str, ...] = (), profile: str | None = None, **client: Json
    ) -> AbstractAsyncContextManager[Agent]:
        return agent_of(local_url, Options(root=root, allow=allow, profile=profile), **client)

    return connect


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The directory of a project, with a file in it."""
    root = (tmp_path / "project").resolve()
    root.mkdir()
    (root / "README.md").write_text("hello\n")
    return root


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """A client of the present revision, and one of those before 2026."""
    revision: str = request.param
    return revision


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
