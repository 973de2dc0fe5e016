"""The protocol's skills extension (SEP-2640): lists the skills of the library as folders of files.

The files themselves are resources (`resources`).
"""

from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams, RequestParams

from dcf.tools.mcp.resources import Resources

_CACHED: Final = {"ttlMs": 60_000, "cacheScope": "private"}
"""The protocol's fields for lists: how long, and by whom, they may be cached."""


class SkillParams(RequestParams):
    """Names a skill by the address of its SKILL.md."""

    uri: str


class SkillFilesExtension(Extension):
    """`skills/list` and `skills/get`."""

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def methods(self) -> list[MethodBinding]:
        """Return the two methods."""
        return [
            MethodBinding("skills/list", PaginatedRequestParams, self._list),
            MethodBinding("skills/get", SkillParams, self._get),
        ]

    async def _list(self, _: ServerRequestContext[Any, Any], __: PaginatedRequestParams) -> dict[str, Any]:
        """Return all skills on one page: several clients take only the first."""
        return {"skills": await self._resources.entries(), **_CACHED}

    async def _get(self, _: ServerRequestContext[Any, Any], params: SkillParams) -> dict[str, Any]:
        skill = next((entry for entry in await self._resources.entries() if entry["uri"] == params.uri), None)
        if skill is None:
            raise MCPError(INVALID_PARAMS, "There is no such skill.", {"uri": params.uri[:1000]})
        return {"skill": skill, **_CACHED}
