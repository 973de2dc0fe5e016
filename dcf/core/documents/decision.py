"""The input and output of a decision, in terms of a run instead of Redis.

A decision is a pure function `Snapshot -> Decision`. The store reads what `ReadSet` lists and writes `WriteSet` in one
transaction. If that transaction loses a race, the decision runs again. Each kind of read is one field of `ReadSet` and
one of `Snapshot`, each kind of write one field of `WriteSet`; the store has one function for each. Parts of a run
that capabilities keep are read and written by `parts`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

from dcf.asl.steps import Entry
from dcf.core.documents.model import Meta, Receipt, RunReceipt, StateDoc, StateInput
from dcf.core.documents.parts import Part, Parts, Seen, Written
from dcf.core.documents.signals import Signals
from dcf.core.documents.usage import Charge
from dcf.values.json_text import Json
from dcf.values.records import record, replace

Answer_co = TypeVar("Answer_co", covariant=True)


@record(frozen=True, slots=True, kw_only=True)
class Seeker:
    """Who looks for ready states on a page, for how many, and the mark that keeps others from taking the same.

    Without an owner any ready state is found, without a mark also one that somebody else is about to take. `passed` are
    states that it cannot take, as was found out before.
    """

    most: int = 1_000_000
    owner: str = ""
    mark: str = ""
    passed: tuple[str, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class ReadSet:
    """What a decision needs to read; states are named by path.

    `states` and meta are watched: if one changes before the commit, the decision runs again. Inputs and outputs need no
    watch, since only the holder of a watched state writes them. `agents` names states whose assignment is needed,
    `timers` those whose due time is. `open_states` is a page (offset, length) of the run's open states; those that
    are changed must be unchanged until then. Inputs are read of those that are ready for the `seeker`. `claims` are
    tokens, to find the states that were claimed with them.

    Of a Parallel or Map: `scopes` asks for its recorded entry, `items` for single items by index, `tallies` for the
    counts of ended branches. `receipts` asks for older receipts by state and request, `run_receipts` for those of
    requests about the whole run; the snapshot has each, None if there is none. `briefed` are states whose input stands
    in their instructions: it is shown, and no state is claimed for it. `signals`, which are watched too, are those of
    the run; so are the sums of `usage`. `parts` says what is needed of what capabilities keep of the run; how that is
    watched, they know. `other` is what the decision rests on of another run, which is not watched.
    """

    states: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    briefed: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    timers: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    items: tuple[tuple[str, int], ...] = ()
    tallies: tuple[str, ...] = ()
    receipts: tuple[tuple[str, str], ...] = ()
    run_receipts: tuple[str, ...] = ()
    open_states: tuple[int, int] | None = None
    seeker: Seeker = Seeker()
    claims: tuple[str, ...] = ()
    signals: bool = False
    usage: bool = False
    parts: Parts = field(default_factory=dict, hash=False)
    whole_meta: bool = False
    audit: bool = False
    other: "OtherRun | None" = None


@record(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """Another run, and what is read of it."""

    run: str
    reads: ReadSet


@record(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many branches or iterations of a Parallel or Map have ended (`done`), and how many of them `failed`.

    `error` and `cause` are those of the last failure.
    """

    done: int = 0
    failed: int = 0
    error: str | None = None
    cause: str | None = None

    def plus(self, more: "Tally") -> "Tally":
        """Return the counts with those of further branches."""
        last = more if more.failed else self
        return replace(last, done=self.done + more.done, failed=self.failed + more.failed)


@record(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was read, and the server's time `now` in microseconds. Documents that do not exist are absent.

    `inputs` and `briefed` are what workers see, `entries` what was recorded when states were entered, `items` the items
    of Maps by path and index. `void` are the states that are shown as cancelled because the scope around them has
    ended, as they stand. `page` is the number of open states that were looked at, `taken` are those that others are
    about to take, and `held` those that are leased, by when the clock looks at them, or 0 once it has reminded of them.
    `signals` and `usage` are None if they were not read; so is `other`, what was read of another run. `parts` are
    those that were read.
    """

    now: int
    meta: Meta | None = None
    states: Mapping[str, StateDoc] = field(default_factory=dict)
    inputs: Mapping[str, Json] = field(default_factory=dict)
    entries: Mapping[str, Entry] = field(default_factory=dict)
    outputs: Mapping[str, Json] = field(default_factory=dict)
    briefed: Mapping[str, Json] = field(default_factory=dict)
    timers: Mapping[str, int] = field(default_factory=dict)
    scopes: Mapping[str, StateInput] = field(default_factory=dict)
    items: Mapping[tuple[str, int], Json] = field(default_factory=dict)
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    receipts: Mapping[tuple[str, str], Receipt | None] = field(default_factory=dict)
    run_receipts: Mapping[str, RunReceipt | None] = field(default_factory=dict)
    void: Mapping[str, StateDoc] = field(default_factory=dict)
    page: int = 0
    taken: frozenset[str] = frozenset()
    held: Mapping[str, int] = field(default_factory=dict)
    meta_document: Mapping[str, Json] | None = None
    audit: Mapping[str, Json] | None = None
    signals: Signals | None = None
    usage: Mapping[str, int] | None = None
    parts: Parts = field(default_factory=dict)
    other: "Snapshot | None" = None

    def part(self, part: Part[Any, Seen, Any]) -> Seen | None:
        """Return what was read of a part of the run; None if it was not read."""
        return self.parts.get(part)


@record(frozen=True, slots=True, kw_only=True)
class Event:
    """An event for the run's history. `data` must be small and must not contain tokens."""

    type: str
    state: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notification for the outbox.

    `type` is the kind of event; `state` is the state whose agents are notified, None for the planner. `agent_id` is
    notified instead of the assigned agents; `about` is the state that the planner is told about. `content` are further
    fields of the event.
    """

    type: str
    state: str | None
    epoch: int
    source: str | None = None
    reason: str
    agent_id: str | None = None
    about: str | None = None
    content: Mapping[str, Json] | None = None


@record(frozen=True, slots=True, kw_only=True)
class Packed:
    """The workflow of an ended run, and `deps` of its meta document, to be stored as text: that takes a third."""

    definition: Mapping[str, Json]
    deps: Mapping[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class WriteSet:
    """Everything that one transaction writes, all or nothing. A transition fills it step by step.

    `meta_document` and `definition` are set for a new run, with `secret` if it has task tokens, `packed` for an ended
    one; `meta` sets single fields. `timers` maps a state to the server time at which the clock next looks at it; None
    removes the timer. `sooner` only brings such times forward, for states that were not watched: one that has ended
    meanwhile gets none. `claims` maps the fingerprint of a claiming token to the claimed state, so that a repeated
    claim finds it; None removes it. `receipts` are older ones, by state and request; `run_receipts` those of requests
    about the whole run. `forgotten` are states of which nothing else is kept. `signals` are the run's as each step
    left them; the last are written. `usage` are reports of what work used up, to be added to the run's sums. `agents`
    are those of states that are new. `parts` is what is written of what capabilities keep of the run. `evaluated` are
    the marks of risky evaluations that have ended (`core/completing/evaluation_marks.py`); `absolved`: all marks of
    the run are taken off.

    Of a Parallel or Map: `opened` resets its counts, `sizes` holds the number of branches of those opened, `items` the
    items of a Map. `ended` adds to the counts, `dropped` deletes outputs of earlier visits, and `results` are values
    for a ResultWriter.

    Written before all of this, so that the run can be found: `listed` adds the run to the lists of runs, `assigned` to
    those of these agents.
    """

    meta_document: Mapping[str, Json] | None = None
    definition: Mapping[str, Json] | None = None
    packed: Packed | None = None
    secret: str | None = None
    meta: dict[str, Json] = field(default_factory=dict)
    forgotten: list[str] = field(default_factory=list)
    states: dict[str, StateDoc] = field(default_factory=dict)
    inputs: dict[str, StateInput] = field(default_factory=dict)
    outputs: dict[str, Json] = field(default_factory=dict)
    audit: Mapping[str, Json] | None = None
    events: list[Event] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    timers: dict[str, int | None] = field(default_factory=dict)
    sooner: dict[str, int] = field(default_factory=dict)
    claims: dict[str, str | None] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    items: dict[str, Sequence[Json]] = field(default_factory=dict)
    ended: dict[str, Tally] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    results: dict[str, Json] = field(default_factory=dict)
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    run_receipts: dict[str, RunReceipt] = field(default_factory=dict)
    signals: list[Signals] = field(default_factory=list)
    usage: list[Charge] = field(default_factory=list)
    parts: dict[Part[Any, Any, Any], Any] = field(default_factory=dict)
    agents: dict[str, Json] = field(default_factory=dict)
    evaluated: tuple[str, ...] = ()
    absolved: bool = False
    listed: bool = False
    assigned: tuple[str, ...] = ()

    def put(self, part: Part[Any, Any, Written], written: Written) -> None:
        """Write this of a part of the run, together with what is written of it already."""
        before = self.parts.get(part)
        self.parts[part] = written if before is None else part.together(before, written)

    def written(self, part: Part[Any, Any, Written]) -> Written | None:
        """Return what is written of a part of the run; None if nothing is."""
        return self.parts.get(part)

    def add(self, more: "WriteSet") -> None:
        """Add the changes of a lease that is granted in the same transaction."""
        self.states.update(more.states)
        self.events.extend(more.events)
        self.timers.update(more.timers)
        self.claims.update(more.claims)
        self.receipts.update(more.receipts)

    def due(self, now: int, noted: int | None) -> int | None:
        """Return when the clock must look at the run because of these changes; None if it will look by then anyway.

        `noted` is when it will look at the latest, None if it has not looked yet.
        """
        times = [at for at in self.timers.values() if at is not None] + list(self.sooner.values())
        if self.listed or self.notices or self.meta:
            times.append(now)
        first = min(times, default=None)
        return None if first is None or (noted is not None and noted <= first) else first


@record(frozen=True, slots=True, kw_only=True)
class Remaining:
    """Work that a commit leaves for later transactions. It is stored nowhere; after a crash the clock finds it again.

    States inside `closed` scopes must be cancelled. Maps in `reading` (with their epoch) wait for items. The engine
    paused before the states in `paused` (with their epoch). Scopes in `counting` may be complete, which the counts
    after the commit tell. If `run_over`, states that were never reached must be skipped.
    """

    closed: list[str] = field(default_factory=list)
    reading: dict[str, int] = field(default_factory=dict)
    paused: dict[str, int] = field(default_factory=dict)
    counting: dict[str, StateDoc] = field(default_factory=dict)
    run_over: bool = False

    @property
    def is_nothing(self) -> bool:
        """True if no work is left."""
        return not (self.closed or self.reading or self.paused or self.counting or self.run_over)


@record(frozen=True, slots=True, kw_only=True)
class More:
    """Returned instead of an answer if the decision needs more than was read; nothing is written.

    `states` are further documents to read. `page`: of the open states, in place of single ones that were thought to
    be ready and are not. `parts`: of what capabilities keep of the run. `seeker` says for whom, if what was read
    first was not for a claim of ready states.
    """

    scopes: tuple[str, ...] = ()
    items: tuple[tuple[str, int], ...] = ()
    receipts: tuple[tuple[str, str], ...] = ()
    states: tuple[str, ...] = ()
    usage: bool = False
    parts: Parts = field(default_factory=dict)
    page: bool = False
    seeker: Seeker | None = None


@record(frozen=True, slots=True, kw_only=True)
class Decision(Generic[Answer_co]):
    """An answer, and the changes that must be committed before it is given; None writes nothing.

    `remaining` is the work left after the commit.
    """

    answer: Answer_co
    changes: WriteSet | None = None
    remaining: Remaining = field(default_factory=Remaining)
