"""The record of a usage limit in a state's document: until when it is parked, by whom, and for how long in all. Pure.

A provider said "not before". The lease has ended, the attempt is not counted, and the timer loop makes the state ready.
"""

from typing import Final

from dcf.values.instants import SECOND, from_text, to_text
from dcf.values.json_text import Json
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

    def as_json(self) -> dict[str, Json]:
        """Write it for the store and for readers."""
        times = {"until": to_text(self.until), "since": to_text(self.since)}
        account = {} if self.account is None else {"account": self.account}
        return {**times, "kind": self.kind, "by": self.by, "count": self.count, "seconds": self.seconds, **account}


def parked_after(
    before: Parked | None, until: int, now: int, *, kind: str, by: str | None, account: str | None = None
) -> Parked:
    """Return the record of one parking more."""
    seconds = -(-(until - now) // SECOND)
    count, sum_s = (0, 0) if before is None else (before.count, before.seconds)
    return Parked(until=until, since=now, kind=kind, by=by, count=count + 1, seconds=sum_s + seconds, account=account)


def read_parked(document: Json) -> Parked | None:
    """Read the record; None if there is none, or no usable one."""
    if not isinstance(document, dict):
        return None
    until, since = from_text(document.get("until")), from_text(document.get("since"))
    if until is None or since is None:
        return None
    count, seconds, by, account = (document.get(name) for name in ("count", "seconds", "by", "account"))
    return Parked(
        until=until,
        since=since,
        kind=str(document.get("kind") or TOLD),
        by=by if isinstance(by, str) else None,
        count=count if isinstance(count, int) else 1,
        seconds=seconds if isinstance(seconds, int) else 0,
        account=account if isinstance(account, str) else None,
    )
