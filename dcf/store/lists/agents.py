"""Agents that dcf knows: one record per agent, and sorted sets of agents by tag and by name. Never scanned.

A record says on which platform the agent lives; an agent without one has a mailbox, or an id that its platform knows.

Index entries are written before the record they point at, in the same packet, and removed after it. So an entry may be
stale, but no record lacks one; readers skip entries without a record.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final

from dcf.errors import InvalidArgument
from dcf.ports import MAILBOX
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.forms.form import DOCUMENTS, Member
from dcf.store.keys import table as keys
from dcf.store.lists.shards import in_every_shard, oldest, oldest_commands, place_of
from dcf.values.instants import to_text
from dcf.values.json_text import Json, dump, load
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record, replace

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

_PART_IF_THERE = (
    DOCUMENTS
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
if ARGV[2] == '' then
  drop_member(KEYS[1], ARGV[1])
else
  write_member(KEYS[1], ARGV[1], ARGV[2])
end
return 1
"""
)

_PLATFORM = ("platform",)

_GONE_S = 7 * 24 * 3600
"""Seconds for which a deleted agent is remembered: the lifetime of an inbox that is not read."""


@record(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """An agent. `blocks` (id to label and value) are its context, `tools` (id to name and definition) what it calls.

    `platform` is the kind of platform on which it lives, and `contact` what that needs to reach it (a URL), no secret.
    """

    agent_id: str
    name: str
    tags: tuple[str, ...] = ()
    created_at: int = 0
    blocks: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    platform: str = MAILBOX
    contact: Mapping[str, Json] = field(default_factory=dict)


_RECORD: Final = RecordCodec(AgentRecord, strict=True, added="platform contact")


class AgentRecords:
    """The records in Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def create(self, record: AgentRecord) -> None:
        """Write a record and its index entries. If the agent_id has a record, change nothing."""
        (clock,) = self._connections.send(("TIME",))
        at = micros(clock)
        document = _RECORD.write(replace(record, created_at=at))
        if record.platform == MAILBOX:
            del document["platform"], document["contact"]
        entries: list[Command] = [("ZADD", key, "NX", at, record.agent_id) for key in self._lists_with(record)]
        self._connections.send(
            *entries,
            self._connections.form.put(keys.agent(record.agent_id), dump(document), only_new=True),
            ("DEL", keys.gone(record.agent_id)),
        )

    def get(self, agent_id: str) -> AgentRecord | None:
        """Return the record. For an agent that only has an inbox, return an empty record."""
        form = self._connections.form
        stored, inboxes, is_deleted = self._connections.send(
            form.read(keys.agent(agent_id)),
            ("EXISTS", keys.inbox(agent_id)),
            ("EXISTS", keys.gone(agent_id)),
        )
        text = form.text(stored)
        if text is not None:
            return _RECORD.read(load(text))
        return AgentRecord(agent_id=agent_id, name=agent_id) if inboxes and not is_deleted else None

    def platforms_of(self, agent_ids: Sequence[str]) -> dict[str, str]:
        """Return the kinds of platform of those agents that have a record, in one packet."""
        if not agent_ids:
            return {}
        form = self._connections.form
        replies = self._connections.send(*(form.members(keys.agent(agent_id), _PLATFORM) for agent_id in agent_ids))
        platforms = {
            agent_id: form.values(_PLATFORM, reply) for agent_id, reply in zip(agent_ids, replies, strict=True)
        }
        return {agent: own.get("platform", MAILBOX) for agent, own in platforms.items() if own is not None}

    def without_trace(self, agent_ids: Sequence[str]) -> list[str]:
        """Return those of these agents that have neither a record nor an inbox, in one packet."""
        commands: list[Command] = [
            ("EXISTS", key) for agent_id in agent_ids for key in (keys.agent(agent_id), keys.inbox(agent_id))
        ]
        replies = self._connections.send(*commands) if commands else []
        pairs = zip(agent_ids, replies[::2], replies[1::2], strict=True)
        return [agent_id for agent_id, has_record, has_inbox in pairs if not has_record and not has_inbox]

    def is_gone(self, agent_id: str) -> bool:
        """Return True if the agent was created here and deleted in the last week."""
        (exists,) = self._connections.send(("EXISTS", keys.gone(agent_id)))
        return bool(exists)

    def find(self, tags: tuple[str, ...], name: str | None) -> list[AgentRecord]:
        """Return the agents with all these tags and this name, oldest first. The cost is that of the smallest index."""
        indexes = [*map(keys.agents_tagged, tags), *([] if name is None else [keys.agents_named(name)])]
        if not indexes:
            return []
        shards = self._connections.shards
        counts = self._connections.send(*(("ZCARD", key) for index in indexes for key in in_every_shard(index, shards)))
        sizes = [sum(counts[first : first + shards]) for first in range(0, len(counts), shards)]
        smallest = indexes[sizes.index(min(sizes))]
        ids = oldest(self._connections.send(*oldest_commands(smallest, shards)))
        form = self._connections.form
        replies = self._connections.send(*(form.read(keys.agent(agent_id)) for agent_id in ids)) if ids else []
        records = [_RECORD.read(load(text)) for text in map(form.text, replies) if text is not None]
        matching = [record for record in records if set(tags) <= set(record.tags) and name in {None, record.name}]
        return sorted(matching, key=lambda record: (record.created_at, record.agent_id))

    def delete(self, agent_id: str) -> bool:
        """Delete the record, the inbox and the index entries. Return True if any of them existed."""
        record = self.get(agent_id)
        if record is None:
            return False
        commands: list[Command] = [("ZREM", key, agent_id) for key in self._lists_with(record)]
        if record.created_at:
            commands.append(("SET", keys.gone(agent_id), "1", "EX", _GONE_S))
        deleted, *_ = self._connections.send(
            ("DEL", keys.agent(agent_id)),
            ("DEL", *keys.inbox_parts(agent_id)),
            ("DEL", keys.assigned(agent_id)),
            *commands,
        )
        return bool(deleted) or record.created_at == 0

    def put(self, agent_id: str, part: str, ident: str, value: Json) -> bool:
        """Set one block or tool of an agent (`part`: blocks, tools). Return False if there is no such agent."""
        member = _member_of(part, ident)
        if self._set(agent_id, member, dump(value)):
            return True
        if self.get(agent_id) is None:
            return False
        self.create(AgentRecord(agent_id=agent_id, name=agent_id))  # it only had an inbox until now
        return self._set(agent_id, member, dump(value))

    def remove(self, agent_id: str, part: str, ident: str) -> None:
        """Remove one block or tool of an agent, if it exists."""
        self._set(agent_id, _member_of(part, ident), "")

    def _lists_with(self, record: AgentRecord) -> list[str]:
        return lists_of(record.agent_id, record.name, record.tags, self._connections.shards)

    def _set(self, agent_id: str, member: Member, text: str) -> bool:
        form = self._connections.form
        script: Command = ("EVAL", form.script(_PART_IF_THERE), 1, keys.agent(agent_id), form.place(member), text)
        (done,) = self._connections.send(script)
        return bool(done)


def _member_of(part: str, ident: str) -> Member:
    """Return the member that a block or tool is in a record. Its id must have no characters special in a path."""
    if not all(character.isalnum() or character in "-_" for character in ident):
        raise InvalidArgument("That is no id of a block or tool.")
    return part, ident


def created_text(record: AgentRecord) -> str:
    """Return the creation time as text that sorts like the time; empty for an agent that was never created."""
    return to_text(record.created_at) if record.created_at else ""


def lists_of(agent_id: str, name: str, tags: Iterable[str], shards: int) -> list[str]:
    """Return the keys of the sorted sets that list an agent, where lists have this number of shards."""
    return [place_of(index, agent_id, shards) for index in (*map(keys.agents_tagged, tags), keys.agents_named(name))]
