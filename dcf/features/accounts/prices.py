"""The user's table of prices, and what a turn costs by it. dcf has no prices of its own. Pure.

Money is whole numbers: billionths of its unit. A price is for a million tokens. A sum is rounded up to a billionth.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from dcf.core.documents.usage import money, read_report
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json
from dcf.values.records import record

MOST_PATTERNS: Final = 200
_MILLION: Final = 10**6
_FIELDS: Final = frozenset({"input", "output", "currency"})
_PATTERN: Final = re.compile(r"[A-Za-z0-9_.:/@*?\[\]-]{1,100}\Z", re.ASCII)


@record(frozen=True, slots=True, kw_only=True)
class Price:
    """Billionths of a currency for a million tokens in, and for a million tokens out."""

    input: int
    output: int
    currency: str

    def cost(self, tokens_in: int, tokens_out: int) -> int:
        """Return the billionths that these tokens cost, rounded up."""
        return -(-(tokens_in * self.input + tokens_out * self.output) // _MILLION)

    def most(self, tokens: int) -> int:
        """Return the most that these tokens cost."""
        return -(-tokens * max(self.input, self.output) // _MILLION)

    def as_json(self) -> dict[str, Json]:
        """Return it as it is written and shown."""
        return {"input": money(self.input), "output": money(self.output), "currency": self.currency}


def read_price(pattern: str, document: Json) -> Price:
    """Read a row of the table; raise InvalidArgument for anything else."""
    if _PATTERN.match(pattern) is None:
        raise InvalidArgument(
            f"'{pattern[:40]}' is no pattern of a model.", "Write it as claude-*: at most 100 letters."
        )
    if not isinstance(document, Mapping) or set(document) != _FIELDS:
        raise InvalidArgument(
            f"The price of {pattern} is not an object with input, output and currency.",
            'Send {"claude-*": {"input": "3", "output": "15", "currency": "USD"}}: for a million tokens, as text.',
        )
    amounts = {
        name: read_report({"cost": document[name], "currency": document["currency"]}, f"the price of {pattern}").nanos
        for name in ("input", "output")
    }
    return Price(**amounts, currency=str(document["currency"]))


def read_prices(document: Json) -> dict[str, Price | None]:
    """Read a table of prices, or a change of pattern; null takes a row away."""
    if not isinstance(document, Mapping) or not 0 < len(document) <= MOST_PATTERNS:
        raise InvalidArgument(
            "prices_json is not an object with prices by pattern of the model.",
            f'Send {{"claude-*": {{"input": "3", "output": "15", "currency": "USD"}}}}, at most {MOST_PATTERNS} rows.',
        )
    return {pattern: None if row is None else read_price(pattern, row) for pattern, row in document.items()}


def price_of(prices: Mapping[str, Price], model: str | None) -> Price | None:
    """Return the price of a model: that of the longest pattern which matches its name."""
    matching = [pattern for pattern in prices if model is not None and fnmatchcase(model, pattern)]
    return prices[max(matching, key=lambda pattern: (len(pattern), pattern))] if matching else None
