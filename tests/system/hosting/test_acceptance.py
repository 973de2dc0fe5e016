"""The order pipeline by agents of a host, of every recipe, with faults that happen in practice.

The model is scripted; servers, host, agents and tools are real processes. Recipes whose SDK must be installed run with
DCF_AGENTS=1 (`make accept-agents`).
"""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dcf.tools.calling.client import connect
from tests.support.waiting import wait_until
from tests.system.hosting.environments import CASES, WANTED, WHY_NOT
from tests.system.hosting.model_server import model_server
from tests.system.hosting.records import AgentsRecord, agents_record
from tests.system.hosting.yard import GatedMind, Yard, agents_file, use_of
from tests.system.processes.shop import Shop, shop
from tests.system.processes.site import STATES

pytestmark = [pytest.mark.processes, pytest.mark.timeout(1200)]

PLAIN = ("plain", "plain, in the host")
EVERY = [*PLAIN, *(pytest.param(name, marks=pytest.mark.skipif(not WANTED, reason=WHY_NOT)) for name in CASES)]
WITH_A_PROCESS = [name for name in EVERY if name != "plain, in the host"]
PRICING = "CalculatePricing"

MakeYard = Callable[[str], Yard]


@pytest.fixture(scope="module")
def one_shop() -> Iterator[Shop]:
    with shop() as result:
        yield result


@pytest.fixture(scope="module")
def record() -> Iterator[AgentsRecord]:
    with agents_record() as result:
        yield result


@pytest.fixture
def yard(one_shop: Shop, tmp_path: Path) -> Iterator[MakeYard]:
    """Makes the yard of a recipe."""
    made: list[Yard] = []
    mind = GatedMind()
    with model_server(mind) as model, connect(one_shop.server_url) as tools:

        def make(case: str) -> Yard:
            file = agents_file(tmp_path, _common(case, model.url, tmp_path))
            run = f"order-{secrets.token_hex(4)}"
            made.append(Yard(shop=one_shop, tools=tools, model=model, mind=mind, agents=file, run=run))
            return made[-1]

        yield make
        mind.opened.set()
        for each in made:
            each.stop_host()


def _common(case: str, url: str, folder: Path) -> dict[str, Any]:
    """The settings of every agent of a case in the agents file."""
    if case in PLAIN:
        shutil.copy(Path(__file__).with_name("plain_agent.py"), folder)
        where = {"process": case == "plain", "handler": "plain_agent.py:handle"}
        return {**where, "base_url": f"{url}/v1", "model": "scripted", "options": {"notes": str(folder)}}
    result = CASES[case]
    environment = {
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "PYTHONPATH": "",
    }
    return {
        "recipe": result.recipe,
        "python": str(result.python()),
        "base_url": f"{url}{result.api}",
        "model": result.model,
        "options": result.own_options(),
        "environment": environment,
    }


@pytest.mark.parametrize("case", EVERY)
def test_agents_process_an_order(yard: MakeYard, case: str, record: AgentsRecord) -> None:
    yards = yard(case)
    with record.timed(case, "all is well") as noted:
        yards.begin()
        assert yards.finish() == dict.fromkeys(STATES, 1)
        if case != "plain, in the host":
            noted.used(*use_of(yards.child()))
    used = yards.tools.call("read_usage", workflow_id=yards.run)
    assert used["total"]["reports"] == len(STATES)
    assert all(used["states"][state]["tokens_out"] > 0 for state in STATES), "the SDK told what each turn used"


@pytest.mark.parametrize("case", WITH_A_PROCESS)
def test_an_agent_whose_process_is_killed_in_the_middle_of_a_turn_does_it_again(
    yard: MakeYard, case: str, record: AgentsRecord
) -> None:
    yards = yard(case)
    yards.mind.closed = PRICING
    with record.timed(case, "agent killed"):
        yards.begin()
        yards.wait_for_turn(PRICING)
        os.kill(yards.child(), 9)
        yards.mind.opened.set()
        assert yards.finish() == dict.fromkeys(STATES, 1), "the host kept the lease"
        assert "killed by SIGKILL" in yards.said()


@pytest.mark.parametrize("case", WITH_A_PROCESS)
def test_a_host_that_is_killed_in_the_middle_of_a_turn_is_replaced_by_the_next(
    yard: MakeYard, case: str, record: AgentsRecord
) -> None:
    yards = yard(case)
    yards.mind.closed = PRICING
    with record.timed(case, "host killed"):
        yards.begin()
        yards.wait_for_turn(PRICING)
        assert yards.host is not None
        yards.host.kill()
        yards.host.wait()
        yards.mind.opened.set()
        yards.start_host()
        attempts = yards.finish()
        assert attempts.pop(PRICING) >= 2
        assert set(attempts.values()) == {1}


@pytest.mark.parametrize("case", WITH_A_PROCESS)
def test_a_model_server_that_is_away_for_a_while_is_waited_for(yard: MakeYard, case: str, record: AgentsRecord) -> None:
    yards = yard(case)
    yards.model.stop()
    with record.timed(case, "model server away"):
        yards.begin()
        wait_until(lambda: "the turn broke and is tried again" in yards.said())
        yards.model.start()
        assert yards.finish() == dict.fromkeys(STATES, 1), "the host kept the lease"
