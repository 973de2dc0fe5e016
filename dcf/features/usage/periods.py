"""The days of a period, by which books of usage are read. Pure."""

from datetime import UTC, datetime, timedelta
from typing import Final

from dcf.errors import InvalidArgument

MOST_DAYS: Final = 366
"""Most days of one answer."""


def days_between(first: str, last: str) -> list[str]:
    """Return the days from one to the other, both included, as 2026-11-23; raise InvalidArgument for no period."""
    begin, end = _day(first), _day(last)
    count = (end - begin).days + 1
    if not 0 < count <= MOST_DAYS:
        raise InvalidArgument(
            f"The period has {max(count, 0)} days; it may have 1 to {MOST_DAYS}.",
            "Give a later since, or another until.",
        )
    return [(begin + timedelta(days=number)).date().isoformat() for number in range(count)]


def _day(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidArgument(f"'{text[:40]}' is not a day.", "Write days as 2026-11-23.") from None
