"""Ports: what dcf needs from the outside, as protocols. Platforms of agents, and a source of Map items.

The engine does not know what an agent id stands for: an inbox in Redis, an agent on a server, or a URL. A platform
must deliver events; that it can make agents or equip them is more, which not every platform offers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final, Protocol

from dcf.asl.items.reading import reader_failure
from dcf.asl.steps import NeedItems
from dcf.values.json_text import Json
from dcf.values.records import record

MAILBOX: Final = "mailbox"
"""The kind of platform of every agent of which nothing else is known: an inbox in Redis."""


class Undelivered(StrEnum):
    """Reasons why an agent did not get an event.

    An agent that is busy, or that another process delivers to at the moment, takes it later; an unknown agent never
    does. An unavailable platform may take it once it answers again. A platform that refuses it has a reason of its own.
    A process that lacks the agent's platform (`no_platform`) leaves the event to a process that has the platform. If
    each agent has a server of its own, only the agents of unavailable servers miss events (`agent_unavailable`).
    """

    BUSY = "busy"
    UNDER_WAY = "under_way"
    UNKNOWN_AGENT = "unknown_agent"
    PLATFORM_UNAVAILABLE = "platform_unavailable"
    REFUSED = "refused"
    NO_PLATFORM = "no_platform"
    AGENT_UNAVAILABLE = "agent_unavailable"


@record(frozen=True, slots=True, kw_only=True)
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


class BlobStore(Protocol):
    """Keeps the bytes of artifacts that are too long for Redis, by names with "/" in them; from any thread.

    Written bytes are never changed. Raise StoreUnavailable if the store cannot be used.
    """

    def write(self, name: str, data: bytes) -> None:
        """Keep bytes under a name, whole or not at all; the same again is no error."""

    def read(self, name: str) -> bytes | None:
        """Return the bytes under a name; None if there are none."""

    def delete(self, prefix: str) -> None:
        """Delete everything whose name begins with the prefix and a slash. Idempotent."""


@record(frozen=True, slots=True, kw_only=True)
class Post:
    """An event for an agent; receivers drop repetitions by its id."""

    agent_id: str
    event_id: str
    event: Mapping[str, Json]


class ItemSource(Protocol):
    """Source of items for a Map's ItemReader."""

    def read(self, need_items: NeedItems) -> Json:
        """Return what the ItemReader names: an array, or an object that contains one. Raise StateError on failure."""


class NoItems:
    """Item source of a process that has none configured."""

    def read(self, need_items: NeedItems) -> Json:  # noqa: ARG002 - the protocol's argument
        """Raise StateError."""
        raise reader_failure("Nothing was given to read items from.")


class Deliverer(Protocol):
    """A way to wake an agent."""

    @property
    def is_remote(self) -> bool:
        """True if deliveries call a server that may be slow or down, so that nothing else may wait for them."""

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Deliver the event at least once. A repetition with the same event_id is dropped where possible."""


@record(frozen=True, slots=True, kw_only=True)
class AgentWish:
    """Request to create an agent, in words that every platform knows.

    `instructions` is its first message; `texts` are further texts of its context, by name. `model` is the handle of
    a model. `mcp_servers` are the servers whose tools it is to have, by the names that settings and registry give them,
    and `tools` the names of single ones. `tags` are set in the creating call, so that the agent can be found after a
    crash. `template` is the description that all of this was read from, and `bundle` the file around it: for a platform
    that knows their format (Letta: .af); others do not look at them.
    """

    name: str
    instructions: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    mcp_servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    template: Mapping[str, Json] = field(default_factory=dict)
    bundle: Mapping[str, Json] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class AgentFound:
    """An existing agent. `created_at` orders agents of the same tags; the oldest of them is the one to use."""

    agent_id: str
    name: str
    tags: tuple[str, ...] = ()
    created_at: str = ""


class Provisioner(Protocol):
    """A way to create, find and delete agents.

    Every call takes effect or raises a DcfError: `AgentUnknown` (no such agent), `PlatformUnavailable` (down or slow,
    with `retry_after_s`). Calls that create something are not idempotent, so they must not be retried blindly.
    """

    def create_agent(self, wish: AgentWish) -> str:
        """Create an agent and return its id. Not idempotent: the caller reserves and searches by tags first."""

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        """Return the agents with all these tags and, if given, exactly this name, oldest first. Never a full scan."""

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        """Return the agent. Raise AgentUnknown if there is none."""

    def delete_agent(self, agent_id: str) -> bool:
        """Delete the agent and what only it used. Return True if it existed."""


@record(frozen=True, slots=True, kw_only=True)
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


class Equipper(Protocol):
    """A way to give an agent texts and tools, and to take them away.

    Every call takes effect or raises a DcfError: `AgentUnknown`, `ToolUnavailable` (cannot be attached, a retry does
    not help), `PlatformUnavailable`. Attaching and removing are idempotent.
    """

    tools_at_once: bool
    """True if an agent can use new tools while it works; False if only from its next message on."""

    def tools_of(self, agent_id: str) -> tuple[str, ...]:
        """Return the ids of the agent's tools, as `attach_tool` returns them. Raise AgentUnknown if there is none."""

    def add_text(self, agent_id: str, label: str, value: str) -> str:
        """Put a text into the agent's context and return its id. It replaces a text of the same label."""

    def remove_text(self, agent_id: str, text_id: str) -> None:
        """Remove the text."""

    def attach_tool(self, agent_id: str, wish: ToolWish) -> str:
        """Attach a tool to the agent. Return the tool's id."""

    def detach_tool(self, agent_id: str, tool_id: str) -> None:
        """Detach the tool from this agent. The tool itself stays."""

    def apply(self, agent_id: str) -> None:
        """Make the changes since the last call take effect for the agent's next message."""


def no_id(_: str) -> bool:
    """Return False: the ids of this platform have no form of their own."""
    return False


@record(frozen=True, slots=True, kw_only=True)
class Platform:
    """A kind of place where agents live, and what can be done there.

    Without a provisioner its agents are made elsewhere and registered. Without an equipper their texts and tools are
    kept in their records, which they read. `deliver_all` delivers several events in one step. `is_own_id` tells ids of
    this platform from all others, for agents without a record. `lift_limits` lets an agent's tools return more text
    and returns how many were changed, where tools have such limits. `has_one_server`: if it is remote, all its agents
    are behind one server, which answers for all of them or for none.
    """

    kind: str
    deliverer: Deliverer
    provisioner: Provisioner | None = None
    equipper: Equipper | None = None
    deliver_all: Callable[[Sequence[Post]], Sequence[Delivery]] | None = None
    is_own_id: Callable[[str], bool] = no_id
    lift_limits: Callable[[str], int] | None = None
    has_one_server: bool = True
