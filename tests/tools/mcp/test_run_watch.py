"""Subscriptions to runs: a listener gets the changes of its runs, by any process, and no others."""

import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.store.events.history import History
from dcf.tools.mcp.middleware import REFUSED
from dcf.tools.mcp.run_watch import MOST_OF_CALLER, MOST_OF_ONE, RunListeners, RunWatch
from dcf.tools.mcp.server import build_server
from tests.support.tables import rows
from tests.tools.access import key_of
from tests.tools.calls import Tools, lease_on, new_run

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.tools.mcp.run_watch.EVERY_S", 0.02)


def listened(uris: list[str]) -> Any:
    return SimpleNamespace(method="subscriptions/listen", params={"notifications": {"resourceSubscriptions": uris}})


async def test_who_listens_to_a_run_is_told_when_it_changes(
    application: Application, replica: Callable[..., Application], run_id: str
) -> None:
    """The change is made by another process, so to speak."""
    uri = f"dcf://runs/{run_id}"
    async with Client(build_server(replica())) as other, Client(build_server(application)) as client:
        tools = await Tools.of(other)
        await new_run(tools, run_id)
        async with client.listen(resource_subscriptions=[uri, f"{uri}/graph"]) as events:
            heard = set()
            with anyio.fail_after(60):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_change_until_cancelled, tools, run_id)
                    async for event in events:
                        assert isinstance(event, ResourceUpdated)
                        heard.add(event.uri)
                        if len(heard) == 2:
                            break
                    tasks.cancel_scope.cancel()
    assert heard == {uri, f"{uri}/graph"}


async def _change_until_cancelled(tools: Tools, run_id: str) -> None:
    """The watch begins a moment after the stream is open, so one change could come before it."""
    for change in itertools.cycle(("pause_run", "resume_run")):
        await tools.ok(change, workflow_id=run_id)


async def test_only_runs_that_changed_are_told_of(application: Application, tools: Tools, run_id: str) -> None:
    watch, details = RunWatch(application.history), list[str]()
    watch.bus.subscribe(lambda event: details.append(event.uri if isinstance(event, ResourceUpdated) else ""))
    first, two = await new_run(tools, run_id), await new_run(tools, f"{run_id}-2")
    with watch.listening(frozenset({f"dcf://runs/{first}", f"dcf://runs/{two}", "dcf://runs/not-there-yet"})):
        await watch.look()
        await watch.look()
        assert details == []
        await lease_on(tools, two)
        await watch.look()
        assert details == [f"dcf://runs/{two}"]
        await new_run(tools, "not-there-yet")
        await watch.look()
        assert details == [f"dcf://runs/{two}", "dcf://runs/not-there-yet"]
    await lease_on(tools, first)
    await watch.look()
    assert len(details) == 2, "nobody listens any more"


async def test_all_runs_are_looked_at_in_one_packet(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    request, real = list[int](), History.newest_ids

    def newest_ids(self: History, workflow_ids: Sequence[str]) -> dict[str, str | None]:
        request.append(len(workflow_ids))
        return real(self, workflow_ids)

    monkeypatch.setattr(History, "newest_ids", newest_ids)
    watch = RunWatch(application.history)
    await watch.look()
    with watch.listening(frozenset(f"dcf://runs/r{number}/events" for number in range(MOST_OF_ONE))):
        await watch.look()
    assert request == [MOST_OF_ONE], "and Redis is not asked while nobody listens"


async def test_a_stream_may_not_listen_to_more_than_a_few_runs(application: Application) -> None:
    async def serve(_: Any) -> Any:
        raise AssertionError("it is refused before")

    listeners = RunListeners(RunWatch(application.history), lambda: key_of(Scope.READ))
    with pytest.raises(MCPError, match="At most 32 runs"):
        await listeners(listened([f"dcf://runs/r{number}" for number in range(MOST_OF_ONE + 1)]), serve)


@rows("name", ["\ud800", "a%0Ab", "*", "r" * 65])
async def test_an_address_that_no_run_can_have_is_not_watched(application: Application, name: str) -> None:
    """An id that cannot even be sent to Redis would end the watch of all others, and the server with it."""
    watch = RunWatch(application.history)

    async def serve(_: Any) -> Any:
        await watch.look()
        return dict(watch._known)

    listened_to = await RunListeners(watch, lambda: key_of(Scope.READ))(listened([f"dcf://runs/{name}"]), serve)
    assert listened_to == {}


async def test_a_caller_leaves_room_to_others(application: Application) -> None:
    watch = RunWatch(application.history)
    busy, other = key_of(Scope.READ, name="key:busy"), key_of(Scope.READ, name="key:other")

    async def open_more(number: int, caller: Caller = busy) -> int:
        """Open a stream within the one before, until one is refused; return how many were open."""

        async def inside(_: Any) -> Any:
            return await open_more(number + 1)

        async def served(_: Any) -> Any:
            return number

        named = listened([f"dcf://runs/r{number}-{item}" for item in range(MOST_OF_ONE)])
        try:
            more = await RunListeners(watch, lambda: caller)(named, inside if caller is busy else served)
        except MCPError:
            more = await open_more(number, other)
        return int(more)

    assert await open_more(0) == MOST_OF_CALLER // MOST_OF_ONE
    assert await open_more(0) == MOST_OF_CALLER // MOST_OF_ONE, "what ended is not counted any more"


async def test_who_may_not_read_may_not_listen(application: Application) -> None:
    async def serve(_: Any) -> Any:
        raise AssertionError("it is refused before")

    listeners = RunListeners(RunWatch(application.history), lambda: key_of(Scope.WORK))
    with pytest.raises(MCPError) as raised:
        await listeners(listened(["dcf://runs/some-run"]), serve)
    assert raised.value.error.code == REFUSED


@rows("mode", ["auto", "legacy"])
async def test_what_the_server_says_that_it_can_is_so(application: Application, mode: str) -> None:
    """Lists never change while a server runs; listening to runs is for the revision that has streams for it."""
    async with Client(build_server(application), mode=mode) as client:
        server_capabilities = client.server_capabilities
        assert server_capabilities.tools is not None
        assert server_capabilities.prompts is not None
        assert server_capabilities.resources is not None
        assert server_capabilities.completions is not None
        assert not any(
            item.list_changed
            for item in (server_capabilities.tools, server_capabilities.prompts, server_capabilities.resources)
        )
        assert bool(server_capabilities.resources.subscribe) is (mode == "auto")
        assert server_capabilities.logging is None
        assert (await client.list_tools()).tools
        assert (await client.list_prompts()).prompts
        assert (await client.list_resources()).resources
