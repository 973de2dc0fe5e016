"""Makes the arguments that park a state whose function met a provider's usage limit.

Python functions are parked for a limit whose time the provider gave, and for `AccountLimited`. Any other error fails
the state, so that Retry and Catch decide.
"""

import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from dcf.values.json_text import Json
from dcf.worker.failure import AccountLimited, TaskFailed
from dcf.worker.results import USAGE, Result, sendable

PARKED: Final = "parked"
"""In place of `new_status` in a result: the state is to be released until a limit ends."""

_LONGEST_REASON: Final = 500
_FIRST_GUESS_S: Final = 60
_MOST_DOUBLINGS: Final = 4
_SHORTEST_S: Final = 1


def limit_of(error: BaseException) -> AccountLimited | None:
    """Return the limit for which a state is parked; None if the error is a failure."""
    if isinstance(error, AccountLimited):
        return error
    if isinstance(error, TaskFailed):
        return None
    from dcf.worker.provider_limits import read_limit  # noqa: PLC0415 - few processes ever meet a limit

    limit = read_limit(error, time.time())
    return limit if limit is not None and limit.kind == "limit" and limit.has_time else None


def parked(limit: AccountLimited, brief: Mapping[str, Json]) -> Result:
    """Return what parks a state. Without a time, the next attempt is after 1, 2, 4, 8 and then every 16 minutes."""
    kind = limit.kind if limit.has_time or limit.kind != "limit" else "guess"
    words = f"usage limit ({kind}): {limit.cause}"
    closure = {"limit_account": limit.account, "limit_reported_by": limit.reported_by}
    return {
        "new_status": PARKED,
        "limited_until": limited_until(limit, (brief.get("parked") or {}).get("times", 0)),
        "limit_kind": kind,
        "reason": sendable(words, _LONGEST_REASON),
    } | {name: value for name, value in closure.items() if value is not None}


def is_parked(result: Result) -> bool:
    """Return True if the result parks its state."""
    return result.get("new_status") == PARKED


def release_arguments(result: Result) -> dict[str, Json]:
    """Return the arguments with which the lease of a parked state is released."""
    return {name: value for name, value in result.items() if name not in {"new_status", USAGE}}


def limited_until(limit: AccountLimited, times: int = 0) -> str:
    """Return a length of time as one: the clock of this process may be wrong."""
    if limit.after_s is not None:
        return f"{max(_SHORTEST_S, math.ceil(limit.after_s))}s"
    if limit.until is not None:
        return datetime.fromtimestamp(limit.until, UTC).isoformat()
    return f"{_FIRST_GUESS_S << min(times, _MOST_DOUBLINGS)}s"
