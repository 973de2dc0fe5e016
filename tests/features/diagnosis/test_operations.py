"""Why a run does not move: for each cause a scripted run that shows this cause and no other, and what clears it."""

import pytest

from dcf.core.completing.resolving import Resolve
from dcf.core.documents.model import RunStatus
from dcf.core.leasing.lease import Acquire
from dcf.core.leasing.stuck import STUCK_REMINDERS
from dcf.errors import UnknownRun, UnknownState
from dcf.features.diagnosis.model import Cause, RunFinding
from dcf.store.keys import parts as key_parts
from dcf.store.keys import table as keys
from dcf.store.lists.agents import AgentRecord
from dcf.values.instants import from_text, to_text
from dcf.values.records import replace
from tests.support.ahead import now
from tests.support.redis.documents import Place, read_document, set_member, write_document
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World

LATER_S = 3600
WAIT: Document = {"Type": "Wait", "Seconds": LATER_S, "Next": "After"}
LONG_AGO = "2001-01-01T00:00:00.000000Z"


@pytest.fixture(autouse=True)
def _clock(world: World) -> None:
    """A clock has just looked, unless a test says otherwise."""
    clock_looked(world)


def clock_looked(world: World) -> None:
    world.ask("SET", keys.SERVER_TIME, now(world))


def found(world: World, run: str, state: str | None = None) -> list[RunFinding]:
    return list(world.diagnosis.explain(run, state).findings)


def only(world: World, run: str, cause: Cause, state: str | None = None) -> RunFinding:
    """The one finding, which must be of this cause."""
    findings = found(world, run, state)
    assert [finding.cause for finding in findings] == [cause], findings
    return findings[0]


def started(world: World, document: Document, **options: object) -> str:
    """A run that was kicked off, and whose agents were notified."""
    run = world.create(document, **options)
    world.plane.kick_off(run, "initial")
    world.notifications.deliver_all(run)
    return run


def put(world: World, run: str, state: str, place: Place, value: object) -> None:
    set_member(world.ask, world.store.keys(run).state(state), place, value)


def overdue(world: World, run: str, state: str) -> None:
    """As if the clock had had to look at this state long ago."""
    put(world, run, state, "not_before", LONG_AGO)
    world.make_due(run, state)
    world.ask("ZADD", world.store.keys(run).timers, from_text(LONG_AGO) or 0, key_parts.encode_state(state))


def make_due(world: World, run: str, state: str) -> None:
    """As if the time that the state waits for had come, and the clock looked."""
    put(world, run, state, "not_before", LONG_AGO)
    world.make_due(run, state)
    world.notifications.pulse()


def test_a_run_that_was_created_and_not_started(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a-1"}, planner="p-1")
    finding = only(world, run, Cause.NOT_STARTED)
    assert finding.since == world.doc(run, "A").lease.epoch
    assert finding.evidence == {"planner_agent_id": "p-1", "ready_states": ["A"]}
    assert finding.remedy.tool == "notify_next_worker_agent"
    world.plane.kick_off(run, "initial")
    world.notifications.notify_next(run, None)
    only(world, run, Cause.NOT_TAKEN)


def test_a_ready_state_that_nobody_is_assigned_to(world: World) -> None:
    run = started(world, chain("A", "B"))
    finding = only(world, run, Cause.NOBODY_ASSIGNED)
    assert (finding.state, finding.remedy.tool) == ("A", "resolve_state")
    world.claim(run, "somebody")
    assert only(world, run, Cause.LEASE_HELD).evidence["owner_agent_id"] == "somebody"


def test_a_state_whose_agent_was_told_and_never_came(world: World) -> None:
    run = started(world, chain("A", "B"), agents={"A": "a-gone"})
    finding = only(world, run, Cause.NOT_TAKEN)
    assert "a-gone was notified once" in finding.sentence
    assert "never seen" in finding.sentence
    assert finding.evidence["seen"] == {"a-gone": None}
    assert "`dcf worker FUNCTIONS.py --agent-id a-gone --state A`" in finding.remedy.sentence
    world.acquire(run, "A", "a-gone")
    only(world, run, Cause.LEASE_HELD)


def test_the_function_that_a_state_means_is_named_where_nobody_takes_it(world: World) -> None:
    """A worker that has another function for the name of the state releases it."""
    document = chain("A", "B")
    document["asl"]["States"]["A"]["Resource"] = "dcf:task:flow.fetch"
    run = started(world, document, agents={"A": "a-other"})
    finding = only(world, run, Cause.NOT_TAKEN)
    assert finding.sentence.endswith("never seen; only a worker that has the function flow.fetch does it.")
    assert finding.evidence["function"] == "flow.fetch"


def test_an_agent_that_was_seen_is_told_from_one_that_never_was(world: World) -> None:
    run = started(world, chain("A"), agents={"A": f"a-{world.name()}"})
    (agent,) = world.plane.read(run, ("A",)).meta.agents["A"]  # type: ignore[union-attr]
    at = now(world)
    world.ask("ZADD", keys.SEEN, at, agent)
    assert only(world, run, Cause.NOT_TAKEN).evidence["seen"] == {agent: to_text(at)}


def test_a_state_whose_agent_was_not_told(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a-1"})
    world.plane.kick_off(run, "initial")
    finding = only(world, run, Cause.NOT_NOTIFIED)
    assert finding.remedy.tool == "notify_if_ready"
    assert world.notifications.notify(run, "A", reason="again").sent
    assert only(world, run, Cause.NOT_TAKEN).evidence["told_times"] == 1
    world.notifications.notify(run, "A", reason="again")
    assert only(world, run, Cause.NOT_TAKEN).evidence["told_times"] == 2


def test_only_notifications_to_the_agent_that_is_named_are_counted(world: World) -> None:
    run = started(world, chain("A"), agents={"A": "a-before"})
    for _ in range(2):
        world.make_due(run, "A")
        world.notifications.pulse()
    assert only(world, run, Cause.NOT_TAKEN).evidence["told_times"] == 3
    world.lifecycle.resolve(run, Resolve(state="A", agents=("a-now",)))
    world.notifications.deliver_all(run)
    finding = only(world, run, Cause.NOT_TAKEN)
    assert "a-now was notified once" in finding.sentence
    world.make_due(run, "A")
    world.notifications.pulse()
    assert "a-now was notified 2 times" in only(world, run, Cause.NOT_TAKEN).sentence


def test_a_state_whose_agent_was_deleted(world: World) -> None:
    agent = f"a-{world.name()}"
    world.records.create(AgentRecord(agent_id=agent, name=agent))
    world.records.delete(agent)
    run = started(world, chain("A", "B"), agents={"A": agent})
    finding = only(world, run, Cause.DELIVERY_FAILED)
    assert (finding.evidence["failure"], finding.remedy.tool) == ("unknown_agent", "resolve_state")
    world.records.create(AgentRecord(agent_id=agent, name=agent))
    assert world.notifications.notify(run, "A", reason="again").sent
    only(world, run, Cause.NOT_TAKEN)


@rows("cause", ["nobody_assigned", "not_taken"])
def test_unclaimed_state_is_stuck_after_its_reminders(world: World, cause: str) -> None:
    run = started(world, chain("A"), agents={} if cause == "nobody_assigned" else {"A": "a-1"})
    for _ in range(STUCK_REMINDERS):
        assert not only(world, run, Cause(cause)).stuck
        world.make_due(run, "A")
        world.notifications.pulse()
    assert only(world, run, Cause(cause)).stuck


def test_unstarted_run_is_stuck_after_the_first_look_of_the_timer_loop(world: World) -> None:
    run = world.create(chain("A"))
    assert not only(world, run, Cause.NOT_STARTED).stuck
    world.make_due(run, "A")
    world.notifications.pulse()
    assert only(world, run, Cause.NOT_STARTED).stuck


def test_a_state_that_waits_for_others_is_explained_by_the_one_at_the_root(world: World) -> None:
    run = started(world, chain("A", "B", "C"), agents={"A": "a-gone"})
    only(world, run, Cause.NOT_TAKEN)
    finding = only(world, run, Cause.WAITING_FOR, "C")
    assert finding.evidence["waits_for"] == ["A"]
    assert finding.evidence["root"]["cause"] == "not_taken"
    assert "`dcf worker FUNCTIONS.py --agent-id a-gone --state A`" in finding.remedy.sentence
    world.do(run, "A", "a-gone")
    assert found(world, run, "C")[0].evidence["waits_for"] == ["B"]


def test_a_parallel_and_its_followers_wait_for_what_is_open_inside_it(world: World) -> None:
    inside = parallel({"L": task()}, {"R": task()}) | {"Next": "After"}
    inside.pop("End", None)
    run = started(world, workflow({"Both": inside, "After": task()}), agents={"L": "l-1", "R": "r-1"})
    world.do(run, "Both/0/L", "l-1")
    only(world, run, Cause.NOT_TAKEN)
    for state in ("Both", "After"):
        assert only(world, run, Cause.WAITING_FOR, state).evidence["waits_for"] == ["Both/1/R"]
    assert found(world, run, "Both/0/L") == []


def test_a_state_that_an_agent_works_on(world: World) -> None:
    run = started(world, chain("A"), agents={"A": "a-1"})
    token = world.acquire(run, "A", "a-1")
    finding = only(world, run, Cause.LEASE_HELD)
    assert not finding.stuck
    assert (finding.evidence["owner_agent_id"], finding.evidence["renewed_at"]) == ("a-1", None)
    assert token not in str(finding)
    world.release(run, "A", None, force=True)
    only(world, run, Cause.NOT_NOTIFIED)


def test_a_lease_of_which_its_holder_may_not_know(world: World) -> None:
    run = started(world, chain("A"), agents={"A": "a-1"})
    wish = Acquire(state="A", owner="a-1", token="token-1", ttl_s=300, first_term_s=15)
    world.plane.acquire(run, wish)
    finding = only(world, run, Cause.LEASE_HELD)
    assert "no call came with its lease token yet" in finding.sentence
    assert (finding.evidence["awaits_sign"], finding.remedy.tool, finding.stuck) == (True, "read_run_events", False)
    world.renew(run, "A", "token-1")
    assert "awaits_sign" not in only(world, run, Cause.LEASE_HELD).evidence
    world.release(run, "A", None, force=True)
    world.plane.acquire(run, replace(wish, token="token-2"))
    world.expire_lease(run, "A")
    assert "a-1, which never used its token, on state 'A' ended" in only(world, run, Cause.LEASE_EXPIRED).sentence


def test_a_lease_that_is_renewed_for_hours_without_a_result_counts_as_stuck(world: World) -> None:
    run = started(world, chain("A"), agents={"A": "a-1"})
    token = world.acquire(run, "A", "a-1")
    put(world, run, "A", "started_at", LONG_AGO)
    world.renew(run, "A", token)
    finding = only(world, run, Cause.LEASE_HELD)
    assert finding.stuck
    assert finding.evidence["renewed_at"] is not None
    assert "no result for" in finding.sentence
    world.update(run, "A", token, output={"part": 1})
    assert not only(world, run, Cause.LEASE_HELD).stuck


def test_an_expired_lease_that_nobody_took_over(world: World) -> None:
    run = started(world, chain("A"), agents={"A": ("a-1", "a-2")})
    world.acquire(run, "A", "a-1")
    world.expire_lease(run, "A")
    finding = only(world, run, Cause.LEASE_EXPIRED)
    assert "were not told" in finding.sentence
    world.make_due(run, "A")
    world.notifications.pulse()
    again = only(world, run, Cause.LEASE_EXPIRED)
    assert "were notified once" in again.sentence
    world.acquire(run, "A", "a-2")
    only(world, run, Cause.LEASE_HELD)


def test_a_failed_state_that_is_tried_again_later(world: World) -> None:
    retrier = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": LATER_S, "MaxAttempts": 5}
    run = started(world, workflow({"A": {**task(), "Retry": [retrier]}}), agents={"A": "a-1"})
    world.fail(run, "A", world.acquire(run, "A", "a-1"), "Broken", "why")
    finding = only(world, run, Cause.RETRY_DUE)
    assert (finding.stuck, finding.evidence["last_error"]) == (False, "Broken: why")
    make_due(world, run, "A")
    only(world, run, Cause.NOT_TAKEN)


def test_a_state_that_fails_again_and_again(world: World) -> None:
    retrier = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": LATER_S, "MaxAttempts": 5}
    run = started(world, workflow({"A": {**task(), "Retry": [retrier]}}), agents={"A": "a-1"})
    for _ in range(2):
        world.fail(run, "A", world.acquire(run, "A", "a-1"), "Broken", "the same again")
        put(world, run, "A", "not_before", to_text(now(world)))
    finding = only(world, run, Cause.KEEPS_FAILING)
    assert finding.stuck
    assert (finding.evidence["retries"], finding.evidence["last_error"]) == (2, "Broken: the same again")
    world.do(run, "A", "a-1")
    assert world.run_status(run) is RunStatus.SUCCEEDED
    only(world, run, Cause.NOT_FINALIZED)


def test_a_worker_that_dies_each_time(world: World) -> None:
    run = started(world, chain("A"), agents={"A": "a-1"})
    for _ in range(3):
        world.acquire(run, "A", "a-1")
        put(world, run, "A", ("lease", "expires_at"), to_text(now(world)))
    finding = only(world, run, Cause.KEEPS_FAILING)
    assert (finding.evidence["attempts"], finding.evidence["last_holder"]) == (3, "a-1")


def test_a_wait_that_is_not_over(world: World) -> None:
    run = started(world, workflow({"Pause": WAIT, "After": task()}), agents={"After": "a-1"})
    finding = only(world, run, Cause.TIMER_DUE)
    assert (finding.stuck, finding.state) == (False, "Pause")
    make_due(world, run, "Pause")
    only(world, run, Cause.NOT_TAKEN)


def test_a_run_that_is_paused(world: World) -> None:
    run = started(world, chain("A"), agents={"A": "a-1"})
    world.lifecycle.pause(run, reason="a look at it", request_id=None)
    finding = only(world, run, Cause.PAUSED)
    assert finding.since == from_text(world.meta(run)["paused_at"])
    assert finding.remedy.tool == "resume_run"
    assert world.diagnosis.explain(run).as_json()["run_status"] == "paused"
    world.lifecycle.resume(run, reason=None, request_id=None)
    only(world, run, Cause.NOT_TAKEN)


@rows("looked_at", [None, 1])
def test_a_timer_that_no_clock_looks_at(world: World, looked_at: int | None) -> None:
    run = started(world, workflow({"Pause": WAIT, "After": task()}), agents={"After": "a-1"})
    overdue(world, run, "Pause")
    if looked_at is None:
        world.ask("DEL", keys.SERVER_TIME)
    else:
        world.ask("SET", keys.SERVER_TIME, looked_at)
    finding = only(world, run, Cause.CLOCK_ABSENT)
    assert finding.stuck
    assert finding.evidence["state"] == "Pause"
    world.notifications.pulse()
    only(world, run, Cause.NOT_TAKEN)


def test_a_clock_that_is_late(world: World) -> None:
    run = started(world, workflow({"Pause": WAIT, "After": task()}), agents={"After": "a-1"})
    overdue(world, run, "Pause")
    assert only(world, run, Cause.CLOCK_LATE).evidence["due"] == LONG_AGO
    world.notifications.pulse()
    only(world, run, Cause.NOT_TAKEN)


def test_a_parallel_that_has_been_open_for_long_does_not_make_the_clock_late(world: World) -> None:
    run = started(world, workflow({"Both": parallel({"L": task()}, {"R": task()})}), agents={"L": "l-1", "R": "r-1"})
    world.ask("ZADD", world.store.keys(run).timers, 1, "Both")
    assert [item.cause for item in found(world, run)] == [Cause.NOT_TAKEN, Cause.NOT_TAKEN]


def test_a_parallel_that_nobody_joins_is_the_clocks(world: World) -> None:
    run = started(world, workflow({"Both": parallel({"L": task()}, {"R": task()})}))
    for path in ("Both/0/L", "Both/1/R"):
        put(world, run, path, "status", "succeeded")
        world.ask("ZREM", world.store.keys(run).timers, key_parts.encode_state(path))
    assert found(world, run) == []
    world.ask("ZADD", world.store.keys(run).timers, 1, "Both")
    assert only(world, run, Cause.CLOCK_LATE).evidence["state"] == "Both"


def test_a_workflow_that_cannot_be_read(world: World) -> None:
    run = started(world, chain("A"), agents={"A": "a-1"})
    key = world.store.keys(run).definition
    definition = read_document(world.ask, key)
    world.ask("DEL", key)
    assert only(world, run, Cause.DEFINITION_UNKNOWN).stuck
    write_document(world.ask, key, definition)
    only(world, run, Cause.NOT_TAKEN)


def test_a_run_that_is_over_and_not_finalized(world: World) -> None:
    run = started(world, chain("A"), agents={"A": "a-1"})
    world.do(run, "A", "a-1")
    finding = only(world, run, Cause.NOT_FINALIZED)
    assert (finding.stuck, finding.remedy.tool) == (False, "finalize_workflow")
    world.finalize(run)
    assert found(world, run) == []


def test_many_iterations_with_the_same_cause_are_one_finding(world: World) -> None:
    document = workflow({"Each": each({"S": task()})})
    run = started(world, document, run_input=list(range(30)), agents={"S": "s-1"})
    finding = only(world, run, Cause.NOT_TAKEN)
    assert finding.count == 30
    assert "29 more" in finding.sentence


def test_what_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(UnknownRun):
        world.diagnosis.explain("no-such-run")
    run = world.create(chain("A"))
    with pytest.raises(UnknownState):
        world.diagnosis.explain(run, "Nowhere/0/Else")


def test_the_first_finding_is_told_as_one_line(world: World) -> None:
    run = started(world, chain("A"))
    assert (world.diagnosis.first_line(run) or "").endswith(
        "no agent is assigned, so only agents that wait for such work are notified."
    )
    world.finalize(run)
    assert world.diagnosis.first_line(run) is None
