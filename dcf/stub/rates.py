"""How often a tool may be called: one bucket of tokens for each, so that a slow tool holds up no other."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is left of a tool's allowance at an instant; seconds on the caller's clock."""

    rps: float
    tokens: float
    at: float

    @property
    def capacity(self) -> float:
        """The calls that may come at once."""
        return max(1.0, self.rps)


def new_bucket(rps: float, now: float) -> Bucket:
    """Make a full bucket."""
    return Bucket(rps, max(1.0, rps), now)


def take(bucket: Bucket, now: float) -> tuple[Bucket, float]:
    """Take one call out; answers the bucket after it and 0, or the bucket and the seconds until the next call."""
    tokens = min(bucket.capacity, bucket.tokens + max(0.0, now - bucket.at) * bucket.rps)
    if tokens >= 1:
        return Bucket(bucket.rps, tokens - 1, now), 0.0
    return Bucket(bucket.rps, tokens, now), (1 - tokens) / bucket.rps
