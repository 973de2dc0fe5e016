"""A run that an issue blocks grants no lease and shows the reason. Resolving the issue notifies the agents."""

from dcf.core.documents.answers import Leased
from dcf.core.documents.decision import Decision, ReadSet, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.leasing.blockers import MOST_BLOCKERS, Blocker
from dcf.core.lifecycle.blocking import block, unblock
from dcf.core.listing.runs import RunQuery
from dcf.features.diagnosis.model import Cause
from dcf.store.lists.pages import Catalog
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World, new_token

EVERY = ReadSet(open_states=(0, 1000), whole_meta=True)


def blocked(world: World, run: str, issue: str = "i-1", text: str = "The key is missing.") -> None:
    def decide(snapshot: Snapshot) -> Decision[None]:
        assert snapshot.meta is not None
        writes = WriteSet()
        block(writes, snapshot.meta, Blocker(issue=issue, text=text, since=snapshot.now), by="somebody")
        return Decision(answer=None, changes=writes)

    world.plane.transactions.on_run(run, ReadSet(), decide)


def unblocked(world: World, run: str, issue: str = "i-1") -> int:
    def decide(snapshot: Snapshot) -> Decision[int]:
        assert snapshot.meta is not None
        writes = WriteSet()
        after = unblock(writes, snapshot, snapshot.meta, issue)
        return Decision(answer=after.announced, changes=writes, remaining=after.remaining)

    committed = world.plane.transactions.on_run(run, EVERY, decide)
    world.plane.follow_ups.after(run, committed)
    return committed.answer


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def told(world: World, agent: str, run: str) -> list[tuple[str | None, str]]:
    world.notifications.pulse()
    return [(m["target_state"], m["reason"]) for m in world.messages(agent) if m["workflow_id"] == run]


def test_nobody_gets_a_lease_while_an_issue_blocks_the_run(world: World) -> None:
    run = world.create(chain("A", "B"))
    blocked(world, run)
    assert world.run_status(run) is RunStatus.RUNNING
    assert code(world.try_acquire(run, "A")) == "run_blocked"
    assert code(world.claim(run, "w")) == "run_blocked"
    assert code(world.plane.kick_off(run, "go")) == "run_blocked"
    unblocked(world, run)
    assert isinstance(world.claim(run, "w"), Leased)


def test_the_refusal_names_the_issue_and_who_may_resolve_it(world: World) -> None:
    run = world.create(chain("A"))
    blocked(world, run, "i-key", "The key is missing.")
    blocked(world, run, "i-2")
    refused = world.try_acquire(run, "A")
    assert isinstance(refused, Refusal)
    assert "'i-key' and 1 more" in refused.message
    assert "The key is missing." in refused.message
    assert "planner" in refused.hint
    assert "resolve_issue" in refused.hint


def test_holders_renew_finish_and_release_while_the_run_is_blocked(world: World) -> None:
    run = world.create(workflow({"Fan": parallel({"A": task()}, {"B": task()}, following="Last"), "Last": task()}))
    first, second = world.acquire(run, "Fan/0/A"), world.acquire(run, "Fan/1/B")
    blocked(world, run)
    assert isinstance(world.renew(run, "Fan/0/A", first), Leased)
    world.release(run, "Fan/1/B", second)
    finished = world.complete(run, "Fan/0/A", first, 1, claim_ttl_s=60, owner="w")
    assert (finished.status, finished.claims) == (Status.SUCCEEDED, ())


def test_a_completion_in_a_blocked_run_enters_what_follows_and_leases_nothing(world: World) -> None:
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A")
    blocked(world, run)
    finished = world.complete(run, "A", token, 1, claim_ttl_s=60, owner="w")
    assert (finished.next_states, finished.claims) == (("B",), ())
    assert code(world.try_acquire(run, "B")) == "run_blocked"
    unblocked(world, run)
    world.do(run, "B")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_reminders_wait_while_the_run_is_blocked_and_its_end_tells_the_agents(timely: World) -> None:
    run = timely.create(chain("A"), agents={"A": "a"})
    timely.plane.kick_off(run, "go")
    timely.notifications.pulse()
    blocked(timely, run)
    before = told(timely, "a", run)
    for _ in range(20):
        ahead.let_pass(timely, 300)
        timely.make_due(run, "A")
        timely.notifications.pulse()
    assert told(timely, "a", run) == before
    assert "StateReminded" not in timely.event_types(run)
    assert unblocked(timely, run) == 1
    assert told(timely, "a", run)[-1] == ("A", "unblocked")


def test_nobody_is_told_until_the_last_issue_is_resolved_and_the_run_is_not_paused(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"})
    world.plane.kick_off(run, "go")
    blocked(world, run, "i-1")
    blocked(world, run, "i-2")
    assert unblocked(world, run, "i-1") == 0
    assert isinstance(world.lifecycle.pause(run), RunAnswer)
    assert unblocked(world, run, "i-2") == 0
    assert code(world.try_acquire(run, "A")) == "run_paused"
    resumed = world.lifecycle.resume(run)
    assert isinstance(resumed, RunAnswer)
    assert resumed.answer["announced"] == 1


def test_resuming_a_blocked_run_announces_nothing_and_says_why(world: World) -> None:
    run = world.create(chain("A"))
    world.plane.kick_off(run, "go")
    world.lifecycle.pause(run)
    blocked(world, run)
    resumed = world.lifecycle.resume(run)
    assert isinstance(resumed, RunAnswer)
    assert resumed.answer["announced"] == 0
    assert "still blocks" in str(resumed.answer["hint"])
    assert code(world.try_acquire(run, "A")) == "run_blocked"


def test_the_same_issue_blocks_once(world: World) -> None:
    run = world.create(chain("A"))
    blocked(world, run)
    blocked(world, run)
    assert [item["issue"] for item in world.meta(run)["blocked_by"]] == ["i-1"]
    assert [happening.type for happening in world.history_of(run)].count("RunBlocked") == 1
    assert unblocked(world, run, "another") == 0
    assert code(world.try_acquire(run, "A")) == "run_blocked"


def test_a_run_that_is_blocked_is_explained_by_its_issue(world: World) -> None:
    run = world.create(chain("A"))
    world.plane.kick_off(run, "go")
    blocked(world, run, text="Which of the two?")
    explanation = world.diagnosis.explain(run)
    assert [finding.cause for finding in explanation.findings] == [Cause.BLOCKED]
    assert explanation.as_json()["run_status"] == "blocked"
    assert explanation.is_stuck
    assert explanation.findings[0].remedy.tool == "resolve_issue"
    unblocked(world, run)
    assert Cause.BLOCKED not in [finding.cause for finding in world.diagnosis.explain(run).findings]


def test_the_list_of_runs_says_which_are_blocked_and_can_be_asked_for_these(world: World) -> None:
    run, other = world.create(chain("A")), world.create(chain("A"))
    blocked(world, run)
    page = Catalog(world.connections).page(RunQuery(limit=10, blocked=True))
    assert (run, True) in [(row.workflow_id, row.blocked) for row in page.rows]
    assert other not in [row.workflow_id for row in page.rows]
    unblocked(world, run)
    again = Catalog(world.connections).page(RunQuery(limit=10, blocked=True)).rows
    assert run not in [row.workflow_id for row in again]


def test_many_issues_may_block_a_run(world: World) -> None:
    run = world.create(chain("A"))
    for number in range(MOST_BLOCKERS):
        blocked(world, run, f"i-{number}", "x" * 1000)
    assert len(world.meta(run)["blocked_by"]) == MOST_BLOCKERS


def test_the_planner_is_told_of_an_issue_only_while_it_blocks_the_run(world: World) -> None:
    """The notification of an issue that was resolved before it was delivered is dropped."""
    planner = f"planner-{new_token()}"
    open_run, resolved_run = (world.create(chain("A"), planner=planner) for _ in range(2))
    for run in (open_run, resolved_run):
        blocked(world, run)
    unblocked(world, resolved_run)
    world.notifications.pulse()
    events = world.messages(planner)
    assert [event["workflow_id"] for event in events if event["type"] == "run_blocked"] == [open_run]
