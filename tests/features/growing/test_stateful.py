"""Agents that add, take, end, fail, take back, skip, seal and close in any order, and what holds whatever they do."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from dcf.core.completing.resolving import Resolve
from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.retention import Deleted
from dcf.features.growing.adding import Added
from dcf.store.connection.connections import Connections
from dcf.values.refusal import Refusal
from tests.support.workflows.growing import Server, check
from tests.support.world import World, new_token

NAMES = tuple(f"U{number}" for number in range(9))
GROUPS = ("G", "H")

names = st.sampled_from(NAMES)
groups = st.sampled_from(GROUPS)
BEGINNING: tuple[dict[str, Any], ...] = (
    {"name": "H", "kind": "group"},
    {"name": "U0"},
    {"name": "U1", "depends_on": ["U0"]},
    {"name": "U2", "depends_on": ["U1"], "group": "H"},
    {"name": "U3", "depends_on": ["H"]},
    {"name": "U4", "parent": "U0"},
)
"""A chain, part of it in a group, and a unit below the first."""

units = st.fixed_dictionaries(
    {"name": names},
    optional={
        "depends_on": st.lists(st.sampled_from(NAMES + GROUPS), max_size=2, unique=True),
        "group": groups,
        "parent": names,
        "claim": st.booleans(),
    },
)


@dataclass
class Hold:
    """A lease, and what completing with it was answered."""

    unit: str
    token: str
    epoch: int
    answer: Updated | None = None


class Members(RuleBasedStateMachine):
    connections: Connections
    onlooker: Connections

    def __init__(self) -> None:
        super().__init__()
        worlds = [World(connections=self.connections, onlooker=self.onlooker) for _ in range(2)]
        self.world = worlds[0]
        self.servers = [Server(world) for world in worlds]
        self.run = self.servers[0].open(*BEGINNING, max_attempts=4)
        self.holds: list[Hold] = []
        self.known: dict[str, dict[str, Any]] = {}

    def server(self, data: st.DataObject) -> Server:
        return data.draw(st.sampled_from(self.servers), label="server")

    def docs(self) -> dict[str, StateDoc]:
        return dict(self.servers[0].snapshot(self.run)[1].states)

    @rule(data=st.data(), given=st.lists(units, min_size=1, max_size=4, unique_by=lambda item: item["name"]))
    def add(self, data: st.DataObject, given: list[dict[str, Any]]) -> None:
        before, token = self.docs(), new_token()
        answer = self.server(data).try_add(self.run, *given, token=token)
        after = self.docs()
        if isinstance(answer, Refusal):
            assert after == before, "a refused request writes nothing"
            return
        for lease in answer.leases:
            self.remember(lease)
        claimed = {item["name"] for item in given if item.get("claim")}
        assert {lease.state for lease in answer.leases} == claimed
        assert set(after) == set(before) | {item["name"] for item in given}

    @rule(data=st.data(), name=groups, waits=st.lists(names, max_size=1))
    def add_group(self, data: st.DataObject, name: str, waits: list[str]) -> None:
        self.server(data).try_add(self.run, {"name": name, "kind": "group", "depends_on": waits})

    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        before = self.docs()
        answer = self.server(data).world.claim(self.run, "w", new_token())
        if isinstance(answer, Leased):
            assert before[answer.state].is_ready
            self.remember(answer)

    def remember(self, lease: Leased) -> None:
        token, epoch = lease.doc.lease.token, lease.doc.lease.epoch
        assert token is not None
        if any(hold.token == token for hold in self.holds):
            return
        assert all(epoch > hold.epoch for hold in self.holds if hold.unit == lease.state), "epochs only grow"
        self.holds.append(Hold(lease.state, token, epoch))

    @precondition(lambda self: self.holds)
    @rule(data=st.data(), claims=st.booleans())
    def complete(self, data: st.DataObject, claims: bool) -> None:
        hold = data.draw(st.sampled_from(self.holds), label="hold")
        before = self.docs()
        more: dict[str, Any] = {"claim_ttl_s": 60, "owner": "w"} if claims else {}
        answer = self.server(data).world.try_complete(self.run, hold.unit, hold.token, {"n": 1}, **more)
        if isinstance(answer, Refusal):
            assert hold.answer is None or answer.code == "lease_lost", "what was applied is not refused"
            assert self.docs() == before
            return
        if hold.answer is None:
            assert before[hold.unit].lease.is_held_with(hold.token), "only the holder completes"
            hold.answer = answer
        for lease in answer.claims:
            if not answer.repeated:
                self.remember(lease)

    @precondition(lambda self: self.holds)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        hold = data.draw(st.sampled_from(self.holds), label="hold")
        self.server(data).world.fail(self.run, hold.unit, hold.token)

    @precondition(lambda self: self.holds)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        hold = data.draw(st.sampled_from(self.holds), label="hold")
        self.server(data).world.release(self.run, hold.unit, hold.token)

    @rule(data=st.data(), count=st.integers(1, 4))
    def work(self, data: st.DataObject, count: int) -> None:
        """Do what is ready, a few units on."""
        world = self.server(data).world
        for _ in range(count):
            answer = world.claim(self.run, "w", new_token())
            if not isinstance(answer, Leased):
                return
            self.remember(answer)
            done = world.try_complete(self.run, answer.state, answer.doc.lease.token, {"n": 1})
            if isinstance(done, Updated):
                self.holds[-1].answer = done

    def existing(self, data: st.DataObject) -> str | None:
        result = sorted(self.docs())
        return data.draw(st.sampled_from(result), label="unit") if result else None

    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        name = self.existing(data)
        if name is not None:
            before = self.docs()
            answer = self.server(data).retry(self.run, name)
            is_retried = isinstance(answer, RunAnswer)
            assert not is_retried or before[name].status.value in {"failed", "cancelled"}
            assert is_retried or self.docs() == before

    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        name = self.existing(data)
        if name is not None:
            before = self.docs()
            answer = self.server(data).rewind(self.run, name)
            after = self.docs()
            if isinstance(answer, Refusal):
                assert after == before
                return
            for item in answer.answer["rewound"]:
                assert after[item].status.value == "pending"
                assert after[item].lease.epoch > before[item].lease.epoch

    @rule(data=st.data())
    def skip(self, data: st.DataObject) -> None:
        name = self.existing(data)
        if name is not None:
            self.server(data).world.lifecycle.resolve(self.run, Resolve(state=name, how="skip"))

    @rule(data=st.data(), group=groups, force=st.integers(0, 3))
    def seal(self, data: st.DataObject, group: str, force: int) -> None:
        if group in self.docs():
            self.server(data).seal(self.run, group, force=force == 0)

    @rule(data=st.data(), chance=st.integers(0, 5))
    def seal_all(self, data: st.DataObject, chance: int) -> None:
        if chance == 0:
            self.server(data).seal(self.run)

    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        name = self.existing(data)
        if name is not None and self.docs()[name].lease.token is not None:
            self.world.expire_lease(self.run, name)
            self.world.plane.look(self.run, name)

    @invariant()
    def the_run_is_sound(self) -> None:
        for server in self.servers:
            check(server, self.run)

    def teardown(self) -> None:
        try:
            answer = self.servers[0].close(self.run, status=RunStatus.PARTIAL, force=True)
            if isinstance(answer, Refusal):
                assert answer.code == "run_over"
            assert all(doc.status.is_terminal for doc in self.docs().values())
            assert isinstance(self.world.retention.delete(self.run), Deleted)
            assert self.world.keys_of(self.run) == []
        finally:
            self.world.close()


def check_members(connections: Connections, onlooker: Connections, *, examples: int) -> None:
    """Let members do a number of sequences of 15 steps on this server."""

    class OnServer(Members):
        pass

    OnServer.connections, OnServer.onlooker = connections, onlooker
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    options = settings(max_examples=examples, stateful_step_count=15, suppress_health_check=checks, database=None)
    run_state_machine_as_test(OnServer, settings=options)


@pytest.mark.timeout(1800)  # for a hang only: `tests/system/fuzz/test_growing_stateful.py` draws more examples
def test_whatever_members_do_a_run_that_grows_is_sound(real_connections: Connections, onlooker: Connections) -> None:
    check_members(real_connections, onlooker, examples=5)


def test_a_request_that_is_added_twice_is_added_once(real: World) -> None:
    server = Server(real)
    run = server.open()
    first = server.add(run, {"name": "A"}, request_id="once")
    again = server.add(run, {"name": "A"}, request_id="once")
    assert (first.outcome.repeated, again.outcome.repeated) == (False, True)
    assert first.outcome.answer == again.outcome.answer
    assert isinstance(again, Added)
    assert server.world.event_types(run).count("UnitAdded") == 1
