"""The cost of the page of a large run: round trips to Redis, and bytes to the browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx2
import pytest

from dcf.application.application import Application, open_application
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections
from dcf.web.site import build_site
from tests.support.redis.counting import CountingPool
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.world import World
from tests.web import run_stories as stories
from tests.web.run.run_visitor import Page, Visitor
from tests.web.visitors import HOST

pytestmark = pytest.mark.anyio

MOST_TRIPS = 5
"""Six are allowed, one of them for the session of the visitor."""

MOST_READ = 900_000
"""Bytes to and from Redis. Most of them are the first thousand open states, which the diagnosis looks at."""
MOST_BYTES = 60_000


@dataclass
class Cost:
    """The packets that were sent, and the bytes that went to and fro."""

    packets: list[list[str]] = field(default_factory=list)
    traffic: int = 0


@contextmanager
def counted(application: Application) -> Iterator[Cost]:
    """The commands of the application to Redis inside the block (read it after it)."""
    connections = _connections(application)
    plain = connections._pool
    counting = CountingPool(plain)
    idle, connections._idle = connections._idle, []
    connections._pool = counting
    cost = Cost()
    try:
        yield cost
    finally:
        for item in connections._idle:
            counting.release(item)
        connections._pool, connections._idle = plain, idle
        cost.packets, cost.traffic = counting.packets, sum(counting.traffic)


def _connections(application: Application) -> Connections:
    return application.control_plane.transactions.store._connections


@pytest.fixture
def fresh(web_redis: RestrictedRedis, monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    """A process that has seen no run yet, and whose pages are made within two seconds, however slow the machine is."""
    with open_application(Settings.model_validate({"redis_url": web_redis.url, "auth": "off"})) as opened:
        monkeypatch.setattr(opened.writes, "_monotonic", lambda: 0.0)
        yield opened


async def compressed(application: Application, path: str) -> int:
    """The bytes of a page as a browser gets them."""
    transport = httpx2.ASGITransport(app=build_site(application))
    async with (
        httpx2.AsyncClient(transport=transport, base_url=HOST) as client,
        client.stream("GET", path, headers={"accept-encoding": "gzip"}) as answer,
    ):
        assert answer.headers["content-encoding"] == "gzip"
        return sum([len(part) async for part in answer.aiter_raw()])


@pytest.mark.parametrize("tab", ["graph", "table"])
async def test_the_first_view_of_a_run_of_a_thousand_states_is_bounded(
    agents: World, fresh: Application, tab: str
) -> None:
    path = f"/ui/runs/{stories.long_chain(agents)}?tab={tab}"
    for _ in range(2):  # the first time reads the workflow
        with counted(fresh) as cost:
            page = await Visitor(build_site(fresh)).page(path)
        assert len(cost.packets) <= MOST_TRIPS, cost.packets
    assert "3 of 1000 ended" in page.text
    assert await compressed(fresh, path) < MOST_BYTES


async def test_the_first_view_with_all_states_ended_is_bounded_as_well(agents: World, fresh: Application) -> None:
    path = f"/ui/runs/{stories.long_chain(agents, 1000, done=1000)}"
    with counted(fresh) as cost:
        page = await Visitor(build_site(fresh)).page(path)
    assert len(cost.packets) <= MOST_TRIPS, cost.packets
    assert "1000 of 1000 ended" in page.text
    for tab in ("graph", "timeline", "table", "events"):
        assert await compressed(fresh, f"{path}?tab={tab}") < MOST_BYTES, tab


async def test_every_state_of_a_large_run_is_on_one_of_the_parts_of_its_picture(
    agents: World, fresh: Application
) -> None:
    run = stories.long_chain(agents, 400)
    visitor = Visitor(build_site(fresh))
    first = (await visitor.run(run)).part("view")
    links = [link for link in first.links.values() if "part=" in link]
    shown = {text.partition(":")[0] for link in links for text in (await visitor.page(link)).part("view").links}
    assert {f"S{at}" for at in range(400)} <= shown
    assert "S380" in {text.partition(":")[0] for text in (await visitor.run(run, state="S380")).part("view").links}


async def test_a_map_of_ten_thousand_iterations_is_never_read_as_a_whole(agents: World, fresh: Application) -> None:
    run = stories.mapped(agents, 10_000, MaxConcurrency=1_000)
    visitor = Visitor(build_site(fresh))
    for path, most in (
        (f"/ui/runs/{run}", MOST_TRIPS),
        (f"/ui/runs/{run}?tab=table", MOST_TRIPS),
        (f"/ui/runs/{run}?tab=table&inside=Each", MOST_TRIPS + 6),
        (f"/ui/runs/{run}?tab=table&inside=Each&row=9800", MOST_TRIPS + 6),
    ):
        with counted(fresh) as cost:
            page = await visitor.page(path)
        assert len(cost.packets) <= most, (path, cost.packets)
        assert cost.traffic < MOST_READ, path
        assert page.has("4 of 10000 iterations")
        assert await compressed(fresh, path) < MOST_BYTES, path
    assert "9999 ·" in page.text


async def test_choosing_a_state_of_a_large_run_costs_a_few_round_trips_more(agents: World, fresh: Application) -> None:
    run = stories.long_chain(agents)
    with counted(fresh) as cost:
        page = await Visitor(build_site(fresh)).run(run, state="S2")
    assert page.part("panel").has("S2")
    assert len(cost.packets) <= 2 * MOST_TRIPS, cost.packets


@rows(
    ("headers", "is_compressed"),
    [
        ({}, True),
        ({"cookie": "dcf=1", "sec-fetch-site": "same-origin"}, True),
        ({"cookie": "dcf=1", "sec-fetch-site": "none"}, True),
        ({"cookie": "dcf=1", "sec-fetch-site": "cross-site"}, False),
        ({"cookie": "dcf=1", "sec-fetch-site": "same-site"}, False),
        ({"cookie": "dcf=1"}, False),
        ({"accept-encoding": "identity"}, False),
    ],
)
async def test_the_size_of_a_page_tells_other_sites_nothing(
    agents: World, application: Application, headers: dict[str, str], is_compressed: bool
) -> None:
    path = f"/ui/runs/{stories.failed(agents)}"
    answer = await Visitor(build_site(application)).get(path, **headers)
    assert (answer.headers.get("content-encoding") == "gzip") is is_compressed
    assert "sec-fetch-site" in answer.headers.get("vary", "").lower() or not is_compressed
    assert Page(answer.text).has("Fill")


async def test_files_and_short_pages_are_not_compressed(agents: World, application: Application) -> None:
    visitor = Visitor(build_site(application))
    run = stories.failed(agents)
    for path in ("/ui/static/page.css", "/ui/static/graph.js", f"/ui/runs/{run}/history.json"):
        assert "content-encoding" not in (await visitor.get(path)).headers
