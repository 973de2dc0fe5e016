"""Events for agents on a real Letta server: one run at a time, each event heard once where possible."""

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Event
from typing import Any

import pytest
from letta_client import Letta

from dcf.adapters.letta import LettaOptions, LettaPlatform, LocalDeliveries
from dcf.ports import Delivery, Undelivered
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.events.deliveries import SharedDeliveries
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.system.letta.conftest import Hire
from tests.system.letta.installed.server import LettaServer
from tests.system.letta.model import Conversation, Reply, ScriptedModel, say
from tests.system.letta.waiting import LONG, NOBODY, wait_until_idle

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]

EVENT: dict[str, Any] = {"type": "workflow_event", "workflow_id": "wf-1", "target_state": "A", "payload": {"n": "12e5"}}


class Thinking:
    """A mind that holds its answer back until it is let go."""

    def __init__(self) -> None:
        self.heard = Event()
        self.go = Event()

    def __call__(self, _: Conversation) -> Reply:
        self.heard.set()
        assert self.go.wait(LONG)
        return say("done")


def runs_of(raw: Letta, agent: str) -> int:
    return len(raw.runs.list(agent_id=agent, limit=50).items)


def test_an_event_starts_a_run_of_its_agent(
    letta: LettaPlatform, raw: Letta, hired: Hire, model: ScriptedModel
) -> None:
    agent = hired()

    delivery = letta.deliver(agent, "e1", EVENT)

    assert delivery.error is None
    assert delivery.run_id is not None
    wait_until_idle(raw, agent)
    assert raw.runs.retrieve(delivery.run_id).status == "completed"
    assert model.log[-1].conversation.event == EVENT | {"agent_id": agent}, "the agent learns its own id"


def test_the_same_event_again_is_not_sent(letta: LettaPlatform, raw: Letta, hired: Hire) -> None:
    agent = hired()
    first = letta.deliver(agent, "e1", EVENT)
    while_it_runs = letta.deliver(agent, "e1", EVENT)
    wait_until_idle(raw, agent)
    afterwards = letta.deliver(agent, "e1", EVENT)

    known = Delivery(message_id="e1", run_id=first.run_id, duplicate=True)
    assert [while_it_runs, afterwards] == [known, known]
    assert runs_of(raw, agent) == 1


def test_a_busy_agent_is_left_alone_until_it_is_done(
    letta: LettaPlatform, raw: Letta, hired: Hire, model: ScriptedModel
) -> None:
    agent, thinking = hired(), Thinking()
    model.minds.append(thinking)
    letta.deliver(agent, "e1", EVENT)
    assert thinking.heard.wait(LONG)

    refused = letta.deliver(agent, "e2", EVENT)
    thinking.go.set()
    wait_until_idle(raw, agent)
    taken = letta.deliver(agent, "e2", EVENT)

    assert (refused.failure, refused.error) == (Undelivered.BUSY, "The agent is busy with another message.")
    assert taken.error is None
    assert runs_of(raw, agent) == 2


def test_a_run_that_somebody_else_started_counts_as_well(
    letta: LettaPlatform, raw: Letta, hired: Hire, model: ScriptedModel
) -> None:
    agent, thinking = hired(), Thinking()
    model.minds.append(thinking)
    raw.agents.messages.create_async(agent, messages=[{"role": "user", "content": "hello"}])

    assert letta.deliver(agent, "e1", EVENT).error == "The agent is busy with another message."
    thinking.go.set()
    wait_until_idle(raw, agent)


def test_of_eight_deliveries_at_once_one_starts_a_run(
    letta: LettaPlatform, raw: Letta, hired: Hire, model: ScriptedModel
) -> None:
    agent, thinking, together = hired(), Thinking(), Barrier(8)
    model.minds.append(thinking)

    def deliver(number: int) -> Delivery:
        together.wait()
        return letta.deliver(agent, f"e{number}", EVENT)

    with ThreadPoolExecutor(8) as pool:
        deliveries = list(pool.map(deliver, range(8)))
    thinking.go.set()
    wait_until_idle(raw, agent)

    assert sum(delivery.error is None for delivery in deliveries) == 1
    assert runs_of(raw, agent) == 1


def test_of_deliveries_by_several_processes_one_starts_a_run(
    options: LettaOptions, server: RestrictedRedis, raw: Letta, hired: Hire, model: ScriptedModel
) -> None:
    """Each deliverer has connections of its own, as another process would have."""
    agent, thinking, together = hired(), Thinking(), Barrier(4)
    model.minds.append(thinking)

    def deliver(number: int) -> Delivery:
        connections = Connections(open_pool(server.url))
        try:
            with LettaPlatform(options, SharedDeliveries(connections)) as platform:
                together.wait()
                return platform.deliver(agent, f"e{number % 2}", EVENT)
        finally:
            connections.close()

    with ThreadPoolExecutor(4) as pool:
        deliveries = list(pool.map(deliver, range(4)))
    thinking.go.set()
    wait_until_idle(raw, agent)

    assert sum(delivery.error is None and not delivery.duplicate for delivery in deliveries) == 1
    assert runs_of(raw, agent) == 1


def test_an_event_whose_run_failed_is_sent_again(
    letta: LettaPlatform, raw: Letta, hired: Hire, model: ScriptedModel
) -> None:
    agent = hired()
    model.minds.append(lambda _: Reply(error=400))
    first = letta.deliver(agent, "e1", EVENT)
    assert first.run_id is not None
    wait_until_idle(raw, agent)
    assert raw.runs.retrieve(first.run_id).status == "failed"

    model.minds.clear()
    second = letta.deliver(agent, "e1", EVENT)

    assert (second.error, second.duplicate) == (None, False)
    assert second.run_id != first.run_id
    wait_until_idle(raw, agent)
    assert raw.runs.retrieve(str(second.run_id)).status == "completed"


@rows("agent", [NOBODY, "worker-1"])
def test_an_event_for_nobody_stays_owed(letta: LettaPlatform, agent: str) -> None:
    assert "Letta has no agent" in str(letta.deliver(agent, "e1", EVENT).error)


def test_a_run_that_a_restart_has_lost_does_not_block_its_agent_for_ever(
    options: LettaOptions, letta_server: LettaServer, raw: Letta, hired: Hire, model: ScriptedModel
) -> None:
    agent, thinking, deliveries = hired(), Thinking(), LocalDeliveries()
    model.minds.append(thinking)
    with (
        LettaPlatform(options, deliveries) as patient,
        LettaPlatform(replace(options, run_deadline_s=0.01), deliveries) as hasty,
    ):
        lost = patient.deliver(agent, "e1", EVENT)
        assert thinking.heard.wait(LONG)
        letta_server.stop()
        thinking.go.set()
        assert "cannot be reached" in str(patient.deliver(agent, "e2", EVENT).error)
        letta_server.start()
        model.minds.clear()

        assert raw.runs.retrieve(str(lost.run_id)).status == "created", "what Letta says of a run it has forgotten"
        assert patient.deliver(agent, "e2", EVENT).error == "The agent is busy with another message."
        again = hasty.deliver(agent, "e1", EVENT)

    assert (again.error, again.duplicate) == (None, False)
    assert again.run_id != lost.run_id
    wait_until(lambda: raw.runs.retrieve(str(again.run_id)).status == "completed", LONG)


def test_an_answer_that_does_not_come_in_time_leaves_the_event_owed(options: LettaOptions) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with LettaPlatform(replace(options, base_url=url, read_timeout_s=0.05)) as hasty:
            assert "did not answer in time" in str(hasty.deliver(NOBODY, "e1", EVENT).error)
