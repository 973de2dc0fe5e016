"""The Redis keys of agents that are webhooks. None belongs to a run.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:idx:webhook:<agent>` | JSON | registering a webhook, rotating its keys: URL, signing keys, the secret of its task tokens | until it is removed |
| `cp:idx:webhooks` | sorted set | registering (before the document): agents by when they were registered | with its webhooks |
| `cp:idx:webhook:rest:<agent>` | string | deliveries that failed: until when the receiver is left alone, and why | an hour after the last failure |
"""

from typing import Final

WEBHOOKS: Final = "cp:idx:webhooks"


def webhook(agent_id: str) -> str:
    """Return the key of a webhook's document."""
    return f"cp:idx:webhook:{agent_id}"


def rest(agent_id: str) -> str:
    """Return the key of the note that a receiver is left alone for a while."""
    return f"cp:idx:webhook:rest:{agent_id}"
