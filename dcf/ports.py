"""Ports: what dcf needs from the outside, as protocols. A platform of agents, and a source of Map items.

The engine does not know what an agent id stands for: an inbox in Redis, or an agent on a server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from dcf.asl.reading import reader_failure
from dcf.asl.steps import NeedItems
from dcf.values.json_text import Json


class Undelivered(StrEnum):
    """Reasons why an agent did not get an event.

    An agent that is busy, or that another process delivers to at the moment, takes it later; an unknown agent never
    does. An unavailable platform may take it once it answers again. A platform that refuses it has a reason of its own.
    """

    BUSY = "busy"
    UNDER_WAY = "under_way"
    UNKNOWN_AGENT = "unknown_agent"
    PLATFORM_UNAVAILABLE = "platform_unavailable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Result of a delivery: the ids under which the agent got the event, or why it did not.

    `failure` and `error` (one sentence) come together; `retry_after_s` is the backoff before the next try.
    """

    message_id: str | None = None
    run_id: str | None = None
    failure: Undelivered | None = None
    error: str | None = None
    retry_after_s: float = 2.0
    duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """An event for an agent; receivers drop repetitions by its id."""

    agent_id: str
    event_id: str
    event: Mapping[str, Json]


class ItemSource(Protocol):
    """Source of items for a Map's ItemReader."""

    def read(self, wanted: NeedItems) -> Json:
        """Return what the ItemReader names: an array, or an object that contains one. Raise StateError on failure."""
        ...


class NoItems:
    """Item source of a process that has none configured."""

    def read(self, wanted: NeedItems) -> Json:  # noqa: ARG002 - the protocol's argument
        """Raise StateError."""
        raise reader_failure("Nothing was given to read items from.")


class Deliverer(Protocol):
    """A way to wake an agent.

    `is_remote`: deliveries call a server that may be slow or down, so that nothing else may wait for them.
    """

    is_remote: bool

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Deliver the event at least once. A repetition with the same event_id is dropped where possible."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWish:
    """Request to create an agent.

    `agent` is one agent of an .af v2 bundle and `bundle` the whole document that contains it (blocks, tools, MCP
    servers); both are empty for an agent without a template. `tags` are set in the creating call, so that the agent
    can be found after a crash.
    """

    name: str
    tags: tuple[str, ...] = ()
    agent: Mapping[str, Json] = field(default_factory=dict)
    bundle: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFound:
    """An existing agent. `created_at` orders agents of the same tags; the oldest of them is the one to use.

    `tool_ids` are the ids of its tools, as `attach_tool` returns them; only `retrieve_agent` sets them.
    """

    agent_id: str
    name: str
    tags: tuple[str, ...] = ()
    created_at: str = ""
    tool_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWish:
    """Request to attach a tool of a skill; the registry has resolved its logical server.

    `name` is the name that the agent calls. `definition` is the one in the manifest (type registered, mcp_server or
    python_source). `server` describes the MCP server, if there is one (`{"name", "transport", "url" | "command",
    "args", "headers"}`); its `shown_url`, if set, is the part of the URL that may be shown.
    """

    name: str
    definition: Mapping[str, Json]
    server: Mapping[str, Json] | None = None
    description: str = ""


class AgentPlatform(Deliverer, Protocol):
    """A platform on which agents can be created and equipped.

    Every call takes effect or raises a DcfError: `AgentUnknown` (no such agent), `ToolUnavailable` (cannot be attached,
    a retry does not help), `PlatformUnavailable` (down or slow, with `retry_after_s`). Attaching and removing are
    idempotent. Calls that create something are not, so they must not be retried blindly.
    """

    kind: str
    tools_at_once: bool
    """True if an agent can use new tools while it works; False if only from its next message on."""

    def create_agent(self, wish: AgentWish) -> str:
        """Create an agent and return its id. Not idempotent: the caller reserves and searches by tags first."""
        ...

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        """Return the agents with all these tags and, if given, exactly this name, oldest first. Never a full scan."""
        ...

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        """Return the agent with the ids of its tools. Raise AgentUnknown if there is none."""
        ...

    def delete_agent(self, agent_id: str) -> bool:
        """Delete the agent and what only it used. Return True if it existed."""
        ...

    def add_block(self, agent_id: str, label: str, value: str) -> str:
        """Put a text into the agent's context and return its id. It replaces a text of the same label."""
        ...

    def remove_block(self, agent_id: str, block_id: str) -> None:
        """Remove the text."""
        ...

    def attach_tool(self, agent_id: str, wish: ToolWish) -> str:
        """Attach a tool to the agent. Return the tool's id."""
        ...

    def detach_tool(self, agent_id: str, tool_id: str) -> None:
        """Detach the tool from this agent. The tool itself stays."""
        ...

    def refresh(self, agent_id: str) -> None:
        """Make attached and removed texts and tools take effect for the agent's next run."""
        ...

    def lift_return_limits(self, agent_id: str) -> int:
        """Let the agent's tools return as much text as the platform allows. Return how many tools were changed."""
        ...
