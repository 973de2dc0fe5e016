"""The answer to an agent that asks for its context. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """Where an agent is and what is next, the most important first; `left_out` says what did not fit, and where it is.

    `next` are the calls to make. No lease token is ever shown.
    """

    agent_id: str | None = None
    runs: tuple[Mapping[str, Json], ...] = ()
    held: tuple[Mapping[str, Json], ...] = ()
    issues: tuple[Mapping[str, Json], ...] = ()
    handoffs: tuple[Mapping[str, Json], ...] = ()
    decisions: tuple[Mapping[str, Json], ...] = ()
    ready: tuple[Mapping[str, Json], ...] = ()
    milestones: tuple[Mapping[str, Json], ...] = ()
    inputs: tuple[Mapping[str, Json], ...] = ()
    left_out: tuple[Mapping[str, Json], ...] = ()
    next: tuple[Mapping[str, Json], ...] = ()
    provenance: Mapping[str, Json] | None = None
