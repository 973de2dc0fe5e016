"""Listeners to event streams over ASGI, in tests."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from dcf.application.application import Application
from tests.support.waiting import wait_until
from tests.web.worked_runs import Run

PATIENCE_S = 60


@dataclass(frozen=True)
class Told:
    """One event of a stream."""

    event: str
    data: Any
    event_id: str | None


@dataclass
class Listener:
    """A reader of a stream over ASGI: it takes each message, until it leaves."""

    app: Any
    path: str
    last_id: str | None = None
    cookies: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    text: str = ""
    is_gone: anyio.Event = field(default_factory=anyio.Event)
    is_over: anyio.Event = field(default_factory=anyio.Event)
    stirred: anyio.Event = field(default_factory=anyio.Event)

    async def listen(self) -> None:
        path, _, query = self.path.partition("?")
        headers = [(b"host", b"127.0.0.1:8337")]
        stored = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers += [(b"cookie", stored.encode())] if stored else []
        headers += [] if self.last_id is None else [(b"last-event-id", self.last_id.encode())]
        headers += [(name.encode(), value.encode()) for name, value in self.said.items()]
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "GET",
            "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "root_path": "", "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8337),
        }  # fmt: skip
        await self.app(scope, self._receive, self._send)
        self.is_over.set()
        self._stir()

    async def _receive(self) -> dict[str, Any]:
        await self.is_gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, sent: Any) -> None:
        if sent["type"] == "http.response.start":
            self.status = sent["status"]
            self.headers = {name.decode(): value.decode() for name, value in sent["headers"]}
        else:
            self.text += sent.get("body", b"").decode()
        self._stir()

    def _stir(self) -> None:
        self.stirred.set()
        self.stirred = anyio.Event()

    def told(self) -> list[Told]:
        tolds = []
        for block in self.text.split("\n\n"):
            parts = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "data" in parts:
                tolds.append(Told(parts["event"], json.loads(parts["data"]), parts.get("id")))
        return tolds

    def event_ids(self) -> list[str]:
        """The events of the run that it received."""
        return [
            event["id"] for details in self.told() if details.event == "happened" for event in details.data["events"]
        ]

    async def caught_up(self, run: Run) -> None:
        """Wait until it has received the newest event of a run."""
        await self.until(lambda: self.event_ids()[-1:] == run.event_ids()[-1:])

    async def begun(self) -> None:
        """Wait until it was sent something."""
        await self.until(lambda: self.text)

    async def until(self, predicate: Callable[[], object]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not predicate():
                await self.stirred.wait()


@asynccontextmanager
async def listening(*listeners: Listener) -> AsyncIterator[None]:
    """Let them listen until the block ends; then they go, and every stream ends."""
    async with anyio.create_task_group() as tasks:
        for listener in listeners:
            tasks.start_soon(listener.listen)
        for listener in listeners:
            await listener.begun()
        yield
        for listener in listeners:
            listener.is_gone.set()


async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    return await anyio.to_thread.run_sync(work, *arguments)


async def steps(run: Run, *states: str) -> None:
    """Take and complete states, as agents do."""
    for state in states:
        token = await in_thread(run.take, state)
        await in_thread(run.complete, state, token)


async def steps_after(run: Run, page: Listener) -> None:
    """Let one more event happen and arrive."""
    await in_thread(run.tool, "pause_run")
    await page.caught_up(run)


async def is_read(application: Application) -> None:
    """Wait until one connection waits for events."""
    await in_thread(wait_until, lambda: "blocked_clients:1\r" in info(application, "clients"))


def info(application: Application, section: str) -> str:
    (result,) = application.history._connections.send(("INFO", section))
    return str(result.decode())
