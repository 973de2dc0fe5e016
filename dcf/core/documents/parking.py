"""The record of a usage limit in a state's document: until when it is parked, by whom, and for how long in all. Pure.

A provider said "not before". The lease has ended, the attempt is not counted, and the timer loop makes the state ready.
"""

from typing import Final

from dcf.values.instants import SECOND
from dcf.values.records import record

LONGEST_S: Final = 8 * 86_400
"""Most seconds for which one visit is parked in all: the longest window of a provider is a week."""

ACCOUNT_LIMIT: Final = "DCF.AccountLimit"
"""The error of a state that no longer waits for a usage limit, for Retry and Catch."""

TOLD: Final = "limit"
"""Kind of a limit with a time from the provider. The other kinds are `guess`, `busy` and `spent`."""

OF_MODELS: Final = "models"
"""Kind of a limit that closes an account for a family of models alone."""

ACCOUNT_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,53}"
"""Pattern of the names of accounts."""

CLOSING: Final = frozenset({"limit", "guess", "spent"})
"""Kinds of limits that are of an account. An overloaded provider closes no account."""


@record(frozen=True, slots=True, kw_only=True)
class Closure:
    """An account is closed until then, for `lasts` microseconds from now. `by` is the agent that reported the limit."""

    account: str
    until: int
    lasts: int
    kind: str = TOLD
    by: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class Parked:
    """Last parking of a visit. `count` and `seconds` are sums over the visit; `by` is the agent that met the limit.

    `account` is the account that is closed, where the limit is of one. `reminders` counts the reminders of the state
    before.
    """

    until: int
    since: int
    kind: str = TOLD
    by: str | None = None
    count: int = 1
    seconds: int = 0
    account: str | None = None
    reminders: int = 0

    @property
    def is_of_account(self) -> bool:
        """True if a limit has closed an account, so that no other agent of the account may start either."""
        return self.account is not None and self.kind in CLOSING


def parked_after(
    before: Parked | None, until: int, now: int, *, kind: str, by: str | None, account: str | None = None
) -> Parked:
    """Return the record of one parking more."""
    seconds = -(-(until - now) // SECOND)
    count, sum_s = (0, 0) if before is None else (before.count, before.seconds)
    return Parked(until=until, since=now, kind=kind, by=by, count=count + 1, seconds=sum_s + seconds, account=account)
