"""Calls dcf's tools at a server over MCP's Streamable HTTP: for workers, planners and the command line.

The protocol of 2026-07-28 has no sessions: a call is one request that says everything, and its answer. So this client
needs no more than HTTP, and does not import the MCP SDK, which takes longer to import than a short run takes. A call
whose connection broke is repeated until its deadline: every tool is idempotent with the same token.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import httpx2

from dcf import __version__
from dcf.errors import DcfError, Forbidden, ServerUnreachable, ToolCallFailed, Unauthorized
from dcf.tools.repeating import failure_of, repeated
from dcf.values.json_text import Json, load

_LONGEST_ANSWER_S: Final = 60.0
"""Timeout of a silent connection in seconds; the long poll await_workflow_event takes up to 50 s."""

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


class ToolClient:
    """Synchronous tool calls on one MCP server, from any thread; `wait` sleeps between two tries.

    `api_key` is sent in the header of each request and used for nothing else.
    """

    def __init__(
        self,
        server_url: str,
        deadline_s: float,
        wait: Callable[[float], object] = time.sleep,
        *,
        api_key: str | None = None,
    ) -> None:
        self._server_url = server_url
        self._deadline_s = deadline_s
        self._wait = wait
        own = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        unlimited = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        self._http = httpx2.Client(headers=_HEADERS | own, limits=unlimited)
        self._numbers = itertools.count(1)

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; raise when the call was invalid or the deadline passed."""
        return repeated(
            lambda left_s: self._once(tool, arguments, max(_LONGEST_ANSWER_S, left_s)), self._deadline_s, self._wait
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _once(self, tool: str, arguments: dict[str, Json], timeout_s: float) -> dict[str, Json]:
        number = next(self._numbers)
        params = {"name": tool, "arguments": arguments, "_meta": _ABOUT}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        try:
            response = self._http.post(
                self._server_url,
                content=_body(message),
                headers={"Mcp-Name": tool},
                timeout=httpx2.Timeout(timeout_s, connect=_CONNECT_S),
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _unreachable() from error
        answer = _answer(response, number)
        if "error" in answer:
            raise _protocol_failure(answer["error"])
        result: dict[str, Any] = answer["result"]
        payload: dict[str, Json] = result.get("structuredContent") or {}
        if result.get("isError"):
            raise _failure(payload, result.get("content") or ())
        return payload


@contextmanager
def connect(server_url: str, *, deadline_s: float = 60.0, api_key: str | None = None) -> Iterator[ToolClient]:
    """Yield a client for the server at this URL, and close it when the context ends."""
    client = ToolClient(server_url, deadline_s, api_key=api_key)
    try:
        yield client
    finally:
        client.close()


def _body(message: Mapping[str, Json]) -> bytes:
    text = json.dumps(message, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair: escaped it reaches the server, which says what is wrong with it
        return json.dumps(message, allow_nan=False).encode()


def _answer(response: httpx2.Response, number: int) -> dict[str, Any]:
    """Return the JSON-RPC message that answers a request; raise for what is none."""
    if response.status_code == httpx2.codes.UNAUTHORIZED:
        raise Unauthorized("The dcf server wants an API key: none was sent, or one that is wrong, expired or revoked.")
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
    raise _unreachable()


def _answers(message: Json, number: int) -> bool:
    """Return True for a JSON-RPC answer to the request. What stands before MCP refuses with other JSON."""
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


def _unreachable() -> ServerUnreachable:
    return ServerUnreachable("The dcf server did not answer.")
