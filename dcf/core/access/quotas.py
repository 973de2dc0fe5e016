"""Quotas of API keys: how fast a key may call, and how much of Redis may be its own. Pure: names, bounds and words.

Two are rates (calls, events of runs), the others are stocks that a key occupies until they are freed. Redis counts the
usage of a key (`store/access/quotas.py`), so that all servers count together.
"""

from collections.abc import Mapping
from typing import Any, Final

from dcf.errors import InvalidArgument
from dcf.values.records import record, replace

Amount = int | float


@record(frozen=True, slots=True, kw_only=True)
class Quotas:
    """The quotas of one key: `calls` and `events` a second after a burst, and the maximum of each stock.

    The defaults are those of the settings.
    """

    calls_per_s: float = 100.0
    calls_burst: int = 200
    events_per_s: float = 1000.0
    events_burst: int = 100_000
    stored_bytes: int = 64 * 1024 * 1024
    documents: int = 1000
    live_runs: int = 1000
    inbox_entries: int = 10_000
    artifact_bytes: int = 1024 * 1024 * 1024


DEFAULTS: Final = Quotas()


@record(frozen=True, slots=True, kw_only=True)
class Bound:
    """The smallest and largest value of a quota, and what it counts."""

    least: Amount
    most: Amount
    meaning: str
    is_rate: bool = False


BOUNDS: Final[Mapping[str, Bound]] = {
    "calls_per_s": Bound(least=0.001, most=100_000, meaning="requests a second", is_rate=True),
    "calls_burst": Bound(least=1, most=100_000, meaning="requests at once after a pause"),
    "events_per_s": Bound(least=0.001, most=1_000_000, meaning="events of runs a second", is_rate=True),
    "events_burst": Bound(least=1, most=10_000_000, meaning="events of runs at once after a pause"),
    "stored_bytes": Bound(least=0, most=2**50, meaning="bytes of documents, projects, workflows, inputs and outputs"),
    "documents": Bound(least=0, most=100_000, meaning="documents made with the JSON tools, and projects"),
    "live_runs": Bound(least=0, most=100_000, meaning="runs that the key created and that are not over"),
    "inbox_entries": Bound(least=0, most=100_000, meaning="entries in inboxes that the key's notifications made"),
    "artifact_bytes": Bound(least=0, most=2**50, meaning="bytes of artifacts, wherever they are kept"),
}
"""Every quota by its name."""


def read_quota(text: str) -> tuple[str, Amount]:
    """Read `NAME=VALUE`; raise InvalidArgument where it is no quota or out of its bounds."""
    name, equals, value = text.partition("=")
    bound = BOUNDS.get(name)
    if bound is None or not equals:
        raise InvalidArgument(
            "--quota names no quota.", f"Write NAME=VALUE, where NAME is one of: {', '.join(BOUNDS)}."
        )
    try:
        amount: Amount = float(value) if bound.is_rate else int(value)
    except ValueError:
        amount = -1
    if not bound.least <= amount <= bound.most:
        kind = "a number" if bound.is_rate else "a whole number"
        raise InvalidArgument(
            f"--quota {name} must be {kind} between {bound.least:g} and {bound.most}.", f"It is the {bound.meaning}."
        )
    return name, amount


def with_own(defaults: Quotas, own: Mapping[str, Amount]) -> Quotas:
    """Return the quotas of a key: the defaults, and its own in place of them."""
    known: dict[str, Any] = {name: value for name, value in own.items() if name in BOUNDS}
    return replace(defaults, **known)


@record(frozen=True, slots=True, kw_only=True)
class Account:
    """A key's account at the time of a call: its quotas, and what the count of this call said.

    `wait_s` is more than 0 if the call exceeds a rate, which `over` then names. `was_counted` is False if Redis could
    not write, for example because its memory is full.
    """

    key_id: str
    quotas: Quotas
    stored_bytes: int = 0
    wait_s: float = 0.0
    over: str = ""
    was_counted: bool = True
