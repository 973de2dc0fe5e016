"""Ends and limits of event streams: slow pages, limits, visits that end, servers that stop."""

from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from dcf.application.application import Application, open_application
from dcf.core.access.model import local_caller
from dcf.settings.process import Settings
from dcf.web.live import streams as live_module
from dcf.web.live.readers import MOST_WAITING, Stream, Streams, message
from dcf.web.live.streams import LivePages, live_routes
from dcf.web.site import build_site
from dcf.web.visit import Visit
from tests.support.redis.servers import redis_server
from tests.support.tables import rows
from tests.tools.calls import TWO_TASKS
from tests.web.live.listening import PATIENCE_S, Listener, in_thread, is_read, listening, steps_after
from tests.web.worked_runs import a_run

pytestmark = pytest.mark.anyio


async def test_a_page_that_takes_nothing_holds_up_no_other_and_begins_again(application: Application) -> None:
    streams = Streams()
    slow, quick = streams.enter("a"), streams.enter("a")
    assert isinstance(slow, Stream)
    assert isinstance(quick, Stream)
    for number in range(3 * MOST_WAITING):
        details = message("happened", {"n": number})
        slow.put(details)
        quick.put(details)
        assert quick.take() == [details]
    assert slow.take() is None
    slow.put(details)
    assert slow.take() == [details]


async def test_a_slow_page_is_sent_the_whole_state_and_goes_on(
    application: Application, site: Starlette, live: LivePages
) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    page = Listener(site, f"/ui/runs/{run.workflow_id}/live?after={run.event_ids()[-1]}")
    async with listening(page):
        (stream,) = live.streams._open
        for _ in range(MOST_WAITING + 1):  # at once, so that it has no turn to take them
            stream.put(message("changed", {}))
        await page.until(lambda: any(details.event == "reset" for details in page.told()))
        await steps_after(run, page)
    assert next(details.event for details in page.told()) == "reset"
    assert page.event_ids() == run.event_ids()[-1:]


async def test_all_streams_end_when_the_server_stops_and_none_is_opened_then(
    application: Application, site: Starlette, live: LivePages
) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    pages = [Listener(site, f"/ui/runs/{run.workflow_id}/live"), Listener(site, "/ui/live")]
    async with listening(*pages):
        live.stop()
        with anyio.fail_after(PATIENCE_S):
            for page in pages:
                await page.is_over.wait()
    assert len(live.streams) == 0
    late = Listener(site, "/ui/live")
    await late.listen()
    assert (late.status, late.text) == (429, "This server is stopping.")


async def test_a_page_that_goes_leaves_nothing(application: Application, site: Starlette, live: LivePages) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    page, listed = Listener(site, f"/ui/runs/{run.workflow_id}/live"), Listener(site, "/ui/live")
    async with listening(page, listed):
        assert len(live.streams) == 2
    assert page.is_over.is_set()
    assert len(live.streams) == 0
    assert live.runs._feeds == {}
    assert live.lists._lists == {}


async def test_only_so_many_streams_are_open_and_the_next_is_told_why(application: Application) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    for streams, details in (
        (Streams(most=2, most_of_one=9), "All 2 live pages"),
        (Streams(most=9, most_of_one=2), "You have 2 live pages"),
    ):
        live = LivePages(application, streams)
        site = build_site(application, live)
        path = f"/ui/runs/{run.workflow_id}/live"
        pages = [Listener(site, path) for _ in range(2)]
        async with listening(*pages):
            third = Listener(site, path)
            await third.listen()
            assert (third.status, third.text.startswith(details), "retry-after" in third.headers) == (429, True, True)
        async with listening(Listener(site, path)):  # there is room again
            assert len(streams) == 1
        await live.close()


async def as_it_is(made: Awaitable[Response]) -> Response:
    return await made


async def test_a_stream_ends_when_its_visit_does_not_hold_any_more(
    application: Application, live: LivePages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "CHECK_S", 0.01)
    visit, holding = Visit(application=application, caller=local_caller(operator=False)), [True]

    async def holds(_: Request, request: Visit) -> bool:
        assert request is visit
        return holding[0]

    site = Starlette(routes=[Mount("/ui", routes=live_routes(live, lambda _: visit, as_it_is, holds))])
    run = await in_thread(a_run, application, TWO_TASKS)
    page = Listener(site, f"/ui/runs/{run.workflow_id}/live")
    async with listening(page):
        holding[0] = False
        with anyio.fail_after(PATIENCE_S):
            await page.is_over.wait()
    assert page.told()[-1].event == "ended"


async def test_a_silent_stream_gives_signs_of_life_and_has_its_page_refreshed(
    application: Application, site: Starlette, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("CHECK_S", 0.01), ("HEARTBEAT_S", 0.02), ("CLOCK_S", 0.1)):
        monkeypatch.setattr(live_module, name, seconds)
    run = await in_thread(a_run, application, TWO_TASKS)
    page = Listener(site, f"/ui/runs/{run.workflow_id}/live?after={run.event_ids()[-1]}")
    async with listening(page):
        await page.until(lambda: page.text.count(": still here") > 1)
        await page.until(page.told)  # what changes by time alone
    assert {details.event for details in page.told()} == {"refresh"}


@rows(("path", "status"), [("/ui/runs/none/live", 404), ("/ui/live?status=wrong", 400), ("/ui/live?cursor=wrong", 400)])
async def test_a_stream_of_what_there_is_not_is_refused_and_takes_no_place(
    site: Starlette, live: LivePages, path: str, status: int
) -> None:
    page = Listener(site, path)
    await page.listen()
    assert (page.status, len(live.streams)) == (status, 0)


async def test_a_foreign_host_gets_no_stream(site: Starlette) -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=site), base_url="http://evil.example") as client:
        assert (await client.get("/ui/live")).status_code == 421


@dataclass
class Unhurried(Listener):
    """A page that takes what it is sent only when it may."""

    may_take: anyio.Event = field(default_factory=anyio.Event)

    async def _send(self, sent: Any) -> None:
        await super()._send(sent)
        if self.told() and self.event_ids():
            await self.may_take.wait()


async def test_a_page_that_reads_slowly_misses_no_event_and_delays_no_other(
    application: Application, site: Starlette
) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    path = f"/ui/runs/{run.workflow_id}/live?after={run.event_ids()[-1]}"
    known, slow, quick = run.event_ids(), Unhurried(site, path), Listener(site, path)
    async with listening(slow, quick):
        await is_read(application)  # from now on a page gets each event alone, not many at once
        for _ in range(MOST_WAITING // 2 + 5):
            await in_thread(run.tool, "pause_run")
            await in_thread(run.tool, "resume_run")
        await quick.caught_up(run)
        assert known + quick.event_ids() == run.event_ids()
        slow.may_take.set()
        await slow.until(lambda: slow.told()[-1].event == "refresh")
        reset = next(details for details in slow.told() if details.event == "reset")
        assert reset.event_id == run.event_ids()[-1]
        await steps_after(run, slow)
    assert slow.event_ids()[-1:] == run.event_ids()[-1:]
    assert len(slow.event_ids()) == len(set(slow.event_ids()))


async def test_when_redis_breaks_the_streams_end_and_pages_continue_where_they_were(
    short_directory: Path,
) -> None:
    folder = short_directory / "live-lost"
    folder.mkdir()
    with redis_server(folder) as port:
        url = f"redis://127.0.0.1:{port}/0"
        with open_application(Settings.model_validate({"redis_url": url, "auth": "off"})) as application:
            live = LivePages(application)
            site = build_site(application, live)
            run = await in_thread(a_run, application, TWO_TASKS)
            path, known = f"/ui/runs/{run.workflow_id}/live", run.event_ids()
            page = Listener(site, f"{path}?after={known[-1]}")
            async with listening(page):
                await in_thread(run.take, "A")
                await page.caught_up(run)
                await is_read(application)
                application.history._connections.send(("CLIENT", "KILL", "TYPE", "normal"))
                with anyio.fail_after(PATIENCE_S):
                    await page.is_over.wait()
            await in_thread(run.tool, "pause_run")
            again = Listener(site, f"{path}?after={page.event_ids()[-1]}")
            async with listening(again):
                await again.caught_up(run)
                await in_thread(run.tool, "resume_run")
                await again.caught_up(run)
            assert known + page.event_ids() + again.event_ids() == run.event_ids()
            await live.close()


@rows("path", ["/ui/live", "/ui/runs/any/live"])
async def test_a_stream_is_only_given_to_get(site: Starlette, live: LivePages, path: str) -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=site), base_url="http://127.0.0.1:8337") as client:
        assert (await client.head(path)).status_code == 405
    assert len(live.streams) == 0
