"""Rate limits: a token bucket for each tool, so that tools do not affect each other."""

from dcf.values.records import record


@record(frozen=True, slots=True)
class Bucket:
    """A token bucket at an instant. `rps` in calls per second, `at` in seconds of the caller's clock."""

    rps: float
    tokens: float
    at: float

    @property
    def capacity(self) -> float:
        """How many calls may come at once."""
        return max(1.0, self.rps)


def new_bucket(rps: float, now: float) -> Bucket:
    """Return a full bucket."""
    return Bucket(rps, max(1.0, rps), now)


def take(bucket: Bucket, now: float) -> tuple[Bucket, float]:
    """Take one call. Return the new bucket, and 0 or the seconds to wait until the next call is allowed."""
    tokens = min(bucket.capacity, bucket.tokens + max(0.0, now - bucket.at) * bucket.rps)
    if tokens >= 1:
        return Bucket(bucket.rps, tokens - 1, now), 0.0
    return Bucket(bucket.rps, tokens, now), (1 - tokens) / bucket.rps
