"""The answers of verbs that notify agents of work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

RoleName: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifiedAgent:
    """The agents that were notified of a state. If there are none, `reason` or `error` says why.

    `skipped_not_ready`: the state cannot be taken now. The ids are those of the agent's platform.
    """

    state: str | None = None
    agent_id: str | None = None
    sent: bool = False
    skipped_not_ready: bool = False
    reason: str | None = None
    message_id: str | None = None
    run_id: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifiedAgents:
    """The outcome for each follower."""

    workflow_id: str
    source_state: str | None = None
    targets: tuple[NotifiedAgent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifiedIfReady:
    """Whether the agent was woken, and why not."""

    workflow_id: str
    state: str
    ready: bool | None = None
    skipped: bool | None = None
    skip_reason: str | None = None
    agent_id: str | None = None
    message_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedEvent:
    """The event and its work, or a timeout. `acknowledged`: whether the event of ack_message_id was still there.

    `repeated`: the work is what an earlier call with this request_id was given; without one, an earlier call of the
    same caller, until a call has the lease_token: its answer may have been lost.
    """

    agent_id: str
    message_id: str | None = None
    acknowledged: bool | None = None
    repeated: bool | None = None
    event: Mapping[str, Json] | None = None
    work: Mapping[str, Json] | None = None
