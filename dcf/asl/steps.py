"""What one call of the engine answers: the steps that were taken, in order, and where that led.

All are values; whoever stores a run applies them one after another. Records that must be kept until a state is
left (`Entry`, `OpenScope`) hold JSON and come back to the engine in `visits`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dcf.values.json_text import Json


class _Tolerated:
    """The type of TOLERATED."""


TOLERATED: Final = _Tolerated()
"""Stands among the results of a Map for an iteration whose failure was tolerated; null is a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A visit of a state that is open: what entering it fixed.

    `retries` counts per Retrier, `item` is the (index, value) of the Map iteration around, if there is one. `silent`
    counts the states in a row before it that were executed without a Task or a wait among them.
    """

    raw: Json
    variables: Mapping[str, Json]
    entered_at: str
    retries: tuple[int, ...] = ()
    item: tuple[int, Json] | None = None
    silent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How many failed iterations a Map bears; a limit that is None does not count, but both None bear none."""

    count: int | None = None
    percentage: float | None = None

    @property
    def bears_any(self) -> bool:
        """Whether a failure may be tolerated at all."""
        return bool(self.count or self.percentage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A state was entered and failed at once; what came of that is the next step. Fail states do nothing else."""

    path: str
    source: str | None
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A silent state was executed on the way; `source` is the path of the state before it, None at a start."""

    path: str
    source: str | None
    input: Json
    output: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """A Task was entered: its worker gets `effective`, within the timeouts; `token` is `$$.Task.Token`."""

    path: str
    source: str | None
    entry: Entry
    effective: Json
    timeout_s: int | None
    heartbeat_s: int | None
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWait:
    """A Wait was entered: call `wake` at `until`, in microseconds since the epoch; at once where that is over."""

    path: str
    source: str | None
    entry: Entry
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Enough was done for one call: control stands before a state of this type. Call `wake` at once to enter it."""

    path: str
    source: str | None
    entry: Entry
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenScope:
    """A Parallel or Map was entered: `size` branches or iterations must end before `join`.

    `effective` is what the branches get, or what the ItemSelector of a Map reads; `items` are the Map's items, of
    which a stored visit needs only the one that may be opened next. At most `concurrency` run at once: when one
    ends, the one that many places further on is opened.
    """

    path: str
    source: str | None
    entry: Entry
    kind: Literal["Parallel", "Map"]
    effective: Json
    items: Sequence[Json] | Mapping[int, Json]
    size: int
    concurrency: int
    tolerance: Tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedItems:
    """A Map was entered whose items come from elsewhere: read them, then call `supply_items`, or `fail`."""

    path: str
    source: str | None
    entry: Entry
    resource: str
    arguments: Json
    config: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An iteration should start whose item was not given: read item `index` of the Map at `path`, and call again.

    The rest of the answer is of no use then.
    """

    path: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResults:
    """The results of a Map belong where its ResultWriter says; `details` stand in its output instead."""

    path: str
    resource: str | None
    arguments: Json
    config: Json
    results: Json
    details: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A Task, Wait, Parallel or Map ended well."""

    path: str
    output: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchEnded:
    """A branch or iteration ended well; count it if its scope was opened in an earlier call."""

    scope: str
    output: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFailed:
    """An iteration failed in a Map that bears failures; if that is too many, call `branch_failed`."""

    scope: str
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """A failed state is tried again at `not_before`: the Task as given, anything else by calling `wake`."""

    path: str
    entry: Entry
    task: OpenTask | None
    not_before: int
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """A state failed, and a Catcher leads on with `output` to the state at `next`."""

    path: str
    error: str | None
    cause: str | None
    output: Json
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke:
    """A state failed for good, and with it the branch, iteration or run that it is in."""

    path: str
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A Parallel or Map failed: everything still open inside it is void."""

    path: str
    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The run ended well in `state`."""

    state: str
    output: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run failed in `state`, or somewhere inside it."""

    state: str
    error: str | None
    cause: str | None


Step: TypeAlias = (
    Entered
    | Passed
    | OpenTask
    | OpenWait
    | Paused
    | OpenScope
    | NeedItems
    | Unread
    | WriteResults
    | Ended
    | BranchEnded
    | BranchFailed
    | Retried
    | Caught
    | Broke
    | Closed
)
Outcome: TypeAlias = Literal["open"] | Succeeded | Failed
Visit: TypeAlias = Entry | OpenScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """The steps that were taken, in order, and whether the run is over."""

    steps: tuple[Step, ...]
    outcome: Outcome


def exceeds(tolerance: Tolerance, failed: int, total: int) -> bool:
    """Tell whether so many failed iterations of a Map are too many."""
    if tolerance.count is None and tolerance.percentage is None:
        return failed > 0
    by_count = tolerance.count is not None and failed > tolerance.count
    by_share = tolerance.percentage is not None and failed * 100 > tolerance.percentage * max(total, 1)
    return by_count or by_share


def next_item(opened: OpenScope, index: int) -> int | None:
    """Tell which iteration may start when iteration `index` is over; None if there is none."""
    following = index + opened.concurrency
    return following if opened.kind == "Map" and following < opened.size else None
