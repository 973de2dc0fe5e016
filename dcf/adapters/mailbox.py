"""The mailbox platform: an agent is a record and an inbox in Redis, and the process that reads the inbox.

That process is an MCP client that calls `await_workflow_event`, or a Python worker; `get_my_assignment` shows it its
context. An agent that was never created exists as soon as it has an inbox.
"""

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence

from dcf.errors import AgentUnknown, InvalidArgument, ToolUnavailable
from dcf.ports import AgentFound, AgentWish, Delivery, Post, ToolWish, Undelivered
from dcf.store.agents import AgentRecord, AgentRecords, created_text
from dcf.store.inbox import MOST_UNREAD, Inbox, Letter, Posted
from dcf.values.json_text import Json, dump
from dcf.values.text_pieces import clip

_FULL_RETRY_S = 30.0
"""Seconds until an event is offered again to an inbox that had no room for it."""


class Mailbox:
    """Agents whose inboxes, contexts and tools are documents in Redis; any number of copies may work at once."""

    kind = "mailbox"
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
        return [_delivery(post.agent_id, found) for post, found in zip(posts, posted, strict=True)]

    def create_agent(self, wish: AgentWish) -> str:
        """Create a record, with the texts and tools of the template."""
        agent_id = f"agent-{secrets.token_hex(12)}"
        blocks = {_block_id(label): {"label": label, "value": value} for label, value in _texts(wish)}
        tools = {_tool_id(tool["name"], {}, None): tool for tool in _tools(wish)}
        self._records.create(
            AgentRecord(agent_id=agent_id, name=wish.name, tags=_all_tags(wish), blocks=blocks, tools=tools)
        )
        return agent_id

    def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
        """Return the agents with these tags and this name; none if neither is given."""
        if not tags and name is None:
            raise InvalidArgument("Agents are looked for by tags or by name.")
        return [_found(record) for record in self._records.find(tags, name)]

    def retrieve_agent(self, agent_id: str) -> AgentFound:
        """Return the agent, even if it only has an inbox."""
        record = self._records.get(agent_id)
        if record is None:
            raise _unknown(agent_id)
        return _found(record)

    def delete_agent(self, agent_id: str) -> bool:
        """Delete the record and the inbox."""
        return self._records.delete(agent_id)

    def add_block(self, agent_id: str, label: str, value: str) -> str:
        """Put a text into the record. Its id is made from its label."""
        block_id = _block_id(label)
        if not self._records.put(agent_id, "blocks", block_id, {"label": label, "value": value}):
            raise _unknown(agent_id)
        return block_id

    def remove_block(self, agent_id: str, block_id: str) -> None:
        """Remove a text from the record."""
        self._records.remove(agent_id, "blocks", _part_id(block_id))

    def attach_tool(self, agent_id: str, wish: ToolWish) -> str:
        """Record which tool the agent may call, and where it is."""
        if wish.definition.get("type") == "python_source":
            raise ToolUnavailable(
                f"The tool '{clip(wish.name)}' is Python source, which mailbox agents cannot be given.",
                "Offer it as a tool of an MCP server.",
            )
        server = None if wish.server is None else _shown(wish.server)
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

    def refresh(self, agent_id: str) -> None:
        """Do nothing, since an agent always reads its current record."""

    def lift_return_limits(self, agent_id: str) -> int:
        """Check that the agent exists. It has no limits to lift."""
        self.retrieve_agent(agent_id)
        return 0


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
        return Delivery(failure=Undelivered.BUSY, error=_full(agent_id), retry_after_s=_FULL_RETRY_S)
    return Delivery(message_id=posted.message_id, duplicate=posted.outcome == "duplicate")


def _found(record: AgentRecord) -> AgentFound:
    return AgentFound(
        agent_id=record.agent_id,
        name=record.name,
        tags=record.tags,
        created_at=created_text(record),
        tool_ids=tuple(record.tools),
    )


def _full(agent_id: str) -> str:
    return f"Agent '{clip(agent_id)}' has {MOST_UNREAD} unread events of runs by the same creator."


def _unknown(agent_id: str) -> AgentUnknown:
    return AgentUnknown(f"There is no agent '{clip(agent_id)}'.")


def _block_id(label: str) -> str:
    return f"block-{_digest(label)}"


def _shown(server: Mapping[str, Json]) -> dict[str, Json]:
    """Return where a server is, without secrets: only a platform that calls the server itself may have those."""
    return {"name": server["name"], "transport": server["transport"], "url": server.get("shown_url", server.get("url"))}


def _tool_id(name: str, definition: Mapping[str, Json], server: Mapping[str, Json] | None) -> str:
    return f"tool-{_digest(dump([name, dict(definition), None if server is None else dict(server)]))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _part_id(given: str) -> str:
    """Return the id with only the characters that are safe in a JSONPath; ids made by dcf have no others."""
    return "".join(character for character in given if character.isalnum() or character in "-_")


def _all_tags(wish: AgentWish) -> tuple[str, ...]:
    template = wish.agent.get("tags")
    own = [tag for tag in template if isinstance(tag, str)] if isinstance(template, list) else []
    return tuple(dict.fromkeys((*own, *wish.tags)))


def _texts(wish: AgentWish) -> Iterator[tuple[str, str]]:
    """Yield the texts of a template: its system prompt, its blocks in the bundle, and its own blocks."""
    system = wish.agent.get("system")
    if isinstance(system, str) and system:
        yield "system", system
    named = wish.agent.get("block_ids")
    for block in _entries(wish.bundle.get("blocks"), named if isinstance(named, list) else []):
        yield block["label"], block["value"]
    for name in ("memory_blocks", "core_memory"):
        for block in _entries(wish.agent.get(name), None):
            yield block["label"], block["value"]


def _entries(blocks: Json, ids: list[Json] | None) -> Iterator[Mapping[str, Json]]:
    for block in blocks if isinstance(blocks, list) else ():
        usable = isinstance(block, dict) and isinstance(block.get("label"), str) and isinstance(block.get("value"), str)
        if usable and (ids is None or block.get("id") in ids):
            yield block


def _tools(wish: AgentWish) -> Iterator[dict[str, Json]]:
    ids, tools = wish.agent.get("tool_ids"), wish.bundle.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        named = isinstance(tool, dict) and isinstance(tool.get("name"), str)
        if named and isinstance(ids, list) and tool.get("id") in ids:
            description = tool.get("description")
            yield {
                "name": tool["name"],
                "description": description if isinstance(description, str) else "",
                "definition": {},
                "server": None,
            }
