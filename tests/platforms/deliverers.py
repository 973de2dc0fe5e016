"""What the tests of delivery need of each platform: agents that are there, what they got, and servers in trouble."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from dcf.ports import AgentWish, Deliverer, Undelivered
from tests.support.world import World

NOT_NOW = frozenset({Undelivered.PLATFORM_UNAVAILABLE})
"""What a delivery says of a server that is away or too slow."""


@dataclass(frozen=True, kw_only=True)
class DeliverySite:
    """A platform in a test.

    `agent()` is one more agent that is there, `gone()` one that is not. `got(agent)` are the events that it got, each
    as often as it came.
    """

    deliverer: Deliverer
    agent: Callable[[], str]
    gone: Callable[[], str]
    got: Callable[[str], list[Mapping[str, Any]]]


@contextmanager
def mailbox_deliveries(world: World) -> Iterator[DeliverySite]:
    def agent() -> str:
        return world.mailbox.create_agent(AgentWish(name=f"test {secrets.token_hex(4)}"))

    def gone() -> str:
        one = agent()
        assert world.mailbox.delete_agent(one)
        return one

    def got(agent_id: str) -> list[Mapping[str, Any]]:
        return [message.event for message in world.inbox.waiting(agent_id, 100)]

    yield DeliverySite(deliverer=world.mailbox, agent=agent, gone=gone, got=got)


@contextmanager
def letta_in_trouble(stack: ExitStack) -> Iterator[Callable[[str], tuple[Deliverer, str]]]:
    """Letta at whatever URL, with short times; its agent need not be there."""
    from dcf.adapters.letta import LettaOptions, LettaPlatform  # noqa: PLC0415 - its library takes a second

    def at(url: str) -> tuple[Deliverer, str]:
        options = LettaOptions(base_url=url, connect_timeout_s=0.5, read_timeout_s=0.2, write_timeout_s=0.2)
        platform = stack.enter_context(LettaPlatform(options))
        return platform, "agent-00000000-0000-4000-8000-000000000000"

    yield at


AtUrl: TypeAlias = Callable[[str], tuple[Deliverer, str]]
"""Returns a platform whose server is at a URL, and an agent there."""

SITES: dict[str, Callable[[World], Any]] = {"mailbox": mailbox_deliveries}
"""The platforms whose deliveries are tested here without a server of their own."""

IN_TROUBLE: dict[str, Callable[[ExitStack], Any]] = {"letta": letta_in_trouble}
"""The platforms whose servers may be away or slow."""
