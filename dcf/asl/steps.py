"""The answer of one engine call: the steps that were taken, in order, and where they led. Pure.

All are values; the caller that stores a run applies them one after another. Records that must be kept until a state
is left (`Entry`, `OpenScope`) hold JSON and return to the engine in `visits`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final, Literal, TypeAlias

from dcf.asl.surroundings import KeptSignal
from dcf.values.json_text import Json
from dcf.values.records import record


class _Tolerated:
    """The type of TOLERATED, the result of a failed iteration that its Map tolerates."""


TOLERATED: Final = _Tolerated()
"""The result of an iteration whose failure its Map tolerated; null would be an ordinary result."""


@record(frozen=True, slots=True, kw_only=True)
class Entry:
    """An open visit of a state: the values fixed when it was entered.

    `retries` counts the uses of each Retrier. `item` is the (index, value) of the Map iteration around, if any.
    `silent` counts the states in a row before it that were executed without a Task or a wait among them.
    """

    raw: Json
    variables: Mapping[str, Json] = field(default_factory=dict)
    entered_at: str
    retries: tuple[int, ...] = ()
    item: tuple[int, Json] | None = None
    silent: int = 0


@record(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How many failed iterations a Map tolerates; None means no such limit, and both None no failed iteration."""

    count: int | None = None
    percentage: float | None = None

    @property
    def bears_any(self) -> bool:
        """True if at least one failure may be tolerated."""
        return bool(self.count or self.percentage)


@record(frozen=True, slots=True, kw_only=True)
class Entered:
    """A state was entered and failed at once; the next step is the consequence. A Fail state always does this."""

    path: str
    source: str | None
    entry: Entry


@record(frozen=True, slots=True, kw_only=True)
class Passed:
    """A silent state was executed; `source` is the path of the state before it, None at the start."""

    path: str
    source: str | None
    input: Json
    output: Json


@record(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """A Task was entered: its worker gets `effective`, within the timeouts.

    `gets_token`: there is a task token for this visit, `$$.Task.Token`, which the seed of the engine's clock names.
    `waits_as`: no worker has it, it waits for something outside from now on (`asl/resources.py`). `asks` is `effective`
    as the capability read it that offers the kind of Resource (`asl/tasks/extensions.py`); None without one.
    """

    path: str
    source: str | None
    entry: Entry
    effective: Json
    timeout_s: int | None
    heartbeat_s: int | None
    gets_token: bool = False
    waits_as: str | None = None
    asks: object = None


@record(frozen=True, slots=True, kw_only=True)
class TakenSignal:
    """A Task was entered that waits for a signal, and took a stored signal; its result is the payload."""

    path: str
    source: str | None
    entry: Entry
    effective: Json
    signal: KeptSignal


@record(frozen=True, slots=True, kw_only=True)
class OpenWait:
    """A Wait was entered: call `wake` at `until`, in microseconds since the epoch; at once if that is past."""

    path: str
    source: str | None
    entry: Entry
    until: int


@record(frozen=True, slots=True, kw_only=True)
class Paused:
    """The call reached its limit before it entered a state of this type. Call `wake` at once to enter it."""

    path: str
    source: str | None
    entry: Entry
    kind: str


@record(frozen=True, slots=True, kw_only=True)
class OpenScope:
    """A Parallel or Map was entered: `size` branches or iterations must end before `join`.

    `effective` is what the branches get, or what the ItemSelector of a Map reads. `items` are the Map's items; a
    stored visit needs only the one that may be opened next. At most `concurrency` run at once: when the iteration
    at an index ends, the one at index + `concurrency` is opened, or the next one after it that is not in `done`: ranges
    (first and last) of those that had ended when the scope was reopened.
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
    done: tuple[tuple[int, int], ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class NeedItems:
    """A Map was entered whose items must be read first: read them, then call `supply_items`, or `fail`."""

    path: str
    source: str | None
    entry: Entry
    resource: str
    arguments: Json
    config: Mapping[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class Unread:
    """An iteration must start but its item was not given: read item `index` of the Map at `path`, and call again.

    Discard the rest of the answer.
    """

    path: str
    index: int


@record(frozen=True, slots=True, kw_only=True)
class WriteResults:
    """The results of a Map must be written where its ResultWriter says; its output holds `details` instead."""

    path: str
    resource: str | None
    arguments: Json
    config: Json
    results: Json
    details: Json


@record(frozen=True, slots=True, kw_only=True)
class Ended:
    """A Task, Wait, Parallel or Map succeeded."""

    path: str
    output: Json


@record(frozen=True, slots=True, kw_only=True)
class BranchEnded:
    """A branch or iteration succeeded; count it if its scope was opened in an earlier call."""

    scope: str
    output: Json


@record(frozen=True, slots=True, kw_only=True)
class BranchFailed:
    """An iteration failed in a Map that tolerates failures; if there are too many, call `fail` for the Map."""

    scope: str
    error: str | None
    cause: str | None


@record(frozen=True, slots=True, kw_only=True)
class Retried:
    """A failed state will be retried at `not_before`: a Task as given, any other state by calling `wake`."""

    path: str
    entry: Entry
    task: OpenTask | None
    not_before: int
    error: str | None
    cause: str | None


@record(frozen=True, slots=True, kw_only=True)
class Caught:
    """A state failed, and a Catcher continues with `output` at the state `next`."""

    path: str
    error: str | None
    cause: str | None
    output: Json
    next: str


@record(frozen=True, slots=True, kw_only=True)
class Broke:
    """A state failed without a Retrier or Catcher left; its branch, iteration or run fails too."""

    path: str
    error: str | None
    cause: str | None


@record(frozen=True, slots=True, kw_only=True)
class Closed:
    """A Parallel or Map failed: everything still open inside it is cancelled."""

    path: str
    error: str | None
    cause: str | None


@record(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The run succeeded in `state`."""

    state: str
    output: Json


@record(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run failed in `state`, or somewhere inside it."""

    state: str
    error: str | None
    cause: str | None


Step: TypeAlias = (
    Entered
    | Passed
    | OpenTask
    | TakenSignal
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


@record(frozen=True, slots=True, kw_only=True)
class Advance:
    """The steps that were taken, in order, and whether the run has ended."""

    steps: tuple[Step, ...]
    outcome: Outcome


def exceeds(tolerance: Tolerance, failed: int, total: int) -> bool:
    """Return True if a Map with `total` iterations does not tolerate `failed` failures."""
    if tolerance.count is None and tolerance.percentage is None:
        return failed > 0
    by_count = tolerance.count is not None and failed > tolerance.count
    by_share = tolerance.percentage is not None and failed * 100 > tolerance.percentage * max(total, 1)
    return by_count or by_share


def next_item(opened: OpenScope, index: int) -> int | None:
    """Return the iteration that may start when iteration `index` has ended; None if there is none."""
    following = index + opened.concurrency
    while opened.done and any(first <= following <= last for first, last in opened.done):
        following += opened.concurrency
    return following if opened.kind == "Map" and following < opened.size else None
