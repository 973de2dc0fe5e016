"""Calls of tools that are made here: at the server behind `dcf agents local`, or at the one in this process."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from mcp.server.context import CallNext, ServerRequestContext
from pydantic import BaseModel

from dcf.values.json_text import Json
from dcf.values.records import record


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


@record(frozen=True, slots=True)
class CallsHere:
    """Calls of the profile's tools in this process, for the client of a request."""

    ctx: ServerRequestContext[Any, Any]
    call_next: CallNext

    @property
    def meta(self) -> Mapping[str, Any] | None:
        """The client's description of itself."""
        return (self.ctx.params or {}).get("_meta")

    async def passed_on(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a call."""
        result = await self.call_next(replace(self.ctx, params=params))
        if isinstance(result, BaseModel):
            return result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return dict(result or {})
