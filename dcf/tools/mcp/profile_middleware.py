"""Serves the tools and resources of another system in place of dcf's own, to connections that have such a profile.

Which one counts is decided for every request: what the server was started with, else what the key says, else what the
request's header asks for.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.context import CallNext, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, CallToolResult, TextContent, ToolAnnotations
from mcp_types import Resource as ListedResource
from mcp_types import Tool as ListedTool

from dcf.core.access.model import Caller
from dcf.profiles.arguments import schema_of
from dcf.profiles.catalog import profile_of
from dcf.profiles.profile import Failure, NotDone, Profile, ProfileResource, ProfileTool
from dcf.tools.mcp.listing import header_of
from dcf.tools.mcp.middleware import REFUSED
from dcf.tools.mcp.profile_calls import NativeTools, call_profile, read_profile
from dcf.tools.mcp.reading import ToolReading
from dcf.values.json_text import Json, dump
from dcf.values.profile_names import SYSTEM_PROFILES, SystemProfile
from dcf.verbs.key_watch import KeyWatch
from dcf.verbs.listed_tools import HEADER
from dcf.verbs.registry import printable

_REFUSALS: Final = frozenset({"rate_limited", "forbidden"})
_FAILURES: Final = frozenset({"internal_error", "store_unavailable"})
_LISTS: Final[Mapping[str, str]] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""Methods that list something, with the member of the answer that has the list."""

_PASSED_ON: Final = frozenset({"ping", "logging/setLevel", "subscriptions/listen"})
_SERVER: Final = "io.modelcontextprotocol/serverInfo"


def named(profile: str | None) -> SystemProfile | None:
    """Return the name, if it is that of another system's profile."""
    return next((name for name in SYSTEM_PROFILES if name == profile), None)


class SystemProfiles:
    """Middleware of the SDK. Requests of connections without such a profile are passed on."""

    def __init__(self, reading: ToolReading, watch: KeyWatch | None) -> None:
        self._reading = reading
        self._watch = watch
        self._fixed = named(reading.application.settings.profile)
        self._tools: dict[str, dict[str, Any]] = {}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        """Answer what the profile is about."""
        caller = self._reading.caller
        name = self._fixed or named(caller.profile) or named(header_of(ctx, HEADER))
        if name is None:
            return await call_next(ctx)
        return await self._answer(profile_of(name), caller, ctx, call_next)

    async def _answer(
        self, profile: Profile, caller: Caller, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> Any:
        params = ctx.params or {}
        if ctx.method == "tools/call":
            return await self._call(profile, caller, params)
        if ctx.method == "resources/read":
            return await self._read(profile, caller, str(params.get("uri")), ctx.protocol_version)
        if ctx.method in _LISTS:
            return _listed(await call_next(ctx), profile, _LISTS[ctx.method], self._list(profile, caller, ctx.method))
        if ctx.method in {"initialize", "server/discover"}:
            return _introduced(await call_next(ctx), profile)
        if ctx.method in _PASSED_ON or ctx.request_id is None:
            return await call_next(ctx)
        raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)

    def _native(self, caller: Caller) -> NativeTools:
        reading = self._reading
        return NativeTools(application=reading.application, caller=caller, meter=reading.meter, watch=self._watch)

    def _list(self, profile: Profile, caller: Caller, method: str) -> list[dict[str, Any]]:
        """Return what there is of the profile; of some things there is nothing."""
        if method == "resources/list":
            return [_resource(resource) for resource in profile.resources]
        if method != "tools/list":
            return []
        return [self._shown(profile, tool) for tool in profile.listed(caller.scopes)]

    def _shown(self, profile: Profile, tool: ProfileTool) -> dict[str, Any]:
        name = f"{profile.name} {tool.name}"
        if name not in self._tools:
            self._tools[name] = _tool(tool)
        return self._tools[name]

    async def _call(self, profile: Profile, caller: Caller, params: Mapping[str, Any]) -> CallToolResult:
        name = str(params.get("name"))
        tool = profile.tools.get(name)
        if tool is None:
            failure = Failure(
                code="unknown_tool",
                message=f"There is no tool '{printable(name[:80])}'.",
                hint=f"The tools are: {', '.join(tool.name for tool in profile.listed(caller.scopes))}.",
            )
            return _result(profile, profile.failed(failure), broken=True)
        answer, broken = await call_profile(profile, tool, self._native(caller), params.get("arguments") or {})
        return _result(profile, answer, broken=broken)

    async def _read(self, profile: Profile, caller: Caller, uri: str, version: str) -> dict[str, Any]:
        resource = next((item for item in profile.resources if item.uri == uri), None)
        if resource is None:
            raise MCPError(INVALID_PARAMS, "There is no such resource.", {"code": "unknown_resource"})
        try:
            content = await read_profile(profile, resource, self._native(caller))
        except NotDone as error:
            raise _as_protocol_error(error.failure) from None
        answer = {"contents": [{"uri": uri, "mimeType": "application/json", "text": dump(content)}]}
        return {**answer, **_cached(version)}


def _cached(version: str) -> dict[str, Any]:
    """Return what newer versions of the protocol want to know about every answer that is read."""
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if version >= "2026" else {}


def _as_protocol_error(failure: Failure) -> MCPError:
    kind = REFUSED if failure.code in _REFUSALS else INTERNAL_ERROR if failure.code in _FAILURES else INVALID_PARAMS
    return MCPError(kind, f"{failure.code}: {failure.message}", {"code": failure.code, "hint": failure.hint})


def _introduced(answer: Any, profile: Profile) -> Any:
    """Return the answer to the first request, with the system's name and instructions in place of dcf's."""
    assert isinstance(answer, Mapping), "the SDK serializes what it answers"
    able = {name: part for name, part in answer["capabilities"].items() if name != "extensions"}
    return {**_signed(answer, profile), "capabilities": able, "instructions": profile.instructions}


def _signed(answer: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """Return an answer with the name of the system's server in place of dcf's."""
    server_info, meta = {"name": profile.server, "version": profile.version}, answer.get("_meta", {})
    more = {"_meta": {**meta, _SERVER: server_info}} if _SERVER in meta else {}
    return {**answer, **more, **({"serverInfo": server_info} if "serverInfo" in answer else {})}


def _listed(answer: Any, profile: Profile, member: str, listed: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a list of the profile in the envelope that this version of the protocol has."""
    assert isinstance(answer, Mapping), "the SDK serializes lists"
    values = {name: value for name, value in _signed(answer, profile).items() if name != "nextCursor"}
    return {**values, member: listed}


def _tool(tool: ProfileTool) -> dict[str, Any]:
    hints = ToolAnnotations(read_only_hint=True) if tool.read_only else None
    schema = schema_of(tool.arguments)
    listed = ListedTool(name=tool.name, description=tool.description, input_schema=schema, annotations=hints)
    return listed.model_dump(by_alias=True, mode="json", exclude_none=True)


def _resource(profile_resource: ProfileResource) -> dict[str, Any]:
    listed = ListedResource(
        uri=profile_resource.uri,
        name=profile_resource.name,
        description=profile_resource.description,
        mime_type="application/json",
    )
    return listed.model_dump(by_alias=True, mode="json", exclude_none=True)


def _result(profile: Profile, answer: Json, *, broken: bool) -> CallToolResult:
    text = answer if isinstance(answer, str) else profile.shown(answer)
    structured = answer if isinstance(answer, dict) else None
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured, is_error=broken)
