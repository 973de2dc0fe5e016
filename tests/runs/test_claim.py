"""claim: the next ready state that an agent may take, one winner, in one call."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased, NothingReady, Updated
from dcf.core.documents.decision import Decision, ReadSet, Snapshot
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from dcf.errors import StoreUnavailable
from dcf.runs.control_plane import ControlPlane
from dcf.store.keys import parts as key_parts
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import SENT, set_member, write_document
from tests.support.tables import rows
from tests.support.workflows.machines import chain, numbered_chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World, new_token

Worlds = Callable[..., World]


@pytest.fixture(autouse=True)
def lasting_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks last, however slow the machine is."""
    monkeypatch.setattr("dcf.store.transaction.open_states._MARK_MS", 60_000)


def open_by_hand(world: World, run: str, states: list[str]) -> None:
    """Enter states as parallel branches will: control is in all of them."""
    keys = world.store.keys(run)
    for number, state in enumerate(states):
        set_member(world.ask, keys.state(state), "waits_for", {})
        write_document(world.ask, keys.input(state), f"for {state}")
        world.ask("ZADD", keys.timers, 1000 + number, key_parts.encode_state(state))


def test_sixteen_claimants_of_one_state_have_one_winner(real: World) -> None:
    run = real.create(chain("A"))
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda number: real.claim(run, f"w{number}"), range(16)))
    winners = [answer for answer in answers if isinstance(answer, Leased)]
    assert len(winners) == 1
    assert all(isinstance(answer, NothingReady) for answer in answers if answer not in winners)
    assert real.doc(run, "A").attempts == 1
    assert real.event_types(run).count("LeaseAcquired") == 1


def test_only_a_state_that_the_agent_is_assigned_to_is_claimed(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": ("b", "c")})
    assert isinstance(world.claim(run, "b"), NothingReady)
    world.do(run, "A", "a")
    assert isinstance(world.claim(run, "a"), NothingReady)
    assert isinstance(world.claim(run, "c"), Leased)


def test_a_repeated_claim_finds_the_state_it_got_and_takes_no_second_one(world: World) -> None:
    run, token = world.create(numbered_chain(4)), new_token()
    open_by_hand(world, run, ["S1", "S2", "S3"])
    first, again = world.claim(run, "w", token), world.claim(run, "w", token)
    assert isinstance(first, Leased)
    assert isinstance(again, Leased)
    assert (first.outcome, again.outcome) == ("lease_acquired", "lease_already_held")
    assert first.state == again.state
    assert [doc.lease.token for doc in world.docs(run).values()].count(token) == 1


def test_several_ready_states_are_claimed_in_one_transaction_and_found_again(
    worlds: Worlds, counting: CountingPool
) -> None:
    world = worlds(pool=counting)
    branches = [{f"B{number}": task()} for number in range(6)]
    run = world.create(workflow({"Fan": parallel(*branches)}), run_input=7)
    wish = Acquire(state="", owner="w", token=new_token(), ttl_s=60, most=4)
    with counting.counted() as packets:
        first = world.plane.claim(run, wish)
    assert isinstance(first, Leased)
    assert len(packets) == 2
    granted = {item.state: item.doc.lease.token for item in (first, *first.others)}
    assert len(granted) == 4
    assert {item.given for item in (first, *first.others)} == {7}
    again = world.plane.claim(run, wish)
    assert isinstance(again, Leased)
    assert {item.state: item.doc.lease.token for item in (again, *again.others)} == granted
    rest = world.plane.claim(run, replace(wish, token=new_token()))
    assert isinstance(rest, Leased)
    assert {item.state for item in (rest, *rest.others)}.isdisjoint(granted)
    for state, token in {**granted, **{item.state: item.doc.lease.token for item in (rest, *rest.others)}}.items():
        world.complete(run, state, token, 1)
    assert world.run_status(run) == "succeeded"
    assert world.ask("HLEN", world.store.keys(run).claims) == 0, "what was claimed is forgotten with its lease"


def test_claims_of_several_at_the_same_time_get_each_state_once(real: World) -> None:
    branches = [{f"B{number}": task()} for number in range(24)]
    run = real.create(workflow({"Fan": parallel(*branches)}))

    def some(_: int) -> list[str]:
        answer = real.plane.claim(run, Acquire(state="", owner="w", token=new_token(), ttl_s=60, most=5))
        return [item.state for item in (answer, *answer.others)] if isinstance(answer, Leased) else []

    with ThreadPoolExecutor(8) as threads:
        result = [state for states in threads.map(some, range(8)) for state in states]
    assert len(result) == len(set(result)) == 24


def test_claiming_in_a_run_that_is_over_is_refused(world: World) -> None:
    run = world.create(chain("A"))
    world.finalize(run)
    answer = world.claim(run, "w")
    assert isinstance(answer, Refusal)
    assert answer.code == "terminal"


def test_an_expired_lease_is_claimed_by_another(world: World) -> None:
    run = world.create(chain("A"), run_input={"n": 1})
    world.acquire(run, "A", "dead")
    assert isinstance(world.claim(run, "w"), NothingReady)
    world.expire_lease(run, "A")
    answer = world.claim(run, "w")
    assert isinstance(answer, Leased)
    assert (answer.doc.attempts, answer.given) == (2, {"n": 1})


def test_an_expired_lease_is_claimed_after_the_clock_has_reminded_of_it(world: World) -> None:
    """The timer loop looks again much later, and notifies no agent of an unassigned state."""
    run = world.create(chain("A"), agents={})
    world.acquire(run, "A", "dead")
    world.expire_lease(run, "A")
    world.relay().pulse()
    assert world.event_types(run).count("StateReminded") == 1
    answer = world.claim(run, "w")
    assert isinstance(answer, Leased)
    assert answer.doc.attempts == 2
    assert isinstance(world.claim(run, "w2"), NothingReady)


def test_a_claim_does_not_overwrite_what_the_late_holder_writes_meanwhile(real: World) -> None:
    run, rounds = real.create(chain("A"), agents={"A": ("late", "next")}), iter([1])
    token = real.acquire(run, "A", "late")
    real.expire_lease(run, "A")
    late = {"attempts": 1, "error": "E", "cause": "not yet", "request_id": "r1"}

    def the_late_one_writes() -> None:
        for _ in rounds:
            real.update(run, "A", token, **late)

    slow = World(connections=real.connections)
    slow.plane = ControlPlane(RunStore(real.connections, before_commit=the_late_one_writes), real.index)
    assert isinstance(slow.claim(run, "next"), Leased)
    doc = real.doc(run, "A")
    assert (doc.lease.owner_agent_id, doc.attempts, doc.last_error) == ("next", 3, "E: not yet")
    assert isinstance(real.update(run, "A", token, **late), Updated), "it was applied, and is said to be"


def test_a_claim_that_is_beaten_to_an_expired_lease_looks_for_other_work(world: World) -> None:
    run, rounds = world.create(numbered_chain(3)), iter([1])
    open_by_hand(world, run, ["S1", "S2"])
    for state in ("S0", "S1", "S2"):
        world.acquire(run, state, "dead")
    for state in ("S0", "S2"):
        world.expire_lease(run, state)

    def somebody_is_faster() -> None:
        for _ in rounds:
            world.acquire(run, "S0", "fast")

    slow = World(connections=world.connections)
    slow.plane = ControlPlane(RunStore(world.connections, before_commit=somebody_is_faster), world.index)
    answer = slow.claim(run, "slow")
    assert isinstance(answer, Leased)
    assert answer.state == "S2"
    assert world.doc(run, "S0").lease.owner_agent_id == "fast"


def test_a_claim_does_not_fail_because_somebody_took_a_different_state(world: World) -> None:
    run, commits = world.create(numbered_chain(3)), list[str]()
    open_by_hand(world, run, ["S1", "S2"])

    def another_is_taken() -> None:
        commits.append(world.acquire(run, "S2", "other"))

    slow = World(connections=world.connections)
    slow.plane = ControlPlane(RunStore(world.connections, before_commit=another_is_taken), world.index)
    answer = slow.claim(run, "slow")
    assert isinstance(answer, Leased)
    assert answer.state == "S1"
    assert len(commits) == 1, "so it committed at its first try"


def racing(world: World, later: Callable[[], object]) -> tuple[ControlPlane, list[object]]:
    """Return a control plane before whose first commit another call commits, and the outcome of each commit."""
    commits: list[object] = []

    def before_commit() -> None:
        commits.append(None if commits else later())

    return ControlPlane(RunStore(world.connections, before_commit=before_commit), world.index), commits


def test_claims_at_the_same_time_take_different_states_and_none_loses_a_race(real: World) -> None:
    run = real.create(numbered_chain(4))
    open_by_hand(real, run, ["S0", "S1", "S2", "S3"])
    slow, commits = racing(real, lambda: real.claim(run, "fast"))
    answer = slow.claim(run, Acquire(state="", owner="slow", token=new_token(), ttl_s=60))
    assert isinstance(answer, Leased)
    (other,) = commits
    assert isinstance(other, Leased)
    assert (answer.state, other.state) == ("S0", "S1")


def test_completions_at_the_same_time_bring_different_siblings_and_none_loses_a_race(real: World) -> None:
    run = real.create(workflow({"All": parallel(*({f"B{n}": task()} for n in range(6)))}))
    mine, others = (real.acquire(run, f"All/{n}/B{n}", "w") for n in (0, 1))
    slow, commits = racing(real, lambda: real.complete(run, "All/1/B1", others, claim_ttl_s=60))
    request = Update(state="All/0/B0", token=mine, status=Status.SUCCEEDED, has_output=True, output=1, claim_ttl_s=60)
    answer = slow.update(run, request)
    assert isinstance(answer, Updated)
    assert answer.claimed is not None
    (other,) = commits
    assert isinstance(other, Updated)
    assert other.claimed is not None
    assert answer.claimed.state != other.claimed.state


def test_what_was_marked_and_not_taken_is_there_for_others_at_once(real: World) -> None:
    """Two states are wanted: one is entered by the completion itself, so one of the two that were marked is left."""
    machines = ({"A": {"Type": "Task", "Next": "B"}, "B": task()}, {"C": task()}, {"D": task()})
    run = real.create(workflow({"All": parallel(*machines)}))
    answer = real.complete(run, "All/0/A", real.acquire(run, "All/0/A", "w"), claim_ttl_s=60, claim_most=2)
    taken = {lease.state for lease in answer.claims}
    assert len(taken) == 2
    (left,) = {"All/1/C", "All/2/D", "All/0/B"} - taken
    assert not real.ask("EXISTS", real.store.keys(run).taking(left))


def test_a_claim_that_dies_before_its_commit_keeps_a_state_from_nobody(real: World) -> None:
    def dies() -> None:
        raise KeyboardInterrupt

    run = real.create(chain("A"))
    slow, _ = racing(real, dies)
    with pytest.raises(KeyboardInterrupt):
        slow.claim(run, Acquire(state="", owner="slow", token=new_token(), ttl_s=60))
    assert real.ask("EXISTS", real.store.keys(run).taking("A"))
    assert isinstance(real.claim(run, "other"), Leased)


def test_a_state_that_was_given_back_is_claimed_again_although_its_claim_was_marked(real: World) -> None:
    run = real.create(chain("A"))
    first = real.claim(run, "w")
    assert isinstance(first, Leased)
    real.release(run, "A", first.doc.lease.token)
    looks, _ = racing(real, lambda: None)
    again = looks.claim(run, Acquire(state="", owner="other", token=new_token(), ttl_s=60))
    assert isinstance(again, Leased)


def test_a_claim_that_finds_nothing_is_one_packet_however_many_are_leased(
    worlds: Worlds, counting: CountingPool
) -> None:
    world = worlds(pool=counting)
    run = world.create(numbered_chain(30))
    open_by_hand(world, run, [f"S{n}" for n in range(30)])
    while isinstance(world.claim(run, "w"), Leased):
        pass
    with counting.counted() as packets:
        assert isinstance(world.claim(run, "w"), NothingReady)
    assert packets == [["UNWATCH", "WATCH", "TIME", SENT.read_members, "EVAL"]]


def test_states_that_only_look_ready_are_passed_over(real: World) -> None:
    names = [f"S{n}" for n in range(6)]
    run = real.create(numbered_chain(6))
    open_by_hand(real, run, names)
    for name in names[:5]:
        set_member(real.ask, real.store.keys(run).state(name), "attempts", 1000)
    answer = real.claim(run, "w")
    assert isinstance(answer, Leased)
    assert answer.state == "S5"
    assert isinstance(real.claim(run, "w"), NothingReady)


def test_a_claim_inside_a_scope_that_ends_meanwhile_is_not_granted(real: World) -> None:
    run = real.create(workflow({"Both": parallel({"Slow": task()}, {"Bad": task()})}))
    rounds = iter([1])

    def the_scope_ends() -> None:
        for _ in rounds:
            real.fail(run, "Both/1/Bad", real.acquire(run, "Both/1/Bad", "other"))

    slow = World(connections=real.connections)
    slow.plane = ControlPlane(RunStore(real.connections, before_commit=the_scope_ends), real.index)
    assert not isinstance(slow.claim(run, "slow"), Leased)
    assert real.event_types(run, "Both/0/Slow").count("LeaseAcquired") == 0


@rows("claims", [True, False], ids=["by a claim", "by name"])
def test_a_claim_that_loses_a_state_to_another_does_not_take_it_after_its_timeout(real: World, claims: bool) -> None:
    """The timer loop must look at it at the same time before and after the grant, so its timer does not change."""
    run = real.create(workflow({"A": {"Type": "Task", "TimeoutSeconds": 5, "End": True}}))
    others: list[object] = []

    def somebody_is_faster() -> None:
        if not others:
            others.append(real.claim(run, "fast") if claims else real.try_acquire(run, "A", "fast"))

    slow = World(connections=real.connections)
    slow.plane = ControlPlane(RunStore(real.connections, before_commit=somebody_is_faster), real.index)
    assert isinstance(slow.claim(run, "slow"), NothingReady)
    assert isinstance(others[0], Leased)
    assert real.doc(run, "A").lease.owner_agent_id == "fast"
    assert real.event_types(run).count("LeaseAcquired") == 1


@rows("number", [0, 31, 32, 63, 64, 79])
def test_the_one_state_that_is_mine_is_found_on_whatever_page_it_stands(real: World, number: int) -> None:
    mine = f"S{number}"
    run = real.create(numbered_chain(80), agents={f"S{n}": "others" for n in range(80)} | {mine: "me"})
    open_by_hand(real, run, [f"S{n}" for n in range(80)])
    answer = real.claim(run, "me")
    assert isinstance(answer, Leased)
    assert (answer.state, answer.given) == (mine, f"for {mine}")
    assert isinstance(real.claim(run, "me"), NothingReady)


def test_eighty_open_states_are_claimed_by_eight_threads_once_each(real: World) -> None:
    names = [f"S{n}" for n in range(80)]
    run = real.create(numbered_chain(80))
    open_by_hand(real, run, names)

    def claim_until_nothing_is_left(owner: str) -> list[str]:
        claim_until_nothing_is_left: list[str] = []
        while isinstance(answer := real.claim(run, owner), Leased):
            claim_until_nothing_is_left.append(answer.state)
        return claim_until_nothing_is_left

    with ThreadPoolExecutor(8) as threads:
        claimed = list(threads.map(claim_until_nothing_is_left, [f"w{n}" for n in range(8)]))
    assert sorted(state for states in claimed for state in states) == sorted(names)
    assert {doc.attempts for doc in real.docs(run).values()} == {1}


def test_a_page_holds_the_documents_agents_and_inputs_of_its_states(real: World) -> None:
    run = real.create(numbered_chain(5), agents={"S1": "x", "S2": ("y", "z")})
    open_by_hand(real, run, [f"S{n}" for n in range(5)])
    real.acquire(run, "S3")
    seen: list[Snapshot] = []

    def look(snapshot: Snapshot) -> Decision[Any]:
        seen.append(snapshot)
        return Decision(answer=None)

    real.store.transact(run, ReadSet(open_states=(1, 2)), look)
    real.store.transact(run, ReadSet(open_states=(3, 9)), look)
    (page, rest) = seen
    assert (list(page.states), dict(page.inputs)) == (["S1", "S2"], {"S1": "for S1", "S2": "for S2"})
    assert page.meta is not None
    assert page.meta.agents == {"S1": ("x",), "S2": ("y", "z")}
    assert list(rest.states) == ["S4", "S3"], "what is held comes last: its lease ends in an hour"
    assert dict(rest.inputs) == {"S4": "for S4"}, "nobody can take S3, so its input is not read"


def test_an_entry_without_a_document_hides_no_other_state(real: World) -> None:
    run = real.create(numbered_chain(40), agents={f"S{n}": "others" for n in range(39)} | {"S39": "me"})
    open_by_hand(real, run, [f"S{n}" for n in range(40)])
    real.ask("ZADD", real.store.keys(run).timers, 1, "ghost")
    answer = real.claim(run, "me")
    assert isinstance(answer, Leased)
    assert answer.state == "S39"


def test_a_completion_that_enters_no_state_takes_a_ready_sibling(real: World) -> None:
    run = real.create(workflow({"Both": parallel({"One": task()}, {"Two": task()}, {"Three": task()})}), run_input=7)
    token = real.acquire(run, "Both/0/One", "w")
    answer = real.complete(run, "Both/0/One", token, claim_ttl_s=60)
    assert answer.claimed is not None
    assert answer.claimed.state in {"Both/1/Two", "Both/2/Three"}
    assert answer.claimed.given == 7
    again = real.complete(run, "Both/0/One", token, claim_ttl_s=60)
    assert again.claimed is not None
    assert again.claimed.doc.lease.token == answer.claimed.doc.lease.token


def test_a_sibling_that_the_agent_is_not_assigned_to_is_left_alone(real: World) -> None:
    run = real.create(
        workflow({"Both": parallel({"One": task()}, {"Two": task()})}), agents={"One": "w", "Two": "other"}
    )
    answer = real.complete(run, "Both/0/One", real.acquire(run, "Both/0/One", "w"), claim_ttl_s=60)
    assert answer.claimed is None
    assert isinstance(real.claim(run, "other"), Leased)


def test_two_completions_that_want_the_same_sibling_get_it_once(real: World) -> None:
    run = real.create(workflow({"All": parallel({"One": task()}, {"Two": task()}, {"Three": task()})}))
    first, two = (real.acquire(run, path, "w") for path in ("All/0/One", "All/1/Two"))
    rounds, others = iter([1]), list[Updated]()

    def another_completes() -> None:
        others.extend(real.complete(run, "All/1/Two", two, claim_ttl_s=60) for _ in rounds)

    slow = World(connections=real.connections)
    slow.plane = ControlPlane(RunStore(real.connections, before_commit=another_completes), real.index)
    answer = slow.complete(run, "All/0/One", first, claim_ttl_s=60)
    assert [result.claimed.state for result in (*others, answer) if result.claimed is not None] == ["All/2/Three"]
    assert real.doc(run, "All/2/Three").attempts == 1


def test_a_failure_that_ends_the_scope_takes_no_sibling(real: World) -> None:
    run = real.create(workflow({"Both": parallel({"One": task()}, {"Two": task()})}))
    token = real.acquire(run, "Both/0/One", "w")
    answer = real.update(
        run, "Both/0/One", token, status=Status.FAILED, error="E", cause="why", owner="w", claim_ttl_s=60
    )
    assert isinstance(answer, Updated)
    assert answer.claimed is None
    assert real.doc(run, "Both/1/Two").attempts == 0


@rows("with_completion", [True, False])
def test_a_claim_on_a_redis_that_is_full_changes_nothing(real: World, with_completion: bool) -> None:
    """The writes are in a script, of which Redis would refuse some commands and carry out others."""
    run = real.create(workflow({"Both": parallel({"One": task()}, {"Two": task()})}))
    token = real.acquire(run, "Both/0/One", "w")
    before = {key: real.ask("DUMP", key) for key in real.keys_of(run)}

    def full() -> None:
        real.ask("CONFIG", "SET", "maxmemory", 1)

    slow = World(connections=real.connections, deadline_s=0.2)
    slow.plane = ControlPlane(RunStore(real.connections, deadline_s=0.2, before_commit=full), real.index)
    try:
        with pytest.raises(StoreUnavailable):
            slow.complete(run, "Both/0/One", token, claim_ttl_s=60) if with_completion else slow.claim(run, "w")
        assert {key: real.ask("DUMP", key) for key in real.keys_of(run)} == before
    finally:
        real.ask("CONFIG", "SET", "maxmemory", 0)
