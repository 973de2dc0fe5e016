"""The tests of delivery need this of each platform: existing agents, their events, and servers in trouble."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from dcf.features.webhooks.deliverer import WebhookDeliverer
from dcf.features.webhooks.operations import Offers
from dcf.features.webhooks.posting import Poster
from dcf.features.webhooks.storage import Webhooks
from dcf.ports import AgentWish, Deliverer, Undelivered
from dcf.webhooks import verify
from tests.support.agents.receivers import receiver
from tests.support.world import World

NOT_NOW = frozenset({Undelivered.PLATFORM_UNAVAILABLE, Undelivered.AGENT_UNAVAILABLE})
"""The error of a delivery to a server that is away or too slow."""


AtUrl: TypeAlias = Callable[[str, float], tuple[Deliverer, str]]
"""Returns a platform whose server is at a URL and has a limited time to answer, and an agent there."""


@dataclass(frozen=True, kw_only=True)
class DeliverySite:
    """A platform in a test.

    `agent()` is one more agent that is there, `gone()` one that is not. `got(agent)` are the events that it got, each
    as often as it came. `drops_repetitions`: an event that came before is not sent again; else it is, under its id.
    """

    deliverer: Deliverer
    agent: Callable[[], str]
    gone: Callable[[], str]
    got: Callable[[str], list[Mapping[str, Any]]]
    drops_repetitions: bool = True


@contextmanager
def mailbox_deliveries(world: World) -> Iterator[DeliverySite]:
    def agent() -> str:
        return world.mailbox.create_agent(AgentWish(name=f"test {secrets.token_hex(4)}"))

    def gone() -> str:
        item = agent()
        assert world.mailbox.delete_agent(item)
        return item

    def got(agent_id: str) -> list[Mapping[str, Any]]:
        return [message.event for message in world.inbox.waiting(agent_id, 100)]

    yield DeliverySite(deliverer=world.mailbox, agent=agent, gone=gone, got=got)


@contextmanager
def webhook_deliveries(world: World) -> Iterator[DeliverySite]:
    """Each agent has a path of its own at one receiver."""
    with receiver() as result:
        webhooks, keys = Webhooks(world.connections), dict[str, list[str]]()

        def agent() -> str:
            text = f"hook-{secrets.token_hex(6)}"
            made, _ = webhooks.add(text, f"{result.url}/{text}", lease_ttl_s=600, created_by="test")
            keys[text] = [key.secret for key in made.keys]
            return text

        def gone() -> str:
            item = agent()
            assert webhooks.remove(item)
            return item

        def got(agent_id: str) -> list[Mapping[str, Any]]:
            came = [came for came in list(result.came) if agent_id.encode() in came.body]
            return [verify(came.headers, came.body, keys[agent_id]).data for came in came]

        deliverer = _webhooks(world, result.url)
        yield DeliverySite(deliverer=deliverer, agent=agent, gone=gone, got=got, drops_repetitions=False)


def _webhooks(world: World, url: str, **poster: Any) -> WebhookDeliverer:
    webhooks = Webhooks(world.connections)
    offers = Offers(world.plane, webhooks.get)
    return WebhookDeliverer(webhooks, offers, Poster((url,), **poster), "https://dcf.example/task-tokens")


@contextmanager
def webhook_in_trouble(world: World, _: ExitStack) -> Iterator[AtUrl]:
    """A webhook at whatever URL."""

    def at(url: str, patience_s: float) -> tuple[Deliverer, str]:
        agent = f"hook-{secrets.token_hex(6)}"
        Webhooks(world.connections).add(agent, url, lease_ttl_s=600, created_by="test")
        return _webhooks(world, url, total_s=patience_s), agent

    yield at


@contextmanager
def letta_in_trouble(_: World, stack: ExitStack) -> Iterator[AtUrl]:
    """Letta at whatever URL; its agent need not be there."""
    from dcf.adapters.letta import LettaOptions, LettaPlatform  # noqa: PLC0415 - its library takes a second

    def at(url: str, patience_s: float) -> tuple[Deliverer, str]:
        options = LettaOptions(base_url=url, read_timeout_s=patience_s)
        platform = stack.enter_context(LettaPlatform(options))
        return platform, "agent-00000000-0000-4000-8000-000000000000"

    yield at


SITES: dict[str, Callable[[World], Any]] = {"mailbox": mailbox_deliveries, "webhook": webhook_deliveries}
"""The platforms whose deliveries are tested here without a server of their own."""

IN_TROUBLE: dict[str, Callable[[World, ExitStack], Any]] = {"letta": letta_in_trouble, "webhook": webhook_in_trouble}
"""The platforms whose servers may be away or slow."""
