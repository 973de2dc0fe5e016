"""The one door to Redis: two round trips, a lost race decides again, and the caller gets a true answer."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain as joined
from typing import Any

import pytest
import redis

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from dcf.errors import Conflict, StoreUnavailable, UnknownOutcome
from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections, exchange, open_pool
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import SENT, set_member
from tests.support.redis.proxy import Fault, Proxy
from tests.support.tables import rows
from tests.support.trouble import deadline_after
from tests.support.workflows.machines import chain, numbered_chain
from tests.support.world import World, new_token

Worlds = Callable[..., World]

OPENING = ["WATCH", "TIME", SENT.read_members, SENT.read_many]
OPENINGS = {
    "claim": ["WATCH", "TIME", SENT.read_members, "EVAL"],
    # whether this very request was applied before another one displaced its receipt
    "acquire": ["WATCH", "TIME", SENT.read_members, "HMGET", SENT.read_many],
    "update": ["WATCH", "TIME", SENT.read_members, "HMGET", SENT.read_many],
}
COMMITS = {
    "acquire": ["MULTI", SENT.write_many, "XADD", "ZADD", "EXEC"],
    "renew": ["MULTI", SENT.write_many, "XADD", "ZADD", "EXEC"],
    "release": ["MULTI", SENT.write_many, "XADD", "ZADD", "EXEC"],
    "update": ["MULTI", SENT.write_many, "XADD", "EXEC"],
    # state, next state, input and output in one command; the events in one entry; one notification
    "complete": ["MULTI", SENT.write_many, "XADD", "XADD", "ZREM", "ZADD", "EXEC"],
    # the next state is leased at once, so there is no notification
    "complete_and_claim": ["MULTI", SENT.write_many, "XADD", "ZREM", "ZADD", "EXEC"],
    # a script compares the claimed state with what was read
    "claim": ["MULTI", "EVAL", "EXEC"],
}
# the page of open states, and the mark on one; the comparison; the writes, and by which token it was claimed, so that a
# repetition finds it
_PAGE = ["ZRANGE", "HMGET", SENT.read_member, SENT.read, SENT.read, "SET"]
INSIDE_SCRIPT = {"claim": [*_PAGE, SENT.read_many, SENT.write_many, "XADD", "ZADD", "HSET"]}


def act(world: World, verb: str, run: str, token: str) -> object:
    verbs: dict[str, Callable[[], object]] = {
        "acquire": lambda: world.acquire(run, "S0", token=token),
        "renew": lambda: world.renew(run, "S0", token),
        "release": lambda: world.release(run, "S0", token),
        "update": lambda: world.update(run, "S0", token, output={"half": 1}, request_id="r1"),
        "complete": lambda: world.complete(run, "S0", token, {"x": 1}),
        "complete_and_claim": lambda: world.complete(run, "S0", token, {"x": 1}, claim_ttl_s=60),
        "claim": lambda: world.claim(run, "w", token),
    }
    return verbs[verb]()


def calls(client: redis.Redis) -> dict[str, int]:
    info: Any = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): stat["calls"] for name, stat in info.items()}


@rows("states", [5, 500])
@rows("verb", COMMITS)
def test_a_verb_is_two_round_trips_and_as_many_commands_however_large_the_workflow(
    worlds: Worlds, counting: CountingPool, redis_client: redis.Redis, verb: str, states: int
) -> None:
    world, token = worlds(pool=counting), new_token()
    run = world.create(numbered_chain(states), agents={"S0": "w", "S1": "w"})
    world.plane.run(run)
    if verb not in {"acquire", "claim"}:
        world.acquire(run, "S0", token=token)
    before = calls(redis_client)
    with counting.counted() as packets:
        answer = act(world, verb, run, token)
    after = calls(redis_client)

    assert not isinstance(answer, Refusal)
    assert packets == [OPENINGS.get(verb, OPENING), COMMITS[verb]]
    expected = Counter(command.lower() for command in (*INSIDE_SCRIPT.get(verb, ()), *joined(*packets)))
    executed = {name: count - before.get(name, 0) for name, count in after.items() if name != "info"}
    assert {name: count for name, count in executed.items() if count} == expected


def test_a_refusal_writes_nothing(worlds: Worlds, counting: CountingPool) -> None:
    world = worlds(pool=counting)
    run = world.create(chain("A", "B"))
    with counting.counted() as packets:
        assert isinstance(world.try_acquire(run, "B"), Refusal)
    assert packets == [OPENINGS["acquire"]]


def test_what_a_refusal_watched_is_forgotten_with_the_next_packet(worlds: Worlds, counting: CountingPool) -> None:
    world = worlds(pool=counting)
    run = world.create(chain("A", "B"))
    assert isinstance(world.try_acquire(run, "B"), Refusal)
    set_member(world.ask, world.store.keys(run).state("B"), "attempts", 1)
    with counting.counted() as packets:
        world.acquire(run, "A")
    assert packets == [["UNWATCH", *OPENINGS["acquire"]], COMMITS["acquire"]], "and no race is lost over it"


def test_a_lost_race_is_decided_again_on_what_is_there_now(world: World) -> None:
    run, rounds = world.create(chain("A")), 0

    def somebody_is_faster() -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            world.acquire(run, "A", "fast")

    slow = ControlPlane(RunStore(world.connections, before_commit=somebody_is_faster), world.index)
    answer = slow.acquire(run, Acquire(state="A", owner="slow", token=new_token(), ttl_s=60))
    assert isinstance(answer, Refusal)
    assert answer.code == "lease_held"
    assert rounds == 1, "the second look refuses, so there is nothing to commit"
    assert world.doc(run, "A").lease.owner_agent_id == "fast"


@rows("change", ["status", "agents"])
def test_a_change_of_meta_between_reading_and_writing_is_a_lost_race(world: World, change: str) -> None:
    run, rounds = world.create(chain("A"), agents={"A": "w"}), 0
    value = {"status": "cancelled", "agents": {"A": "somebody"}}[change]

    def meta_changes() -> None:
        nonlocal rounds
        rounds += 1
        set_member(world.ask, world.store.keys(run).meta, change, value)

    slow = ControlPlane(RunStore(world.connections, before_commit=meta_changes), world.index)
    answer = slow.acquire(run, Acquire(state="A", owner="w", token=new_token(), ttl_s=60))
    assert isinstance(answer, Refusal)
    assert answer.code == {"status": "terminal", "agents": "owner_mismatch"}[change]
    assert world.doc(run, "A").attempts == 0


def test_conflicting_updates_of_eight_threads_all_land_exactly_once(real: World, worlds: Worlds) -> None:
    run = real.create(chain("A"))
    token = real.acquire(run, "A")
    world = worlds(deadline_s=60)

    def fifty(thread: int) -> None:
        for number in range(50):
            world.update(run, "A", token, attempts=1, request_id=f"{thread}-{number}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(fifty, range(8)))
    assert real.doc(run, "A").attempts == 1 + 8 * 50
    assert real.event_types(run).count("StateUpdated") == 8 * 50


def test_losing_every_race_until_the_deadline_is_a_conflict_and_nothing_is_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.create(chain("A"))
    key, rounds = world.store.keys(run).state("A"), 0

    def always_faster() -> None:
        nonlocal rounds
        rounds += 1
        set_member(world.ask, key, "note", "mine")

    store = RunStore(world.connections, deadline_s=deadline_after(5, monkeypatch), before_commit=always_faster)
    with pytest.raises(Conflict) as raised:
        ControlPlane(store, world.index).acquire(run, Acquire(state="A", owner="w", token=new_token(), ttl_s=60))
    assert (raised.value.code, rounds) == ("conflict", 5)
    assert world.doc(run, "A").status is Status.PENDING
    assert world.event_types(run) == ["RunCreated", "StateEntered"]


# Faults between dcf and the server


def prepared(world: World, verb: str) -> tuple[str, str]:
    """A run on which the verb is possible, and the token to use."""
    run, token = world.create(chain("A", "B"), agents={"A": "w", "B": "w"}), new_token()
    if verb not in {"acquire", "claim", "finalize"}:
        world.acquire(run, "A", token=token)
    return run, token


def request(world: World, verb: str, run: str, token: str) -> object:
    verbs: dict[str, Callable[[], object]] = {
        "acquire": lambda: world.try_acquire(run, "A", token=token),
        "release": lambda: world.release(run, "A", token),
        "update": lambda: world.update(run, "A", token, attempts=1, output=1, request_id="r1"),
        "anonymous_update": lambda: world.update(run, "A", token, attempts=1, output=1),
        "give_back": lambda: world.update(run, "A", token, status=Status.PENDING),
        "complete": lambda: world.try_complete(run, "A", token, {"x": 1}),
        "complete_and_claim": lambda: world.try_complete(run, "A", token, {"x": 1}, claim_ttl_s=60),
        "fail": lambda: world.fail(run, "A", token),
        "claim": lambda: world.claim(run, "w", token),
        "finalize": lambda: world.finalize(run, note="over"),
    }
    return verbs[verb]()


HAPPENED = {
    "acquire": "LeaseAcquired",
    "release": "LeaseReleased",
    "update": "StateUpdated",
    "anonymous_update": "StateUpdated",
    "give_back": "LeaseReleased",
    "complete": "StateSucceeded",
    "complete_and_claim": "StateSucceeded",
    "fail": "RunFailed",
    "claim": "LeaseAcquired",
    "finalize": "RunFinalized",
}


@rows("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
@rows("verb", HAPPENED)
def test_a_request_whose_commit_meets_a_fault_is_applied_exactly_once_and_said_to_be(
    real: World, worlds: Worlds, proxy: Proxy, verb: str, fault: Fault
) -> None:
    run, token = prepared(real, verb)
    before = real.event_types(run, None).count(HAPPENED[verb])
    proxy.plan(fault)
    answer = request(worlds(proxy.url), verb, run, token)
    assert not isinstance(answer, Refusal), answer
    assert proxy.is_spent
    assert real.event_types(run).count(HAPPENED[verb]) == before + 1
    attempts = real.doc(run, "A").attempts
    assert attempts == {"finalize": 0, "update": 2, "anonymous_update": 2}.get(verb, 1)


def test_a_commit_that_is_held_back_while_somebody_else_commits_is_decided_again(
    real: World, worlds: Worlds, proxy: Proxy
) -> None:
    run, token = prepared(real, "acquire")
    proxy.plan(Fault.HOLD, meanwhile=lambda: real.acquire(run, "A"))
    answer = request(worlds(proxy.url), "acquire", run, token)
    assert isinstance(answer, Refusal)
    assert answer.code == "lease_held"
    assert real.doc(run, "A").attempts == 1


@rows("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
def test_renewing_through_a_fault_holds_the_lease(real: World, worlds: Worlds, proxy: Proxy, fault: Fault) -> None:
    run, token = prepared(real, "renew")
    proxy.plan(fault)
    answer = worlds(proxy.url).renew(run, "A", token, ttl_s=77)
    assert isinstance(answer, Leased)
    assert real.doc(run, "A").lease.ttl_s == 77


@rows("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
def test_creating_through_a_fault_creates_once(real: World, worlds: Worlds, proxy: Proxy, fault: Fault) -> None:
    wish = real.wish(chain("A", "B"))
    proxy.plan(fault)
    worlds(proxy.url).plane.create(wish)
    assert proxy.is_spent
    assert real.event_types(wish.workflow_id) == ["RunCreated", "StateEntered"]


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
def test_when_the_server_stays_away_after_a_commit_was_sent_the_outcome_is_unknown(
    real: World, worlds: Worlds, proxy: Proxy, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, token = prepared(real, "complete")
    proxy.plan(fault, meanwhile=proxy.stop_listening)
    with pytest.raises(UnknownOutcome):
        worlds(proxy.url, deadline_s=deadline_after(3, monkeypatch)).complete(run, "A", token, 1)
    assert real.doc(run, "A").status is (Status.SUCCEEDED if fault is Fault.LOSE_REPLY else Status.RUNNING)
    assert real.complete(run, "A", token, 1).repeated is (fault is Fault.LOSE_REPLY), "the advice to repeat is good"


def test_a_server_that_cannot_be_revived_does_not_hide_that_the_outcome_is_unknown(
    real: World, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hopeless() -> None:
        raise StoreUnavailable("The embedded redis-server could not start.")

    run, token = prepared(real, "complete")
    connections = Connections(open_pool(proxy.url), hopeless)
    plane = ControlPlane(RunStore(connections, deadline_s=deadline_after(3, monkeypatch)), RunIndex(connections))
    plane.run(run)
    proxy.plan(Fault.LOSE_REPLY, meanwhile=proxy.stop_listening)
    with pytest.raises(UnknownOutcome):
        plane.update(run, Update(state="A", token=token, status=Status.SUCCEEDED, has_output=True))
    connections.close()


def test_before_anything_was_sent_to_commit_a_lost_server_is_unavailable(
    real: World, worlds: Worlds, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = prepared(real, "acquire")
    proxy.plan(Fault.CUT_BEFORE, command="WATCH", meanwhile=proxy.stop_listening)
    with pytest.raises(StoreUnavailable, match=r"^Redis cannot be reached"):
        worlds(proxy.url, deadline_s=deadline_after(3, monkeypatch)).acquire(run, "A")
    assert real.doc(run, "A").attempts == 0


def test_redis_py_never_sends_an_exec_again_by_itself(real: World, proxy: Proxy, redis_client: redis.Redis) -> None:
    run = real.create(chain("A"))
    key = real.store.keys(run).outbox
    pool = open_pool(proxy.url)
    proxy.plan(Fault.LOSE_REPLY)
    before = calls(redis_client)["exec"]
    with pytest.raises(redis.ConnectionError):
        exchange(pool.get_connection(), [("MULTI",), ("XADD", key, "*", "a", "b"), ("EXEC",)])
    pool.disconnect()
    assert calls(redis_client)["exec"] == before + 1
    assert real.owed(run) == 1


def test_a_connection_that_failed_half_way_is_never_used_again(worlds: Worlds) -> None:
    world = worlds()
    with suppress(ZeroDivisionError), world.connections.one() as connection:
        connection.send_packed_command([b"*1\r\n$4\r\nTIME\r\n"])
        raise ZeroDivisionError
    assert world.connections.send(("EXISTS", "cp:idx:none")) == [0], "and not the time, which nobody read"


def test_idle_connections_that_another_thread_takes_meanwhile_are_nobodys_error(worlds: Worlds) -> None:
    class JustEmptied(list[Any]):
        """Looks full until one takes from it."""

        def __bool__(self) -> bool:
            return True

    world = worlds()
    world.connections._idle = JustEmptied()
    world.connections.recover()
    assert world.newest(1) is not None


def test_a_thread_that_finds_the_idle_connections_gone_opens_a_new_one(real: World, worlds: Worlds) -> None:
    run, world = real.create(chain("A")), worlds()
    stop = threading.Event()

    def recover_all_the_time() -> None:
        while not stop.is_set():
            world.connections.recover()

    def read() -> None:
        for _ in range(20):
            assert world.doc(run, "A").status is Status.PENDING

    with ThreadPoolExecutor(5) as threads:
        recovering = [threads.submit(recover_all_the_time) for _ in range(2)]
        reading = [threads.submit(read) for _ in range(3)]
        for task in reading:
            task.result()
        stop.set()
        for task in recovering:
            task.result()
