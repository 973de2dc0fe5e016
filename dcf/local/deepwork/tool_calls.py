"""Calls of tools that are made here: at the server behind `dcf agents local`, or at the one in this process."""

from collections.abc import Mapping
from typing import Any, Protocol

from dcf.values.json_text import Json


class ProfileCalls(Protocol):
    """Calls tools of the profile, for the agent."""

    @property
    def meta(self) -> Mapping[str, Any] | None:
        """The description that the agent's client sends of itself."""

    async def passed_on(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a call, which may be a refusal."""


class ReviewCalls(Protocol):
    """Calls dcf's own tools, for the quality gate: the author of an output cannot review it."""

    async def call(self, tool: str, /, **arguments: Json) -> Mapping[str, Json]:
        """Return the answer; raise NotDone or ToolCallFailed where it is not ok."""
