"""The answers of the verb on work across runs. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

WorkStatusName: TypeAlias = Literal["ready", "running", "review", "blocked", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedWork:
    """A state of a run as a piece of work. `holder` has it now; `why` says what it waits for."""

    workflow_id: str
    state: str
    status: WorkStatusName
    attempt: int
    title: str | None = None
    workflow_name: str | None = None
    project: str | None = None
    since: datetime | None = None
    holder: str | None = None
    lease_expires_at: datetime | None = None
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    outcome: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundWork:
    """`items` of a page; or, with claim, the leased state as `work`.

    Until a call has its lease_token, the same caller's same claim gets the same work: the answer may have been lost.
    """

    items: tuple[ListedWork, ...] | None = None
    next_cursor: str | None = None
    workflow_id: str | None = None
    state: str | None = None
    lease: Mapping[str, Json] | None = None
    work: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedWork:
    """A state that was leased: `work` has its lease_token, its input and what to do."""

    workflow_id: str
    state: str
    work: Mapping[str, Json]
