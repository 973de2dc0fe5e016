"""The order workflow by real agents on a real Letta: from a request to the audit record, through MCP tools alone.

The model is scripted, everything else is real. The test starts servers, asks the planner and looks; no step of the
run is done on an agent's behalf. Faults are of the kind that happen by themselves: a server that is away, a message
that is lost or comes twice.
"""

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.waiting import wait_until
from tests.system.letta.installed import packages
from tests.system.letta.installed.server import LettaServer, running_letta
from tests.system.letta.minds import worker
from tests.system.letta.model import HANDLE, Conversation, Reply, ScriptedModel
from tests.system.letta.planner_mind import planner
from tests.system.letta.plant import RUN_S, Plant, plant
from tests.system.letta.records import Record, acceptance_record
from tests.system.processes.site import ORDER, STATES, effective

pytestmark = [pytest.mark.letta, pytest.mark.timeout(1200)]

TOTAL = "242.77"
STUB_TOOLS = {
    "orders:verify_customer", "orders:check_inventory", "orders:validate_address", "pricing:calculate_subtotal",
    "pricing:apply_discount", "pricing:calculate_tax", "pricing:calculate_shipping", "documents:create_invoice",
}  # fmt: skip


@pytest.fixture(scope="module")
def own_letta(shared_model: ScriptedModel) -> Iterator[LettaServer]:
    """A Letta for these runs alone: names of tools are global there, and it is killed in between."""
    reason = packages.why_not()
    if reason is not None:
        pytest.skip(reason)
    with running_letta(shared_model.url) as server:
        yield server


@pytest.fixture(scope="module")
def shared_plant(own_letta: LettaServer) -> Iterator[Plant]:
    with plant(own_letta, HANDLE) as result:
        yield result


@pytest.fixture(scope="module")
def record(shared_plant: Plant) -> Iterator[Record]:
    """The dated record of these runs, written when all of them succeeded and the environment asks for it."""
    with acceptance_record() as record:
        yield record


@dataclass(kw_only=True)
class Order:
    """One request to a planner of its own, and the run that comes of it."""

    plant: Plant
    planner: str = ""
    stub_before: Counter[str] = field(default_factory=Counter)

    @property
    def run(self) -> str:
        return f"wf-{self.planner[-12:]}"

    def place(self) -> None:
        self.stub_before = Counter(self.plant.calls_of_stub())
        self.planner = self.plant.hire_planner()
        self.plant.ask(self.planner, f"Process this order and write the invoice: {ORDER.read_text('utf-8')}")

    def status(self, state: str) -> str | None:
        result = self.plant.read(self.run)["states"].get(state)
        return None if result is None else result["status"]

    def workers(self) -> dict[str, str]:
        agents: dict[str, str] = self.plant.read(self.run)["meta"].get("agents") or {}
        return agents

    def wait_under_way(self) -> None:
        self.plant.wait_for_run(self.run)
        wait_until(lambda: len(self.workers()) == len(STATES), RUN_S)


@pytest.fixture
def order(shared_plant: Plant, model: ScriptedModel) -> Iterator[Order]:
    model.minds += [planner, worker]
    yield Order(plant=shared_plant)
    sys.stdout.writelines(f"{line}\n" for line in model.story())  # shown if the test failed


def check(order: Order) -> dict[str, Any]:
    """The invariants of every run, after any fault."""
    wait_finalized = order.plant.wait_finalized(order.run)
    meta, outputs = wait_finalized["meta"], wait_finalized["outputs"]
    assert meta["status"] == "succeeded", meta
    assert meta["output"]["total"] == TOTAL
    assert meta["output"]["invoice_number"] == "INV-2025-0042"
    assert set(outputs) == set(STATES)
    assert outputs["CalculatePricing"]["total"] == TOTAL
    assert [wait_finalized["states"][state]["status"] for state in STATES] == ["succeeded"] * 3
    assert effective(order.plant.site.printed_events(order.run)) == dict.fromkeys(STATES, 1)
    closed = order.plant.tools.call("finalize_workflow", workflow_id=order.run)  # repeating it answers with the record
    assert closed["summary"]["final_status"] == "succeeded"
    assert closed["audit"], "the audit record is there"
    assert order.plant.letta.find_agents((f"wf:{order.run}",)) == [], "the workers are deleted"
    assert order.plant.letta.retrieve_agent(order.planner), "the planner is not"
    made = Counter(order.plant.calls_of_stub()) - order.stub_before
    assert set(made) >= STUB_TOOLS
    return wait_finalized


def test_a_planner_and_three_workers_process_an_order(order: Order, record: Record) -> None:
    with record.timed("all is well"):
        order.place()
        check(order)


def test_the_run_goes_on_when_letta_was_away_for_half_a_minute(
    order: Order, own_letta: LettaServer, record: Record
) -> None:
    with record.timed("Letta killed after the first state, started again 30 s later"):
        order.place()
        order.wait_under_way()
        wait_until(lambda: order.status("ValidateOrder") == "succeeded", RUN_S)
        own_letta.stop()
        threading.Event().wait(30)  # the fault itself: nothing is waited for
        own_letta.start()
        check(order)


def test_the_run_goes_on_when_a_message_to_a_worker_was_lost(
    order: Order, model: ScriptedModel, record: Record
) -> None:
    """A failed run of an agent stores no message: the agent does not know the event."""
    lost = Lost("CalculatePricing")
    model.minds.insert(0, lost)
    with record.timed("a worker's first message lost"):
        order.place()
        check(order)
    assert lost.times == 1


def test_the_run_is_the_same_when_every_event_comes_twice(order: Order, model: ScriptedModel, record: Record) -> None:
    doubled = Doubled(order.plant)
    model.minds.insert(0, doubled)
    with record.timed("every event delivered twice, at the same time"):
        order.place()
        check(order)
    assert set(doubled.states) >= set(STATES)


class Lost:
    """Fails the first run of a state's worker, as an outage of the model's provider would."""

    def __init__(self, state: str) -> None:
        self._state = state
        self.times = 0

    def __call__(self, seen: Conversation) -> Reply | None:
        if seen.event.get("target_state") != self._state or self.times:
            return None
        self.times += 1
        return Reply(error=400)


class Doubled:
    """Sends each event to its agent once more, as soon as the agent begins to act on it."""

    def __init__(self, plant: Plant) -> None:
        self._send: Callable[[str, str], None] = plant.ask
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self.states: list[str] = []

    def __call__(self, seen: Conversation) -> None:
        event = seen.event
        if "event_id" not in event:
            return
        with self._lock:
            is_new = event["event_id"] not in self._known
            self._known.add(event["event_id"])
        if is_new:
            self.states.append(str(event.get("target_state")))
            self._send(event["agent_id"], json.dumps(event))
