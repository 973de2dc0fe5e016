"""Tells an MCP client over stdio why the server did not start.

A client shows its user what the server answers, and hides or drops what the server prints on standard error.
"""

import json
import sys
from typing import Final

from dcf.errors import DcfError
from dcf.values.json_text import dump

_INTERNAL_ERROR: Final = -32603


def tell_client(error: DcfError) -> None:
    """Answer every request with the error until the client closes standard input. A terminal is no client."""
    if sys.stdin.closed or sys.stdin.isatty():
        return
    text = {"code": _INTERNAL_ERROR, "message": f"dcf did not start: {error.message} {error.hint}".strip()}
    for line in sys.stdin:
        request = _request_of(line)
        if request is not None:
            sys.stdout.write(dump({"jsonrpc": "2.0", "id": request, "error": text}) + "\n")
            sys.stdout.flush()


def _request_of(line: str) -> str | int | None:
    """Return the id of a request; None for a notification and for what is no message."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    ident = message.get("id") if isinstance(message, dict) and "method" in message else None
    return ident if isinstance(ident, str | int) else None
