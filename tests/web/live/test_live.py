"""Event streams over ASGI: nothing missing and nothing double, one reader for all pages, and what ends a stream."""

import re
import threading
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.applications import Starlette

from dcf.application.application import Application
from dcf.store.events.history import place
from dcf.values.json_text import dump
from dcf.web.live.readers import Stream
from dcf.web.live.streams import LivePages
from tests.support.tables import rows
from tests.tools.calls import TWO_TASKS
from tests.web.live.listening import PATIENCE_S, Listener, in_thread, info, is_read, listening, steps, steps_after
from tests.web.worked_runs import a_run, chain

pytestmark = pytest.mark.anyio


async def test_a_page_is_told_every_event_after_its_own_and_no_other(application: Application, site: Starlette) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    known = run.event_ids()
    page = Listener(site, f"/ui/runs/{run.workflow_id}/live?after={known[-1]}")
    async with listening(page):
        await steps(run, "A", "B")
        await page.caught_up(run)
    assert known + page.event_ids() == run.event_ids()
    assert page.headers["content-type"].startswith("text/event-stream")
    assert (page.headers["cache-control"], page.headers["x-accel-buffering"]) == ("no-store", "no")
    statuses = [(event["state"], event["status"]) for details in page.told() if details.event == "happened"
                for event in details.data["events"] if "status" in event]  # fmt: skip
    assert statuses == [("A", "running"), ("A", "succeeded"), ("B", "running"), ("B", "succeeded")]


async def test_a_page_that_lost_its_stream_goes_on_without_gap_or_double(
    application: Application, site: Starlette
) -> None:
    run = await in_thread(a_run, application, chain(6))
    heard, last = run.event_ids(), run.event_ids()[-1]
    for number in range(3):
        by_header = Listener(site, f"/ui/runs/{run.workflow_id}/live?after=0-1", last_id=last)
        by_address = Listener(site, f"/ui/runs/{run.workflow_id}/live?after={last}")
        async with listening(by_header, by_address):
            await steps(run, f"S{2 * number}")
            for page in (by_header, by_address):
                await page.caught_up(run)
        assert by_header.event_ids() == by_address.event_ids()
        heard += by_header.event_ids()
        last = next(details.event_id for details in reversed(by_header.told()) if details.event_id) or ""
        await steps(run, f"S{2 * number + 1}")  # without a listener
    missed = Listener(site, f"/ui/runs/{run.workflow_id}/live?after={last}")
    async with listening(missed):
        await missed.caught_up(run)
    assert heard + missed.event_ids() == run.event_ids()


async def test_events_between_joining_and_listening_come_once_however_many_pages_join(
    application: Application, site: Starlette
) -> None:
    run = await in_thread(a_run, application, chain(12))
    known = run.event_ids()
    pages = [Listener(site, f"/ui/runs/{run.workflow_id}/live?after={known[-1]}") for _ in range(12)]
    async with anyio.create_task_group() as tasks:
        for number, page in enumerate(pages):
            tasks.start_soon(page.listen)
            await steps(run, f"S{number}")
        for page in pages:
            await page.caught_up(run)
            page.is_gone.set()
    assert [known + page.event_ids() for page in pages] == [run.event_ids()] * len(pages)


async def test_what_happens_after_a_page_has_read_and_before_another_listens_reaches_it(
    application: Application, live: LivePages, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    known, has_read, may_go_on = run.event_ids()[-1], threading.Event(), threading.Event()
    read, slow, quick = live.runs._read, Stream("slow"), Stream("quick")

    def read_and_wait(*arguments: Any) -> Any:
        and_wait = read(*arguments)
        if not has_read.is_set():
            has_read.set()
            assert may_go_on.wait(PATIENCE_S)
        return and_wait

    monkeypatch.setattr(live.runs, "_read", read_and_wait)
    reached: list[object] = []

    async def join_slowly() -> None:
        reached.append((await live.runs.join(slow, run.workflow_id, known)).place)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(join_slowly)
        await in_thread(has_read.wait)
        await in_thread(run.take, "A")
        await live.runs.join(quick, run.workflow_id, known)  # it has the event, and from there on all are followed
        may_go_on.set()
    assert reached == [place(run.event_ids()[-1])]


@rows("after", ["", "?after=1-1", "?after=nonsense", "?after=99999999999999999999-1"])
async def test_who_names_no_event_of_the_run_is_told_how_the_whole_run_stands_first(
    application: Application, site: Starlette, after: str
) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    await in_thread(run.take, "A")
    page = Listener(site, f"/ui/runs/{run.workflow_id}/live{after}")
    async with listening(page):
        await steps_after(run, page)
    first = page.told()[0]
    assert (first.event, first.data["run"], first.event_id) == ("reset", "running", run.event_ids()[-2])
    assert first.data["states"]["A"] == "running"
    assert page.event_ids() == run.event_ids()[-1:]


async def test_what_states_put_out_is_not_read_to_say_how_a_run_stands(
    application: Application, site: Starlette
) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    token, output = await in_thread(run.take, "A"), dump("x" * 200_000)
    sent = {"state": "A", "lease_token": token, "new_status": "succeeded", "output_json": output}
    await in_thread(partial(run.tool, "update_workflow_control_plane", **sent))
    before = await in_thread(sent_by_redis, application)
    page = Listener(site, f"/ui/runs/{run.workflow_id}/live")
    async with listening(page):
        pass
    assert page.told()[0].data["states"]["A"] == "succeeded"
    assert await in_thread(sent_by_redis, application) - before < len(output)


def sent_by_redis(application: Application) -> int:
    """The bytes that it has sent."""
    match = re.search(r"total_net_output_bytes:(\d+)", info(application, "stats"))
    assert match is not None
    return int(match[1])


async def test_a_history_whose_beginning_was_trimmed_begins_again(application: Application, site: Starlette) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    known = run.event_ids()[-1]
    await steps(run, "A")
    connections = application.history._connections
    connections.send(("XDEL", f"cp:wf:{run.workflow_id}:events", known.partition(".")[0]))
    page = Listener(site, f"/ui/runs/{run.workflow_id}/live?after={known}")
    async with listening(page):
        await page.until(page.told)
    assert page.told()[0].event == "reset"


def was_refreshed(page: Listener) -> bool:
    return page.told()[-1].event == "refresh"


async def test_after_changes_the_page_is_told_to_ask_for_its_html_once_for_all_pages(
    application: Application, site: Starlette
) -> None:
    run = await in_thread(a_run, application, TWO_TASKS)
    last = run.event_ids()[-1]
    pages = [Listener(site, f"/ui/runs/{run.workflow_id}/live?after={last}") for _ in range(3)]
    async with listening(*pages):
        await steps(run, "A")
        for page in pages:
            await page.caught_up(run)
            await page.until(partial(was_refreshed, page))
    versions = [[details.data["version"] for details in page.told() if details.event == "refresh"] for page in pages]
    assert versions[0]
    assert versions == [versions[0]] * 3


def reads(application: Application) -> int:
    """How many XREADs Redis has served."""
    counted = re.search(r"cmdstat_xread:calls=(\d+)", info(application, "commandstats"))
    return 0 if counted is None else int(counted[1])


@rows("readers", [1, 50])
async def test_however_many_pages_are_open_an_event_is_read_once(
    application: Application, site: Starlette, readers: int
) -> None:
    run = await in_thread(a_run, application, chain(8))
    last = run.event_ids()[-1]
    pages = [Listener(site, f"/ui/runs/{run.workflow_id}/live?after={last}") for _ in range(readers)]
    async with listening(*pages):
        before, known = reads(application), len(run.event_ids())
        await steps(run, *(f"S{number}" for number in range(8)))
        for page in pages:
            await page.caught_up(run)
        commits = len({event_id.partition(".")[0] for event_id in run.event_ids()[known:]})
        assert reads(application) - before <= 2 * commits


async def test_pages_of_many_runs_share_one_connection(application: Application, site: Starlette) -> None:
    runs = [await in_thread(a_run, application, TWO_TASKS) for _ in range(10)]
    pages = [Listener(site, f"/ui/runs/{run.workflow_id}/live?after={run.event_ids()[-1]}") for run in runs]
    async with listening(*pages):
        await steps(runs[3], "A")
        await steps(runs[7], "A")
        for number in (3, 7):
            page, run = pages[number], runs[number]
            await page.caught_up(run)
        await is_read(application)
    assert pages[0].event_ids() == []
