"""The answers of verbs on agents."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedWorkers:
    """Who does what. With an error, `undone` are agents that were made by this call and deleted again."""

    workflow_id: str
    agents_map: Mapping[str, str] = field(default_factory=dict)
    created: tuple[Mapping[str, str], ...] = ()
    existing: tuple[Mapping[str, str], ...] = ()
    undone: tuple[Mapping[str, str], ...] = ()
    model_selections: Mapping[str, Json] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedAgent:
    """The id."""

    agent_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedAgent:
    """The agent that is gone."""

    deleted_agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedLimits:
    """How many tools were changed."""

    updated_count: int = 0
