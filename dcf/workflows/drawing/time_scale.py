"""Places times on a line, with long spans in which nothing happened drawn short if that is wanted. Pure."""

from bisect import bisect_right
from collections.abc import Iterable

from dcf.values.records import record

WIDTH = 1_000
"""How long the line is."""

_FOLDED = 14
"""How long a folded span is drawn."""

_IDLE_SHARE = 25
"""A span is folded if it is longer than this part of the whole."""

_MOST_FOLDS = 30

Span = tuple[int, int]


@record(frozen=True, slots=True, kw_only=True)
class Scale:
    """`times` and `places` are the corners between which the line is even; `folds` are the spans drawn short."""

    times: tuple[int, ...]
    places: tuple[float, ...]
    folds: tuple[Span, ...] = ()

    def place(self, at: int) -> float:
        """Return where a time is on the line; times outside are at its ends."""
        if at <= self.times[0] or len(self.times) == 1:
            return self.places[0]
        if at >= self.times[-1]:
            return self.places[-1]
        number = bisect_right(self.times, at) - 1
        begin, end = self.times[number], self.times[number + 1]
        low, high = self.places[number], self.places[number + 1]
        return low + (high - low) * (at - begin) / (end - begin)

    def time(self, place: float) -> int:
        """Return the time that is at a place of the line."""
        number = min(max(0, bisect_right(self.places, place) - 1), max(0, len(self.places) - 2))
        if len(self.times) == 1:
            return self.times[0]
        low, high = self.places[number], self.places[number + 1]
        share = 0.0 if high == low else (place - low) / (high - low)
        return round(self.times[number] + share * (self.times[number + 1] - self.times[number]))


def scale(start: int, end: int, busy: Iterable[Span], *, folded: bool) -> Scale:
    """Return the line from `start` to `end`. `busy` are the spans in which something happened."""
    last = max(end, start + 1)
    folds = idle_spans(start, last, busy) if folded else ()
    left = (last - start) - sum(high - low for low, high in folds)
    width = WIDTH - _FOLDED * len(folds)
    times, places = [start], [0.0]
    for low, high in folds:
        if low > times[-1]:
            places.append(places[-1] + width * (low - times[-1]) / max(1, left))
            times.append(low)
        places.append(places[-1] + _FOLDED)
        times.append(high)
    if times[-1] < last:
        times.append(last)
        places.append(float(WIDTH))
    return Scale(times=tuple(times), places=tuple(places), folds=folds)


def idle_spans(start: int, end: int, busy: Iterable[Span]) -> tuple[Span, ...]:
    """Return the long spans of the line in which nothing happened, the longest ones if they are very many.

    Where nothing lasted there is none: all of the line would be folded.
    """
    gaps, reached = list[Span](), start
    for low, high in sorted(busy):
        if low > reached:
            gaps.append((reached, low))
        reached = max(reached, high)
    if end > reached:
        gaps.append((reached, end))
    long = [gap for gap in gaps if (gap[1] - gap[0]) * _IDLE_SHARE > end - start]
    if sum(high - low for low, high in long) == end - start:
        return ()
    longest = sorted(long, key=lambda gap: gap[0] - gap[1])[:_MOST_FOLDS]
    return tuple(sorted(longest))
