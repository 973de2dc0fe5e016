"""The record of a usage limit in a state's document: until when it is parked, by whom, and for how long in all. Pure.

A provider said "not before". The lease has ended, the attempt is not counted, and the timer loop makes the state ready.
"""

from typing import Final

from dcf.values.instants import SECOND
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

LONGEST_S: Final = 8 * 86_400
"""Most seconds for which one visit is parked in all: the longest window of a provider is a week."""

TOLD: Final = "limit"
"""Kind of a limit with a time from the provider. The other kinds are `guess`, `busy` and `spent`."""


@record(frozen=True, slots=True, kw_only=True)
class Parked:
    """Last parking of a visit. `count` and `seconds` are sums over the visit; `by` is the agent that met the limit.

    `account` is the account that is closed, where the limit is of one.
    """

    until: int
    since: int
    kind: str = TOLD
    by: str | None = None
    count: int = 1
    seconds: int = 0
    account: str | None = None

    as_json = json_method(times="until since", rare="account")


def parked_after(
    before: Parked | None, until: int, now: int, *, kind: str, by: str | None, account: str | None = None
) -> Parked:
    """Return the record of one parking more."""
    seconds = -(-(until - now) // SECOND)
    count, sum_s = (0, 0) if before is None else (before.count, before.seconds)
    return Parked(until=until, since=now, kind=kind, by=by, count=count + 1, seconds=sum_s + seconds, account=account)
