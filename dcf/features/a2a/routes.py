"""The A2A protocol (1.0, JSON-RPC) for clients that speak it: a message starts a run, a task is that run.

`DCF_A2A_WORKFLOWS` names the workflows that are served; without it there are no routes. Each method is a tool, behind
the same checks of Host and Origin, limits, API keys and scopes as /mcp. The agent card alone asks for no key.
"""

from collections.abc import Mapping
from typing import Final

import anyio
import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dcf.application.application import Application
from dcf.core.access.model import Caller
from dcf.errors import DcfError, InvalidArgument, UnknownDefinition
from dcf.features.a2a.messages import agent_card, context_tag, input_of, message_of, task_of, workflow_of
from dcf.values.json_text import Json, dump, parse
from dcf.verbs.authentication import WhoCalls
from dcf.verbs.endpoints import HttpEndpoint
from dcf.verbs.envelope import call
from dcf.verbs.limits import Meter
from dcf.verbs.registry import TOOLS, is_served
from dcf.version import __version__

PATH: Final = "/a2a"
CARD: Final = "/.well-known/agent-card.json"

WAIT_S: Final = 20.0
"""Seconds that a message waits for its run to end, unless its sender wants the answer at once."""

_CALLED: Final = ("start_run", "read_workflow_control_plane", "cancel_run")
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0

_METHOD_UNKNOWN: Final = -32601
_INVALID: Final = -32602
_INTERNAL: Final = -32603
_VERSION: Final = -32009
_CODES: Final = {
    "unknown_run": -32001,
    "run_over": -32002,
    "unsupported": -32004,
    **dict.fromkeys(
        ("invalid_argument", "too_large", "unknown_definition", "conflict", "invalid_definition"), _INVALID
    ),
}
"""The protocol's error codes, by those of dcf."""

_UNSUPPORTED: Final = frozenset(
    {
        *("SendStreamingMessage", "SubscribeToTask", "ListTasks", "GetExtendedAgentCard"),
        *("CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig"),
        *("ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"),
    }
)


def a2a_routes(
    application: Application,
    who_calls: WhoCalls,
    meter: Meter,
    security: TransportSecuritySettings,
    *,
    url: str,
    asks: bool,
) -> list[Route]:
    """Return the routes, at the server whose /mcp is at this URL. `asks`: it asks its callers for an API key."""
    settings = application.settings
    served = settings.a2a_workflows
    if not served or settings.read_only or not all(is_served(TOOLS[tool], settings.toolsets) for tool in _CALLED):
        return []

    async def card(_: Request) -> Response:
        skills = await anyio.to_thread.run_sync(_skills, application, served)
        return JSONResponse(agent_card(url.removesuffix("/mcp") + PATH, __version__, skills, is_open=not asks))

    endpoint = _A2AEndpoint(application, who_calls, meter, security, asks)
    return [Route(CARD, card, methods=["GET"]), Route(PATH, endpoint, methods=["POST"])]


class _ToolFailed(Exception):
    """An answer of a tool that is no success."""

    def __init__(self, payload: Mapping[str, Json]) -> None:
        super().__init__(payload["code"])
        self.payload = payload


class _A2AEndpoint(HttpEndpoint):
    """The methods of the protocol as an ASGI application."""

    async def answer(self, request: Request, body: bytes, caller: Caller) -> Response:
        """Carry out the method that the body names."""
        answer = await self._answer(body, request.headers.get("a2a-version", "1.0"), caller)
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    async def _answer(self, body: bytes, version: str, caller: Caller) -> dict[str, Json]:
        identity: Json = None
        try:
            message = _read(body, self.application.settings.max_body_bytes)
            identity = message.get("id")
            if version.partition(".")[0] not in {"", "1"}:
                return _error(identity, _VERSION, "This server speaks A2A 1.0.")
            method, params = message.get("method"), message.get("params") or {}
            if isinstance(method, str) and method in _UNSUPPORTED:
                return _error(identity, _CODES["unsupported"], "The agent card says what this server can do.")
            methods = {"SendMessage": self._send, "GetTask": self._get, "CancelTask": self._cancel}
            if not isinstance(method, str) or method not in methods:
                return _error(identity, _METHOD_UNKNOWN, "There is no such method.")
            result = await methods[method](params, caller)
        except _ToolFailed as failed:
            payload = failed.payload
            return _error(identity, _CODES.get(payload["code"], _INTERNAL), payload["error"], payload)
        except DcfError as error:
            text = f"{error.code}: {error.message}"
            return _error(identity, _CODES.get(error.code, _INTERNAL), text, {"code": error.code, "hint": error.hint})
        return {"jsonrpc": "2.0", "id": identity, "result": result}

    async def _send(self, params: Json, caller: Caller) -> Json:
        """Start a run of the workflow that the message names; the same message again is the same run."""
        message = message_of(params)
        if message.get("taskId"):
            raise InvalidArgument("A run takes no further messages.", "Send a message without taskId: it is a new run.")
        started = await self._call(
            "start_run",
            caller,
            definition=workflow_of(message, self.application.settings.a2a_workflows),
            input_json=dump(input_of(message)),
            tags_json=context_tag(message),
            request_id=f"a2a {message['messageId']}",
        )
        configuration = params.get("configuration")
        at_once = isinstance(configuration, dict) and configuration.get("returnImmediately") is True
        return {"task": await self._ended(started["workflow_id"], caller, 0.0 if at_once else WAIT_S)}

    async def _get(self, params: Json, caller: Caller) -> Json:
        return await self._task(_id_of(params), caller)

    async def _cancel(self, params: Json, caller: Caller) -> Json:
        run = _id_of(params)
        await self._call("cancel_run", caller, workflow_id=run, reason="It was cancelled by its A2A client.")
        return await self._task(run, caller)

    async def _ended(self, run: str, caller: Caller, wait_s: float) -> Json:
        """Return the task once its run has ended, or in its present state after a while."""
        until, pause = anyio.current_time() + wait_s, _FIRST_PAUSE_S
        while (task := await self._task(run, caller))["status"]["state"] == "TASK_STATE_WORKING":
            if anyio.current_time() + pause > until:
                break
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return task

    async def _task(self, run: str, caller: Caller) -> dict[str, Json]:
        looked = {"workflow_id": run, "limit": 1}
        read_run = await self._call("read_workflow_control_plane", caller, **looked, summary=True)
        output = None
        if read_run["meta"]["status"] in {"succeeded", "partial"}:  # a summary leaves the output out
            whole = await self._call("read_workflow_control_plane", caller, **looked)
            output = whole["meta"].get("output")
        return task_of(read_run["meta"], output)

    async def _call(self, tool: str, caller: Caller, **arguments: Json) -> Mapping[str, Json]:
        reply = await call(TOOLS[tool], self.application, arguments, caller, self.meter)
        if reply.payload["code"] != "ok":
            raise _ToolFailed(reply.payload)
        return reply.payload


def _read(body: bytes, max_bytes: int) -> dict[str, Json]:
    try:
        message = parse(body.decode(), name="The body", max_bytes=max_bytes)
    except UnicodeDecodeError:
        raise InvalidArgument("The body is not UTF-8 text.", "Send JSON.") from None
    if not isinstance(message, dict):
        raise InvalidArgument(
            "The body is not a JSON-RPC request.", 'Send {"jsonrpc": "2.0", "id", "method", "params"}.'
        )
    return message


def _id_of(params: Json) -> str:
    identity = params.get("id") if isinstance(params, dict) else None
    if not isinstance(identity, str):
        raise InvalidArgument(
            "params.id is no id of a task.", "Send the id of the task that SendMessage answered with."
        )
    return identity


def _skills(application: Application, served: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the workflows that are kept, each with what its document says of it."""
    skills = []
    for name in served:
        try:
            document = application.starting.definition(name).document
        except UnknownDefinition:
            continue  # it was never started, so there is nothing to start again
        asl = document.get("asl")
        description = document.get("description") or (asl.get("Comment") if isinstance(asl, dict) else None)
        skills.append(
            (
                name,
                description
                if isinstance(description, str) and description
                else f"Starts a run of the workflow {name}.",
            )
        )
    return skills


def _error(identity: Json, code: int, message: str, refusal: Mapping[str, Json] | None = None) -> dict[str, Json]:
    data = {
        name: refusal[name] for name in ("code", "hint", "retry_after_s") if refusal is not None and refusal.get(name)
    }
    return {
        "jsonrpc": "2.0",
        "id": identity,
        "error": {"code": code, "message": message, **({"data": data} if data else {})},
    }
