"""The messages between a client and the server for one call of a tool, in MCP's Streamable HTTP of 2026-07-28.

Both clients (`tools/calling/client.py`, `tools/calling/async_client.py`) write requests and read answers here. Nothing
here may send.
"""

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import httpx2

from dcf.errors import DcfError, Forbidden, ServerUnreachable, ToolCallFailed, Unauthorized
from dcf.telemetry import tracing
from dcf.tools.calling.repeating import failure_of
from dcf.values.json_text import Json, load
from dcf.values.records import record
from dcf.version import __version__

LONGEST_ANSWER_S: Final = 60.0
"""Timeout of a silent connection in seconds; the long poll await_workflow_event takes up to 50 s."""

UNLIMITED: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=None)

_CONNECT_S: Final = 30.0
_PASSING: Final = {httpx2.codes.REQUEST_TIMEOUT, httpx2.codes.TOO_MANY_REQUESTS}
_VERSION: Final = "2026-07-28"
_ABOUT: Final = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "dcf", "version": __version__},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": _VERSION,
    "Mcp-Method": "tools/call",
}


@record(frozen=True, slots=True)
class ToolRequest:
    """The request of one call, with the number that its answer has."""

    tool: str
    arguments: Mapping[str, Json]
    number: int

    @property
    def body(self) -> bytes:
        """What is posted."""
        header = None if tracing.current is None else tracing.current.header_of(self.arguments)
        about = _ABOUT if header is None else _ABOUT | {"traceparent": header}
        params = {"name": self.tool, "arguments": dict(self.arguments), "_meta": about}
        return _body({"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params})

    @property
    def headers(self) -> dict[str, str]:
        """The headers of this request, in addition to those of all requests."""
        return {"Mcp-Name": self.tool}

    def read(self, response: httpx2.Response) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; raise for a failed call, and for an invalid answer."""
        answer = _answer(response, self.number)
        if "error" in answer:
            raise _protocol_failure(answer["error"])
        result: dict[str, Any] = answer["result"]
        payload: dict[str, Json] = result.get("structuredContent") or {}
        if result.get("isError"):
            raise _failure(payload, result.get("content") or ())
        return payload


def headers_for(api_key: str | None) -> dict[str, str]:
    """Return the headers of all requests; the key is sent in one and used for nothing else."""
    return _HEADERS if api_key is None else _HEADERS | {"Authorization": f"Bearer {api_key}"}


def trust_for(server_url: str) -> ssl.SSLContext:
    """Return what clients of this server trust: for plain HTTP nothing, since loading certificates takes 25 ms."""
    if server_url.startswith("http:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.create_ssl_context()


def patience(left_s: float, longest_s: float | None = None) -> httpx2.Timeout:
    """Return the timeouts of a request with `left_s` seconds left, or of one with the limit `longest_s`."""
    if longest_s is not None:
        return httpx2.Timeout(longest_s)
    return httpx2.Timeout(max(LONGEST_ANSWER_S, left_s), connect=_CONNECT_S)


def unreachable() -> ServerUnreachable:
    """Return the error for a server that did not answer."""
    return ServerUnreachable("The dcf server did not answer.")


def _body(message: Mapping[str, Json]) -> bytes:
    text = json.dumps(message, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair: escaped it reaches the server, which says what is wrong with it
        return json.dumps(message, allow_nan=False).encode()


def _answer(response: httpx2.Response, number: int) -> dict[str, Any]:
    """Return the JSON-RPC message that answers a request; raise for what is none."""
    if response.status_code == httpx2.codes.UNAUTHORIZED:
        raise Unauthorized("The dcf server wants an API key: none was sent, or the key is wrong, expired or revoked.")
    if response.status_code == httpx2.codes.FORBIDDEN:
        raise Forbidden(
            "The dcf server refuses this caller.", "Use a key with the scope read, from an address that is allowed."
        )
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    for text in _events(response.text) if is_stream else (response.content,):
        try:
            message = load(text)
        except ValueError:
            continue
        if _answers(message, number):
            return dict(message)
    if response.is_client_error and response.status_code not in _PASSING:
        text = f"The dcf server refuses the request: {response.status_code} {response.reason_phrase}."
        raise ToolCallFailed("error", text, "Check that the server is dcf's, and that the arguments are not too large.")
    raise unreachable()


def _answers(message: Json, number: int) -> bool:
    """Return True for a JSON-RPC answer to the request. A proxy before MCP refuses with other JSON."""
    if not isinstance(message, dict) or message.get("id") not in {number, None}:
        return False
    return isinstance(message.get("result"), dict) or isinstance(message.get("error"), dict)


def _events(text: str) -> Iterator[str]:
    """Return the data of each event of a stream; the server writes each on one line."""
    return (line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:"))


def _protocol_failure(error: Mapping[str, Any]) -> DcfError:
    """Return the error for a request that the server refused before any tool was called."""
    data, message = error.get("data"), str(error.get("message"))
    if isinstance(data, dict) and "code" in data:
        return failure_of({"code": data["code"], "error": message, "hint": data.get("hint")})
    return ToolCallFailed("error", message, "Check that the server is dcf's, and of this version.")


def _failure(payload: Mapping[str, Json], content: Sequence[Any]) -> ToolCallFailed:
    if "code" not in payload:  # an answer of the SDK, not of dcf: for example for an unknown tool
        text = " ".join(part["text"] for part in content if part.get("type") == "text")
        return ToolCallFailed("error", text or "The server refused the call.", "Check that it serves this tool.")
    return failure_of(payload)
