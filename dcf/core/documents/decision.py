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
    """A claim that searches a page of open states for ready ones."""

    most: int = 1_000_000
    """Most ready states whose inputs are read."""
    owner: str = ""
    """The agent that will get the leases. Empty: also states that are assigned to other agents are read."""
    mark: str = ""
    """Marks the states that this claim is about to lease, so that other claims skip them. Empty: marks are ignored."""
    passed: tuple[str, ...] = ()
    """States to skip, because an earlier attempt of this claim could not lease them."""


@record(frozen=True, slots=True, kw_only=True)
class ReadSet:
    """The documents that a decision needs. States are named by path.

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
    """State documents. Watched."""
    inputs: tuple[str, ...] = ()
    """Inputs, as workers see them."""
    entries: tuple[str, ...] = ()
    """Entries: the raw input and the variables that were recorded when a state was entered."""
    outputs: tuple[str, ...] = ()
    """Outputs."""
    briefed: tuple[str, ...] = ()
    """States whose instructions show values of their input: the input is read, and the state is not claimed."""
    agents: tuple[str, ...] = ()
    """States whose assigned agents are read from meta."""
    timers: tuple[str, ...] = ()
    """States whose due time in the timers is read."""
    scopes: tuple[str, ...] = ()
    """Parallel and Map states whose entry and input are read, to open their branches or iterations."""
    items: tuple[tuple[str, int], ...] = ()
    """Single items of Maps, as path of the Map and index."""
    tallies: tuple[str, ...] = ()
    """Parallel and Map states whose counts of ended branches or iterations are read."""
    receipts: tuple[tuple[str, str], ...] = ()
    """Older stored results, by state and request. The snapshot has None for each that does not exist."""
    run_receipts: tuple[str, ...] = ()
    """Stored results of requests about the whole run. The snapshot has None for each that does not exist."""
    open_states: tuple[int, int] | None = None
    """A page of the run's open states: offset and length. Those that are changed must still be as they were read."""
    seeker: Seeker = Seeker()
    """The claim that the page of open states is read for."""
    claims: tuple[str, ...] = ()
    """Tokens of this claim: the states that they were used for before are read too."""
    signals: bool = False
    """The run's signals. Watched."""
    usage: bool = False
    """The sums of the run's usage. Watched."""
    parts: Parts = field(default_factory=dict, hash=False)
    """The reads of the parts of the run that capabilities keep. Each part knows which of its documents are watched."""
    whole_meta: bool = False
    """The whole meta document, not only the fields that most decisions need."""
    audit: bool = False
    """The audit record. Watched."""
    other: "OtherRun | None" = None
    """Documents of another run on which the decision rests. They are not watched."""


@record(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """Another run, and the documents to read of it."""

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
    """The documents that were read for a decision, and the server time. Documents that do not exist are absent.

    `inputs` and `briefed` are what workers see, `entries` what was recorded when states were entered, `items` the items
    of Maps by path and index. `void` are the states that are shown as cancelled because the scope around them has
    ended, as they stand. `page` is the number of open states that were looked at, `taken` are those that others are
    about to take, and `held` those that are leased, by when the clock looks at them, or 0 once it has reminded of them.
    `signals` and `usage` are None if they were not read; so is `other`, what was read of another run. `parts` are
    those that were read.
    """

    now: int
    """The server time of the read, in microseconds."""
    meta: Meta | None = None
    """The fields of meta that decisions need. None: the run does not exist."""
    states: Mapping[str, StateDoc] = field(default_factory=dict)
    """State documents by path. States of an ended scope are shown as cancelled."""
    inputs: Mapping[str, Json] = field(default_factory=dict)
    """Inputs by path, as workers see them; of a page, those of the states that the seeker may lease."""
    entries: Mapping[str, Entry] = field(default_factory=dict)
    """The values that were recorded when states were entered, by path."""
    outputs: Mapping[str, Json] = field(default_factory=dict)
    """Outputs by path."""
    briefed: Mapping[str, Json] = field(default_factory=dict)
    """Inputs by path of states whose instructions show values of their input."""
    timers: Mapping[str, int] = field(default_factory=dict)
    """Due times of states by path, in microseconds."""
    scopes: Mapping[str, StateInput] = field(default_factory=dict)
    """Entries and inputs of Parallel and Map states, by path."""
    items: Mapping[tuple[str, int], Json] = field(default_factory=dict)
    """Items of Maps, by path and index."""
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    """Counts of ended branches or iterations, by path of the Parallel or Map."""
    receipts: Mapping[tuple[str, str], Receipt | None] = field(default_factory=dict)
    """Older stored results, by state and request; None for each that does not exist."""
    run_receipts: Mapping[str, RunReceipt | None] = field(default_factory=dict)
    """Stored results of requests about the whole run; None for each that does not exist."""
    void: Mapping[str, StateDoc] = field(default_factory=dict)
    """Stored documents of the states that `states` shows as cancelled because the scope around them has ended."""
    page: int = 0
    """Number of open states on the page that was read."""
    taken: frozenset[str] = frozenset()
    """States of the page that other claims are about to lease."""
    held: Mapping[str, int] = field(default_factory=dict)
    """Leased states of the page with the time of their next check: 0 if a reminder was sent since the lease ended."""
    meta_document: Mapping[str, Json] | None = None
    """The whole meta document; None if it was not read or the run does not exist."""
    audit: Mapping[str, Json] | None = None
    """The audit record; None if it was not read or does not exist."""
    signals: Signals | None = None
    """The run's signals; None if they were not read."""
    usage: Mapping[str, int] | None = None
    """The sums of the run's usage; None if they were not read."""
    parts: Parts = field(default_factory=dict)
    """The parts of the run that were read, of those that capabilities keep."""
    other: "Snapshot | None" = None
    """The documents that were read of another run; None if none were."""

    @property
    def existing_meta(self) -> Meta:
        """The same as `meta`, for callers that know that the run exists: its readers have checked that."""
        assert self.meta is not None, "a run is read before anything is decided about it"
        return self.meta

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
    notified instead of the assigned agents; `about` is the state that a notification to the planner is about. `content`
    are further fields of the event.
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
    """The changes that one transaction makes, all or none. A transition fills it step by step.

    `listed`, `assigned` and the other index entries are written before the transaction, so that a committed run can be
    found. They may remain if the transaction fails.
    """

    meta_document: Mapping[str, Json] | None = None
    """The meta document of a new run."""
    definition: Mapping[str, Json] | None = None
    """The definition of a new run."""
    packed: Packed | None = None
    """The definition and `deps` of an ended run, to be stored as text."""
    secret: str | None = None
    """The secret with which task tokens of a new run are made, if it has any."""
    meta: dict[str, Json] = field(default_factory=dict)
    """Single fields of meta."""
    forgotten: list[str] = field(default_factory=list)
    """States of which the document, input, entry and output are deleted."""
    states: dict[str, StateDoc] = field(default_factory=dict)
    """State documents by path."""
    inputs: dict[str, StateInput] = field(default_factory=dict)
    """Inputs and entries by path."""
    outputs: dict[str, Json] = field(default_factory=dict)
    """Outputs by path."""
    audit: Mapping[str, Json] | None = None
    """The audit record."""
    events: list[Event] = field(default_factory=list)
    """Events to append to the run's history."""
    notices: list[Notice] = field(default_factory=list)
    """Notifications to add to the outbox."""
    timers: dict[str, int | None] = field(default_factory=dict)
    """The server time of the next check by the timer loop, by state; None removes the timer."""
    sooner: dict[str, int] = field(default_factory=dict)
    """Earlier times of the next check, for states that were not watched. A state without a timer is left without."""
    claims: dict[str, str | None] = field(default_factory=dict)
    """The claimed state by the fingerprint of its token, so that a repeated claim finds it; None removes the entry."""
    opened: list[str] = field(default_factory=list)
    """Parallel and Map states whose counts are reset."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Number of branches or iterations of the Parallel and Map states that are opened."""
    items: dict[str, Sequence[Json]] = field(default_factory=dict)
    """The items of Maps."""
    ended: dict[str, Tally] = field(default_factory=dict)
    """Amounts to add to the counts of Parallel and Map states."""
    dropped: list[str] = field(default_factory=list)
    """States whose outputs of earlier visits are deleted."""
    results: dict[str, Json] = field(default_factory=dict)
    """Values that a ResultWriter writes, by path of its Map."""
    receipts: dict[tuple[str, str], Receipt] = field(default_factory=dict)
    """Older stored results, by state and request."""
    run_receipts: dict[str, RunReceipt] = field(default_factory=dict)
    """Stored results of requests about the whole run."""
    signals: list[Signals] = field(default_factory=list)
    """The run's signals after each step; the last are written."""
    usage: list[Charge] = field(default_factory=list)
    """Reports of usage, to be added to the run's sums."""
    parts: dict[Part[Any, Any, Any], Any] = field(default_factory=dict)
    """Changes of the parts of the run that capabilities keep."""
    agents: dict[str, Json] = field(default_factory=dict)
    """Assigned agents by the name of a unit or state."""
    evaluated: tuple[str, ...] = ()
    """Marks of risky evaluations that have ended (`core/completing/evaluation_marks.py`)."""
    absolved: bool = False
    """Removes all marks of risky evaluations from the run."""
    listed: bool = False
    """Adds the run to the list of runs and to that of live runs."""
    assigned: tuple[str, ...] = ()
    """Agents in whose lists of assigned runs the run is entered."""

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
        """Return when the timer loop must check the run because of these changes; None if a check by then is noted.

        `noted` is the time of the next check that Redis has noted; None if none is.
        """
        times = [at for at in self.timers.values() if at is not None] + list(self.sooner.values())
        if self.listed or self.notices or self.meta:
            times.append(now)
        first = min(times, default=None)
        return None if first is None or (noted is not None and noted <= first) else first


@record(frozen=True, slots=True, kw_only=True)
class Remaining:
    """Work that a commit leaves for later transactions. It is not stored; after a crash the timer loop finds it again.

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
    """An answer, and the changes that must be committed before the answer is returned. No changes: None.

    `remaining` is the work left after the commit.
    """

    answer: Answer_co
    changes: WriteSet | None = None
    remaining: Remaining = field(default_factory=Remaining)
