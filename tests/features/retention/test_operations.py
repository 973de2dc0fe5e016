"""Ended runs: deleted with all their keys, held, finalized automatically, expired."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import ANY

import pytest

from dcf.core.access.model import Scope
from dcf.core.access.quotas import Account, Quotas
from dcf.core.completing.resolving import Resolve
from dcf.core.documents.decision import Event
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.parents import Parent
from dcf.core.documents.usage import UsageReport
from dcf.core.lifecycle.retention import Deleted, RetentionPolicy
from dcf.core.listing.runs import RunQuery
from dcf.errors import StoreUnsuitable, UnknownRun
from dcf.features.retention.expiring import EXPIRING
from dcf.store.access.api_keys import AccessKeys
from dcf.store.access.authors import authored_by
from dcf.store.access.quotas import QuotaUsage
from dcf.store.connection.connections import Connections
from dcf.store.events.notified import Announcement, FailedAnnouncement, ToldRecords
from dcf.store.events.outbox import TellingOutcome
from dcf.store.keys import table as keys
from dcf.store.lists.pages import Catalog
from dcf.values.refusal import Refusal
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World

MACHINE = workflow({"M": each({"In": task()}, "P"), "P": parallel({"L": task()}, {"R": task()})})
DAY = 86_400


@pytest.fixture
def ended(real: World) -> str:
    """An ended run with every kind of key, whose end was delivered to all."""
    run = real.create(MACHINE | {"workflow_name": f"x-{uuid.uuid4().hex[:8]}"}, planner="boss", run_input=[1, 2])
    real.plane.kick_off(run, "go")
    while real.run_status(run) is RunStatus.RUNNING:
        lease: Any = real.claim(run, "w")
        real.complete(run, lease.state, lease.doc.lease.token, {"out": lease.state}, usage=UsageReport(tokens_in=1))
    for _ in range(3):
        real.notifications.pulse()
    return run


def left(world: World, run: str) -> list[str]:
    """Every key of a run, and every index that names it."""
    code = world.keys_of(run)
    for key in world.ask("KEYS", "cp:idx:*"):
        if world.ask("TYPE", key) == b"zset" and world.ask("ZSCORE", key, run) is not None:
            code.append(key.decode())
    return code


def test_nothing_is_left_of_a_deleted_run(real: World, ended: str) -> None:
    kinds = {key.split(":")[3] for key in left(real, ended) if ":wf:" in key}
    assert {"meta", "definition", "state", "output", "events", "scopes", "join"} <= kinds
    assert any(key.startswith("cp:idx:runs:workflow:") for key in left(real, ended))
    answer = real.retention.delete(ended, "no longer needed")
    assert isinstance(answer, Deleted)
    assert answer.existed
    assert left(real, ended) == []


def test_a_delivery_that_was_under_way_brings_nothing_of_a_deleted_run_back(real: World) -> None:
    run = real.create(chain("A"), agents={"A": "a"})
    real.plane.kick_off(run, "go")
    outbox = real.retention._outbox
    entries = outbox.take(run, "slow", 10)
    sent = Announcement(epoch=1, number=1, agent_id="a", at=1)
    outcome = TellingOutcome(events=(Event(type="NotificationSent", state="A"),), told=sent)
    real.lifecycle.cancel(run)
    real.retention.delete(run)
    outbox.settle(run, [(entry, outcome) for entry in entries])
    ToldRecords(real.connections).record(run, "A", sent)
    assert entries
    assert left(real, run) == []


def test_a_delivery_that_failed_brings_nothing_of_a_deleted_run_back(real: World) -> None:
    run = real.create(chain("A"), agents={"A": "a"})
    real.plane.kick_off(run, "go")
    outbox = real.retention._outbox
    (entry,) = outbox.take(run, "slow", 10)
    missed = FailedAnnouncement(epoch=1, number=1, agent_id="a", at=1, reason="busy", error="The agent is busy.")
    outcome = TellingOutcome(events=(Event(type="NotificationFailed", state="A"),), failed=missed)
    real.lifecycle.cancel(run)
    real.retention.delete(run)
    with pytest.raises(StoreUnsuitable):  # its outbox is gone
        outbox.postpone(run, entry, "slow", 1, outcome)
    assert left(real, run) == []


def test_no_list_of_an_agent_names_a_deleted_run_that_was_given_to_others(real: World) -> None:
    run = real.create(chain("A"), agents={"A": "first"})
    real.plane.kick_off(run, "go")
    for agents in (("second", "third"), ("fourth",)):
        real.lifecycle.resolve(run, Resolve(state="A", agents=agents))
    assert set(real.meta(run)["former_agents"]) == {"first", "second", "third"}
    real.lifecycle.resolve(run, Resolve(state="A", agents=("first",)))
    assert set(real.meta(run)["former_agents"]) == {"second", "third", "fourth"}
    real.lifecycle.cancel(run)
    real.retention.delete(run)
    assert left(real, run) == []


def test_a_run_is_deleted_once_and_the_repetition_says_that_it_is_gone(real: World, ended: str) -> None:
    real.retention.delete(ended)
    again = real.retention.delete(ended)
    assert again == Deleted(workflow_id=ended, existed=False)


def test_a_run_that_is_not_over_is_not_deleted(real: World) -> None:
    run = real.create(chain("A"))
    before = left(real, run)
    answer = real.retention.delete(run)
    assert isinstance(answer, Refusal)
    assert (answer.code, "cancel_run" in answer.hint) == ("run_live", True)
    assert sorted(left(real, run)) == sorted(before)


def test_a_run_is_deleted_with_its_reason_and_author_in_its_history(real: World, ended: str) -> None:
    with dying_removal(real), authored_by("key:0123456789ab"), pytest.raises(Died):
        real.retention.delete(ended, "a test")
    assert real.meta(ended)["finalized_at"] is not None, "nothing opens it again meanwhile"
    last = real.events(ended)[-1]
    assert (last.type, last.data, last.by) == ("RunDeleted", {"reason": "a test"}, "key:0123456789ab")


class Died(Exception):
    """The process is gone."""


class dying_removal:  # noqa: N801 - reads as a function
    """The process dies after sending a number of packets of the removal."""

    def __init__(self, world: World, after: int = 0) -> None:
        self._connections = world.retention._deletion._connections
        self._send = self._connections.send
        self._left = after

    def __enter__(self) -> None:
        def send(*commands: Any) -> Any:
            if any(command[0] == "DEL" for command in commands):
                self._cut(commands)
            return self._send(*commands)

        vars(self._connections)["send"] = send

    def _cut(self, commands: Any) -> None:
        self._send(*commands[: self._left])
        raise Died

    def __exit__(self, *_: object) -> None:
        del vars(self._connections)["send"]


@pytest.mark.parametrize("after", range(1, 5))
def test_the_clock_ends_the_deletion_that_a_dead_process_began(real: World, ended: str, after: int) -> None:
    with dying_removal(real, after), pytest.raises(Died):
        real.retention.delete(ended)
    assert left(real, ended) != []
    for _ in range(2):
        real.notifications.pulse()
    remaining = left(real, ended)
    if after < 3:
        assert remaining == []
    assert [key for key in remaining if ":wf:" in key] == []
    assert ended not in {row.workflow_id for row in Catalog(real.connections).page(RunQuery(limit=50)).rows}
    for index in remaining:  # after its last key a sweep removes entries without a run
        assert real.ask("ZREM", index, ended) == 1


@pytest.mark.parametrize("after", range(1, 5))
def test_a_deletion_that_died_is_ended_by_its_repetition(real: World, ended: str, after: int) -> None:
    with dying_removal(real, after), pytest.raises(Died):
        real.retention.delete(ended)
    assert isinstance(real.retention.delete(ended), Deleted)
    assert real.keys_of(ended) == []


def test_a_run_of_the_same_id_can_be_created_after_a_deletion(real: World, ended: str) -> None:
    real.retention.delete(ended)
    real.create(chain("A"), run=ended)
    assert real.run_status(ended) is RunStatus.RUNNING
    real.retention.delete(f"{ended}-x")
    assert real.is_live(ended)


def test_many_keys_are_removed_in_bounded_packets(real: World) -> None:
    run = real.create(workflow({"M": each({"In": task()})}), run_input=list(range(700)))
    real.finalize(run)
    real.notifications.pulse()
    assert len(real.keys_of(run)) > 40
    real.retention.delete(run)
    assert left(real, run) == []


def test_what_a_key_held_of_a_run_is_given_back(real: World) -> None:
    made = AccessKeys(real.connections).create((Scope.READ,), agent_id=None, label=None, life_s=None).record
    account = Account(key_id=made.key_id, quotas=Quotas())
    usage = QuotaUsage(real.connections)
    with authored_by(f"key:{made.key_id}", account):
        run = real.create(chain("A"), run_input={"x": "y" * 1000}, created_by=f"key:{made.key_id}")
        real.do(run, "A", output="z" * 1000)
        real.notifications.pulse()
        assert usage.of(made.key_id).stored_bytes > 2000
        real.retention.delete(run)
    assert usage.of(made.key_id).stored_bytes == 0
    assert real.ask("ZSCORE", keys.quota(made.key_id, "runs"), run) is None


# Legal hold


def held(world: World, run: str, reason: str | None = None, request_id: str | None = None) -> tuple[Any, ...]:
    """Hold a run: whether it is on hold, whether that was changed, and whether it is an earlier answer."""
    answer = world.retention.hold(run, reason, request_id)
    assert isinstance(answer, RunAnswer)
    return answer.answer["hold"], answer.answer["changed"], answer.repeated


def test_a_repeated_hold_does_not_undo_a_release_that_came_between(real: World, ended: str) -> None:
    assert held(real, ended, "court", "r1") == (True, True, False)
    real.retention.hold(ended, is_held=False)
    assert held(real, ended, "court, again", "r1") == (True, True, True)
    assert not real.meta(ended)["hold"]
    used = real.retention.hold(ended, request_id="r1", is_held=False)
    assert isinstance(used, Refusal)
    assert used.code == "conflict"
    assert [event.type for event in real.events(ended)][-2:] == ["RunHeld", "RunReleased"]


def test_a_run_is_not_deleted_by_the_id_of_another_request(real: World, ended: str) -> None:
    held(real, ended, request_id="r1")
    real.retention.hold(ended, is_held=False)
    refused = real.retention.delete(ended, request_id="r1")
    assert isinstance(refused, Refusal)
    assert refused.code == "conflict"
    for existed in (True, False):
        assert real.retention.delete(ended, request_id="r2") == Deleted(
            workflow_id=ended, existed=existed, meta=ANY if existed else None
        )
    assert left(real, ended) == []


def test_a_run_on_hold_is_not_deleted_until_it_is_released(real: World, ended: str) -> None:
    assert held(real, ended, "court") == (True, True, False)
    assert held(real, ended) == (True, False, False)
    refused = real.retention.delete(ended)
    assert isinstance(refused, Refusal)
    assert refused.code == "on_hold"
    (event,) = (event for event in real.events(ended) if event.type == "RunHeld")
    assert event.data == {"hold": True, "reason": "court"}
    real.retention.hold(ended, is_held=False)
    assert isinstance(real.retention.delete(ended), Deleted)


def test_a_run_whose_deletion_goes_on_is_unknown_and_not_damaged(real: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = real.create(chain("A"))
    token = real.acquire(run, "A")
    real.complete(run, "A", token)
    with monkeypatch.context() as patch:
        patch.setattr(real.retention._deletion, "remove", lambda *_: None)  # the process died after the mark
        real.retention.delete(run)
    real.ask("DEL", real.store.keys(run).state("A"))
    with pytest.raises(UnknownRun):
        real.complete(run, "A", token)
    assert isinstance(real.retention.delete(run), Deleted)
    assert left(real, run) == []


def test_a_run_that_does_not_exist_cannot_be_held(real: World) -> None:
    with pytest.raises(UnknownRun):
        real.retention.hold("no-such-run")


def expires(world: World, run: str) -> set[bool]:
    return {world.ask("TTL", key) > 0 for key in world.keys_of(run)}


@rows("held_first", [True, False])
def test_the_keys_of_a_run_on_hold_do_not_expire(real: World, held_first: bool) -> None:
    run = real.create(chain("A"), retention_s=100)
    real.do(run, "A")
    if held_first:
        real.retention.hold(run)
    real.finalize(run)
    for _ in range(2):
        real.notifications.pulse()
    assert expires(real, run) == {not held_first}
    real.retention.hold(run)
    for _ in range(2):
        real.notifications.pulse()
    assert expires(real, run) == {False}
    real.retention.hold(run, is_held=False)
    for _ in range(2):
        real.notifications.pulse()
    assert expires(real, run) == {True}


def test_the_clock_takes_the_expiry_off_where_whoever_held_the_run_died(real: World) -> None:
    run = real.create(chain("A"), retention_s=100)
    real.finalize(run)
    real.notifications.pulse()
    assert expires(real, run) == {True}
    real.retention._outbox.keep = lambda *_: None  # type: ignore[method-assign]  # the process died before it
    real.retention.hold(run)
    del vars(real.retention._outbox)["keep"]
    real.notifications.pulse()
    assert expires(real, run) == {False}


# Expired


def noted(world: World, run: str) -> list[bytes]:
    """What is noted of runs that expire, of this one."""
    return [text for text in world.ask("ZRANGE", EXPIRING, 0, -1) if run.encode() in text]


def now(world: World) -> int:
    seconds, micros = world.ask("TIME")
    return int(seconds) * 1_000_000 + int(micros)


def test_a_run_that_expired_leaves_the_list_and_its_counts_and_nothing_is_left(real: World) -> None:
    mine = f"gone-{uuid.uuid4().hex[:8]}"
    document = chain("A") | {"workflow_name": mine}
    real.ask("DEL", EXPIRING)  # what runs of other tests left may be due
    run, stored, other = (real.create(document, agents={"A": "first"}, retention_s=100) for _ in range(3))
    real.lifecycle.resolve(run, Resolve(state="A", agents=("second",)))
    for item in (run, stored):
        real.do(item, "A", "second" if item == run else "first")
        real.finalize(item)
        for _ in range(2):
            real.notifications.pulse()
    real.retention.hold(stored)
    real.ask("ZADD", keys.assigned("second"), "XX", 1, run)  # it was assigned a while ago
    expiring, catalog = real.retention._deletion.expiring, Catalog(real.connections)
    before = catalog.page(RunQuery(limit=10, workflow=mine))
    assert (len(before.rows), before.matching) == (3, 3)
    for text in noted(real, run) + noted(real, stored):
        real.ask("ZADD", EXPIRING, "XX", now(real), text)
    assert expiring.take_off() == 0, "it is there yet"
    for key in real.keys_of(run):
        real.ask("DEL", key)  # as Redis does when the time has come
    real.ask("ZADD", EXPIRING, "XX", now(real), *noted(real, run))
    assert expiring.take_off() == 1
    after = catalog.page(RunQuery(limit=10, workflow=mine))
    assert ({row.workflow_id for row in after.rows}, after.matching) == ({stored, other}, 2)
    assert after.counts.runs == before.counts.runs - 1
    assert after.counts.by_status["succeeded"] == before.counts.by_status["succeeded"] - 1
    assert left(real, run) == []
    assert noted(real, run) == []


def test_an_expired_child_run_leaves_the_list_of_its_parent(real: World) -> None:
    above = Parent(run=f"above-{uuid.uuid4().hex[:8]}", state="Inner", epoch=1, how=".waitForTaskToken", depth=1)
    real.ask("DEL", EXPIRING)  # what runs of other tests left may be due
    run = real.create(chain("A"), retention_s=100, parent=above, tags=("weekly",))
    real.finalize(run)
    for _ in range(2):
        real.notifications.pulse()
    for key in real.keys_of(run):
        real.ask("DEL", key)
    real.ask("ZADD", EXPIRING, "XX", now(real), *noted(real, run))
    assert real.retention._deletion.expiring.take_off() == 1
    assert left(real, run) == []


def test_a_run_that_is_created_anew_under_the_id_of_an_expired_one_stays_listed(real: World) -> None:
    run = real.create(chain("A"), retention_s=100)
    real.finalize(run)
    for _ in range(2):
        real.notifications.pulse()
    for key in real.keys_of(run):
        real.ask("DEL", key)
    real.ask("ZADD", EXPIRING, "XX", now(real), *noted(real, run))
    real.plane.create(real.wish(chain("A"), run))
    before = left(real, run)
    real.retention._deletion.expiring.take_off()
    assert left(real, run) == before
    assert noted(real, run) == []


# Automatically


@pytest.fixture
def keeping(real_connections: Connections, onlooker: Connections) -> Iterator[Callable[[RetentionPolicy], World]]:
    """dcf with a policy of how long ended runs are kept."""
    made: list[World] = []

    def make(policy: RetentionPolicy) -> World:
        made.append(World(connections=real_connections, onlooker=onlooker, policy=policy))
        return made[-1]

    yield make
    for world in made:
        world.close()


def over_since(world: World, run: str, text: str) -> None:
    """As if the run had ended then, and the time for the clock to look at it had come."""
    set_member(world.ask, world.store.keys(run).meta, "finished_at", text)
    world.ask("ZADD", keys.due(run), 1, run)


LONG_AGO = "2020-01-01T00:00:00.000000Z"


def test_an_ended_run_finalizes_itself_when_its_time_has_come_and_not_before(
    keeping: Callable[[RetentionPolicy], World],
) -> None:
    world = keeping(RetentionPolicy(finalize_after_s=DAY))
    run = world.create(chain("A"))
    world.do(run, "A")
    for _ in range(2):
        world.notifications.pulse()
    assert world.meta(run)["finalized_at"] is None
    assert not world.is_live(run)
    due = float(world.ask("ZSCORE", keys.due(run), run))
    seconds, _ = world.ask("TIME")
    assert DAY - 60 < due / 1e6 - int(seconds) <= DAY + 1, "one entry of an index is all that the waiting costs"
    over_since(world, run, LONG_AGO)
    world.notifications.pulse()
    assert world.meta(run)["finalized_at"] is not None
    assert "RunFinalized" in world.event_types(run)
    for _ in range(2):
        world.notifications.pulse()
    assert world.ask("ZSCORE", keys.due(run), run) is None
    assert expires(world, run) == {False}, "kept for ever"


def test_a_run_on_hold_does_not_finalize_itself(keeping: Callable[[RetentionPolicy], World]) -> None:
    world = keeping(RetentionPolicy(finalize_after_s=DAY))
    run = world.create(chain("A"))
    world.do(run, "A")
    world.retention.hold(run)
    over_since(world, run, LONG_AGO)
    world.notifications.pulse()
    assert world.meta(run)["finalized_at"] is None


@rows(("own", "expected"), [(None, 5000), (100, 100)])
def test_a_finalized_run_is_kept_as_long_as_it_says_or_else_as_the_settings_say(
    keeping: Callable[[RetentionPolicy], World], own: int | None, expected: int
) -> None:
    world = keeping(RetentionPolicy(keep_s=5000))
    run = world.create(chain("A"), retention_s=own)
    world.finalize(run)
    world.notifications.pulse()
    assert {world.ask("TTL", key) for key in world.keys_of(run)} <= set(range(expected - 30, expected + 1))


def test_without_a_setting_nothing_finalizes_itself(real: World) -> None:
    run = real.create(chain("A"))
    real.do(run, "A")
    over_since(real, run, LONG_AGO)
    for _ in range(2):
        real.notifications.pulse()
    assert real.meta(run)["finalized_at"] is None
    assert real.ask("ZSCORE", keys.due(run), run) is None


def test_many_runs_are_created_ended_and_deleted_and_nothing_is_left(real: World) -> None:
    name = f"many-{uuid.uuid4().hex[:8]}"
    runs = [real.create(chain("A") | {"workflow_name": name}, agents={"A": f"{name}-a"}) for _ in range(12)]
    for run in runs:
        real.do(run, "A", f"{name}-a")
    real.notifications.pulse()
    for run in runs:
        assert isinstance(real.retention.delete(run), Deleted)
    assert [run for run in runs if left(real, run)] == []
    assert real.ask("KEYS", f"*{name}*") == []
