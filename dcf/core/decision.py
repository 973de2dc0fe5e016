"""What a decision reads and what it wants changed, in the words of a run, not of Redis.

A decision is a pure function `Snapshot -> Decision`. The store turns `Changes` into one transaction; because the
function has no effects it may be run again whenever the transaction loses its race. Each kind of read is one row of
`Reads` and one of `Snapshot`, each kind of write one row of `Changes`; the store has one function for each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dcf.asl.steps import Entry
from dcf.core.model import Meta, StateDoc, StateInput
from dcf.values.json_text import Json

Answer_co = TypeVar("Answer_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a decision looks at.

    `states` are watched, and so is meta: a change of either before the commit makes the decision run again. Inputs
    and outputs need no watch, since only the holder of a watched state writes them. `agents` names the states
    whose assignment is needed; `open_states` asks for a page of the run's open states, offset and length (watched
    as a set), and `claim` for the one that was claimed with this token before. `timers` names the states whose due
    time is looked up. Of a Parallel or Map, `scopes` asks for what opening it fixed, `items` for single items by
    their number, and `tallies` for what of it has ended.
    """

    states: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    timers: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    items: tuple[tuple[str, int], ...] = ()
    tallies: tuple[str, ...] = ()
    open_states: tuple[int, int] | None = None
    claim: str | None = None
    whole_meta: bool = False
    audit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many branches or iterations of a scope have ended, those whose failure was tolerated included.

    `error` and `cause` are those of the last failure.
    """

    done: int = 0
    failed: int = 0
    error: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was found, and the server's time in microseconds. What does not exist is absent.

    `inputs` are what workers see, `entries` what entering the states fixed, and `items` the items of Maps by Map and
    number. `void` names the states that are shown as cancelled, since the scope around them is over;
    `page` counts the open states that were looked at.
    """

    now: int
    meta: Meta | None = None
    states: Mapping[str, StateDoc] = field(default_factory=dict)
    inputs: Mapping[str, Json] = field(default_factory=dict)
    entries: Mapping[str, Entry] = field(default_factory=dict)
    outputs: Mapping[str, Json] = field(default_factory=dict)
    timers: Mapping[str, int] = field(default_factory=dict)
    scopes: Mapping[str, StateInput] = field(default_factory=dict)
    items: Mapping[tuple[str, int], Json] = field(default_factory=dict)
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    void: frozenset[str] = frozenset()
    page: int = 0
    meta_document: Mapping[str, Json] | None = None
    audit: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, for the run's history. `data` must be small and free of tokens."""

    type: str
    state: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notification owed: `type` says why, `state` who is to be woken (None: the planner)."""

    type: str
    state: str | None
    epoch: int
    source: str | None = None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Everything one transaction writes, together or not at all; a transition fills it step by step.

    `meta_document` and `definition` are those of a new run; `meta` sets single fields of meta. `timers` maps a state to
    the server time at which the clock should next look at it; None takes it off. `claims` maps the fingerprint of a
    token that claimed some state to that state, so that a repetition finds it; None forgets it.

    Of scopes: `opened` ones begin to count anew, `sizes` are those of all that were opened, `items` are those of a
    Map, `ended` adds to their counts, `dropped` takes back outputs of earlier visits, and `results` go where a
    ResultWriter wants them.
    """

    meta_document: Mapping[str, Json] | None = None
    definition: Mapping[str, Json] | None = None
    meta: dict[str, Json] = field(default_factory=dict)
    states: dict[str, StateDoc] = field(default_factory=dict)
    inputs: dict[str, StateInput] = field(default_factory=dict)
    outputs: dict[str, Json] = field(default_factory=dict)
    audit: Mapping[str, Json] | None = None
    events: list[Event] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    timers: dict[str, int | None] = field(default_factory=dict)
    claims: dict[str, str | None] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    items: dict[str, Sequence[Json]] = field(default_factory=dict)
    ended: dict[str, Tally] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    results: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """What a commit leaves to do, written nowhere: whoever dies before doing it leaves it to the clock.

    The states inside `closed` scopes are to be cancelled, Maps in `reading` (by epoch) wait for items, the states in
    `waking` (by epoch) go on at once, and the counts of the scopes in `counting` tell after the commit whether they are
    over. A run that is over (`run_over`) has states that control never reached.
    """

    closed: list[str] = field(default_factory=list)
    reading: dict[str, int] = field(default_factory=dict)
    waking: dict[str, int] = field(default_factory=dict)
    counting: dict[str, StateDoc] = field(default_factory=dict)
    run_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """In place of an answer: the decision needs more than was read, and nothing is written."""

    scopes: tuple[str, ...] = ()
    items: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[Answer_co]):
    """The answer, and what must be written for it to be true; no changes means that nothing is written.

    `remaining` is what is left to do once that is written. `repeats` marks the reply to a request that was applied
    before: it too is given only once the write is safe.
    """

    answer: Answer_co
    changes: Changes | None = None
    remaining: Remaining = field(default_factory=Remaining)
    repeats: bool = False
