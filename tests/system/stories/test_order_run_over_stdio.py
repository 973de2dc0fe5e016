"""The whole order pipeline through a server that a client starts and talks to over stdio."""

import os
import sys

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from dcf.application.application import Application
from tests.support.paths import ROOT
from tests.tools.calls import STEPS, Tools, run_orders
from tests.tools.working.test_order_run import json_arguments_arrive

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_orders_are_processed_over_stdio(application: Application, run_id: str, mode: str) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "dcf", "serve", "--transport", "stdio"],
        env={"REDIS_URL": application.redis_url, "PATH": os.environ["PATH"]},
        cwd=ROOT,
    )
    async with Client(server, mode=mode) as client:
        tools = await Tools.of(client)
        assert await run_orders(tools, run_id) == STEPS["GenerateInvoice"]
        await json_arguments_arrive(tools, f"{run_id}-json")
