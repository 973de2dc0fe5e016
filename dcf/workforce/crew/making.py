"""Creates the missing agents of a run, once each, even with concurrent callers and crashes.

The steps for each part: reserve the part in the store, search its agent by tags (an earlier call may have crashed after
the creation), else create an agent with these tags, then record the agent. A failed call deletes the agents that it
created.
"""

import secrets
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from dcf.adapters.platforms import Platforms
from dcf.errors import AgentUnknown, Conflict, DcfError
from dcf.jitter import JITTER
from dcf.ports import AgentFound, Provisioner
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workforce.crew import roster as decisions
from dcf.workforce.crew.descriptions import Description, wish_of
from dcf.workforce.crew.names import WORKER_TAG, agent_name, default_prefix, part_of, run_tag, worker_tags
from dcf.workforce.crew.roster import Member, MemberPhase
from dcf.workforce.crew.roster_documents import RosterDocuments
from dcf.workforce.crew.templates import Staffing

_PATIENCE_S: Final = 30.0
"""Seconds that one caller waits while another creates the same agents."""


@record(frozen=True, slots=True, kw_only=True)
class Parts:
    """Request: the agents to create, each with the Task that describes it. `reuse` False refuses existing ones.

    Names begin with `prefix`; `tags` are added to the tags by which dcf finds its agents.
    """

    workflow_id: str
    staffing: Mapping[str, Staffing]
    prefix: str | None = None
    tags: tuple[str, ...] = ()
    reuse: bool = True

    def name(self, part: str) -> str:
        """Return the name of the agent of a part."""
        return agent_name(default_prefix(self.workflow_id) if self.prefix is None else self.prefix, part)

    def kind(self, part: str) -> str | None:
        """Return the kind of platform that the part's description names; None for the default."""
        description = self.staffing[part].description
        return None if description is None else description.platform


@dataclass(slots=True, kw_only=True)
class MakingProgress:
    """Progress of one call: the agent of each part, and which of them this call created."""

    agents: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    undone: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class Making:
    """Creates agents on their platforms."""

    def __init__(self, platforms: Platforms, documents: RosterDocuments) -> None:
        self._platforms = platforms
        self._documents = documents

    def fill(self, wish: Parts, progress: MakingProgress) -> None:
        """Create the missing agents, and wait for those that other callers create. Record all in `progress`."""
        token, deadline, attempt = f"make-{secrets.token_hex(8)}", time.monotonic() + _PATIENCE_S, 0
        missing: Collection[str] = wish.staffing
        while missing:
            allotted = self._documents.transact(
                wish.workflow_id, partial(_allot, parts=tuple(missing), token=token, reuse=wish.reuse)
            )
            progress.agents.update(allotted.made)
            if allotted.mine:
                self._make_all(wish, allotted.mine, token, progress)
            missing = allotted.others
            if missing and time.monotonic() >= deadline:
                raise Conflict("Somebody else is making agents of this run.", "Repeat the call in a few seconds.")
            if missing:
                attempt += 1
                time.sleep(JITTER.uniform(0.005, min(0.01 * 2**attempt, 0.2)))

    def drop_lost(self, wish: Parts) -> tuple[str, ...]:
        """Forget agents that were deleted on their platforms. Return their ids. Raise if one does not answer."""
        roster = self._documents.read(wish.workflow_id)
        noted = {
            part: member.agent_id
            for part, member in roster.items()
            if part in wish.staffing and member.phase is MemberPhase.MADE and member.agent_id is not None
        }
        if not noted:
            return ()
        kinds = self._platforms.kinds_of(tuple(noted.values()))
        ours = {kind: self._platforms.provisioners().get(kind) for kind in dict.fromkeys(kinds.values())}
        there = {
            agent.agent_id
            for provisioner in ours.values()
            if provisioner is not None
            for agent in _of_run(provisioner, wish)
        }
        lost = {
            part: agent
            for part, agent in noted.items()
            if ours[kinds[agent]] is not None and agent not in there and not self._exists(agent)
        }
        if lost:
            self._documents.transact(wish.workflow_id, lambda roster, _: (decisions.lose(roster, lost), None))
        return tuple(lost.values())

    def undo(self, wish: Parts, progress: MakingProgress) -> None:
        """Delete the agents that this call created. Those that cannot be deleted stay recorded for the next call."""
        for part, agent_id in list(progress.made.items()):
            try:
                self._platforms.provisioner_of(agent_id).delete_agent(agent_id)
                self._platforms.forget(agent_id)
                self._documents.transact(wish.workflow_id, partial(_drop, part=part, agent_id=agent_id))
            except DcfError:
                progress.warnings.append(f"Agent '{agent_id}' of '{clip(part)}' is left over; the next call uses it.")
                continue
            progress.undone[part] = progress.made.pop(part)

    def _exists(self, agent_id: str) -> bool:
        """Return True if the agent exists, even if its tags were changed."""
        try:
            self._platforms.provisioner_of(agent_id).retrieve_agent(agent_id)
        except AgentUnknown:
            return False
        return True

    def _make_all(self, wish: Parts, mine: tuple[str, ...], token: str, progress: MakingProgress) -> None:
        left = list(mine)
        try:
            for kind in dict.fromkeys(map(wish.kind, mine)):
                made_there = tuple(part for part in mine if wish.kind(part) == kind)
                there = self._tagged(wish, kind, made_there)
                for part in made_there:
                    self._make(wish, part, token, there.get(part), progress)
                    left.remove(part)
        except Exception:
            self._documents.transact(wish.workflow_id, lambda roster, _: (decisions.release(roster, left, token), None))
            raise

    def _tagged(self, wish: Parts, kind: str | None, mine: Collection[str]) -> dict[str, AgentFound]:
        """Find agents that an earlier call created and did not record. Keep the oldest per part, delete the others."""
        _, provisioner = self._platforms.maker(kind)
        agents: dict[str, AgentFound] = {}
        for agent in _of_run(provisioner, wish):
            part = part_of(agent.tags)
            if part is None or part not in mine:
                continue
            if part in agents:
                provisioner.delete_agent(agent.agent_id)
            else:
                agents[part] = agent
        return agents

    def _make(self, wish: Parts, part: str, token: str, there: AgentFound | None, progress: MakingProgress) -> None:
        staffing = wish.staffing[part]
        kind, provisioner = self._platforms.maker(wish.kind(part))
        name = wish.name(part) if there is None else there.name
        tags = (*worker_tags(wish.workflow_id, part), *wish.tags)
        if there is None:
            agent_wish = wish_of(name, tags, staffing.description or Description())
            agent_id = progress.made[part] = provisioner.create_agent(agent_wish)
        else:
            agent_id = there.agent_id
        self._platforms.register(agent_id, kind, name=name, tags=tags)
        member = Member(phase=MemberPhase.MADE, token=token, until=0, name=name, agent_id=agent_id, keep=staffing.keep)
        noted = self._documents.transact(wish.workflow_id, lambda roster, _: decisions.confirm(roster, part, member))
        if not noted:
            raise Conflict("The run's agents were deleted while they were being made.", "Repeat the call if needed.")
        progress.agents[part] = agent_id


def _of_run(provisioner: Provisioner, wish: Parts) -> list[AgentFound]:
    return provisioner.find_agents((run_tag(wish.workflow_id), WORKER_TAG))


def _allot(
    roster: decisions.Roster, now: int, *, parts: tuple[str, ...], token: str, reuse: bool
) -> tuple[decisions.Roster, decisions.Allotted]:
    after, allotted = decisions.allot(roster, parts, token, now)
    if not reuse and any(roster[part].token != token for part in allotted.made):
        raise Conflict("The run has agents already.", "Leave `skip_if_exists` true to get them.")
    return after, allotted


def _drop(roster: decisions.Roster, _: int, *, part: str, agent_id: str) -> tuple[decisions.Roster, None]:
    member = roster.get(part)
    if member is None or member.agent_id not in {agent_id, None}:
        return roster, None
    return {name: member for name, member in roster.items() if name != part}, None
