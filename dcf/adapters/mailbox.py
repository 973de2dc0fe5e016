"""The mailbox platform: an agent is a record and an inbox in Redis, and the process that reads the inbox.

That process is an MCP client that calls `await_workflow_event`, or a Python worker; `get_my_assignment` shows it its
context. An agent that was never created exists as soon as it has an inbox.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence

from dcf.errors import AgentUnknown, InvalidArgument, ToolUnavailable
from dcf.ports import MAILBOX, AgentFound, AgentWish, Delivery, Platform, Post, ToolWish, Undelivered
from dcf.skills.connections import connection_of
from dcf.store.events.inbox import MOST_UNREAD, Inbox, Letter, Posted
from dcf.store.lists.agents import AgentRecord, AgentRecords, created_text
from dcf.values.json_text import Json, dump
from dcf.values.text_pieces import clip

_FULL_RETRY_S = 30.0
"""Seconds until an event is offered again to an inbox that had no room for it."""


class Mailbox:
    """Agents whose inboxes, contexts and tools are documents in Redis; any number of copies may work at once.

    It also keeps texts and tools of agents on platforms that cannot be given any: in their records.
    """

    kind = MAILBOX
    is_remote = False
    tools_at_once = True

    def __init__(self, inbox: Inbox, records: AgentRecords) -> None:
        self._inbox = inbox
        self._records = records

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Put the event into the agent's inbox, unless it is or was there.

        It replaces an unread event about the same state of the same run, since the newest one is enough.
        """
        (delivery,) = self.deliver_all([Post(agent_id=agent_id, event_id=event_id, event=event)])
        return delivery

    def deliver_all(self, posts: Sequence[Post]) -> list[Delivery]:
        """Deliver several events, in one packet to Redis."""
        posted = self._inbox.put_all([_letter(post) for post in posts])
        return [_delivery(post.agent_id, posted) for post, posted in zip(posts, posted, strict=True)]

    def create_agent(self, wish: AgentWish) -> str:
        """Create a record, with the wished texts and tools."""
        agent_id = f"agent-{secrets.token_hex(12)}"
        texts = ({"system": wish.instructions} if wish.instructions else {}) | dict(wish.texts)
        blocks = {_block_id(label): {"label": label, "value": value} for label, value in texts.items()}
        tools = {_tool_id(name, {}, None): _noted(name) for name in wish.tools}
        self._records.create(AgentRecord(agent_id=agent_id, name=wish.name, tags=wish.tags, blocks=blocks, tools=tools))
        return agent_id

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        """Return the agents with these tags and this name; none if neither is given."""
        if not tags and name is None:
            raise InvalidArgument("Agents are looked for by tags or by name.")
        return [_found(record) for record in self._records.find(tags, name) if record.platform == MAILBOX]

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        """Return the agent, even if it only has an inbox."""
        return _found(self._record(agent_id))

    def delete_agent(self, agent_id: str) -> bool:
        """Delete the record and the inbox."""
        return self._records.delete(agent_id)

    def tools_of(self, agent_id: str) -> tuple[str, ...]:
        """Return the ids of the tools in the agent's record."""
        return tuple(self._record(agent_id).tools)

    def add_text(self, agent_id: str, label: str, value: str) -> str:
        """Put a text into the record. Its id is made from its label."""
        block_id = _block_id(label)
        if not self._records.put(agent_id, "blocks", block_id, {"label": label, "value": value}):
            raise _unknown(agent_id)
        return block_id

    def remove_text(self, agent_id: str, text_id: str) -> None:
        """Remove a text from the record."""
        self._records.remove(agent_id, "blocks", _part_id(text_id))

    def attach_tool(self, agent_id: str, wish: ToolWish) -> str:
        """Record which tool the agent may call, and where it is."""
        if wish.definition.get("type") == "python_source":
            raise ToolUnavailable(
                f"The tool '{clip(wish.name)}' is Python source, which mailbox agents cannot be given.",
                "Offer it as a tool of an MCP server.",
            )
        server = None if wish.server is None else connection_of(wish.server)
        tool_id = _tool_id(wish.name, wish.definition, server)
        note = {
            "name": wish.name,
            "description": wish.description,
            "definition": dict(wish.definition),
            "server": server,
        }
        if not self._records.put(agent_id, "tools", tool_id, note):
            raise _unknown(agent_id)
        return tool_id

    def detach_tool(self, agent_id: str, tool_id: str) -> None:
        """Remove a tool from the record."""
        self._records.remove(agent_id, "tools", _part_id(tool_id))

    def apply(self, agent_id: str) -> None:
        """Do nothing, since an agent always reads its current record."""

    def lift_return_limits(self, agent_id: str) -> int:
        """Check that the agent exists. It has no limits to lift."""
        self._record(agent_id)
        return 0

    def _record(self, agent_id: str) -> AgentRecord:
        record = self._records.get(agent_id)
        if record is None:
            raise _unknown(agent_id)
        return record


def mailbox_platform(mailbox: Mailbox) -> Platform:
    """Return the mailbox as a platform."""
    return Platform(
        kind=MAILBOX,
        deliverer=mailbox,
        provisioner=mailbox,
        equipper=mailbox,
        deliver_all=mailbox.deliver_all,
        lift_limits=mailbox.lift_return_limits,
    )


def _letter(post: Post) -> Letter:
    event = dict(post.event)
    run, provenance = event.get("workflow_id"), event.get("provenance")
    sender = provenance.get("run_by") if isinstance(provenance, dict) else None
    return Letter(
        agent_id=post.agent_id, event_id=post.event_id, event=event, run=str(run or ""), sender=str(sender or "")
    )


def _delivery(agent_id: str, posted: Posted) -> Delivery:
    if posted.outcome == "gone":
        return Delivery(failure=Undelivered.UNKNOWN_AGENT, error=_unknown(agent_id).message)
    if posted.outcome == "full":
        error = f"Agent '{clip(agent_id)}' has {MOST_UNREAD} unread events of runs by the same creator."
        return Delivery(failure=Undelivered.BUSY, error=error, retry_after_s=_FULL_RETRY_S)
    return Delivery(message_id=posted.message_id, duplicate=posted.outcome == "duplicate")


def _found(record: AgentRecord) -> AgentFound:
    return AgentFound(
        agent_id=record.agent_id,
        name=record.name,
        tags=record.tags,
        created_at=created_text(record),
    )


def _unknown(agent_id: str) -> AgentUnknown:
    return AgentUnknown(f"There is no agent '{clip(agent_id)}'.")


def _block_id(label: str) -> str:
    return f"block-{_digest(label)}"


def _tool_id(name: str, definition: Mapping[str, Json], server: Mapping[str, Json] | None) -> str:
    return f"tool-{_digest(dump([name, dict(definition), None if server is None else dict(server)]))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _part_id(text: str) -> str:
    """Return the id with only the characters that are safe in a JSONPath; ids made by dcf have no others."""
    return "".join(character for character in text if character.isalnum() or character in "-_")


def _noted(tool: str) -> dict[str, Json]:
    """Return what a record says of a tool of which only the name is known."""
    return {"name": tool, "description": "", "definition": {}, "server": None}
