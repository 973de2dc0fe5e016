"""Stubs on a real port, with a clock that tests turn themselves."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client

from dcf.settings.process import Settings
from dcf.stub.config_file import ConfigFile
from dcf.stub.server import build_app
from dcf.stub.service import Service
from tests.tools.calls import serving

Json = Any


@dataclass
class Time:
    """A clock that does not move, and remembers how long a caller wanted to wait."""

    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2025, 1, 30, 12, tzinfo=UTC) + timedelta(seconds=self.seconds)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@dataclass(frozen=True)
class Stub:
    """A running stub."""

    url: str
    file: Path
    time: Time

    def write(self, document: Json) -> None:
        """Replace the configuration, as a generator does."""
        text = document if isinstance(document, str) else json.dumps(document)
        new = self.file.with_suffix(".new")
        new.write_text(text)
        new.replace(self.file)

    def get(self, path: str, **headers: str) -> Json:
        return httpx2.get(f"{self.url}{path}", headers=headers).json()

    def metrics(self) -> Json:
        return self.get("/metrics")["metrics"]

    @asynccontextmanager
    async def client(self, server: str = "", mode: str = "auto") -> AsyncIterator[Client]:
        async with Client(f"{self.url}/mcp{server and f'/{server}'}", mode=mode) as client:
            yield client

    async def call(self, tool: str, server: str = "", /, **arguments: Json) -> tuple[Json, str]:
        """Call a tool that answers: what it says, structured and as text."""
        async with self.client(server) as client:
            result = await client.call_tool(tool, arguments)
        text = _text(result)
        assert not result.is_error, text
        return result.structured_content, text

    async def fail(self, tool: str, server: str = "", /, **arguments: Json) -> str:
        """Call a tool that fails: the error's text."""
        async with self.client(server) as client:
            result = await client.call_tool(tool, arguments)
        assert result.is_error
        return _text(result)


Serve = Callable[..., Stub]


def _text(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


def tool(*cases: Json, **more: Json) -> Json:
    """A tool that answers {"from": "default"} unless a case fits."""
    return {"description": "A tool.", "defaultResponse": {"from": "default"}, "cases": list(cases), **more}


def case(ident: str, strategy: str = "always", expr: str = "", value: Json = None, **more: Json) -> Json:
    """A case that answers {"from": its id}."""
    if not more.keys() & {"response", "responseTemplate"}:
        more["response"] = {"from": ident}
    return {"caseId": ident, "match": {"strategy": strategy, "expr": expr, "value": value}, **more}


def config(**servers: Json) -> Json:
    return {"servers": {server: {"tools": tools} for server, tools in servers.items()}}


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serves a configuration while the test lasts."""
    with ExitStack() as stack:

        def start(document: Json, *, seed: int = 0, time: Time | None = None, **settings: Json) -> Stub:
            clock = time or Time()
            file = tmp_path / f"stub-{len(list(tmp_path.iterdir()))}.json"
            file.write_text(json.dumps(document))
            service = Service(ConfigFile(file), seed=seed, now=clock.now, monotonic=clock.monotonic)
            app = build_app(service, Settings.model_validate(settings), clock.sleep)
            return Stub(stack.enter_context(serving(app)), file, clock)

        yield start
