"""The answers about agents that are made elsewhere. Loads the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

from dcf.values.json_text import Json

AgentPlatformName: TypeAlias = Literal["webhook"]
LEASE_S: Final = 900
"""Seconds that a webhook has for a piece of work, unless it is registered with others."""

NewKeyName: TypeAlias = Literal["overlap", "at_once"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredAgent:
    """An agent that was registered; of its `url` only the host. `secret` is there where a key was made by the call.

    `rest` says for how long it is left alone since it did not answer. Of an agent that is only limited, the answer has
    its `max_in_progress`.
    """

    agent_id: str
    platform: AgentPlatformName | None = None
    url: str | None = None
    lease_ttl_s: int | None = None
    max_in_progress: int | None = None
    key_ids: tuple[str, ...] = ()
    secret: str | None = field(default=None, repr=False)
    created_at: datetime | None = None
    created_by: str | None = None
    rest: Mapping[str, Json] | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredAgents:
    """The agents, oldest first. `rest` says for how long one is left alone since it did not answer."""

    agents: tuple[RegisteredAgent, ...] = ()
