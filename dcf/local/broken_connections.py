"""An HTTP client for the SDK's transport that answers a broken connection as an MCP error.

The SDK's transport ends with all its requests when one connection breaks (measured, mcp 2.3). Here the request gets an
error that says whether it was sent, and all others continue. Such an error has no part of a request, and no key.
"""

from typing import Any, Final

import httpx2

from dcf.tools.mcp.messages import LONGEST_ANSWER_S
from dcf.values.json_text import dump

FAILED: Final = -32029
"""JSON-RPC code of these errors; their data has a `code` of dcf's, and `sent`."""

_PASSING: Final = {
    httpx2.codes.REQUEST_TIMEOUT,
    httpx2.codes.TOO_MANY_REQUESTS,
    httpx2.codes.BAD_GATEWAY,
    httpx2.codes.SERVICE_UNAVAILABLE,
    httpx2.codes.GATEWAY_TIMEOUT,
}
_REFUSED: Final = {httpx2.codes.UNAUTHORIZED: "unauthorized", httpx2.codes.FORBIDDEN: "forbidden"}
_STREAM: Final = "text/event-stream"
_LISTEN: Final = "subscriptions/listen"
_NEVER_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class PatientClient(httpx2.AsyncClient):
    """The client. A stream of events may be silent without a limit. Every other answer has a timeout."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and read its whole answer, unless that is a stream of events."""
        listens = request.headers.get("mcp-method") == _LISTEN
        request.extensions["timeout"] = httpx2.Timeout(
            LONGEST_ANSWER_S, connect=LONGEST_ANSWER_S / 6, read=None if listens else LONGEST_ANSWER_S
        ).as_dict()
        try:
            response = await super().send(request, **options)
            if not response.headers.get("content-type", "").startswith(_STREAM):
                await response.aread()
        except httpx2.TransportError as error:
            return _failure(request, "server_unreachable", sent=not isinstance(error, _NEVER_SENT))
        if response.status_code in _REFUSED:
            return _failure(request, _REFUSED[httpx2.codes(response.status_code)], sent=False)
        if response.status_code in _PASSING:
            return _failure(request, "server_unreachable", sent=False)
        return response


def _failure(request: httpx2.Request, code: str, *, sent: bool) -> httpx2.Response:
    error = {"code": FAILED, "message": code, "data": {"code": code, "sent": sent}}
    body = dump({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    return httpx2.Response(503, headers={"Content-Type": "application/json"}, content=body, request=request)
