"""The mailbox: an agent is whoever reads its inbox, through `await_workflow_event` or a Python worker."""

from collections.abc import Mapping

from dcf.core.json_text import Json
from dcf.ports import Delivery
from dcf.store.inbox import Inbox


class Mailbox:
    """Delivers events to inboxes in Redis; the same event id is put in once (twice only after a crash between)."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Put the event into the agent's inbox unless it is or was there."""
        known = self._inbox.find(agent_id, event_id)
        if known is not None:
            return Delivery(message_id=known, duplicate=True)
        return Delivery(message_id=self._inbox.put(agent_id, event_id, dict(event)))
