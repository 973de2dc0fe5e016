"""Bounds the waits inside the HTTP clients of SDKs: a lease must not be kept while a client sleeps for an hour.

The clients of anthropic and openai obey `Retry-After`, however long it is. A response can tell them not to retry.
"""

import time
from typing import Any, Final

from dcf.worker.provider_limits import wait_from_headers

RETRIES: Final = 2
LONGEST_WAIT_S: Final = 20.0
_TOO_MANY: Final = 429
_FIRST_ERROR: Final = 400


def bound_waits(client: Any) -> None:
    """Let an asynchronous client retry twice, and raise at once where it would sleep for more than 20 s."""
    client.max_retries = RETRIES
    http = client._client  # noqa: SLF001 - the clients have no other way to add a hook to the one they made
    hooks = http.event_hooks
    if _refuse_long_wait not in hooks["response"]:
        http.event_hooks = {**hooks, "response": [*hooks["response"], _refuse_long_wait]}


async def _refuse_long_wait(response: Any) -> None:
    if response.status_code < _FIRST_ERROR:
        return
    wait_s = wait_from_headers({name.lower(): value for name, value in response.headers.items()}, time.time())
    is_unknown = wait_s is None and response.status_code == _TOO_MANY
    if is_unknown or (wait_s is not None and wait_s > LONGEST_WAIT_S):
        response.headers["x-should-retry"] = "false"
