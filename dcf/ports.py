"""What dcf needs from the outside, as protocols: a way to reach agents, a place to read items from.

The engine does not know what is behind an agent id: an inbox in Redis, or an agent server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from dcf.asl.reading import reader_failure
from dcf.asl.steps import NeedItems
from dcf.values.json_text import Json


class Undelivered(StrEnum):
    """Why an agent did not get an event.

    An agent that is busy, or being written to by somebody else, takes it later; one that is unknown never does. A
    platform that is unavailable may take it when it answers again; one that refuses it has a reason of its own.
    """

    BUSY = "busy"
    UNDER_WAY = "under_way"
    UNKNOWN_AGENT = "unknown_agent"
    PLATFORM_UNAVAILABLE = "platform_unavailable"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of an event: the ids under which the agent got it, or why it did not.

    `failure` and `error` (one sentence) come together; `retry_after_s` is when another try may do better.
    """

    message_id: str | None = None
    run_id: str | None = None
    failure: Undelivered | None = None
    error: str | None = None
    retry_after_s: float = 2.0
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


class Deliverer(Protocol):
    """A way to wake an agent.

    `is_remote` says that delivering asks a server that may be slow or away, so that nothing else may wait for it.
    """

    is_remote: bool

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Hand the event to the agent, at least once; the same event_id again is delivered once where possible."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWish:
    """An agent to be made.

    `agent` is one agent of an .af v2 bundle and `bundle` the whole document it stands in (blocks, tools, MCP servers);
    both are empty for an agent that needs no template. `tags` are set in the creating call, so that a crash right
    after it leaves an agent that can be found.
    """

    name: str
    tags: tuple[str, ...] = ()
    agent: Mapping[str, Json] = field(default_factory=dict)
    bundle: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFound:
    """An agent that exists. `created_at` orders agents of the same tags; the oldest of them counts.

    `tool_ids` are the tools that it has, by the ids that `attach_tool` returns; only `retrieve_agent` fills them in.
    """

    agent_id: str
    name: str
    tags: tuple[str, ...] = ()
    created_at: str = ""
    tool_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolWish:
    """A tool that a skill needs, its logical server already resolved by the registry.

    `name` is what the agent will call. `definition` is the manifest's own (type registered, mcp_server or
    python_source); `server` names and describes the MCP server (`{"name", "transport", "url" | "command", "args",
    "headers"}`) where there is one; its `shown_url`, if it has one, is what may be seen of the URL.
    """

    name: str
    definition: Mapping[str, Json]
    server: Mapping[str, Json] | None = None
    description: str = ""


class AgentPlatform(Deliverer, Protocol):
    """A platform on which agents can be made and equipped.

    Every call either took effect or raises a DcfError: `AgentUnknown` (not there), `ToolUnavailable` (cannot be
    attached, whatever is tried), `PlatformUnavailable` (down or slow, with `retry_after_s`). Attaching what is attached
    and removing what is gone are no errors. Calls that make something are never repeated blindly.
    """

    kind: str
    tools_at_once: bool
    """Whether an agent has what it was given in the middle of its work, or from its next message on only."""

    def create_agent(self, wish: AgentWish) -> str:
        """Make an agent; return its id. Not idempotent: the caller reserves first and looks by tags."""
        ...

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        """List agents that carry all these tags and, if given, exactly this name, oldest first; no full scans."""
        ...

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        """Return the agent with the ids of its tools; raise AgentUnknown."""
        ...

    def delete_agent(self, agent_id: str) -> bool:
        """Delete the agent and what only it used; tell whether it was there."""
        ...

    def add_block(self, agent_id: str, label: str, value: str) -> str:
        """Give the agent a piece of text in its context; return its id. The same label again is replaced."""
        ...

    def remove_block(self, agent_id: str, block_id: str) -> None:
        """Take the text away."""
        ...

    def attach_tool(self, agent_id: str, wish: ToolWish) -> str:
        """Let the agent use a tool; return the tool's id."""
        ...

    def detach_tool(self, agent_id: str, tool_id: str) -> None:
        """Take the tool away from this agent; the tool itself stays."""
        ...

    def refresh(self, agent_id: str) -> None:
        """Make what was attached or removed known to the agent's next run."""
        ...

    def lift_return_limits(self, agent_id: str) -> int:
        """Let the agent's tools return as much text as the platform allows; return how many tools were changed."""
        ...
