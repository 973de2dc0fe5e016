"""Agents and an operator that do anything in any order on the real server, and what must hold whatever they do.

No clock is waited for: a lease expires by writing a time of the past into its document.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from dcf.core.completing.resolving import Resolve
from dcf.core.documents.answers import AlreadyCompleted, Created, Leased, Released, Updated
from dcf.core.documents.model import OPEN, RunStatus, StateDoc, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.repeating import Rerun
from dcf.core.lifecycle.retention import Deleted
from dcf.features.journal.model import EntryKind, entry_id_of
from dcf.features.journal.writing import AddEntry, EntryAdded, ResolveIssue
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.values.refusal import Refusal
from tests.support.workflows.machines import Document, workflow
from tests.support.world import World, new_token

AGENTS = ("ann", "bob", "cyd")
POOLS = {"Work": ("ann", "bob"), "Check": ("bob", "cyd"), "Fix": ("ann", "cyd"), "Done": ("ann", "bob", "cyd")}
MAX_ATTEMPTS = 6

agents = st.sampled_from(AGENTS)
states = st.sampled_from(tuple(POOLS))


def machine() -> Document:
    """Work, Check, then a Choice: done, back to Work, or to Fix, which leads back to Check."""

    def when(verdict: str, target: str) -> Document:
        return {"Variable": "$.verdict", "StringEquals": verdict, "Next": target}

    return workflow(
        {
            "Work": {"Type": "Task", "Next": "Check"},
            "Check": {"Type": "Task", "Next": "Judge"},
            "Judge": {"Type": "Choice", "Choices": [when("good", "Done"), when("bad", "Fix")], "Default": "Work"},
            "Fix": {"Type": "Task", "Next": "Check"},
            "Done": {"Type": "Task", "End": True},
        }
    )


@dataclass
class Grant:
    """A lease of an agent, and the later notifications about it."""

    state: str
    agent: str
    token: str
    epoch: int
    applied: dict[str, Any] = field(default_factory=dict)


class Agents(RuleBasedStateMachine):
    connections: Connections
    onlooker: Connections

    def __init__(self) -> None:
        super().__init__()
        self.world = World(connections=self.connections, onlooker=self.onlooker)
        self.run = self.world.create(machine(), agents=POOLS, planner="boss", max_attempts=MAX_ATTEMPTS)
        self.world.plane.kick_off(self.run, "initial")
        self.grants: list[Grant] = []
        self.pools: dict[str, tuple[str, ...]] = dict(POOLS)
        self.requests: list[tuple[Callable[[], RunAnswer | Refusal], RunAnswer]] = []
        self.is_paused = False
        self.issues: list[str] = []
        self.is_held = False
        self.reruns: list[str] = []
        self.terminal: dict[str, StateDoc] = {}
        self.docs = dict(self.world.docs(self.run))
        self.over: Any = None

    # What agents do

    @rule(state=states, agent=agents)
    def acquire(self, state: str, agent: str) -> None:
        before, token = self.docs[state], new_token()
        answer = self.world.try_acquire(self.run, state, agent, token)
        if isinstance(answer, Leased):
            self.granted(answer, before, agent, token)
        self.look()

    @rule(agent=agents)
    def claim(self, agent: str) -> None:
        before, token = dict(self.docs), new_token()
        answer = self.world.claim(self.run, agent, token)
        if isinstance(answer, Leased):
            self.granted(answer, before[answer.state], agent, token)
        self.look()

    def granted(self, answer: Leased, before: StateDoc, agent: str, token: str) -> None:
        assert answer.outcome == "lease_acquired"
        assert answer.doc.lease.token == token
        assert before.is_ready, "nothing starts before it is ready"
        assert before.status in OPEN
        assert answer.doc.started_at is not None
        assert not before.lease.is_live(answer.doc.started_at), "nobody held it"
        assert agent in self.pools[answer.state]
        assert not self.is_paused, "nobody gets a lease while the run is paused"
        assert not self.issues, "nobody gets a lease while an issue blocks the run"
        self.remember(answer, agent, token)

    def remember(self, answer: Leased, agent: str, token: str) -> None:
        epoch = answer.doc.lease.epoch
        assert all(epoch > grant.epoch for grant in self.grants if grant.state == answer.state), "epochs only grow"
        self.grants.append(Grant(answer.state, agent, token, epoch))

    @precondition(lambda self: self.grants)
    @rule(data=st.data())
    def repeat_acquire(self, data: st.DataObject) -> None:
        grant = self.pick(data)
        holds = self.holds(grant)
        doc = self.docs[grant.state]
        if not holds and doc.lease.token == grant.token and doc.status in OPEN and self.is_expired(grant.state):
            return
        answer = self.world.try_acquire(self.run, grant.state, grant.agent, grant.token)
        assert isinstance(answer, Leased) is holds
        if isinstance(answer, Leased):
            assert answer.outcome == "lease_already_held"
            assert answer.doc.attempts == self.docs[grant.state].attempts
        self.look()

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), strict=st.booleans())
    def renew(self, data: st.DataObject, strict: bool) -> None:
        grant = self.pick(data)
        holds, expired = self.holds(grant), self.is_expired(grant.state)
        answer = self.world.renew(self.run, grant.state, grant.token, reject_if_expired=strict)
        assert isinstance(answer, Leased) is (holds and not (strict and expired))
        self.look()

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), give_back=st.booleans())
    def release(self, data: st.DataObject, give_back: bool) -> None:
        grant = self.pick(data)
        holds = self.holds(grant)
        if give_back:
            answer: Any = self.world.update(self.run, grant.state, grant.token, status=Status.PENDING)
        else:
            answer = self.world.release(self.run, grant.state, grant.token)
        if holds:
            assert isinstance(answer, Released | Updated)
            grant.applied["release"] = give_back
        elif "release" in grant.applied:
            assert not isinstance(answer, Refusal), "nobody is told 'refused' about an applied request"
        self.look()

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), value=st.integers(0, 9))
    def write(self, data: st.DataObject, value: int) -> None:
        grant = self.pick(data)
        holds, before = self.holds(grant), self.world.output(self.run, grant.state)
        answer = self.world.update(self.run, grant.state, grant.token, output=value)
        assert isinstance(answer, Updated) is holds
        assert self.world.output(self.run, grant.state) == (value if holds else before), "no write by a stale holder"
        self.look()

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), verdict=st.sampled_from(["good", "bad", "again"]), claim=st.booleans())
    def complete(self, data: st.DataObject, verdict: str, claim: bool) -> None:
        grant = self.pick(data)
        holds, before = self.holds(grant), self.completions(grant)
        request: dict[str, Any] = {"output": {"verdict": verdict}, "claim_ttl_s": 3600 if claim else None}
        answer = self.world.try_complete(self.run, grant.state, grant.token, **request)
        if holds:
            assert isinstance(answer, Updated)
            assert not answer.repeated
            assert self.completions(grant) == before + 1
            grant.applied["complete"] = request
            assert answer.claimed is None or not (self.is_paused or self.issues)
            if answer.claimed is not None:
                token = answer.claimed.doc.lease.token
                assert token is not None
                assert token not in {known.token for known in self.grants}
                self.remember(answer.claimed, grant.agent, token)
        else:
            self.told_the_truth(grant, answer, request["output"])
            assert self.completions(grant) == before, "one effective completion per attempt"
        self.look()

    @precondition(lambda self: self.grants)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        grant = self.pick(data)
        holds = self.holds(grant)
        answer = self.world.fail(self.run, grant.state, grant.token)
        if holds:
            assert isinstance(answer, Updated)
            assert answer.run_status is RunStatus.FAILED
            grant.applied["complete"] = {"output": None}
        else:
            self.told_the_truth(grant, answer, None)
        self.look()

    @rule(state=states)
    def expire(self, state: str) -> None:
        if self.docs[state].lease.token is not None:
            self.world.expire_lease(self.run, state)
            self.docs[state] = self.world.doc(self.run, state)

    @rule(data=st.data())
    def pulse(self, data: st.DataObject) -> None:
        """An agent of its pool is notified of each state that control waits for, perhaps again."""
        ready = [name for name, doc in self.docs.items() if self.is_running() and doc.is_claimable(doc.lease.epoch + 1)]
        for state in data.draw(st.sets(st.sampled_from(ready))) if ready else ():
            self.world.make_due(self.run, state)
        self.world.notifications.pulse()
        self.look()

    @precondition(lambda self: len(self.grants) > 3)
    @rule(close=st.booleans(), hesitate=st.integers(0, 3))
    def finalize(self, close: bool, hesitate: int) -> None:
        if hesitate:
            return
        answer = self.world.finalize(self.run, close_open_states=close)
        assert answer.repeated is (self.over is not None)
        self.over = self.over or answer.audit
        assert answer.audit == self.over
        self.look(closing=True)

    # What an operator does

    def asks(self, call: Callable[[str], RunAnswer | Refusal]) -> RunAnswer | Refusal:
        """Make a request with an id of its own, which may be repeated later."""
        request_id = new_token()
        answer = call(request_id)
        if isinstance(answer, RunAnswer):
            assert not answer.repeated
            self.requests.append((lambda: call(request_id), answer))
        return answer

    @rule()
    def pause(self) -> None:
        running = self.is_running()
        answer = self.asks(lambda request_id: self.world.lifecycle.pause(self.run, request_id=request_id))
        assert isinstance(answer, RunAnswer) is running
        self.is_paused = running
        self.look()

    @rule()
    def resume(self) -> None:
        running = self.is_running()
        answer = self.asks(lambda request_id: self.world.lifecycle.resume(self.run, request_id=request_id))
        assert isinstance(answer, RunAnswer) is running
        self.is_paused = False
        self.look()

    @precondition(lambda self: len(self.issues) < 2)
    @rule()
    def block(self) -> None:
        running, key = self.is_running(), new_token()
        wish = AddEntry(kind=EntryKind.ISSUE, text="Why?", agent="ann", key=key, blocks=True, is_operator=True)
        answers = [self.world.journal.add_journal_entry(self.run, wish) for _ in range(2)]
        assert [isinstance(answer, EntryAdded) for answer in answers] == [running, running]
        self.issues += [entry_id_of(key)] if running else []
        self.look()

    @precondition(lambda self: self.issues)
    @rule()
    def unblock(self) -> None:
        wish = ResolveIssue(issue=self.issues.pop(), how="So.", by="ann", may_any=True)
        answer = self.asks(lambda request_id: self.world.journal.resolve_issue(self.run, wish, request_id=request_id))
        assert isinstance(answer, RunAnswer)
        self.look()

    @precondition(lambda self: len(self.grants) > 3)
    @rule(hesitate=st.integers(0, 3))
    def cancel(self, hesitate: int) -> None:
        if hesitate:
            return
        status = self.world.run_status(self.run)
        answer = self.asks(lambda request_id: self.world.lifecycle.cancel(self.run, request_id=request_id))
        assert isinstance(answer, RunAnswer) is (status in {RunStatus.RUNNING, RunStatus.CANCELLED})
        self.is_paused = False
        self.look(closing=status is RunStatus.RUNNING)

    @precondition(lambda self: not self.is_running())
    @rule()
    def retry(self) -> None:
        before = dict(self.docs)
        can = self.over is None and self.world.run_status(self.run) is not RunStatus.SUCCEEDED
        can = can and not self.judge_failed()  # it would fail again: it has no worker who could do better
        answer = self.asks(lambda request_id: self.world.retrying.retry(self.run, request_id=request_id))
        assert isinstance(answer, RunAnswer) is can
        self.look(closing=can)
        if not can:
            return
        self.is_paused = False
        (state,) = answer.answer["states"]  # type: ignore[union-attr]
        assert (self.docs[state].status, self.docs[state].attempts) == (Status.PENDING, 0)
        assert self.docs[state].lease.epoch > max(doc.lease.epoch for doc in before.values())
        docs = {name: doc for name, doc in before.items() if doc.status is Status.SUCCEEDED}
        assert all(self.docs[name] == doc for name, doc in docs.items()), "what succeeded is kept"
        assert not [name for name, doc in self.docs.items() if doc.status is Status.SKIPPED]

    @rule(
        state=states,
        how=st.sampled_from(["output", "output", "skip", "error"]),
        verdict=st.sampled_from(["bad", "again"]),
    )
    def resolve(self, state: str, how: Any, verdict: str) -> None:
        earlier, running = self.docs[state], self.is_running()
        can = running and earlier.status in OPEN and earlier.is_ready
        wish = Resolve(state=state, how=how, output={"verdict": verdict}, error="ByHand")
        answer = self.asks(lambda request_id: self.world.lifecycle.resolve(self.run, wish, request_id=request_id))
        assert isinstance(answer, RunAnswer) is can
        self.look()
        if can and state not in answer.answer["next_states"]:  # type: ignore[union-attr]
            assert self.docs[state].status is (Status.FAILED if how == "error" else Status.SUCCEEDED)
        assert not can or self.docs[state].lease.epoch > earlier.lease.epoch, "its holder is fenced out"

    @rule(state=states, pool=st.lists(agents, min_size=1, max_size=2, unique=True))
    def assign(self, state: str, pool: list[str]) -> None:
        """A state may be given to others before control reaches it."""
        earlier, running = self.docs[state], self.is_running()
        can = running and earlier.status in OPEN
        wish = Resolve(state=state, agents=tuple(pool))
        answer = self.asks(lambda request_id: self.world.lifecycle.resolve(self.run, wish, request_id=request_id))
        assert isinstance(answer, RunAnswer) is can
        self.pools |= {state: tuple(pool)} if can else {}
        self.look()
        if can and earlier.lease.token is not None:
            assert (self.docs[state].lease.token is not None) is (earlier.lease.owner_agent_id in pool)

    @rule(is_held=st.booleans())
    def hold(self, is_held: bool) -> None:
        retention = self.world.retention
        answer = self.asks(lambda request_id: retention.hold(self.run, request_id=request_id, is_held=is_held))
        assert isinstance(answer, RunAnswer)
        assert answer.answer["changed"] is (is_held is not self.is_held)
        self.is_held = is_held
        self.look()

    @precondition(lambda self: self.is_held or self.is_running())
    @rule()
    def delete(self) -> None:
        """A run that is running or on hold is not deleted; all others are at the end."""
        answer = self.world.retention.delete(self.run)
        assert isinstance(answer, Refusal)
        assert answer.code == ("run_live" if self.is_running() else "on_hold")
        self.look()

    @precondition(lambda self: len(self.reruns) < 2)
    @rule(state=st.none() | states, hesitate=st.integers(0, 2))
    def rerun(self, state: str | None, hesitate: int) -> None:
        if hesitate:
            return
        new, was_there = self.world.name(), state is None or self.docs[state].is_ready
        wish = Rerun(workflow_id=new, from_state=state, agents={})
        answers = [self.world.starting.rerun(self.run, wish) for _ in range(2)]
        assert [isinstance(answer, Created) for answer in answers] == [was_there] * 2
        self.look()
        if was_there:
            assert [answer.existed for answer in answers] == [False, True]  # type: ignore[union-attr]
            self.reruns.append(new)
            assert self.world.meta(self.run)["reruns"] == self.reruns
            assert self.world.meta(new)["rerun_of"] == self.run
            standing = [name for name, doc in self.world.docs(new).items() if doc.status in OPEN and doc.is_ready]
            assert standing == [state or "Work"]

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def repeat_request(self, data: st.DataObject) -> None:
        call, answer = data.draw(st.sampled_from(self.requests[-8:]))
        before = len(self.world.events(self.run))
        assert call() == RunAnswer(answer=answer.answer, at=answer.at, repeated=True)
        assert len(self.world.events(self.run)) == before, "a repetition changes nothing"

    # What is known

    def pick(self, data: st.DataObject) -> Grant:
        return data.draw(st.sampled_from(self.grants[-8:]))

    def is_running(self) -> bool:
        return self.world.run_status(self.run) is RunStatus.RUNNING

    def judge_failed(self) -> bool:
        judge = self.docs.get("Judge")
        return judge is not None and judge.status is Status.FAILED

    def holds(self, grant: Grant) -> bool:
        doc = self.docs[grant.state]
        return doc.lease.token == grant.token and doc.status is Status.RUNNING and self.is_running()

    def is_expired(self, state: str) -> bool:
        expires_at = self.docs[state].lease.expires_at
        return expires_at is not None and expires_at < self.docs[state].lease.epoch

    def completions(self, grant: Grant) -> int:
        details = ("StateSucceeded", "StateFailed")
        events = [
            event for event in self.world.events(self.run) if event.type in details and event.state == grant.state
        ]
        return sum(event.data["epoch"] == grant.epoch for event in events)

    def told_the_truth(self, grant: Grant, answer: Updated | Refusal, output: object) -> None:
        """An applied request is repeated, also after other changes. Other content and unknown requests are refused."""
        if "complete" not in grant.applied:
            assert isinstance(answer, Refusal)
        elif grant.applied["complete"]["output"] == output:
            assert isinstance(answer, Updated), "nobody is told 'refused' about an applied request"
            assert answer.repeated
        else:
            assert isinstance(answer, AlreadyCompleted), "other content is no repetition"

    def look(self, *, closing: bool = False) -> None:
        """Compare the documents with those before the step."""
        before, self.docs = self.docs, dict(self.world.docs(self.run))
        for name, doc in self.docs.items():
            earlier = before[name]
            assert doc.lease.epoch >= earlier.lease.epoch
            entered = doc.lease.epoch > earlier.lease.epoch
            if earlier.status.is_terminal and not entered:
                assert doc == earlier, "a terminal document never changes unless the state is entered again"
            if self.over is not None and not closing:
                assert doc == earlier, "nothing changes in a closed run"

    @invariant()
    def one_holder_per_epoch(self) -> None:
        owners: dict[tuple[str, int], set[str]] = defaultdict(set)
        for event in self.world.events(self.run):
            if event.type == "LeaseAcquired":
                key = (str(event.state), event.data["epoch"])
                assert key not in owners, "granted twice"
                owners[key].add(event.data["owner"])

    @rule()
    def settle(self) -> None:
        """The clock has looked."""
        self.world.due.settle(self.run)

    @invariant()
    def the_clock_looks_no_later_than_it_must(self) -> None:
        needed = self.world.outbox.attention(self.run).next_due
        noted = self.world.ask("ZSCORE", keys.due(self.run), self.run)
        assert needed is None or (noted is not None and float(noted) <= needed)

    @invariant()
    def control_stands_in_one_state_of_a_running_run(self) -> None:
        standing = [name for name, doc in self.docs.items() if doc.status in OPEN and doc.is_ready]
        assert len(standing) == 1 or not self.is_running()

    def has_heard(self, agent: str, state: str) -> bool:
        events = self.world.messages(agent)
        return any((event["workflow_id"], event["target_state"]) == (self.run, state) for event in events)

    def teardown(self) -> None:
        """Whatever happened, the clock tells what is owed: to the pool of the state, or to the planner."""
        try:
            if self.is_paused and self.is_running():
                self.world.lifecycle.resume(self.run)
            for issue in self.issues:
                wish = ResolveIssue(issue=issue, how="So.", by="ann", may_any=True)
                self.world.journal.resolve_issue(self.run, wish)
            self.world.notifications.pulse()
            self.docs = {name: self.world.doc(self.run, name) for name in self.docs}  # its last try may be over
            if self.is_running():
                (state,) = (name for name, doc in self.docs.items() if doc.status in OPEN and doc.is_ready)
                doc = self.world.doc(self.run, state)
                if doc.lease.token is None or doc.lease.expires_at is None:
                    self.world.make_due(self.run, state)
                    self.world.notifications.pulse()
                    heard = [self.has_heard(agent, state) for agent in self.pools[state]]
                    assert all(heard) or doc.attempts >= MAX_ATTEMPTS
            elif self.over is None:
                told_planner = {event["type"] for event in self.world.messages("boss")}
                assert "run_finished" in told_planner
                assert told_planner <= {"run_finished", "run_blocked"}  # a caller gets no notification of its own call
            assert (
                not [doc for doc in self.docs.values() if doc.status in OPEN and not doc.is_ready] or self.is_running()
            )
            self.delete_at_the_end()
        finally:
            self.world.close()

    def delete_at_the_end(self) -> None:
        self.world.lifecycle.cancel(self.run)
        self.world.retention.hold(self.run, is_held=False)
        assert isinstance(self.world.retention.delete(self.run), Deleted)
        assert self.world.keys_of(self.run) == []
        for key in self.world.ask("KEYS", "cp:idx:*"):
            is_set = self.world.ask("TYPE", key) == b"zset"
            assert not is_set or self.world.ask("ZSCORE", key, self.run) is None, key


def check_agents(connections: Connections, onlooker: Connections, *, examples: int) -> None:
    """Let agents do a number of sequences of 25 steps on this server."""

    class OnServer(Agents):
        pass

    OnServer.connections, OnServer.onlooker = connections, onlooker
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    options = settings(max_examples=examples, stateful_step_count=25, suppress_health_check=checks, database=None)
    run_state_machine_as_test(OnServer, settings=options)


@pytest.mark.timeout(1800)  # for a hang only: `tests/system/fuzz/test_stateful.py` draws more examples
def test_whatever_agents_do_the_invariants_hold(real_connections: Connections, onlooker: Connections) -> None:
    check_agents(real_connections, onlooker, examples=8)
