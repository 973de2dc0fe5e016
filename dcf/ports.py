"""What dcf needs from the outside, as protocols: a way to reach agents, a place to read items from.

The engine does not know what is behind an agent id: an inbox in Redis, or an agent server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from dcf.asl.reading import reader_failure
from dcf.asl.steps import NeedItems
from dcf.core.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of an event: the ids under which the agent got it, or why it did not."""

    message_id: str | None = None
    run_id: str | None = None
    error: str | None = None
    duplicate: bool = False


class ItemSource(Protocol):
    """A place where a Map's ItemReader finds its items."""

    def read(self, wanted: NeedItems) -> Json:
        """Bring what the reader names: an array, or an object to look into; raise StateError when it cannot."""
        ...


class NoItems:
    """The source of whoever has none."""

    def read(self, wanted: NeedItems) -> Json:  # noqa: ARG002 - the protocol's argument
        """Refuse."""
        raise reader_failure("Nothing was given to read items from.")


class AgentPlatform(Protocol):
    """A way to wake an agent."""

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Hand the event to the agent, at least once; the same event_id again is delivered once where possible."""
        ...
