"""A run that owes a notification, and a platform that fails as often as a test says."""

from collections.abc import Mapping
from typing import Any

from dcf.ports import Delivery, Undelivered
from tests.support.workflows.machines import chain
from tests.support.world import World


class Platform:
    """Agents of another kind: notes what it is asked to deliver, and fails as often as it is told to."""

    is_remote = False

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.failures = failures
        self.error = error

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Any]) -> Delivery:
        self.asked.append((agent_id, event_id))
        if len(self.asked) > self.failures:
            return Delivery(message_id="m1", run_id="r1")
        if self.error is not None:
            raise self.error
        return Delivery(failure=Undelivered.PLATFORM_UNAVAILABLE, error="the agent server is down")


def owing(world: World, **agents: Any) -> str:
    """A run in which A is done and B's agent was not told yet."""
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"} | agents)
    world.do(run, "A", "a")
    return run


def targets(world: World, run: str, agent: str) -> list[str]:
    return [event["target_state"] for event in world.messages(agent) if event["workflow_id"] == run]
