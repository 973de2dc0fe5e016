"""When a schedule ticks: by a cron expression in a time zone, or every so many seconds. Pure.

A tick is a point in time in microseconds, the same in every process. Cron text is read by cronsim, as Debian's cron
reads it. Where clocks go forward, a time of day that does not exist ticks at the first minute that does. Where they go
back, a time of day that comes twice ticks once, and `*/15 * * * *` ticks in both hours. Both libraries are imported
when a tick is worked out: neither `dcf --help` nor a worker needs them.
"""

import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from dcf.errors import InvalidArgument
from dcf.values.instants import SECOND
from dcf.values.records import record

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

LEAST_EVERY_S: Final = 10
"""Fewest seconds between two ticks; a cron expression has minutes."""

MOST_EVERY_S: Final = 366 * 86_400
MOST_TICKS: Final = 100
"""Ticks that are caught up at most, the latest ones, and starts that wait at most."""

_MOST_COUNTED: Final = 10_000
_LOOK_BACK: Final = 7 * 86_400 * SECOND
"""How far back ticks are gone through where more than `_MOST_COUNTED` were missed: a week of minutes."""

_LONGEST: Final = 200
_FIELDS: Final = 5
_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(?:/[A-Za-z0-9_+-]{1,30}){0,2}\Z", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@record(frozen=True, slots=True, kw_only=True)
class Cron:
    """A cron expression of five fields, and the IANA time zone that it is meant in."""

    text: str
    timezone: str = "UTC"

    def after(self, at: int) -> int | None:
        """Return the first tick after a point in time; None if there is none for fifty years."""
        return next(self.ticks(at), None)

    def ticks(self, after: int) -> Iterator[int]:
        """Yield the ticks after a point in time, each later than the one before."""
        from cronsim import CronSim  # noqa: PLC0415 - few processes need it

        begin = (_EPOCH + timedelta(seconds=after // SECOND)).astimezone(zone_of(self.timezone))
        latest = after
        for moment in CronSim(self.text, begin):
            tick = (moment - _EPOCH) // timedelta(microseconds=1)
            if tick > latest:  # in an hour that comes twice, the first of both is named again
                latest = tick
                yield tick


@record(frozen=True, slots=True, kw_only=True)
class Every:
    """A tick every `seconds` seconds, counted from `anchor`."""

    seconds: int
    anchor: int

    def after(self, at: int) -> int:
        """Return the first tick after a point in time."""
        step = self.seconds * SECOND
        return self.anchor + ((at - self.anchor) // step + 1) * step


Timing: TypeAlias = Cron | Every


@record(frozen=True, slots=True, kw_only=True)
class DueTicks:
    """The latest of the ticks that are due, and how many there were before them; `is_more`: that count is too small.

    `next_at` is the tick after them.
    """

    ticks: tuple[int, ...]
    before: int
    is_more: bool
    next_at: int | None


def read_cron(text: str, timezone: str | None) -> Cron:
    """Read a cron expression and a time zone; raise InvalidArgument where one is none, or it never ticks."""
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 - few processes need it

    rule = "A cron expression has five fields: minute, hour, day of month, month, day of week, as in '0 7 * * 1-5'."
    if len(text) > _LONGEST or len(text.split()) != _FIELDS:
        raise InvalidArgument("The cron expression has not five fields.", rule)
    cron = Cron(text=" ".join(text.split()), timezone=timezone or "UTC")
    zone_of(cron.timezone)
    try:
        CronSim(cron.text, _EPOCH)
    except CronSimError as error:
        raise InvalidArgument(f"The cron expression is not valid: {_shown(error)}.", rule) from None
    if cron.after(0) is None:
        raise InvalidArgument("The cron expression never ticks: no date is like that.", rule)
    return cron


def read_every(every_s: int, now: int) -> Every:
    """Return the timing of every so many seconds from now on; raise InvalidArgument beyond the limits."""
    if not LEAST_EVERY_S <= every_s <= MOST_EVERY_S:
        raise InvalidArgument(
            f"A schedule ticks every {LEAST_EVERY_S} seconds at most, and once a year at least.",
            f"Choose at least {LEAST_EVERY_S} seconds.",
        )
    return Every(seconds=every_s, anchor=now)


def zone_of(name: str) -> "ZoneInfo":
    """Return the time zone of this IANA name; raise InvalidArgument if there is none."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - few processes need it

    try:
        if _ZONE.match(name):
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    raise InvalidArgument("There is no such time zone.", "Use an IANA name such as Europe/Vienna, or UTC.")


def due_ticks(timing: Timing, first: int, until: int) -> DueTicks:
    """Return what is due of a schedule whose next tick is `first`, which is not after `until`."""
    if isinstance(timing, Every):
        return _due_of_every(timing, first, until)
    ticks, count, next_at = _walked(timing, first - 1, until)
    if next_at is not None and next_at <= until:  # too many to go through all of them
        ticks, _, next_at = _walked(timing, max(first - 1, until - _LOOK_BACK), until, most=2 * _MOST_COUNTED)
        return DueTicks(ticks=ticks, before=count - len(ticks), is_more=True, next_at=next_at)
    return DueTicks(ticks=ticks, before=count - len(ticks), is_more=False, next_at=next_at)


def _due_of_every(timing: Every, first: int, until: int) -> DueTicks:
    step = timing.seconds * SECOND
    count = (until - first) // step + 1
    before = max(0, count - MOST_TICKS)
    return DueTicks(
        ticks=tuple(first + number * step for number in range(before, count)),
        before=before,
        is_more=False,
        next_at=first + count * step,
    )


def _walked(timing: Cron, after: int, until: int, most: int = _MOST_COUNTED) -> tuple[tuple[int, ...], int, int | None]:
    """Return the latest ticks up to `until`, how many there were, and the one after them."""
    last_ticks, count = deque[int](maxlen=MOST_TICKS), 0
    for tick in timing.ticks(after):
        if tick > until or count >= most:
            return tuple(last_ticks), count, tick
        last_ticks.append(tick)
        count += 1
    return tuple(last_ticks), count, None


def _shown(error: Exception) -> str:
    return (
        "".join(character for character in str(error)[:60] if character.isprintable()).rstrip(".").lower()
        or "unknown field"
    )
