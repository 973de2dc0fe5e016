"""The protocol as a whole: any order of requests, repetitions, clocks and crashes keeps its promises.

Three agents work on a run that loops through a Choice. Everything they ever sent may arrive again later.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import AlreadyCompleted, Leased, Released, Updated
from dcf.core.documents.model import StateDoc, Status
from dcf.core.leasing.lease import Acquire, Release, Renew
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from tests.core.build import LOOP, MemoryRun, code, run

AGENTS = {"A": ("ann", "bob"), "B": ()}

states = st.sampled_from(["open", "open", "open", "open", "A", "B"])
owners = st.sampled_from(["ann", "ann", "bob", "cy"])
ways = st.sampled_from([*"ABABABAB", "stop", None])
tokens = st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, 5])
"""Which of the tokens that were ever granted: 0 is the latest."""

Answered = Leased | Released | Updated | Refusal


def told(answer: Updated) -> tuple[object, ...]:
    """The facts on which a caller acts."""
    token = None if answer.claimed is None else answer.claimed.doc.lease.token
    return answer.status, answer.run_status, answer.next_states, token


class Protocol(RuleBasedStateMachine):
    """Requests go to the run in memory; `_send` checks every answer against what was so before."""

    @initialize()
    def create(self) -> None:
        self.run: MemoryRun = run(LOOP, agents=AGENTS, max_attempts=4)
        self.sent: list[Acquire | Renew | Release | Update] = []
        self.replies: dict[tuple[str, str], tuple[Updated, Any]] = {}
        self.written: set[tuple[str, str | None, str]] = set()
        self.held: list[tuple[str, str]] = []
        self.granted: list[int] = []
        self.drawn = 0
        self._acquire("A", "ann", 60)

    # What agents do

    @rule(where=states, owner=owners, ttl_s=st.sampled_from([1, 60]), flags=st.integers(0, 7))
    def acquire(self, where: str, owner: str, ttl_s: int, flags: int) -> None:
        state = where if where in AGENTS else self._open_state()
        self._acquire(state, owner, ttl_s, may_take_over=flags != 0, set_running=flags != 1)

    @rule(which=tokens, ttl_s=st.sampled_from([None, 5]), strict=st.booleans())
    def renew(self, which: int, ttl_s: int | None, strict: bool) -> None:
        state, token = self._held(which)
        self._send(Renew(state=state, token=token, ttl_s=ttl_s, reject_if_expired=strict))

    @rule(which=tokens, by_update=st.booleans())
    def give_back(self, which: int, by_update: bool) -> None:
        state, token = self._held(which)
        self._send(
            Update(state=state, token=token, status=Status.PENDING) if by_update else Release(state=state, token=token)
        )

    @rule(which=tokens, number=st.integers(0, 2))
    def write(self, which: int, number: int) -> None:
        state, token = self._held(which)
        request_id = f"r{number}" if number else None
        self._send(Update(state=state, token=token, has_output=True, output={}, attempts=number, request_id=request_id))

    @rule(which=tokens, go=ways, ttl_s=st.sampled_from([None, 30]))
    def complete(self, which: int, go: str | None, ttl_s: int | None) -> None:
        self._complete(*self._held(which), go, ttl_s)

    @rule(laps=st.lists(st.sampled_from("AB"), min_size=1, max_size=3), ttl_s=st.sampled_from([None, 30]))
    def work_as_meant(self, laps: list[str], ttl_s: int | None) -> None:
        """Go around the loop without any trouble."""
        for go in laps:
            self._acquire(self._open_state(), "ann", 60)
            self._complete(*self._held(0), go, ttl_s)

    @rule(which=st.integers(0, 1000))
    def repeat(self, which: int) -> None:
        if self.sent:
            self._send(self.sent[which % len(self.sent)])

    # What happens around them

    @rule(step_s=st.sampled_from([0, 1, 2, 61, -1, -3600]))
    def move_the_clock(self, step_s: int) -> None:
        self.run.now += step_s * SECOND

    @rule(state=st.sampled_from("AB"))
    def look(self, state: str) -> None:
        if self._watch(lambda: self.run.look(state)).fired == "exhausted":
            self._watch(lambda: self.run.exhaust(state))

    # What must hold

    @invariant()
    def attempts_are_never_negative(self) -> None:
        assert all(doc.attempts >= 0 for doc in self.run.states.values())

    @invariant()
    def at_most_one_task_is_open_and_only_a_held_state_has_an_owner(self) -> None:
        entered = [doc for doc in self.run.states.values() if not doc.status.is_terminal and doc.is_ready]
        assert len(entered) == (1 if self.run.status == "running" else 0)
        assert all(doc.lease.owner_agent_id is None for doc in self.run.states.values() if doc.lease.token is None)

    def _open_state(self) -> str:
        names = [name for name in AGENTS if self.run.states[name].is_ready]
        return next((name for name in names if not self.run.states[name].status.is_terminal), "A")

    def _complete(self, state: str, token: str, go: str | None, ttl_s: int | None) -> None:
        """Complete, perhaps with the next lease; without a `go` the Choice fails and the run with it."""
        output = {} if go is None else {"go": go}
        self._send(
            Update(state=state, token=token, status=Status.SUCCEEDED, has_output=True, output=output, claim_ttl_s=ttl_s)
        )

    def _acquire(self, state: str, owner: str, ttl_s: int, **more: Any) -> None:
        self.drawn += 1
        self._send(Acquire(state=state, owner=owner, token=f"t{self.drawn}", ttl_s=ttl_s, **more))

    def _held(self, which: int) -> tuple[str, str]:
        return self.held[-1 - min(which, len(self.held) - 1)]

    def _send(self, request: Acquire | Renew | Release | Update) -> None:
        self.sent.append(request)
        before = self.run.states[request.state]
        answer = self._watch(lambda: self._do(request))
        if isinstance(request, Acquire):
            self._check_grant(before, request, answer)
        elif request.token != before.lease.token:
            assert self.run.last_changes is None, "a stale token changed something"
        if isinstance(request, Update) and request.status is Status.SUCCEEDED:
            self._check_completion(request, answer)
        elif isinstance(request, Update) and request.is_partial:
            self._check_write(request, answer)

    def _do(self, request: Acquire | Renew | Release | Update) -> Answered:
        match request:
            case Acquire():
                return self.run.take(request)
            case Renew():
                return self.run.renew(request)
            case Release():
                return self.run.release(request)
            case Update():
                return self.run.write(request)

    def _watch(self, act: Callable[[], Any]) -> Any:
        """Act, and compare every document with what it was."""
        earlier, seen = dict(self.run.states), len(self.run.events)
        answer = act()
        events = self.run.events[seen:]
        for name, doc in self.run.states.items():
            was = earlier[name]
            assert doc.lease.epoch >= was.lease.epoch
            if was.status.is_terminal and doc != was:
                entered = {"StateEntered", "StateSucceeded", "StateFailed"}
                assert any(event.state == name and event.type in entered for event in events)
        for event in events:
            if event.type == "LeaseAcquired":
                assert event.state is not None
                self.granted.append(event.data["epoch"])
                self.held.append((event.state, self.run.states[event.state].lease.token or ""))
        assert self.granted == sorted(set(self.granted)), "two grants with one epoch, or a smaller one"
        return answer

    def _check_grant(self, before: StateDoc, request: Acquire, answer: Answered) -> None:
        if not isinstance(answer, Leased):
            return
        assert answer.doc.lease.token == request.token
        if answer.outcome == "lease_acquired":
            assert not before.lease.is_live(self.run.now)
            assert before.is_ready
            assert not before.status.is_terminal
            assert request.owner in (AGENTS[request.state] or [request.owner])
            assert (request.state, request.token) not in self.replies
        else:
            assert self.run.last_changes is None
            assert before.lease.token == request.token

    def _check_completion(self, request: Update, answer: Answered) -> None:
        assert request.token is not None
        known = self.replies.get((request.state, request.token))
        if known is not None and request.output != known[1]:
            assert isinstance(answer, AlreadyCompleted), "another output counted as a repetition"
        elif known is not None:
            assert isinstance(answer, Updated), "a repeated completion was refused"
            assert answer.repeated
            assert told(answer) == told(known[0])
        elif isinstance(answer, Updated):
            assert not answer.repeated
            self.replies[request.state, request.token] = (answer, request.output)

    def _check_write(self, request: Update, answer: Answered) -> None:
        """A write that names itself takes effect once, and is never told that it did not."""
        if request.request_id is None:
            return
        name = (request.state, request.token, request.request_id)
        if name in self.written:
            assert self.run.last_changes is None, "a partial write was applied twice"
            assert isinstance(answer, Updated) or code(answer) == "conflict"
        elif isinstance(answer, Updated):
            self.written.add(name)


ProtocolTest = Protocol.TestCase
ProtocolTest.settings = settings(max_examples=40, stateful_step_count=30)
