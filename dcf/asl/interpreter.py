"""Runs one call of the engine: moves from state to state until every branch waits or the run has ended.

A run lives for one call here. A scope opened in this call is joined here when all of its branches end in the same
call. For a scope opened earlier only the end of a branch is reported: counting branches needs the store.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcf.asl import mapping
from dcf.asl.branching import Live, opened_map, opened_parallel
from dcf.asl.entering import Arrival, opened_task, surroundings
from dcf.asl.limits import bounded
from dcf.asl.machine import Fail, Machine, Map, Parallel, Place, Task, Wait
from dcf.asl.pausing import endless, is_enough, recounted
from dcf.asl.places import join, open_scope, resolve, split_scope
from dcf.asl.retrying import HEARTBEAT, RUNTIME, TIMEOUT, Retrying, delay_micros, met
from dcf.asl.silent import caught_output, silent
from dcf.asl.state_paths import within
from dcf.asl.states import Catcher
from dcf.asl.steps import (
    TOLERATED,
    Advance,
    BranchEnded,
    BranchFailed,
    Broke,
    Caught,
    Closed,
    Ended,
    Entered,
    Entry,
    Failed,
    NeedItems,
    OpenScope,
    OpenWait,
    Outcome,
    Passed,
    Paused,
    Retried,
    Step,
    Succeeded,
    Unread,
    Visit,
    WriteResults,
    exceeds,
    next_item,
)
from dcf.asl.surroundings import NOWHERE, Clock, RunContext, Spending, Surroundings
from dcf.asl.tasks.signals import kept_signal
from dcf.asl.waiting import wait_until
from dcf.errors import StateError
from dcf.values.json_text import Json
from dcf.values.records import replace


@dataclass(slots=True, kw_only=True)
class EngineCall:
    """The state of one call; `pending` is a stack, so that one branch is followed before the next.

    `work` counts the states that were run.
    """

    machine: Machine
    context: Mapping[str, Json]
    clock: Clock
    visits: Mapping[str, Visit]
    steps: list[Step] = field(default_factory=list)
    pending: list[Arrival] = field(default_factory=list)
    live: dict[str, Live] = field(default_factory=dict)
    outcome: Outcome = "open"
    work: int = 0
    spending: Spending = field(init=False)

    def __post_init__(self) -> None:
        self.spending = self.context.spending if isinstance(self.context, RunContext) else Spending()

    def advance(self) -> Advance:
        """Execute states until every branch waits or the run has ended."""
        while self.pending and self.outcome == "open":
            self._arrive(self.pending.pop())
        return Advance(steps=tuple(self.steps), outcome=self.outcome)

    def go(
        self,
        machine: Machine,
        scope: str,
        name: str,
        source: str | None,
        raw: Json,
        variables: Mapping[str, Json],
        item: tuple[int, Json] | None,
        silent: int = 0,
    ) -> None:
        """Schedule a state to be entered; `silent` counts the states in a row that had no worker."""
        target = Place(machine=machine, state=machine.states[name], name=name, path=join(scope, name), scope=scope)
        entry = Entry(raw=raw, variables=variables, entered_at=self.clock.now, item=item, silent=silent)
        self.pending.append(Arrival(place=target, source=source, entry=entry))

    def again(self, here: Place, entry: Entry) -> None:
        """Schedule a state that was entered in an earlier call."""
        self.pending.append(Arrival(place=here, source=None, entry=entry))

    def around(self, here: Place, entry: Entry) -> Surroundings:
        """Return what a state may read besides its input; the number of steps so far numbers the evaluations."""
        return surroundings(here, entry, self.context, self.clock, len(self.steps), self.spending)

    def worked(self, here: Place, entry: Entry, result: Json) -> None:
        """Continue after the work of a Task, Parallel or Map returned `result`."""
        state, variables, worked = here.state, entry.variables, False
        try:
            result = output = bounded(result)
            worked = True
            if not state.flow.is_plain:
                around = self.around(here, entry)
                output = state.flow.work_output(entry.raw, result, around)
                variables = {**variables, **state.flow.work_assigned(entry.raw, result, around)}
        except StateError as error:
            self.failed(here, entry, error.error, error.cause, worked=worked)
            return
        self.steps.append(Ended(path=here.path, output=output))
        self.follow(here, entry, state.next, output, variables, 0 if state.is_leased else entry.silent + 1)

    def waited(self, here: Place, entry: Entry) -> None:
        """Continue after a Wait."""
        try:
            self._through(Arrival(place=here, source=None, entry=entry), ended=True)
        except StateError as error:
            self.broke(here, error.error, error.cause)

    def failed(self, here: Place, entry: Entry, error: str | None, cause: str | None, *, worked: bool = False) -> None:
        """Handle a failure of a state: retry it, catch it, or fail the scope around it.

        As on AWS, a missed heartbeat matches rules for heartbeats and for timeouts, and is reported as a timeout.
        `worked`: the state's work succeeded, and then a field such as Output or Assign failed.
        """
        state, error_name = here.state, TIMEOUT if error == HEARTBEAT else error
        match met(state, entry.retries, error, worked=worked):
            case Retrying(retries=retries, retrier=retrier, count=count):
                wait = delay_micros(retrier, count, self.around(here, entry).chance)
                self._retry(here, replace(entry, retries=retries, silent=0), wait, error_name, cause)
            case Catcher() as catcher:
                self._catch(here, entry, catcher, error_name, cause)
            case None:
                self.broke(here, error_name, cause)

    def close(self, owner: str, error: str | None, cause: str | None) -> None:
        """Close a scope because a branch failed: everything in it is cancelled, and its state fails."""
        here, entry = resolve(self.machine, owner), self.opened(owner).entry
        if isinstance(here.state, Map) and here.state.distributed:
            error = "States.ExceedToleratedFailureThreshold"
            cause = "The specified tolerated failure threshold was exceeded"
        self._void(owner, error, cause)
        self.failed(here, entry, error, cause)

    def opened(self, owner: str) -> OpenScope:
        """Return the record of an open scope; raise KeyError if there is none."""
        opened = self.live[owner].opened if owner in self.live else self.visits[owner]
        if not isinstance(opened, OpenScope):
            raise KeyError(owner)
        return opened

    def open_iteration(self, owner: str, index: int) -> None:
        """Start one iteration of a Map."""
        opened, here = self.opened(owner), resolve(self.machine, owner)
        state = here.state
        assert isinstance(state, Map), "only a Map has iterations"
        if isinstance(opened.items, Mapping) and index not in opened.items:
            self.steps.append(Unread(path=owner, index=index))
            return
        value = opened.items[index]
        try:
            raw = mapping.iteration_input(state, opened.effective, index, value, self.around(here, opened.entry))
        except StateError as error:
            self._void(owner, error.error, error.cause)
            self.failed(here, opened.entry, error.error, error.cause)
            return
        variables = {} if state.distributed else opened.entry.variables
        scope, silent = open_scope(owner, index), opened.entry.silent + 1
        self.go(state.processor, scope, state.processor.start_at, None, raw, variables, (index, value), silent)

    def begin_branch(self, owner: str, index: int) -> None:
        """Start one branch of a Parallel, or one iteration of a Map."""
        state = resolve(self.machine, owner).state
        if not isinstance(state, Parallel):
            self.open_iteration(owner, index)
            return
        opened, branch, scope = self.opened(owner), state.branches[index], open_scope(owner, index)
        effective, entry = opened.effective, opened.entry
        self.go(branch, scope, branch.start_at, None, effective, entry.variables, entry.item, entry.silent + 1)

    def joined(self, here: Place, entry: Entry, results: list[Json]) -> None:
        """Continue after all branches or iterations ended."""
        state, kept_results = here.state, [result for result in results if result is not TOLERATED]
        if not isinstance(state, Map) or state.writer is None:
            self.worked(here, entry, kept_results)
            return
        try:
            written = mapping.write_to(state, entry.raw, here.name, self.around(here, entry))
        except StateError as error:
            self.failed(here, entry, error.error, error.cause)
            return
        self.steps.append(WriteResults(path=here.path, results=kept_results, **written))
        self.worked(here, entry, written["details"])

    def wanted(self, here: Place, source: str | None, entry: Entry) -> NeedItems | None:
        """Return what a Map needs to have read; None when the items are in its input."""
        state = here.state
        assert isinstance(state, Map), "only a Map has items"
        reading = mapping.read_from(state, entry.raw, self.around(here, entry))
        return None if reading is None else NeedItems(path=here.path, source=source, entry=entry, **reading)

    def supplied(self, here: Place, entry: Entry, read: Json) -> None:
        """Open a Map whose items have been read."""
        state = here.state
        assert isinstance(state, Map), "only a Map reads items"
        try:
            around, items_read = self.around(here, entry), mapping.items_read(state, read)
            self._open_map(here, entry, opened_map(state, here.path, None, entry, items_read, around))
        except StateError as error:
            self.failed(here, entry, error.error, error.cause)

    def _void(self, owner: str, error: str | None, cause: str | None) -> None:
        self.steps.append(Closed(path=owner, error=error, cause=cause))
        self.pending = [arrival for arrival in self.pending if not within(arrival.place.path, owner)]
        self.live = {path: live for path, live in self.live.items() if path != owner and not within(path, owner)}

    def _arrive(self, arrival: Arrival) -> None:
        self.work += 1
        here, entry = arrival.place, arrival.entry
        why_not = endless(entry, self.work)
        if why_not is not None:
            self.steps.append(Entered(path=here.path, source=arrival.source, entry=entry))
            self.broke(here, RUNTIME, why_not)
            return
        if (is_enough(self.work) or self.spending.is_much) and not here.state.ends_chain:
            self.steps.append(Paused(path=here.path, source=arrival.source, entry=entry, kind=here.state.kind()))
            return
        try:
            self._run(arrival)
        except StateError as error:
            self.steps.append(Entered(path=here.path, source=arrival.source, entry=entry))
            self.failed(here, entry, error.error, error.cause)

    def _run(self, arrival: Arrival) -> None:
        here, source, entry = arrival.place, arrival.source, arrival.entry
        match here.state:
            case Task() as state:
                around = NOWHERE if state.reads_nothing else self.around(here, entry)
                task = opened_task(here, source, recounted(entry), around)
                taken = kept_signal(task, self.clock, self.steps)
                self.steps.append(taken or task)
                if taken is not None:
                    self.worked(here, task.entry, taken.signal.payload)
            case Parallel() as state:
                self._open_parallel(here, state, source, entry)
            case Map() as state:
                self._enter_map(here, state, source, entry)
            case Wait() as state:
                self._wait(arrival, state)
            case Fail() as state:
                self._fail(arrival, state)
            case _:
                self._through(arrival)

    def _wait(self, arrival: Arrival, state: Wait) -> None:
        here, entry = arrival.place, arrival.entry
        until = wait_until(state, entry.raw, self.around(here, entry), self.clock.micros)
        is_over = until <= self.clock.micros
        if is_over and not is_enough(self.work):
            self._through(arrival)
            return
        entry = entry if is_over else recounted(entry)
        self.steps.append(OpenWait(path=here.path, source=arrival.source, entry=entry, until=until))

    def _fail(self, arrival: Arrival, state: Fail) -> None:
        here, entry = arrival.place, arrival.entry
        around = self.around(here, entry)
        document = state.flow.document(entry.raw, around)
        words = [None if source is None else source.render(document, around) for source in (state.error, state.cause)]
        if not all(word is None or isinstance(word, str) for word in words):
            wrong = "States.QueryEvaluationError" if state.flow.jsonata else RUNTIME
            raise StateError(wrong, "The Error and the Cause of a Fail state must be strings.")
        self.steps.append(Entered(path=here.path, source=arrival.source, entry=entry))
        self.broke(here, words[0], words[1])

    def _through(self, arrival: Arrival, *, ended: bool = False) -> None:
        """Execute a state that has no worker, and continue; `ended` means that it was entered in an earlier call."""
        here, entry = arrival.place, arrival.entry
        around = self.around(here, entry)
        output, following, sets = silent(here, entry.raw, around)
        if ended:
            self.steps.append(Ended(path=here.path, output=output))
        else:
            self.steps.append(Passed(path=here.path, source=arrival.source, input=entry.raw, output=output))
        self.follow(here, entry, following, output, {**entry.variables, **sets}, entry.silent + 1)

    def follow(
        self,
        here: Place,
        entry: Entry,
        following: str | None,
        output: Json,
        variables: Mapping[str, Json],
        silent: int,
    ) -> None:
        """Go from a state that has ended to the next one, or end its branch or the run."""
        if following is not None:
            self.go(here.machine, here.scope, following, here.path, output, variables, entry.item, silent)
        elif not here.scope:
            self.outcome = Succeeded(state=here.path, output=output)
        else:
            self._branch_ended(here.scope, output)

    def _branch_ended(self, scope: str, output: Json) -> None:
        self.steps.append(BranchEnded(scope=scope, output=output))
        owner, index = split_scope(scope)
        following = next_item(self.opened(owner), index)
        if owner in self.live:
            self._settle(owner, index, output)
        if following is not None and (owner in self.live or owner in self.visits):
            self.open_iteration(owner, following)

    def _settle(self, owner: str, index: int, result: Json) -> None:
        live = self.live[owner]
        live.results[index] = result
        live.left -= 1
        if live.left == 0:
            del self.live[owner]
            self.joined(resolve(self.machine, owner), live.opened.entry, live.results)

    def broke(self, here: Place, error: str | None, cause: str | None) -> None:
        """Fail a state, and with it the run or its branch, whatever Retriers and Catchers it has."""
        self.steps.append(Broke(path=here.path, error=error, cause=cause))
        if not here.scope:
            self.outcome = Failed(state=here.path, error=error, cause=cause)
            return
        owner, index = split_scope(here.scope)
        if not self.opened(owner).tolerance.bears_any:
            self.close(owner, error, cause)
            return
        self.steps.append(BranchFailed(scope=here.scope, error=error, cause=cause))
        if owner in self.live:
            self._bear(owner, index, error, cause)

    def _bear(self, owner: str, index: int, error: str | None, cause: str | None) -> None:
        live = self.live[owner]
        live.failed += 1
        if exceeds(live.opened.tolerance, live.failed, live.opened.size):
            self.close(owner, error, cause)
            return
        following = next_item(live.opened, index)
        self._settle(owner, index, TOLERATED)
        if following is not None:
            self.open_iteration(owner, following)

    def _retry(self, here: Place, entry: Entry, wait: int, error: str | None, cause: str | None) -> None:
        try:
            task = opened_task(here, None, entry, self.around(here, entry)) if isinstance(here.state, Task) else None
        except StateError:
            # The input of the work cannot be worked out now; the retry enters the state again and tries again.
            task = None
        due = self.clock.micros + wait
        self.steps.append(Retried(path=here.path, entry=entry, task=task, not_before=due, error=error, cause=cause))

    def _catch(self, here: Place, entry: Entry, catcher: Catcher, error: str | None, cause: str | None) -> None:
        around, error_output = self.around(here, entry), {"Error": error, "Cause": cause}
        try:
            output, sets = caught_output(here.state.flow, catcher, entry.raw, error_output, around)
        except StateError as failure:
            self.broke(here, failure.error, failure.cause)
            return
        following = join(here.scope, catcher.next)
        self.steps.append(Caught(path=here.path, error=error, cause=cause, output=output, next=following))
        self.follow(here, entry, catcher.next, output, {**entry.variables, **sets}, entry.silent + 1)

    def _open_parallel(self, here: Place, state: Parallel, source: str | None, entry: Entry) -> None:
        self._open(opened_parallel(state, here.path, source, entry, self.around(here, entry)))
        for index in reversed(range(len(state.branches))):
            self.begin_branch(here.path, index)

    def _enter_map(self, here: Place, state: Map, source: str | None, entry: Entry) -> None:
        around, needed = self.around(here, entry), self.wanted(here, source, entry)
        if needed is not None:
            self.steps.append(needed)
            return
        items = mapping.items_of(state, entry.raw, around)
        self._open_map(here, entry, opened_map(state, here.path, source, entry, items, around))

    def _open_map(self, here: Place, entry: Entry, opened: OpenScope) -> None:
        self._open(opened)
        if not opened.items:
            del self.live[here.path]
            self.joined(here, entry, [])
        for index in reversed(range(min(opened.size, opened.concurrency))):
            if here.path in self.live:
                self.open_iteration(here.path, index)

    def _open(self, opened: OpenScope) -> None:
        self.steps.append(opened)
        self.live[opened.path] = Live(opened=opened, results=[None] * opened.size, left=opened.size)
