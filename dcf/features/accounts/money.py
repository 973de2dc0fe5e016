"""The user's table of prices, what a turn costs by it, and the statement of a provider. dcf has no prices. Pure.

Money is whole numbers: billionths of its unit. A price is for a million tokens. A sum is rounded up to a billionth.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import Final

from dcf.core.documents.usage import UsageReport, read_report
from dcf.core.documents.usage_sums import money
from dcf.errors import InvalidArgument
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json
from dcf.values.records import record

MOST_PATTERNS: Final = 200
MOST_LINES: Final = 1000
_LINE_FIELDS: Final = frozenset({"reservation", "usage", "day"})
_EPOCH: Final = date(1970, 1, 1)
_MILLION: Final = 10**6
_NEEDED: Final = frozenset({"input", "output", "currency"})
_CACHES: Final = ("cached_input", "cache_write")
_EXAMPLE: Final = '{"claude-*": {"input": "3", "cached_input": "0.3", "output": "15", "currency": "USD"}}'
_PATTERN: Final = re.compile(r"[A-Za-z0-9_.:/@*?\[\]-]{1,100}\Z", re.ASCII)


@record(frozen=True, slots=True, kw_only=True)
class Price:
    """Billionths of a currency for a million tokens of each kind. Without prices of a cache its tokens cost as input.

    `cached_input`: read from the cache of the provider. `cache_write`: written to it.
    """

    input: int
    output: int
    currency: str
    cached_input: int | None = None
    cache_write: int | None = None

    def millionths(self, used: UsageReport) -> int:
        """Return what these tokens cost, in millionths of a billionth."""
        cached = self.input if self.cached_input is None else self.cached_input
        written = self.input if self.cache_write is None else self.cache_write
        caches = used.tokens_cached * cached + used.tokens_cache_written * written
        return used.tokens_in * self.input + used.tokens_out * self.output + caches

    def most(self, tokens: int) -> int:
        """Return the most that these tokens cost."""
        return -(-tokens * max(self.input, self.output, self.cached_input or 0, self.cache_write or 0) // _MILLION)

    def as_json(self) -> dict[str, Json]:
        """Return it as it is written and shown."""
        caches = {"cached_input": self.cached_input, "cache_write": self.cache_write}
        shown = {name: money(nanos) for name, nanos in caches.items() if nanos is not None}
        return {"input": money(self.input), **shown, "output": money(self.output), "currency": self.currency}


def read_price(pattern: str, document: Json) -> Price:
    """Read a row of the table; raise InvalidArgument for anything else."""
    if _PATTERN.match(pattern) is None:
        raise InvalidArgument(
            f"'{pattern[:40]}' is no pattern of a model.", "Write it as claude-*: at most 100 letters."
        )
    if not isinstance(document, Mapping) or not _NEEDED <= set(document) <= _NEEDED.union(_CACHES):
        raise InvalidArgument(
            f"The price of {pattern} is not an object with input, output and currency.",
            f"Send {_EXAMPLE}: for a million tokens, as text; cached_input and cache_write where they differ.",
        )
    amounts = {
        name: read_report({"cost": document[name], "currency": document["currency"]}, f"the price of {pattern}").nanos
        for name in ("input", "output", *_CACHES)
        if document.get(name) is not None
    }
    return Price(
        input=amounts["input"],
        output=amounts["output"],
        currency=str(document["currency"]),
        cached_input=amounts.get("cached_input"),
        cache_write=amounts.get("cache_write"),
    )


def read_prices(document: Json) -> dict[str, Price | None]:
    """Read a table of prices, or a change of pattern; null takes a row away."""
    if not isinstance(document, Mapping) or not 0 < len(document) <= MOST_PATTERNS:
        raise InvalidArgument(
            "prices_json is not an object with prices by pattern of the model.",
            f"Send {_EXAMPLE}, at most {MOST_PATTERNS} rows.",
        )
    return {pattern: None if row is None else read_price(pattern, row) for pattern, row in document.items()}


def price_of(prices: Mapping[str, Price], model: str | None) -> Price | None:
    """Return the price of a model: that of the longest pattern which matches its name."""
    matching = [pattern for pattern in prices if model is not None and fnmatchcase(model, pattern)]
    return prices[max(matching, key=lambda pattern: (len(pattern), pattern))] if matching else None


def cost_of(prices: Mapping[str, Price], used: UsageReport) -> tuple[int, str | None]:
    """Return the billionths that the parts with a price cost together, rounded up once, and their currency.

    Where the prices of the models have several currencies, only parts with that of the first count.
    """
    priced = [(price, part) for part in used.parts if (price := price_of(prices, part.model)) is not None]
    if not priced:
        return 0, None
    currency = priced[0][0].currency
    sum_ = sum(price.millionths(part) for price, part in priced if price.currency == currency)
    return -(-sum_ // _MILLION), currency


@record(frozen=True, slots=True, kw_only=True)
class Statement:
    """A line of the statement. `day` is counted from 1970."""

    reservation: str
    usage: UsageReport
    day: int


def read_statement(document: Json, today: int) -> tuple[Statement, ...]:
    """Read a statement; raise InvalidArgument for anything else."""
    if not isinstance(document, list) or not 0 < len(document) <= MOST_LINES:
        raise InvalidArgument(f"bills_json is not a list of 1 to {MOST_LINES} lines.", "Send several calls.")
    return tuple(_line(at, line, today) for at, line in enumerate(document))


def _line(at: int, line: Json, today: int) -> Statement:
    name = f"line {at} of bills_json"
    if not isinstance(line, dict) or not {"reservation", "usage"} <= set(line) <= _LINE_FIELDS:
        raise InvalidArgument(f"{name} has not reservation and usage.", "It may have day, too: 2026-11-24.")
    reservation = line["reservation"]
    if not isinstance(reservation, str) or not is_id(reservation):
        raise InvalidArgument(f"The reservation of {name} is none.", "Send the id with which the turn was reserved.")
    return Statement(reservation=reservation, usage=read_report(line["usage"], name), day=_day(line, name, today))


def _day(line: dict[str, Json], name: str, today: int) -> int:
    if "day" not in line:
        return today
    try:
        day = datetime.strptime(str(line["day"]), "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise InvalidArgument(f"The day of {name} is no day.", "Write it as 2026-11-24.") from None
    return (day - _EPOCH).days
