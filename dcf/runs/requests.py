"""Makes requests about a whole run. A request without an id gets one: a commit whose reply is lost counts once.

The core may not draw ids, which is why this module exists.
"""

import secrets
from collections.abc import Mapping

from dcf.core.documents.operations import RunRequest
from dcf.values.json_text import Json


def run_request(
    verb: str, reason: str | None, request_id: str | None, arguments: Mapping[str, Json] | None = None
) -> RunRequest:
    """Return the request to do this, known again by the caller's id or by one of its own."""
    known_by = secrets.token_hex(8) if request_id is None else request_id
    return RunRequest(verb=verb, request_id=known_by, reason=reason, arguments=arguments or {})
