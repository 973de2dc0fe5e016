"""Serves Python functions as workers: a user registers a function for a state, and a worker process runs it.

A worker knows nothing of Redis; it calls dcf's tools over any transport. It may be killed at any moment: its lease
expires, the assigned agents are notified, and unfinished work is done again. While it lives, it keeps a finished
result and retries until the server accepts or refuses it, however long that takes.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from dcf.asl.state_paths import name_of
from dcf.errors import PASSING, DcfError
from dcf.jitter import JITTER
from dcf.values.json_text import Json
from dcf.worker.calls import Ended, TaskCall, Work
from dcf.worker.concurrency import Hands
from dcf.worker.functions import TaskFunction, TaskPlan
from dcf.worker.lease_calls import LeaseCalls, NotLeased, Results, ToolCaller, work_of
from dcf.worker.observer import Witness
from dcf.worker.registry import FUNCTIONS
from dcf.worker.renewals import Renewals
from dcf.worker.results import Result, mismatched, sendable
from dcf.worker.state_functions import StateFunction, StatePlans, plans_of

log = logging.getLogger(__name__)

_RENEWALS_PER_LEASE = 3
_LONGEST_PAUSE_S = 5.0
_UNWIND_S = 1.0
"""Seconds for which a cancelled function may still run before its lease is released anyway."""

_STOPS = frozenset({"run_over", "lease_lost"})
"""Types of the events that tell a holder to stop."""

_WAITED_FOR = (PASSING | {"quota_exceeded"}) - {"internal_error"}
"""Codes after which a finished result is sent again; internal_error is none, since a bug would repeat it."""

_MISMATCH = "output_invalid"
"""Code after which the failure of the function is sent in place of its output, which would not match again."""

_LONGEST_REASON = 500
_NO_FUNCTION = "this worker has no function for the state."

_JUDGED = "review_running"
"""Code of a result that is kept: the gates of its state judge it, and an event comes if it is sent back."""

Granted: TypeAlias = Mapping[str, Json] | None
"""The work that the server leased with an event, if it did."""


class Worker:
    """Serves task functions for one agent id: awaits an event, leases its state, works, writes.

    The write ends the lease, has the agents of what follows told, and brings the lease on the next state, if there is
    one for this agent. So between two functions there is one call. `otherwise` is the function of every state that has
    none of its own. With `unassigned` it also takes states that no agent is assigned to, if it has functions for them.
    """

    def __init__(
        self,
        tools: ToolCaller,
        agent_id: str,
        functions: Mapping[str, StateFunction] | None = None,
        *,
        otherwise: TaskFunction | None = None,
        concurrency: int = 1,
        lease_ttl_s: int = 30,
        wait_s: float = 20,
        pause_s: float = 1.0,
        witness: Witness | None = None,
        unassigned: bool = False,
    ) -> None:
        self._leases = LeaseCalls(tools, agent_id, lease_ttl_s=lease_ttl_s, wait_s=wait_s, unassigned=unassigned)
        served = FUNCTIONS if functions is None else functions
        self._plans = {state: plans_of(function, state) for state, function in served.items()}
        self._otherwise = None if otherwise is None else plans_of(otherwise, "any state")
        self._concurrency = concurrency
        self._pause_s = pause_s
        self._witness = witness
        self._stop = threading.Event()
        self._hands: Hands | None = None
        self._in_hand: dict[str, Work] = {}
        self._calls: dict[str, TaskCall] = {}
        self._given_back: dict[str, Work] = {}
        self._is_asking = False
        self._comes_again = False
        self._changed = threading.Condition()
        self._renewals = Renewals(self._leases.renew, lease_ttl_s / _RENEWALS_PER_LEASE)

    def serve(self, stop: threading.Event | None = None, *, outlives: bool = False) -> None:
        """Handle events until told to stop; raise if the server cannot be reached at first, later retry.

        It has `concurrency` threads. When a function ends one, all end, unless the worker `outlives` that.
        """
        self._stop = stop or self._stop
        if self._concurrency > 1:
            if self._hands is None or not outlives:
                self._hands = Hands(self, self._concurrency, self._stop)
            self._hands.serve(outlives=outlives)
            return
        for event, granted in self.events(self._stop):
            if self._stop.is_set():
                self.decline(granted)
                return  # without an acknowledgement, so that another process of this agent gets the event
            try:
                self.handle(event, granted)
            except DcfError as error:
                self.drop(event, error)

    def drain(self, grace_s: float) -> list[Work]:
        """Take no more work, let functions finish for `grace_s` seconds, release the rest; return the released work.

        A function that is not finished by then is cancelled. A function that ignores this may still run afterwards.
        """
        self._stop.set()
        if self._hands is not None:
            self._hands.wake()
        if not self._is_free_within(grace_s):
            for call in list(self._calls.values()):
                call.cancel("the worker is told to stop")
            self._is_free_within(_UNWIND_S)
        for work in list(self._in_hand.values()):
            self.give_back(work)
        return list(self._given_back.values())

    def handle(self, event: Mapping[str, Json], granted: Granted = None) -> None:
        """Lease and execute the state of an event, then the next states whose leases come with the completion."""
        work = self.acquire(event, granted)
        while work is not None:
            result = self.carry_out(work)
            if result is None:
                self.abandon(work)
                return
            result, answer = self._written(work, result)
            if answer is not None and self._witness is not None:
                self._witness.ended(work, result)
            claimed = None if answer is None else answer.get("work")
            following = None if claimed is None else self._served(work_of(claimed))
            self._free(work)  # after the next work is noted: `drain` always sees one of the two
            work = following

    def events(
        self, stop: threading.Event, before: Callable[[], None] = lambda: None, *, leases: bool = True
    ) -> Iterator[tuple[Mapping[str, Json], Granted]]:
        """Yield events until told to stop. If the state of an event was leased with it, its work comes with the event.

        Call `before` each wait. Asking for the next acknowledges an event, unless its agent holds as much as it may.
        With `leases=False` no state is leased: an abandoned wait would lease states that no caller works on.
        """
        handled, reached = None, False
        named = None if self._otherwise else tuple(self._plans)
        served = named if leases else ()
        placed = {state: [*plans.by_place] for state, plans in self._plans.items() if plans.by_place}
        while not stop.is_set():
            before()
            try:
                answer = self._leases.await_event(handled, served, placed, named)
            except DcfError as error:
                if not reached or error.code not in PASSING:
                    raise
                log.warning("%s waits on: %s", self._leases.agent_id, error.message)
                continue
            reached = True
            handled = answer.get("message_id")
            if answer.get("status") == "event":
                yield answer["event"], answer.get("work")
                handled, self._comes_again = None if self._comes_again else handled, False

    def drop(self, event: Mapping[str, Json], error: DcfError) -> None:
        """Log that an event could not be handled. It must not be delivered forever; the timer loop notifies again."""
        log.warning("%s: the event of %s is dropped: %s", event.get("workflow_id"), event.get("target_state"), error)

    def decline(self, granted: Granted) -> None:
        """Release the state that was leased with an event that came too late."""
        if granted is not None:
            self.give_back(work_of(granted))

    def acquire(self, event: Mapping[str, Json], granted: Granted = None) -> Work | None:
        """Lease the state of an event, unless that was done; None if it is refused or there is no function for it."""
        if granted is not None:
            return self._served(work_of(granted))
        workflow_id, state = str(event.get("workflow_id")), str(event.get("target_state") or "")
        if event.get("type") in _STOPS:
            self._stop_work_on(workflow_id, event)
            return None
        plans = self._plans_of(state)
        refusal = _NO_FUNCTION if plans is None else plans.refusal_of_event(event)
        if refusal is not None:
            log.warning("the event of state %r is dropped: %s", state, refusal)
            return None
        self._is_asking = True
        try:
            work = self._leases.acquire(workflow_id, state)
            if isinstance(work, NotLeased):
                log.info("%s/%s: %s", workflow_id, state, work.why)
                self._comes_again = work.is_over_limit
                return None
            return self._served(work)
        finally:
            self._asked()

    def _stop_work_on(self, workflow_id: str, event: Mapping[str, Json]) -> None:
        """Cancel the functions whose results are no longer needed: those of an ended run, or of one lost lease."""
        epoch, state = event.get("epoch"), event.get("target_state")  # states leased together have the same epoch
        for token, call in list(self._calls.items()):
            work = self._in_hand.get(token)
            if work is None or work.workflow_id != workflow_id:
                continue
            if epoch is None or (epoch, state) == (work.epoch, work.state):
                call.cancel("the run has ended" if epoch is None else "the lease is lost")

    def claim(self, workflow_id: str, most: int) -> list[Work]:
        """Lease ready states of a run, so many at most."""
        self._is_asking = True
        try:
            served = [self._served(work) for work in self._leases.claim(workflow_id, most)]
            return [work for work in served if work is not None]
        finally:
            self._asked()

    def carry_out(self, work: Work) -> Result | None:
        """Call the function, and keep the lease meanwhile; return its result, or None if it was cancelled."""
        call = self._begun(work)
        try:
            return call.run()
        except BaseException:
            self._free(work)  # its lease expires
            raise
        finally:
            self._renewals.let_go(work)

    def is_async(self, work: Work) -> bool:
        """Return True if the function of the state is async, and needs no thread."""
        return self._planned(work).is_async

    def begin(self, work: Work, ended: Ended) -> None:
        """Begin an async function, and keep the lease until it has ended; `ended` must not wait."""

        def told(result: Result | None, error: BaseException | None) -> None:
            self._renewals.let_go(work)
            ended(result, error)

        self._begun(work).start(told)

    def abandon(self, work: Work) -> None:
        """Let go of a state whose function was cancelled. Release its lease if the worker is stopping."""
        if self._stop.is_set():
            self.give_back(work)
        else:
            self._lost(work, "the function was cancelled")

    def deliver_all(self, workflow_id: str, results: Results, claim_next: int) -> list[Work]:
        """Write results of one run with one call until each is accepted or refused. Return what was leased with it."""
        claimed: list[Work | None] = []
        while results:
            answer = self._deliver(results, partial(self._leases.write_all, workflow_id, results, claim_next))
            if answer is None:
                break
            self._note(results, answer["completed"])
            claimed += [self._served(work_of(work)) for work in answer["work"]]
            claim_next -= len(answer["work"])
            results = _to_send_again(results, answer["completed"])
            if results and self._stop.wait(self._pause_s):
                break
        return [work for work in claimed if work is not None]

    def free(self, results: Results) -> None:
        """Note that nothing more is to be done about these states."""
        for work, _ in results:
            self._free(work)

    def give_back(self, work: Work, reason: str | None = None) -> None:
        """Release a lease, for a reason. If the call fails, the lease expires, so a failure is only logged."""
        try:
            why = self._leases.release(work, reason)
        except DcfError as error:
            why = None
            log.warning("%s: the lease is not released: %s", work.name, error.message)
        if why is None:
            self._given_back[work.token] = work
        self._lost(work, why or "given back")

    def _plans_of(self, state: str) -> StatePlans | None:
        return self._plans.get(name_of(state), self._otherwise)

    def _planned(self, work: Work) -> TaskPlan:
        plans = self._plans_of(work.state)
        plan = None if plans is None else plans.plan_for(work.brief.get("resource"))
        assert plan is not None, "a state without a function is not taken"
        return plan

    def _written(self, work: Work, result: Result) -> tuple[Result, dict[str, Json] | None]:
        """Write a result, or that its output does not match its schema; return what was written, and the answer."""
        write = partial(self._leases.write, work, claim_next=not self._stop.is_set())
        answer = self._deliver([(work, result)], partial(write, result))
        if answer is not None and answer["code"] == _MISMATCH:
            result = mismatched(answer["problems"], result)
            answer = self._deliver([(work, result)], partial(write, result))
        return result, answer

    def _begun(self, work: Work) -> TaskCall:
        self._calls[work.token] = call = TaskCall(work, self._planned(work), self._leases)
        self._renewals.hold(work, call.cancel)
        return call

    def _lost(self, work: Work, why: str) -> None:
        """Let go of work without a result; report that to the witness once, if it knows of the work."""
        with self._changed:  # `drain` sees no work only after the witness was called
            if self._free(work) and self._witness is not None:
                self._witness.lost(work, why)

    def _asked(self) -> None:
        self._is_asking = False
        self._tell_drain()

    def _free(self, work: Work) -> bool:
        self._calls.pop(work.token, None)
        was_in_hand = self._in_hand.pop(work.token, None) is not None
        self._tell_drain()
        return was_in_hand

    def _tell_drain(self) -> None:
        if self._stop.is_set():
            with self._changed:
                self._changed.notify_all()

    def _is_free_within(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._in_hand and not self._is_asking, seconds)

    def _note(self, results: Results, answers: Sequence[Mapping[str, Json]]) -> None:
        """Tell the witness which results were accepted."""
        if self._witness is None:
            return
        for (work, result), answer in zip(results, answers, strict=True):
            if answer["code"] in ("ok", _JUDGED):
                self._witness.ended(work, result)
            elif answer["code"] not in _WAITED_FOR | {_MISMATCH}:
                self._lost(work, str(answer["error"]))

    def _deliver(self, results: Results, write: Callable[[], dict[str, Json]]) -> dict[str, Json] | None:
        """Write the outcomes of states until the server answers; None if it rejects them, or the worker stops before.

        No other process has the result. A lease that expired meanwhile is valid until another agent takes it.
        """
        pause, name = self._pause_s, results[0][0].name
        while True:
            try:
                if (answer := write()).get("code") in ("ok", _MISMATCH, _JUDGED):
                    return answer
                why, code = answer.get("error"), answer.get("code")
            except DcfError as error:
                why, code = error.message, error.code
            if code not in _WAITED_FOR:
                break
            log.warning("%s: the result is kept and sent again: %s", name, why)
            if self._stop.wait(pause * JITTER.uniform(0.5, 1)):
                why = "the worker was told to stop"
                break
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        log.warning("%s: the result is given up: %s", name, why)
        for work, _ in results:
            self._lost(work, str(why))
        return None

    def _served(self, work: Work) -> Work | None:
        """Take a state that was leased; release it if there is no function for it, so that another worker can do it."""
        plans = self._plans_of(work.state)
        refusal = _NO_FUNCTION if plans is None else plans.refusal_of(work.brief.get("resource"))
        if refusal is not None:
            log.warning("%s is released: %s", work.name, refusal)
            self.give_back(work, sendable(refusal, _LONGEST_REASON))
            return None
        self._in_hand[work.token] = work
        if self._witness is not None:
            self._witness.taken(work)
        return work


def _to_send_again(results: Results, answers: Sequence[Mapping[str, Json]]) -> Results:
    """Return the results that were neither accepted nor permanently rejected; log why they were not accepted.

    In place of an output that does not match its schema the failure is sent.
    """
    for (work, _), answer in zip(results, answers, strict=True):
        if answer["code"] not in ("ok", _JUDGED):
            log.warning("%s: the result is not accepted: %s", work.name, answer["error"])
    again = [
        (work, mismatched(outcome["problems"], result) if outcome["code"] == _MISMATCH else result, outcome["code"])
        for (work, result), outcome in zip(results, answers, strict=True)
    ]
    return [(work, result) for work, result, code in again if code in _WAITED_FOR or code == _MISMATCH]
