"""An account: a limit that agents share, the turns in flight under it, and its ledger. Data, and its limits. Pure."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dcf.core.documents.usage_sums import TOKENS
from dcf.values.instants import SECOND
from dcf.values.records import record

MOST_IN_FLIGHT: Final = 1000
MOST_A_MINUTE: Final = 1_000_000_000
MOST_TOKENS: Final = 1_000_000_000_000
MOST_NANOS: Final = 1_000_000 * 10**9
"""Largest sum of money in one number: a script computes exactly up to 2**53."""

MOST_ESTIMATE: Final = 1_000_000_000

RESERVED: Final = 30 * SECOND
"""A reservation counts for so long without a sign of its holder."""

SILENCE: Final = 3 * SECOND
"""After so long without a rejection, the first turn after a limit counts as accepted."""

SEEN: Final = 5 * SECOND
"""A run whose turn was refused for want of room keeps its place in the order for this time."""

AVERAGED: Final = 8
"""About this number of turns counts in the mean, which is the estimate of a turn without one."""

MOST_PRUNED: Final = 10
MOST_WAITING: Final = 100
"""At most this number of waiting runs is compared: those that asked first."""

STEP: Final = SECOND
"""The number of turns at once doubles after this time."""

PROBE_EVERY: Final = 60 * SECOND
"""Without a known end, one turn looks so often whether the limit has ended."""

AGAIN: Final = SECOND // 2
"""A turn that waits for others asks again after this time."""

DAY: Final = 86_400 * SECOND
DOUBLINGS: Final = 10
"""After this number of steps the account is open."""

FAMILY: Final = "family:"
"""Prefix of the names of texts, each of which has the end of a limit on a family of models, and who reported it."""

MOST_FAMILIES: Final = 20
"""Further families close the account for all models."""

WHOLE_BUCKET_MS: Final = 60_000
LONGEST_REFILL_MS: Final = 600_000


@record(frozen=True, slots=True, kw_only=True)
class Used:
    """Amounts that a turn has used, money in billionths. All kinds of tokens count for limits."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_cache_written: int = 0
    nanos: int = 0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.tokens_in + self.tokens_out + self.tokens_cached + self.tokens_cache_written

    def at_least(self, other: "Used") -> "Used":
        """Return the larger of each amount."""
        most = {name: max(getattr(self, name), getattr(other, name)) for name in (*TOKENS, "nanos")}
        return Used(**most)


NOTHING_USED: Final = Used()


@record(frozen=True, slots=True, kw_only=True)
class Held:
    """A turn in flight: its estimate, the usage that it has reported, and the open rest. Money is in billionths.

    `till`: when it lapses. `day`: the ledger in which it counts.
    """

    till: int
    day: int
    estimated_tokens: int
    estimated_nanos: int
    used: Used = NOTHING_USED
    currency: str = ""
    open_tokens: int = 0
    open_nanos: int = 0
    agent: str = ""
    run: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Done:
    """A turn in the ledger that has ended or lapsed. The bill of its open amounts is unknown. Money is in billionths.

    `final` is 1 if the amounts are those of the provider's statement.
    """

    day: int
    used: Used = NOTHING_USED
    currency: str = ""
    open_tokens: int = 0
    open_nanos: int = 0
    open_currency: str = ""
    final: int = 0


@record(frozen=True, slots=True, kw_only=True)
class Books:
    """Everything that is known of an account: numbers and texts by name, turns in flight, settled turns, and the days.

    The numbers are limits (`in_flight`, `rpm`, `tpm`, `day_tokens`, `day_nanos`), the closure (`until`, `told`,
    `since`, `probe_at`, `ramp`, `guess`), buckets, and the sums of what is reserved (`count`, `tokens`, `nanos`).
    `shares` are the virtual times of runs, in tokens, and `asked` the times at which turns of runs were refused for
    want of room. `vmin` is the virtual time of the account: that of the run whose turn started last. `was_since` and
    `was_until` are the begin and the end of the closure before. `mean` is the mean of the tokens of the last turns.
    A text `family:NAME` is the end of a limit on a family of models, and who reported it; empty if there is none.
    """

    numbers: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, Held] = field(default_factory=dict)
    done: Mapping[str, Done] = field(default_factory=dict)
    shares: Mapping[str, int] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    days: Mapping[int, Mapping[str, int]] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Wish:
    """A turn that asks to start. `tokens` and `nanos` are estimates. `of_model` is its model, in lower case."""

    id: str
    run: str
    agent: str
    of_model: str = ""
    tokens: int = 0
    nanos: int = 0


@record(frozen=True, slots=True, kw_only=True)
class Bill:
    """Amounts that a turn has used since its begin.

    `ended`: the turn has ended. `ok`: the provider accepted it.
    """

    id: str
    used: Used = NOTHING_USED
    currency: str = ""
    ended: bool = False
    ok: bool = False


@record(frozen=True, slots=True, kw_only=True)
class LimitMet:
    """A provider rejected a turn, or a person closes the account. `until` is 0 if the end is unknown.

    `family`: only turns of the models whose names contain this text are rejected. Its end must be known.
    """

    until: int
    kind: str
    by: str
    why: str = ""
    id: str = ""
    family: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Closures:
    """When the account is closed, and when it was before, at a time (`now`), as begins and ends."""

    now: int
    current: tuple[int, int]
    before: tuple[int, int]
    is_known: bool
    kind: str
    by: str
    is_probing: bool
    probe_at: int

    @property
    def limit(self) -> str:
        """The kind of the limit; a `guess` if its end is not known."""
        return self.kind if self.is_known else "guess"

    @property
    def until(self) -> int:
        """When the closure ends; 0 if the account is open."""
        return self.current[1] if self.current[1] > self.now else 0

    def next_turn(self) -> int:
        """Return when a turn that is reserved may start; 0: now, if only to look whether the limit has ended."""
        if self.until == 0 or self.is_known:
            return self.until
        probe = self.probe_at + PROBE_EVERY
        return min(self.until, max(probe, self.now + STEP)) if self.is_probing or probe > self.now else 0

    def overlap(self, since: int, until: int) -> bool:
        """Return True if the account was closed at some time between these times."""
        spans = (self.current, self.before)
        return any(end > 0 and begin <= until and since <= end for begin, end in spans)


@record(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a turn may start: `granted`, or why not and when to ask again, at a time and in how many microseconds.

    `is_probe`: it goes first after a limit. Of a closed account: the `kind` of the limit, who reported it (`by`),
    whether its end is known, and the `family` of models that it is closed for, if it is not closed for all.
    """

    verdict: str
    at: int = 0
    after: int = 0
    is_probe: bool = False
    kind: str = ""
    by: str = ""
    is_known: bool = False
    family: str = ""
