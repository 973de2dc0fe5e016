"""The MCP server that an agent's client starts: requests for the dcf server, passed on, and the tools of this machine.

Requests go through as they are, with what the client says of itself; answers come back as they are, shaped by the SDK
for the client's revision. Only calls of tools are looked into: the local ones are answered here, and a completion that
names files gets their hashes.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_from_wire
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    ElicitRequest,
    ElicitResult,
    NotificationParams,
    RequestParams,
    SubscriptionsListenRequestParams,
)
from mcp_types.methods import SPEC_CLIENT_METHODS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ConfigDict

from dcf.errors import DcfError, InvalidArgument
from dcf.local import mission_control
from dcf.local.answers import as_result, failed, refused
from dcf.local.broken_connections import FAILED
from dcf.local.calls import ServerCalls
from dcf.local.command_templates import Allowed
from dcf.local.deepwork.allowed_review import AllowedReview, AllowedReviews
from dcf.local.deepwork.client_session import ClientSession
from dcf.local.deepwork.project_calls import DeepWorkCall, is_one
from dcf.local.gate_runs import run_gates
from dcf.local.git import GitRefused
from dcf.local.local_tools import TOOLS, LocalCall
from dcf.local.output_files import COMPLETION, UPLOAD, described, names_files
from dcf.local.upstream import Upstream
from dcf.local.working_root import QUESTION, RootsWanted, WorkingDirectory, WorkingRoot
from dcf.values.json_text import Json
from dcf.version import __version__

PASSED_ON: Final = (
    *("resources/list", "resources/templates/list", "resources/read"),
    *("prompts/list", "prompts/get", "completion/complete"),
)
_FIRST_S: Final = 5.0
"""Seconds in which the server may say its instructions while a client connects; it may be away just then."""
_AGAIN_S: Final = 2.0
_MOST_QUESTIONS: Final = 10

INSTRUCTIONS: Final = (
    "This is dcf agents local: tools of the dcf server, and local_* tools that work on this machine's files and git. A "
    "result that names files below the root, in its member files, is refused while one is missing."
)

Context = ServerRequestContext[Any, Any]


class _Params(RequestParams):
    """Params of any request; what they must hold the SDK has checked before."""

    model_config = ConfigDict(extra="allow")


@dataclass(slots=True)
class LocalServer:
    """Answers one client. `upload` is whether files of results become artifacts where the call does not say.

    `helper` is the same server, with the key with which this process reports commands of gates. `client` is its
    client's session in the profile `deepwork`.
    """

    upstream: Upstream
    working_root: WorkingRoot
    allowed: Allowed
    upload: bool = False
    helper: Upstream | None = None
    client: ClientSession = field(default_factory=ClientSession)
    _judge: Upstream | None = field(init=False)
    _reviews: AllowedReviews = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the calls that give verdicts: with the helper's key, or with none where the agent has none either."""
        self._judge = self.helper
        if self.helper is None and self.upstream.api_key is None:
            self._judge = Upstream(self.upstream.url, None, self.upstream.deadline_s)
        self._reviews = AllowedReviews(self.allowed, None if self._judge is None else ServerCalls(self._judge))

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Keep connections to the server for the duration of a `with` block."""
        async with AsyncExitStack() as stack:
            for upstream in (self.upstream, self._judge):
                if upstream is not None:
                    await stack.enter_async_context(upstream.opened())
            yield

    def built(self) -> "Server[Any]":
        """Return the SDK's server with everything that is passed on and everything that is done here."""
        server: Server[Any] = Server("dcf-local", title="dcf on this machine", version=__version__)
        server.instructions = INSTRUCTIONS
        for method in PASSED_ON:
            server.add_request_handler(method, _Params, self._passed_on)
        server.add_request_handler("tools/list", _Params, self._tools)
        server.add_request_handler("tools/call", _Params, self._call)
        server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, self._listen)
        server.add_notification_handler("notifications/roots/list_changed", NotificationParams, self._roots_changed)
        server.middleware.append(self._others)
        return server

    async def _others(self, ctx: Context, call_next: CallNext) -> Any:
        """Add the server's instructions to the greeting; pass on methods that only the server knows."""
        if ctx.request_id is not None and ctx.method not in SPEC_CLIENT_METHODS:
            return await self._passed_on(ctx, None)
        answer = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover") and isinstance(answer, Mapping):
            return {**answer, "instructions": await self._instructions()}
        return answer

    async def _instructions(self) -> str:
        try:
            answer = await self.upstream.request("server/discover", {}, deadline_s=_FIRST_S)
        except (DcfError, MCPError):
            return INSTRUCTIONS
        return f"{INSTRUCTIONS} {answer.get('instructions') or ''}".strip()

    async def _passed_on(self, ctx: Context, _: object) -> dict[str, Any]:
        async def once(params: Mapping[str, Any]) -> dict[str, Any]:
            try:
                return await self.upstream.request(ctx.method, params, on_progress=_progress(ctx))
            except DcfError as error:
                raise _protocol_error(error) from None

        return await _answered(ctx, once, _params(ctx))

    async def _tools(self, ctx: Context, _: object) -> dict[str, Any]:
        answer = await self._passed_on(ctx, None)
        if answer.get("nextCursor") is not None:
            return answer
        listed = [_with_root(tool) if tool.get("name") == COMPLETION else tool for tool in answer["tools"]]
        return {**answer, "tools": [*listed, *(tool.listed() for tool in TOOLS.values())]}

    async def _call(self, ctx: Context, _: object) -> dict[str, Any]:
        params = _params(ctx)
        name, arguments = str(params.get("name")), dict(params.get("arguments") or {})
        server = ServerCalls(self.upstream, params["_meta"])
        try:
            if name in TOOLS:
                return await self._local(ctx, name, arguments, server)
            return await self._at_server(ctx, name, {**params, "arguments": arguments}, server)
        except RootsWanted as wanted:
            return wanted.result
        except GitRefused as error:
            return as_result(refused(error.refusal))
        except DcfError as error:
            return as_result(failed(error), is_error=True)

    async def _local(self, ctx: Context, name: str, arguments: dict[str, Json], server: ServerCalls) -> dict[str, Any]:
        tool = TOOLS[name]
        directory = arguments.pop("root", None)
        unknown = sorted(arguments.keys() - tool.arguments.keys())
        if unknown:
            hint = f"It has: {', '.join((*tool.arguments, 'root'))}."
            raise InvalidArgument(f"{name} has no argument '{unknown[0][:80]}'.", hint)
        root = await self.working_root.of(ctx, directory)
        answer = await tool.run(LocalCall(arguments, root, server, self.allowed, self._helping()))
        return as_result({**answer, "root": str(root.path)})

    async def _at_server(self, ctx: Context, name: str, params: dict[str, Any], server: ServerCalls) -> dict[str, Any]:
        profile = self.upstream.profile
        if is_one(profile, name) or mission_control.is_one(profile, name):
            return await self._with_disk(ctx, name, params, server)
        arguments, directory, root = params["arguments"], None, None
        if name == COMPLETION:
            directory, upload = arguments.pop("root", None), arguments.pop(UPLOAD, self.upload)
            if names_files(name, arguments):
                root = await self.working_root.of(ctx, directory)
                extended = await described(arguments, root.path, server, upload=upload is True)
                params = {**params, "arguments": extended}
        once = partial(server.passed_on, on_progress=_progress(ctx))
        result = await _answered(ctx, once, params)
        ran: list[dict[str, Json]] = []
        if name == COMPLETION and self.allowed.templates and _code(result) == "review_running":
            root = root or await self.working_root.of(ctx, directory)
            run, state = str(arguments.get("workflow_id")), str(arguments.get("state"))
            ran = await run_gates(server, self._helping(), root.path, self.allowed, run, state)
            result = await once(params) if ran else result
        shown = directory if root is None else str(root.path)
        return _told(result, {**({} if shown is None else {"root": shown}), **({"gates_run": ran} if ran else {})})

    def _helping(self) -> ServerCalls | None:
        return None if self.helper is None else ServerCalls(self.helper)

    async def _with_disk(self, ctx: Context, name: str, params: dict[str, Any], server: ServerCalls) -> dict[str, Any]:
        """Make a call of a profile that needs the disk; without a directory most are passed on as they are."""
        directory = params["arguments"].pop("root", None)
        try:
            root = await self.working_root.of(ctx, directory)
        except InvalidArgument:
            if directory is not None or name == "finished_step":
                raise
            root = None
        if is_one(self.upstream.profile, name):
            return await self._deepwork(ctx, params, root, server)
        call = mission_control.MissionCall(name, params["arguments"], root, server)
        try:
            arguments = await call.prepared()
        except DcfError as error:
            return mission_control.rejected(error)
        once = partial(server.passed_on, on_progress=_progress(ctx))
        return await call.finished(await _answered(ctx, once, {**params, "arguments": arguments}))

    async def _deepwork(
        self, ctx: Context, params: dict[str, Any], root: WorkingDirectory | None, server: ServerCalls
    ) -> dict[str, Any]:
        name = params["name"]
        review = AllowedReview() if root is None else await anyio.to_thread.run_sync(self._reviews.of, root.path)
        problems = [review.problem] if review.problem is not None and name == "start_workflow" else []
        call = DeepWorkCall(name, params["arguments"], root, server, review.reviewing, problems, self.client)
        arguments = await call.prepared()
        once = partial(server.passed_on, on_progress=_progress(ctx))

        async def again(place: Mapping[str, Json]) -> dict[str, Any]:
            return await _answered(ctx, once, {**params, "arguments": {**arguments, "waits_for_review": dict(place)}})

        result = await _answered(ctx, once, {**params, "arguments": arguments})
        return await call.finished(await call.reviewed(result, again))

    async def _listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> Any:
        """Serve a stream of changes; a stream that outlives a server reports everything once, as changed."""
        bus = InMemorySubscriptionBus()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._relay, bus, params)
            answer = await ListenHandler(bus)(ctx, params)
            tasks.cancel_scope.cancel()
        return answer

    async def _relay(self, bus: InMemorySubscriptionBus, params: SubscriptionsListenRequestParams) -> None:
        async def heard(method: str, params: Mapping[str, Any]) -> None:
            event = event_from_wire(method, params)
            if event is not None:
                await bus.publish(event)

        params_dumped = params.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"})
        while True:
            with suppress(DcfError):  # the server is away: this loop asks again
                await self.upstream.listen(params_dumped, heard)
            await anyio.sleep(_AGAIN_S)
            for uri in params.notifications.resource_subscriptions or ():
                await bus.publish(ResourceUpdated(uri=uri))

    async def _roots_changed(self, _: Context, __: NotificationParams) -> None:
        self.working_root.forget()


async def serve(server: LocalServer) -> None:
    """Serve the client on standard input and output until it leaves."""
    built = server.built()
    async with server.opened(), stdio_server() as (read, write):
        await built.run(read, write, built.create_initialization_options())


async def looked_at(server: LocalServer) -> dict[str, Json]:
    """Return whether the dcf server answers, what may run here, and where; for a person who sets this up."""
    failure, tools = None, 0
    async with server.opened():
        try:
            tools = len((await server.upstream.request("tools/list", {}, deadline_s=_FIRST_S))["tools"])
        except DcfError as error:
            failure = f"{error.code}: {error.message} {error.hint}"
        except MCPError as error:
            failure = error.error.message
    root = server.working_root.configured
    return {
        "server": urlsplit(server.upstream.url)._replace(query="").geturl().rpartition("@")[2],
        "server_error": failure,
        "server_tools": tools,
        "root": None if root is None else str(root.resolve()),
        "has_helper_key": server.helper is not None,
        "allowed_commands": [" ".join(words) for words in server.allowed.templates],
    }


def _params(ctx: Context) -> dict[str, Any]:
    """Return the params of a request with what its client says of itself; answers to questions of ours are left out."""
    params = dict(ctx.params or {})
    meta = dict(params.get("_meta") or {})
    known = ctx.session.client_params
    if known is not None and CLIENT_INFO_META_KEY not in meta:
        meta[CLIENT_INFO_META_KEY] = known.client_info.model_dump(by_alias=True, mode="json", exclude_none=True)
        capabilities = known.capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
        meta[CLIENT_CAPABILITIES_META_KEY] = capabilities
    answers = {key: value for key, value in (params.pop("inputResponses", None) or {}).items() if key != QUESTION}
    return {**params, "_meta": meta, **({"inputResponses": answers} if answers else {})}


async def _answered(
    ctx: Context, once: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]], params: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the final answer; a question of the server is put to a client of an older revision as it knows it."""
    result = await once(params)
    for _ in range(_MOST_QUESTIONS):
        if result.get("resultType") != "input_required" or ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            break
        answers: dict[str, Any] = {}
        for name, question in (result.get("inputRequests") or {}).items():
            answer = await ctx.session.send_request(ElicitRequest.model_validate(question), ElicitResult)
            answers[name] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        state = result.get("requestState")
        more = {"inputResponses": answers} | ({} if state is None else {"requestState": state})
        result = await once({**params, **more})
    return result


def _progress(ctx: Context) -> Any:
    if not {"progress_token", "progressToken"} & set(ctx.meta or {}):
        return None

    async def told(progress: float, total: float | None, message: str | None) -> None:
        await ctx.session.report_progress(progress, total, message)

    return told


def _protocol_error(error: DcfError) -> MCPError:
    return MCPError(FAILED, f"{error.code}: {error.message} {error.hint}", {"code": error.code, "hint": error.hint})


def _with_root(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the listed completion with what this process takes in addition."""
    schema = tool["inputSchema"]
    more = {
        "root": {"type": "string", "description": "Directory of the output's `files`; default: the client's root."},
        UPLOAD: {"type": "boolean", "description": "Keep their contents as artifacts."},
    }
    return {**tool, "inputSchema": {**schema, "properties": {**schema["properties"], **more}}}


def _code(result: Mapping[str, Any]) -> str | None:
    answer = result.get("structuredContent")
    return answer.get("code") if isinstance(answer, dict) else None


def _told(result: dict[str, Any], more: Mapping[str, Json]) -> dict[str, Any]:
    """Return a result with what was done here."""
    answer = result.get("structuredContent")
    if not more or not isinstance(answer, dict):
        return result
    return {**result, **as_result({**answer, **more}, is_error=bool(result.get("isError")))}
