"""Bytes of artifacts over plain HTTP, next to /mcp and with the same key: no model need carry them as Base64.

`PUT /artifacts/RUN?name=report.pdf` takes the body as the content, or a part of it, and answers as `put_artifact` does;
`GET /artifacts/RUN/ARTIFACT` streams the content. Each is the tool, behind its checks, scopes, quotas and projects.
"""

import base64
import re
from collections.abc import AsyncIterator, Mapping
from typing import Final

import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dcf.application.application import Application
from dcf.core.access.model import Caller
from dcf.errors import StoreUnavailable
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.authentication import WhoCalls
from dcf.verbs.endpoints import HttpEndpoint
from dcf.verbs.envelope import call
from dcf.verbs.limits import Meter
from dcf.verbs.registry import TOOLS, is_served

PATH: Final = "/artifacts"

_DIGITS: Final = 9
_PIECE: Final = 4 * 1024 * 1024
_RANGE: Final = re.compile(r"bytes=([0-9]{1,15})-([0-9]{0,15})\Z", re.ASCII)
_TEXTS: Final = ("name", "content_type", "artifact_id", "state", "agent_id", "sha256", "metadata_json")
_NUMBERS: Final = ("part", "of")
STATUSES: Final = {
    "invalid_argument": 400,
    "forbidden": 403,
    "owner_mismatch": 403,
    "unknown_run": 404,
    "unknown_artifact": 404,
    "unknown_state": 404,
    "conflict": 409,
    "run_over": 409,
    "too_many": 409,
    "too_large": 413,
    "no_artifact_store": 413,
    "sha256_differs": 422,
    "quota_exceeded": 429,
    "rate_limited": 429,
    "damaged": 500,
    "internal_error": 500,
}
_FOR_NOW: Final = 503
"""The HTTP status of what is not named above: Redis or the store does not answer; repeat the call."""


def artifact_routes(
    application: Application, who_calls: WhoCalls, meter: Meter, security: TransportSecuritySettings, *, asks: bool
) -> list[Route]:
    """Return the routes, as far as this server serves the tools. `asks`: it asks its callers for an API key."""
    settings = application.settings
    if not is_served(TOOLS["get_artifact"], settings.toolsets):
        return []
    parts = (application, who_calls, meter, security, asks)
    got = Route(f"{PATH}/{{workflow_id}}/{{artifact_id}}", _GetBytes(*parts), methods=["GET"])
    put = Route(f"{PATH}/{{workflow_id}}", _PutBytes(*parts), methods=["PUT"])
    return [got] if settings.read_only else [got, put]


class _PutBytes(HttpEndpoint):
    """Keeps the body of a request."""

    is_json = False

    async def answer(self, request: Request, body: bytes, caller: Caller) -> Response:
        """Call put_artifact with the body as content."""
        query_params = request.query_params
        arguments: dict[str, Json] = {name: query_params[name] for name in _TEXTS if name in query_params}
        arguments |= {name: _number(query_params[name]) for name in _NUMBERS if name in query_params}
        arguments.setdefault("content_type", request.headers.get("content-type") or "binary")
        arguments |= {
            "workflow_id": request.path_params["workflow_id"],
            "content": base64.b64encode(body).decode(),
            "encoding": "base64",
        }
        reply = await call(TOOLS["put_artifact"], self.application, arguments, caller, self.meter)
        return _told(reply.payload)


class _GetBytes(HttpEndpoint):
    """Streams an artifact, or a range of it."""

    is_json = False

    async def answer(self, request: Request, body: bytes, caller: Caller) -> Response:  # noqa: ARG002 - there is none
        """Have get_artifact decide whether the caller may read it, and stream it."""
        named = {name: request.path_params[name] for name in ("workflow_id", "artifact_id")}
        query = {**named, "length": 1, "encoding": "base64"}
        reply = await call(TOOLS["get_artifact"], self.application, query, caller, self.meter)
        if reply.payload["code"] != "ok":
            return _told(reply.payload)
        artifact = reply.payload["artifact"]
        size, tag = artifact["size"], f'"{artifact["sha256"]}"'
        headers = {
            "ETag": tag,
            "Accept-Ranges": "bytes",
            "Cache-Control": "private, no-cache",
            "X-Content-Type-Options": "nosniff",
            "Content-Disposition": "attachment",
        }
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        begin, end, status = 0, size, 200
        if (match := _RANGE.match(request.headers.get("range", ""))) is not None:
            begin, end = int(match[1]), min(size, int(match[2]) + 1 if match[2] else size)
            if begin >= end:
                return Response(status_code=416, headers=headers | {"Content-Range": f"bytes */{size}"})
            headers["Content-Range"], status = f"bytes {begin}-{end - 1}/{size}", 206
        headers["Content-Length"] = str(end - begin)
        if request.method == "HEAD":
            return Response(status_code=status, headers=headers, media_type=artifact["content_type"])
        pieces = self._pieces(named["workflow_id"], named["artifact_id"], artifact["sha256"], begin, end)
        return StreamingResponse(pieces, status, headers, artifact["content_type"])

    async def _pieces(self, run: str, artifact_id: str, sha256: str, begin: int, end: int) -> AsyncIterator[bytes]:
        """Yield the bytes; break the connection off if they cannot be read, so that no client takes a part for all."""
        while begin < end:
            read = self.application.artifacts.read
            piece = await anyio.to_thread.run_sync(read, run, artifact_id, begin, min(_PIECE, end - begin))
            if isinstance(piece, Refusal) or piece.artifact.sha256 != sha256 or not piece.data:
                raise StoreUnavailable("The artifact cannot be read to its end.", "Ask for it again.")
            begin += len(piece.data)
            yield piece.data


def _number(text: str) -> Json:
    """Return a number as such; anything else is refused by the tool."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else text


def _told(payload: Mapping[str, Json]) -> Response:
    code, wait = payload["code"], payload.get("retry_after_s")
    headers = {"Cache-Control": "no-store"} | ({} if wait is None else {"Retry-After": str(max(1, round(wait)))})
    if code == "ok":
        status = 200 if payload.get("existed") else 202 if payload.get("artifact") is None else 201
    else:
        status = STATUSES.get(code, _FOR_NOW)
    return JSONResponse(dict(payload), status, headers)
