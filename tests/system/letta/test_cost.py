"""The requests of the adapter to Letta: as many for any number of agents."""

from collections.abc import Callable
from typing import Any

import pytest

from dcf.adapters.letta import LettaPlatform
from tests.system.letta.conftest import Hire
from tests.system.letta.test_agents import BUNDLE

pytestmark = [pytest.mark.letta, pytest.mark.timeout(600)]


@pytest.fixture
def requests(letta: LettaPlatform) -> list[str]:
    """Every request of the platform, as it is sent."""
    sent: list[str] = []
    hooks = letta._client.read._client.event_hooks
    hooks["request"].append(lambda request: sent.append(f"{request.method} {request.url.path}"))
    letta._client.read._client.event_hooks = hooks
    return sent


def cost(requests: list[str], call: Callable[[], Any]) -> int:
    before = len(requests)
    call()
    return len(requests) - before


def test_making_and_finding_agents_costs_as_much_among_many_as_among_few(
    letta: LettaPlatform, hired: Hire, requests: list[str], mark: str
) -> None:
    def make() -> None:
        hired("worker", tags=(mark, "role:worker"), template=BUNDLE["agents"][0], bundle=BUNDLE)

    def costs() -> list[int]:
        agent_id = letta.find_agents((mark,))[0].agent_id
        calls = (
            make,
            lambda: letta.find_agents((mark, "role:worker")),
            lambda: letta.find_agents(name="worker"),
            lambda: letta.retrieve_agent(agent_id),
            lambda: letta.add_text(agent_id, "note", "text"),
            lambda: letta.apply(agent_id),
            lambda: letta.deliver(agent_id, f"e{len(requests)}", {"type": "workflow_event"}),
        )
        return [cost(requests, call) for call in calls]

    make()
    letta.add_text(letta.find_agents((mark,))[0].agent_id, "note", "text")
    among_few = costs()
    for _ in range(60):
        hired("somebody else")

    assert costs() == among_few == [1, 1, 1, 1, 1, 1, 2]
