"""The roster: which agent was created for which part of a run, and the pure decisions about it.

A part is a state's name, or the key of an agent that several states share. It is reserved before its agent is created,
so that concurrent callers create only one. A reservation that is not confirmed expires; its agent is found by tags.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Final, TypeAlias

from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record

HOLD: Final = 180 * SECOND
"""Lifetime of a reservation."""
LIFE_S: Final = 30 * 24 * 3600
"""Seconds for which a roster is kept."""


_FORMER: Final = 5


class MemberPhase(StrEnum):
    """Phase in the life of the agent of a part."""

    MAKING = "making"
    MADE = "made"
    DELETED = "deleted"


@record(frozen=True, slots=True, kw_only=True)
class Member:
    """The agent of one part. `keep`: do not delete it when the run ends. `former`: earlier agents of the part."""

    phase: MemberPhase
    token: str
    until: int
    name: str = ""
    agent_id: str | None = None
    keep: bool = False
    former: tuple[str, ...] = ()

    @property
    def agent_ids(self) -> tuple[str, ...]:
        """All agents that are recorded for the part, former ones included."""
        return self.former if self.agent_id is None else (*self.former, self.agent_id)


Roster: TypeAlias = Mapping[str, Member]


@record(frozen=True, slots=True, kw_only=True)
class Allotted:
    """The requested parts: those with an agent, those the caller is to create, those that others are creating."""

    made: Mapping[str, str] = field(default_factory=dict)
    mine: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def allot(roster: Roster, parts: Iterable[str], token: str, now: int) -> tuple[Roster, Allotted]:
    """Reserve every part that has no agent and no valid reservation."""
    made: dict[str, str] = {}
    mine, others, changed = list[str](), list[str](), dict[str, Member]()
    for part in parts:
        member = roster.get(part)
        if member is not None and member.phase is MemberPhase.MADE and member.agent_id is not None:
            made[part] = member.agent_id
        elif member is not None and _is_being_made(member, now) and member.token != token:
            others.append(part)
        else:
            mine.append(part)
            if member is None or member.phase is not MemberPhase.MAKING or member.token != token:
                former = () if member is None else member.agent_ids[-_FORMER:]
                changed[part] = Member(phase=MemberPhase.MAKING, token=token, until=now + HOLD, former=former)
    after = {**roster, **changed} if changed else roster
    return after, Allotted(made=made, mine=tuple(mine), others=tuple(others))


def _is_being_made(member: Member, now: int) -> bool:
    """Return True if the reservation is valid. One longer than `HOLD` is not: the server clock stepped back since."""
    return member.phase is MemberPhase.MAKING and now < member.until <= now + HOLD + SECOND


def lose(roster: Roster, lost: Mapping[str, str]) -> Roster:
    """Record that the agents of these parts are gone from their platform, so that they are created again."""
    members = {
        part: replace(member, phase=MemberPhase.DELETED, until=0)
        for part, member in roster.items()
        if member.phase is MemberPhase.MADE and member.agent_id is not None and lost.get(part) == member.agent_id
    }
    return {**roster, **members} if members else roster


def confirm(roster: Roster, part: str, member: Member) -> tuple[Roster, bool]:
    """Record the agent of a part. Return False with it if the reservation is no longer the caller's."""
    known = roster.get(part)
    if known is None or known.token != member.token or known.phase is MemberPhase.DELETED:
        return roster, False
    return {**roster, part: replace(member, former=known.former)}, True


def release(roster: Roster, parts: Iterable[str], token: str) -> Roster:
    """Give up the caller's reservations."""
    mine = {part for part in parts if part in roster and roster[part].token == token}
    return {part: member for part, member in roster.items() if part not in mine} if mine else roster


def dismiss(roster: Roster, token: str, *, again: bool = False) -> tuple[Roster, Roster]:
    """Close the parts whose agents are to be deleted. Return them too. Open reservations can no longer be confirmed.

    `again`: also the parts that an earlier call closed.
    """
    leaving = {
        part: member
        for part, member in roster.items()
        if not member.keep and (again or member.phase is not MemberPhase.DELETED)
    }
    members = {
        part: replace(member, phase=MemberPhase.DELETED, token=token, until=0) for part, member in leaving.items()
    }
    return ({**roster, **members} if members else roster), leaving


def reinstate(roster: Roster, parts: Roster) -> Roster:
    """Restore members that could not be deleted, so that the next call tries again."""
    return {**roster, **parts} if parts else roster


_MEMBER: Final = RecordCodec(Member, strict=True, added="name agent_id keep")


def write_roster(roster: Roster) -> Json:
    """Return the roster as JSON; None if it is empty."""
    return {"parts": {part: _MEMBER.write(member) for part, member in roster.items()}} if roster else None


def read_roster(document: Mapping[str, Json] | None) -> Roster:
    """Return the roster in a document."""
    return {} if document is None else {part: _MEMBER.read(member) for part, member in document["parts"].items()}
