"""An agent platform in the test's hand, and a run that owes it a notification."""

import threading
from collections.abc import Mapping
from typing import Any

from dcf.ports import Delivery, Undelivered
from tests.support.workflows.machines import chain
from tests.support.world import World

GONE = Delivery(failure=Undelivered.UNKNOWN_AGENT, error="There is no such agent.")
BUSY = Delivery(failure=Undelivered.BUSY, error="The agent is busy with another message.")
AWAY = Delivery(failure=Undelivered.PLATFORM_UNAVAILABLE, error="The platform cannot be reached.", retry_after_s=7.0)
SENT = Delivery(message_id="m1", run_id="r1")


class Elsewhere:
    """A platform in the test's hand: each agent's `answers`, and a door before which every delivery waits."""

    is_remote = True

    def __init__(self, **answers: Delivery) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.inside = threading.Event()
        self.done = 0
        self.door = threading.Event()
        self.door.set()

    def deliver(self, agent_id: str, _event_id: str, event: Mapping[str, Any]) -> Delivery:
        self.asked.append((agent_id, event))
        self.inside.set()
        assert self.door.wait(60)
        self.done += 1
        return self.answers.get(agent_id, SENT)

    def told(self, agent_id: str) -> list[Mapping[str, Any]]:
        return [event for agent, event in self.asked if agent == agent_id]


def owing(world: World, **agents: Any) -> str:
    """A run with A done, before the notification of B's agent. The timer loop looks at this run alone."""
    world.forget_others()
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"} | agents, planner="boss")
    world.plane.kick_off(run, "initial")
    world.do(run, "A", "a")
    return run
