"""A server of dcf over HTTP with keys, and the command line of a user who has its URL and a key, and no Redis."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.support.command_line import call
from tests.support.redis.restricted import RestrictedRedis
from tests.tools.calls import serving

Dcf = Callable[..., Result]
KeyWith = Callable[..., str]
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture(scope="module")
def site(server: RestrictedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The application of the server, on the Redis on which `seed` makes runs, with a directory for files."""
    files = tmp_path_factory.mktemp("files")
    settings = {"redis_url": server.url, "auth": "keys", "files_write": [files]}
    with open_application(Settings.model_validate(settings)) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    """The URL of the server, which fires no timers: other tests on this Redis do."""

    async def stand_still(_: Application) -> None:
        return

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcf.tools.mcp.server.keep_pulse", stand_still)
        with serving(build_http_app(site)) as server_url:
            yield f"{server_url}/mcp"


@pytest.fixture
def key_with(site: Application) -> KeyWith:
    """Make an API key with these scopes."""

    def make(*scopes: Scope) -> str:
        return site.keys.create((Scope.READ, *scopes), agent_id=None, label=None, life_s=None).text

    return make


@pytest.fixture
def contexts_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of contexts of this test, which is not there yet."""
    path = tmp_path / "config" / "contexts.toml"
    monkeypatch.setenv("DCF_CONTEXTS", str(path))
    return path


@pytest.fixture
def dcf_away(contexts_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dcf:
    """Call `dcf` where there is neither a Redis nor the data of an embedded one, which it would have to start."""
    monkeypatch.delenv("REDIS_URL", raising=False)
    monkeypatch.setenv("DCF_DATA_DIR", str(tmp_path / "data"))
    return call


@pytest.fixture
def dcf_at_server(dcf_away: Dcf, tmp_path: Path, url: str, key_with: KeyWith) -> Iterator[Dcf]:
    """Call `dcf` with the context `prod` in use, of a planner at the server. It must start no Redis of its own."""
    dcf_away("context", "add", "prod", "--url", url, stdin=key_with(Scope.WORK, Scope.PLAN))
    dcf_away("context", "use", "prod")
    yield dcf_away
    assert not (tmp_path / "data").exists()
