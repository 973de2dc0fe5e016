"""The order workflow by mailbox agents: from a request to the audit record, through MCP tools alone.

Every server is a process, every agent a client with connections of its own. The test starts servers and agents and
looks; no step of the run is done on an agent's behalf. In `tests/system/letta` the agents live on a real Letta.
"""

import json
import re
import signal
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from dcf.errors import ToolCallFailed
from dcf.tools.calling.client import ToolClient, connect
from tests.support.paths import ROOT
from tests.support.waiting import wait_until
from tests.system.letta.minds import is_ok
from tests.system.letta.planner_mind import NEEDED
from tests.system.processes.agents.mailbox_agents import Exchange, Hands, Job, Planner, serve
from tests.system.processes.runs import TOTAL, read
from tests.system.processes.shop import Shop, shop
from tests.system.processes.site import LONG, ORDER, STATES, effective, finish

pytestmark = pytest.mark.processes

TOKEN = re.compile(r"lease-[0-9a-f]{32}")
OTHERS = tuple(state for state in STATES if state != "CalculatePricing")


@pytest.fixture(scope="module")
def shared_shop() -> Iterator[Shop]:
    with shop() as result:
        yield result


@pytest.fixture(scope="module")
def onlooker(shared_shop: Shop) -> Iterator[ToolClient]:
    """Reads what there is to see; does nothing for anybody."""
    with connect(shared_shop.server_url) as result:
        yield result


@dataclass(kw_only=True)
class Order:
    """A request to a planner, and its run. Every worker is a thread of `crew`."""

    shop: Shop
    onlooker: ToolClient
    crew: ThreadPoolExecutor
    planner: str = field(default_factory=lambda: f"agent-{uuid.uuid4()}")
    over: threading.Event = field(default_factory=threading.Event)
    log: list[Exchange] = field(default_factory=list)
    stub_before: Counter[str] = field(default_factory=Counter)
    under_way: list[Future[None]] = field(default_factory=list)

    @property
    def run(self) -> str:
        return f"wf-{self.planner[-12:]}"

    def place(self) -> None:
        self.stub_before = self.shop.calls_of_stub()
        self._start(self._plan)

    def hire(self, *states: str, copies: int = 1, lost: int = 0) -> None:
        for state in states:
            url = self.shop.server_url
            job = Job(url=url, run=self.run, state=state, note=self.log.append, over=self.over)
            self._start(partial(serve, job, copies=copies, lost=lost))

    def wait_until_all_went_home(self) -> None:
        """Wait until the planner has closed the run and every worker has seen that; no thread may have failed."""
        wait_until(lambda: self._failed() or all(item.done() for item in self.under_way), 2 * LONG)
        for future in self.under_way:
            if future.done():
                future.result()

    def said(self, tool: str) -> list[dict[str, Any]]:
        """The answers to all calls of a tool."""
        return [item.answer for item in self.log if item.tool == tool]

    def story(self) -> Iterator[str]:
        for item in self.log:
            sent, answer = json.dumps(item.arguments)[:300], json.dumps(item.answer)[:600]
            yield f"{item.who}: {item.tool} {sent}\n    -> {answer}\n"

    def _plan(self) -> None:
        request = f"Process this order and write the invoice: {ORDER.read_text('utf-8')}"
        with Hands("planner", self.shop.server_url, self.log.append) as hands:
            Planner(hands, self.planner).serve(request, lambda: not self.over.is_set())

    def _start(self, work: Callable[[], None]) -> None:
        self.under_way.append(self.crew.submit(work))

    def _failed(self) -> bool:
        return any(future.done() and future.exception() is not None for future in self.under_way)


@pytest.fixture
def order(shared_shop: Shop, onlooker: ToolClient) -> Iterator[Order]:
    with ThreadPoolExecutor(len(STATES) + 1) as crew:
        order = Order(shop=shared_shop, onlooker=onlooker, crew=crew)
        try:
            yield order
        finally:
            order.over.set()
            sys.stdout.writelines(order.story())  # shown if the test failed


def check(order: Order) -> dict[str, Any]:
    """The invariants of every run, after any fault."""
    order.wait_until_all_went_home()
    check = read(order.onlooker, order.run)
    assert check["meta"]["status"] == "succeeded", check["meta"]
    assert check["meta"]["finalized_at"]
    assert check["meta"]["output"]["total"] == TOTAL
    assert check["meta"]["output"]["invoice_number"] == "INV-2025-0042"
    assert set(check["outputs"]) == set(STATES)
    assert check["outputs"]["CalculatePricing"]["total"] == TOTAL
    assert [check["states"][state]["status"] for state in STATES] == ["succeeded"] * 3
    assert effective(order.shop.site.events(order.run)) == dict.fromkeys(STATES, 1)
    assert order.shop.calls_of_stub() - order.stub_before == calls_that_the_order_takes()
    check_closing(order)
    check_skills(order)
    check_tokens(order)
    return check


def check_closing(order: Order) -> None:
    """The planner got an audit record, and the agents that were made for the run are gone."""
    (closed,) = order.said("finalize_workflow")
    assert closed["summary"]["final_status"] == "succeeded"
    assert closed["summary"]["agents"] == {"to_delete": 3, "deleted": 3, "delete_errors": 0}
    assert closed["audit"]["final_status"] == "succeeded"
    again = order.onlooker.call("finalize_workflow", workflow_id=order.run)  # repeating it answers with the record
    assert again["audit"] == closed["audit"]
    (hired,) = order.said("create_worker_agents")
    assert {element["state"] for element in hired["created"]} == set(STATES)
    for item in hired["created"]:
        with pytest.raises(ToolCallFailed) as refused:
            order.onlooker.call("resolve_agent_name_to_id", agent_name=item["agent_name"])
        assert refused.value.code == "unknown_agent"


def check_skills(order: Order) -> None:
    """The agents unloaded each loaded skill; only the last one's skills may have gone with it."""
    (hired,) = order.said("create_worker_agents")
    agents = hired["agents_map"]
    loaded = Counter(
        (item.answer["agent_id"], item.answer["manifest_id"])
        for item in order.log
        if item.tool == "load_skill" and is_ok(item.answer) and not item.answer["already_loaded"]
    )
    unloaded = Counter((item["agent_id"], item["manifest_id"]) for item in order.said("unload_skill"))
    request = {
        (item.arguments["agent_id"], item.arguments["manifest_id"]) for item in order.log if item.tool == "unload_skill"
    }
    assert {agent for agent, _ in loaded} == set(agents.values())
    assert set(loaded) == request
    assert {agent for agent, _ in loaded - unloaded} <= {agents[STATES[-1]]}
    for agent in agents.values():
        mine = order.onlooker.call("get_my_assignment", agent_id=agent, workflow_id=order.run)
        assert mine["loaded_skills"] == []


def check_tokens(order: Order) -> None:
    """Only the copy with the lease got its token."""
    granted = {
        element.answer["lease"]["token"]: element.who
        for element in order.log
        if element.tool == "acquire_state_lease" and is_ok(element.answer)
    }
    assert {person.rpartition("-")[0] for person in granted.values()} == set(STATES)
    for item in order.log:
        for token in TOKEN.findall(json.dumps(item.answer)):
            assert granted.get(token) == item.who, item
    assert not TOKEN.search(json.dumps(order.shop.site.events(order.run)))


def calls_that_the_order_takes() -> Counter[str]:
    """Every tool of the three skills once, but the stock of each item."""
    shipped = [ROOT / "generated" / "manifests" / f"skill.{name}-0.1.0.json" for name in NEEDED]
    tools = [tool["definition"] for path in shipped for tool in json.loads(path.read_text("utf-8"))["requiredTools"]]
    counter = Counter(f"{tool['serverId']}:{tool['toolName']}" for tool in tools)
    assert len(counter) == 8
    counter["orders:check_inventory"] = len(json.loads(ORDER.read_text("utf-8"))["lines"])
    return counter


def attempts(document: dict[str, Any]) -> list[int]:
    return [document["states"][state]["attempts"] for state in STATES]


def test_a_planner_and_three_workers_process_an_order(order: Order) -> None:
    order.place()
    order.hire(*STATES)
    assert attempts(check(order)) == [1, 1, 1]


def test_the_clock_reminds_a_worker_that_lost_its_first_event(order: Order) -> None:
    """The event was taken and acknowledged, and nothing was done about it."""
    order.place()
    order.hire("CalculatePricing", lost=1)
    order.hire(*OTHERS)
    assert attempts(check(order)) == [1, 1, 1]
    sent = [event for event in order.shop.site.events(order.run) if event["type"] == "NotificationSent"]
    reasons = [item["reason"] for item in sent if item["state"] == "CalculatePricing"]
    assert reasons[:2] == ["upstream_done", "reminder"]


def test_the_run_is_the_same_when_every_event_comes_to_two_copies_of_every_worker(order: Order) -> None:
    order.place()
    order.hire(*STATES, copies=2)
    assert attempts(check(order)) == [1, 1, 1]
    woken = {item.who for item in order.log if item.tool == "get_my_assignment" and "state" in item.arguments}
    assert woken == {f"{state}-{copy}" for state in STATES for copy in (1, 2)}


def test_another_copy_finishes_what_a_killed_worker_had_leased(order: Order) -> None:
    order.place()
    order.hire(*OTHERS)
    where = (order.shop.server_url, order.run, "CalculatePricing")
    dying = order.shop.site.start("-m", "tests.system.processes.agents.dying_agent", *where)
    details, code = finish(dying)
    assert code == -signal.SIGKILL
    order.log += [Exchange(**json.loads(line)) for line in details.splitlines()]
    assert order.log[-1].tool == "acquire_state_lease"
    order.hire("CalculatePricing")
    assert attempts(check(order)) == [1, 2, 1]
