"""Registers agents that are made elsewhere: webhooks, with where they are and the keys that sign what they get.

A webhook's document is written before the record that makes it an agent of that platform, and removed after it. So a
crash leaves no agent that cannot be reached, and the same call again completes it.
"""

from dataclasses import field

from dcf.adapters.platforms import Platforms
from dcf.errors import AgentUnknown, Conflict
from dcf.features.webhooks.deliverer import KIND as WEBHOOK
from dcf.features.webhooks.posting import Poster, shown
from dcf.features.webhooks.records import LEASE_S
from dcf.features.webhooks.storage import Rest, Webhook, Webhooks
from dcf.skills.endpoints import read_endpoint
from dcf.values.records import record
from dcf.values.text_pieces import clip


@record(frozen=True, slots=True, kw_only=True)
class Registered:
    """An agent that is made elsewhere. `secret` is that of a key which was made now, to be shown once.

    `url` shows only its host: the path may hold a secret. `rest` says why it is left alone for now.
    """

    agent_id: str
    platform: str
    url: str
    key_ids: tuple[str, ...]
    lease_ttl_s: int
    created_at: int
    created_by: str
    secret: str | None = field(default=None, repr=False)
    rest: Rest | None = None


class Registration:
    """The agents that are made elsewhere."""

    def __init__(self, platforms: Platforms, webhooks: Webhooks, poster: Poster) -> None:
        self._platforms = platforms
        self._webhooks = webhooks
        self._poster = poster

    def register(self, agent_id: str, url: str, *, lease_ttl_s: int = LEASE_S, created_by: str = "") -> Registered:
        """Register a webhook, or change where it is; its keys stay. Raise Conflict for an agent of another platform.

        Raise InvalidArgument or Forbidden for a URL that nothing is sent to.
        """
        self._poster.check(url)
        self._refuse_other(agent_id)
        webhook, is_new = self._webhooks.add(agent_id, url, lease_ttl_s=lease_ttl_s, created_by=created_by)
        self._webhooks.woke(agent_id)  # what failed there failed at another place, perhaps
        self._platforms.register(agent_id, WEBHOOK)
        return _registered(webhook, is_new=is_new)

    def rotate(self, agent_id: str, *, at_once: bool = False) -> Registered:
        """Make a new key; the one before it still signs too, unless it is to end at once. Raise AgentUnknown."""
        rotate = self._webhooks.rotate(agent_id, at_once=at_once)
        if rotate is None:
            raise AgentUnknown(f"There is no webhook '{clip(agent_id)}'.", "`list_registered_agents` lists them.")
        return _registered(rotate, is_new=True)

    def all(self) -> list[Registered]:
        """Return all agents that were registered, oldest first."""
        return [_registered(webhook, rest=self._webhooks.resting(webhook.agent_id)) for webhook in self._webhooks.all()]

    def forget(self, agent_id: str) -> bool:
        """Remove a webhook: it gets nothing more, its keys and its task tokens serve no more. True if there was one."""
        if self._platforms.recorded(agent_id) == WEBHOOK:
            self._platforms.forget(agent_id)
        return self._webhooks.remove(agent_id)

    def _refuse_other(self, agent_id: str) -> None:
        known = self._platforms.recorded(agent_id)
        if known not in {None, WEBHOOK}:
            raise Conflict(
                f"There is an agent '{clip(agent_id)}' on the platform '{clip(str(known))}'.",
                "Choose another `agent_id`, or delete that agent on its platform first.",
            )


def _registered(webhook: Webhook, *, is_new: bool = False, rest: Rest | None = None) -> Registered:
    return Registered(
        agent_id=webhook.agent_id,
        platform=WEBHOOK,
        url=shown(read_endpoint(webhook.url)),
        key_ids=tuple(key.key_id for key in webhook.keys),
        lease_ttl_s=webhook.lease_ttl_s,
        created_at=webhook.created_at,
        created_by=webhook.created_by,
        secret=webhook.keys[0].secret if is_new else None,
        rest=rest,
    )
