"""Words for tests that wait for agents."""

from letta_client import Letta

from tests.support.waiting import wait_until

NOBODY = "agent-00000000-0000-4000-8000-000000000000"
LONG = 120.0
"""Seconds that nothing here takes, not even on a busy machine."""


def wait_until_idle(raw: Letta, agent_id: str) -> None:
    """Wait until no run of the agent is under way."""
    wait_until(lambda: not raw.runs.list(agent_id=agent_id, active=True, limit=1).items, LONG)
