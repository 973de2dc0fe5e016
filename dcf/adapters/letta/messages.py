"""Wakes agents: one event is one message that starts a run, and only when the agent has no other run.

Letta has no queue: it processes several messages at once, and each loses the others' (measured). So an agent with a run
under way gets no message, and the event stays in the outbox. The status of an ended run says little: failed tools end
as `completed`. Only after a run that failed, was cancelled or was lost is its event sent again.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from letta_client.types.agents import Run

from dcf.adapters.letta.client import LettaClient, agent_unknown, asking
from dcf.adapters.letta.deliveries import Deliveries
from dcf.adapters.letta.options import LettaOptions
from dcf.errors import AgentUnknown, DcfError, PlatformUnavailable
from dcf.ports import Delivery, Undelivered
from dcf.values.json_text import Json, dump

_ACTIVE = frozenset({"created", "running"})
_LOOKED_AT = 10
_REFUSED_S = 30.0
"""Seconds before an event that Letta refused is sent again; an operator may have removed the cause by then."""


class Messages:
    """Delivers events to agents on Letta."""

    def __init__(self, client: LettaClient, deliveries: Deliveries, options: LettaOptions) -> None:
        self._client = client
        self._deliveries = deliveries
        self._options = options

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Start a run with the event. Failures of Letta are returned, not raised: the event stays in the outbox."""
        with self._deliveries.turn(agent_id) as mine:
            if not mine:
                return Delivery(failure=Undelivered.UNDER_WAY, error="Another delivery to this agent is under way.")
            try:
                return self._deliver(agent_id, event_id, event)
            except PlatformUnavailable as error:
                return Delivery(
                    failure=Undelivered.PLATFORM_UNAVAILABLE, error=error.message, retry_after_s=error.retry_after_s
                )
            except AgentUnknown as error:
                return Delivery(failure=Undelivered.UNKNOWN_AGENT, error=error.message)
            except DcfError as error:
                return Delivery(failure=Undelivered.REFUSED, error=error.message, retry_after_s=_REFUSED_S)

    def _deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        known = self._deliveries.find(agent_id, event_id)
        if known is not None and self._was_heard(known):
            return Delivery(message_id=event_id, run_id=known, duplicate=True)
        if self._is_busy(agent_id):
            return Delivery(failure=Undelivered.BUSY, error="The agent is busy with another message.")
        run_id = self._send(agent_id, event)
        self._deliveries.remember(agent_id, event_id, run_id)
        return Delivery(message_id=event_id, run_id=run_id)

    def _was_heard(self, run_id: str) -> bool:
        """Return True if the run got its event or still may. False if it failed, was cancelled, is gone or is lost."""
        try:
            with asking(unknown=lambda: agent_unknown(run_id)):
                run = self._client.read.runs.retrieve(run_id)
        except AgentUnknown:
            return False
        return run.status == "completed" or self._is_under_way(run)

    def _is_busy(self, agent_id: str) -> bool:
        with asking(unknown=lambda: agent_unknown(agent_id)):
            runs = self._client.read.runs.list(agent_id=agent_id, active=True, order="desc", limit=_LOOKED_AT).items
        return any(map(self._is_under_way, runs))

    def _is_under_way(self, run: Run) -> bool:
        """Return True if the run is active and not too old: Letta keeps runs lost in a restart as `created`."""
        if run.status not in _ACTIVE:
            return False
        if run.created_at is None:
            return True
        age = datetime.now(UTC) - run.created_at.astimezone(UTC)
        return age.total_seconds() < self._options.run_deadline_s

    def _send(self, agent_id: str, event: Mapping[str, Json]) -> str:
        """Start the run. The event contains the agent's id, since the agent may not know it."""
        text = dump({**event, "agent_id": agent_id})
        with asking(unknown=lambda: agent_unknown(agent_id)):
            run = self._client.write.agents.messages.create_async(
                agent_id,
                messages=[{"role": self._options.message_role, "content": text}],
                max_steps=self._options.max_steps,
            )
        return run.id
