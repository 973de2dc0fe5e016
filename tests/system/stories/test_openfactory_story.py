"""An agent pulls work orders of its project with a key, at servers that die; a second one takes the next."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from dcf.application.application import open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from tests.profiles.clients import ProfileClient
from tests.system.processes.site import Server, Site, finish
from tests.system.stories.stories import kill, place
from tests.tools.access import ask, key_of

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

GATE = {"name": "review", "kind": "review", "reviewers": ["bob"], "criteria": ["It works."]}
ORDERS: list[dict[str, Any]] = [
    {"name": "prices", "title": "Fix prices", "instructions": "Add a currency.", "gates": [GATE]},
    {"name": "ship", "title": "Ship it", "depends_on": ["prices"]},
]


async def test_two_agents_carry_out_orders_of_a_project_while_servers_die() -> None:
    with place() as site:
        run, ada_key, bob_key = await _planned(site)
        first = site.serve("--port", "0", DCF_AUTH="keys")
        async with _client(first, ada_key) as ada:
            (order,) = (await ada.twice("list_work_orders"))["workOrders"]
            assert (order["id"], order["title"]) == (f"{run}:prices", "Fix prices")
            assert (await ada.twice("get_work_order", workOrderId=order["id"]))["description"] == "Add a currency."
            await _moved(ada, order["id"], "in_progress")
        kill(first)
        second = site.serve("--port", "0", DCF_AUTH="keys")
        async with _client(second, ada_key) as ada, _client(second, bob_key) as bob:
            await _moved(ada, order["id"], "in_review")
            own = await ada.failed("update_work_order_status", workOrderId=order["id"], status="done")
            assert "Error: " in own.text, "who made it does not judge it"
            await _moved(bob, order["id"], "in_progress")
            assert (await ada.ok("list_work_orders", status="in_progress"))["workOrders"][0]["id"] == order["id"]
            await _moved(ada, order["id"], "in_review")
            await _moved(bob, order["id"], "done")
            (following,) = (await bob.ok("list_work_orders"))["workOrders"]
            assert following["title"] == "Ship it"
            for status in ("in_progress", "in_review", "done"):
                await _moved(bob, following["id"], status)
        kill(second)
        await _read_with_dcf(site, run)


async def _planned(site: Site) -> tuple[str, str, str]:
    """Plan the orders of a project, and make keys for two agents."""
    with open_application(Settings(redis_url=None, data_dir=site.data_dir)) as application:
        boss = key_of(Scope.READ, Scope.WORK, Scope.PLAN, agent_id="boss")
        opened = await ask(application, boss, "open_run", name="orders", planner_agent_id="boss", project="shop")
        run = str(opened["workflow_id"])
        assert (await ask(application, boss, "add_units", workflow_id=run, units=ORDERS)).code == "ok"
        scopes, more = (Scope.READ, Scope.WORK), {"label": None, "life_s": None, "profile": "openfactory"}
        keys = [
            application.keys.create(scopes, agent_id=agent, project="shop", **more).text  # type: ignore[arg-type]
            for agent in ("ada", "bob")
        ]
        await application.reader.close()
    return run, keys[0], keys[1]


@asynccontextmanager
async def _client(server: Server, key: str) -> AsyncIterator[ProfileClient]:
    """Open a connection with a key."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(server.url, http_client=http)) as client,
    ):
        yield ProfileClient(client=client)


async def _moved(client: ProfileClient, order: str, status: str) -> None:
    for _ in range(2):
        answer = await client.ok("update_work_order_status", workOrderId=order, status=status)
        assert answer["newStatus"] == status


async def _read_with_dcf(site: Site, run: str) -> None:
    with open_application(Settings(redis_url=None, data_dir=site.data_dir)) as opened:
        read = await ask(opened, key_of(Scope.READ), "read_workflow_control_plane", workflow_id=run)
        states = {name: doc["status"] for name, doc in read["states"].items()}
        assert states == {"prices": "succeeded", "ship": "succeeded"}
        await opened.reader.close()
    output, code = finish(site.dcf("runs", "events", run, "--json"))
    assert code == 0
    types = [json.loads(line)["type"] for line in output.splitlines()]
    assert types.count("GateOpened") == 2
