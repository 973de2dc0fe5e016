"""DeepWork's tools over MCP: steps, gates, nested workflows, sessions that outlive everything but their runs."""

import re
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.profiles.deepwork.jobs import read_job
from dcf.profiles.profile import NotDone
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.support.redis.documents import set_member
from tests.support.redis.restricted import RestrictedRedis

pytestmark = pytest.mark.anyio

JOB = """
name: competitive_research
version: "1.0.0"
summary: Research of competitors
description: Finds and compares competitors.
workflows:
  - name: full_analysis
    summary: All of it
    steps:
      - identify
      - [interviews, numbers]
      - report
steps:
  - id: identify
    name: Identify
    description: Find them
    instructions: "# Identify\\nFind the competitors. {% raw %}"
    outputs: [competitors.md]
  - id: interviews
    name: Interviews
    description: Ask
    instructions: Ask their customers.
    outputs: [interviews.md]
    quality_criteria: ["Each interview has a date."]
  - id: numbers
    name: Numbers
    description: Count
    instructions: Count.
    outputs: [{file: numbers.csv}]
    quality_criteria: ["Each number has a source.", "Sums are right."]
  - id: report
    name: Report
    description: Write
    instructions: Write it.
    outputs: [report.md]
"""
SMALL = """
name: small_job
version: "1.0.0"
summary: Small
workflows:
  - {name: only, summary: One step, steps: [one, two]}
steps:
  - {id: one, name: One, description: One, instructions: Do one., outputs: []}
  - {id: two, name: Two, description: Two, instructions: Do two., outputs: []}
"""
ALL = (Scope.READ, Scope.WORK, Scope.PLAN)


@pytest.fixture
async def worker(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    """A client of an agent of its own, with both jobs."""
    async with connect(key(site), "deepwork") as result:
        await register(result)
        yield result


def key(site: Application, *more: Scope, agent: str | None = None) -> str:
    name = agent or f"agent-{secrets.token_hex(4)}"
    return site.keys.create((*ALL, *more), agent_id=name, label=None, life_s=None).text


async def register(client: ProfileClient) -> None:
    for name, text in (("competitive_research", JOB), ("small_job", SMALL)):
        answer = await client.twice("register_session_job", job_name=name, job_definition_yaml=text)
        assert answer["status"] == "registered", answer


async def start(client: ProfileClient, job: str = "competitive_research", workflow: str = "full_analysis") -> Any:
    return await client.twice(
        "start_workflow", goal="Know them", job_name=job, workflow_name=workflow, instance_id="acme"
    )


async def test_workflows_are_listed_with_their_summaries(worker: ProfileClient) -> None:
    jobs = {job["name"]: job for job in (await worker.ok("get_workflows"))["jobs"]}
    assert jobs["competitive_research"] == {
        "name": "competitive_research",
        "summary": "Research of competitors",
        "description": "Finds and compares competitors.",
        "workflows": [{"name": "full_analysis", "summary": "All of it"}],
    }
    assert jobs["small_job"]["description"] is None


async def test_a_workflow_begins_with_the_instructions_of_its_first_step(worker: ProfileClient) -> None:
    begun = (await start(worker))["begin_step"]
    assert begun["step_id"] == "identify"
    assert begun["step_instructions"] == "# Identify\nFind the competitors. {% raw %}"
    assert begun["step_expected_outputs"] == ["competitors.md"]
    assert begun["step_quality_criteria"] == []
    assert begun["branch_name"] == "deepwork/competitive_research-full_analysis-acme"
    assert begun["branch_status"].startswith("suggested: This server does not reach the git repository")


async def test_double_finished_step_advances_twice(worker: ProfileClient) -> None:
    """Row of others.md 6.7: the second identical call is a no-op with the same answer, to the end of the workflow."""
    await start(worker, "small_job", "only")
    first = await worker.ok("finished_step", outputs=["a.md"])
    assert first["begin_step"]["step_id"] == "two"
    assert await worker.ok("finished_step", outputs=["a.md"]) == first
    done = await worker.twice("finished_step", outputs=["a.md"], notes="Of the second step.")
    assert (done["status"], done["all_outputs"]) == ("workflow_complete", ["a.md", "a.md"])
    assert done["stack"] == []
    refusal = await worker.failed("finished_step", outputs=["b.md"])
    assert "No workflow is under way" in refusal.text


async def test_a_step_whose_report_may_equal_the_one_before_says_how_to_report_it(worker: ProfileClient) -> None:
    """An agent that follows the instructions comes to the end, though an equal call is a repetition."""
    await start(worker, "small_job", "only")
    second = (await worker.twice("finished_step", outputs=[]))["begin_step"]
    assert "Name this step in the notes of finished_step." in second["step_instructions"]
    done = await worker.twice("finished_step", outputs=[], notes="two")
    assert done["status"] == "workflow_complete"


async def test_concurrent_group_skips_members(site: Application, connect: Connect, worker: ProfileClient) -> None:
    """Row of others.md 6.7: every member of a concurrent group must be finished, each with its own gate."""
    await start(worker)
    member = (await worker.twice("finished_step", outputs=["competitors.md"]))["begin_step"]
    assert member["step_id"] == "interviews"
    assert "Concurrent with numbers" in member["step_instructions"]
    waits = await worker.twice("finished_step", outputs=["interviews.md"])
    assert (waits["status"], waits["failed_criteria"]) == ("needs_work", [])
    assert "being reviewed" in waits["feedback"]
    assert "mark_review_as_passed" in waits["feedback"]
    assert waits["waits_for_review"]["step_id"] == "interviews"
    async with connect(key(site), "deepwork") as reviewer:
        await pass_review(reviewer, worker)
        other = (await worker.twice("finished_step", outputs=["interviews.md"]))["begin_step"]
        assert other["step_id"] == "numbers"
        assert (await worker.ok("finished_step", outputs=["numbers.csv"]))["status"] == "needs_work"
        await pass_review(reviewer, worker)
    last = (await worker.twice("finished_step", outputs=["numbers.csv"]))["begin_step"]
    assert last["step_id"] == "report"
    done = await worker.twice("finished_step", outputs=["report.md"])
    assert done["all_outputs"] == ["competitors.md", "interviews.md", "numbers.csv", "report.md"]


async def pass_review(reviewer: ProfileClient, author: ProfileClient) -> None:
    """Review what waits, as another agent: the author may not."""
    text = (await reviewer.answer("get_review_instructions")).text
    review = re.findall(r"Review (\S+)", text)[-1]
    refused = await author.failed("mark_review_as_passed", review_id=review)
    assert "cannot review it" in refused.text or "is given by" in refused.text
    assert not (await reviewer.answer("mark_review_as_passed", review_id=review)).failed


async def test_what_failed_comes_back_and_an_override_needs_the_right(
    site: Application, connect: Connect, worker: ProfileClient
) -> None:
    await start(worker)
    await worker.ok("finished_step", outputs=["competitors.md"])
    waits = await worker.ok("finished_step", outputs=["interviews.md"])
    assert waits["status"] == "needs_work"
    reason = "quality_review_override_reason"
    refused = await worker.failed("finished_step", outputs=["interviews.md"], **{reason: "No time."})
    assert "scope 'override'" in refused.text


async def test_override_reason_lost(site: Application, connect: Connect) -> None:
    """Row of others.md 6.7: the reason is in the journal, in the history and in the audit trail."""
    agent = f"agent-{secrets.token_hex(4)}"
    async with connect(key(site, Scope.OVERRIDE, agent=agent), "deepwork") as worker:
        await register(worker)
        await start(worker)
        await worker.ok("finished_step", outputs=["competitors.md"])
        reason = {"quality_review_override_reason": "Reviewed by phone."}
        after = await worker.twice("finished_step", outputs=["interviews.md"], **reason)
        assert after["begin_step"]["step_id"] == "numbers"
    async with connect(key(site, Scope.OPERATE, agent=agent)) as native:
        (run,) = (await native.ok("list_runs", tag="deepwork", agent=agent))["runs"]
        here = {"workflow_id": run["workflow_id"]}
        (entry,) = (await native.ok("read_journal", **here, kind="decision"))["entries"]
        assert entry["details"]["reasoning"] == "Reviewed by phone."
        events = (await native.ok("read_run_events", **here))["events"]
        (details,) = [event for event in events if event["type"] == "GateOverridden"]
        assert "Reviewed by phone." in str(details)
    assert any("Reviewed by phone." in str(entry) for entry in site.audit.each())


async def test_a_step_whose_lease_was_lost_is_taken_again_and_reviewed(
    site: Application, connect: Connect, profiles_redis: RestrictedRedis
) -> None:
    """Somebody had taken it meanwhile, and let the lease expire."""
    agent = f"agent-{secrets.token_hex(4)}"
    async with connect(key(site, agent=agent), "deepwork") as worker, connect(key(site, agent=agent)) as native:
        await register(worker)
        await start(worker)
        await worker.ok("finished_step", outputs=["competitors.md"])
        (run,) = (await native.ok("list_runs", tag="deepwork", agent=agent))["runs"]
        place = f"cp:wf:{run['workflow_id']}:state:interviews"
        with profiles_redis.admin() as admin:
            set_member(admin.execute_command, place, ("lease", "token"), secrets.token_hex(16))
            set_member(admin.execute_command, place, ("lease", "expires_at"), "2001-01-01T00:00:00.000000Z")
        waits = await worker.ok("finished_step", outputs=["interviews.md"])
        assert (waits["status"], waits["failed_criteria"]) == ("needs_work", [])


async def test_a_step_is_gone_back_to_once_also_if_the_server_died_in_between(
    site: Application, connect: Connect
) -> None:
    """The earlier run is cancelled by the next call."""
    agent = f"agent-{secrets.token_hex(4)}"
    async with connect(key(site, agent=agent), "deepwork") as worker, connect(key(site, agent=agent)) as native:
        await register(worker)
        await start(worker, "small_job", "only")
        await worker.ok("finished_step", outputs=["one.md"])
        (run,) = (await native.ok("list_runs", tag="deepwork", agent=agent))["runs"]
        await native.ok("rerun", workflow_id=run["workflow_id"], from_state="one")
        back = await worker.twice("go_to_step", step_id="one")
        assert back["stack"] == [{"workflow": "small_job/only", "step": "one"}]


async def test_a_workflow_started_within_another_ends_first(worker: ProfileClient) -> None:
    await start(worker)
    inner = await start(worker, "small_job", "only")
    assert inner["stack"] == [
        {"workflow": "competitive_research/full_analysis", "step": "identify"},
        {"workflow": "small_job/only", "step": "one"},
    ]
    await worker.twice("finished_step", outputs=[])
    done = await worker.twice("finished_step", outputs=[], notes="two")
    assert (done["status"], done["stack"]) == ("workflow_complete", inner["stack"][:1])
    outer = await worker.twice("finished_step", outputs=["competitors.md"])
    assert outer["begin_step"]["step_id"] == "interviews"


async def test_a_wrong_name_is_rejected_with_the_names_that_exist(worker: ProfileClient) -> None:
    wish = {"goal": "Know them", "workflow_name": "only"}
    refused = await worker.failed("start_workflow", **{**wish, "job_name": "small_job", "workflow_name": "wrong"})
    assert refused.text == "Error: Job 'small_job' has no workflow 'wrong'. Its workflows are: only."
    refused = await worker.failed("start_workflow", **wish, job_name="big_job")
    assert refused.text.startswith("Error: There is no job 'big_job'. The jobs are: ")
    assert {"competitive_research", "small_job"} <= set(refused.text.removesuffix(".").split(": ")[-1].split(", "))


async def test_an_agent_with_a_key_does_not_say_that_nobody_reviews(worker: ProfileClient) -> None:
    await register(worker)
    wish = {"goal": "Know them", "job_name": "competitive_research", "workflow_name": "full_analysis"}
    await worker.ok("start_workflow", **wish, reviewed_by="nobody")
    await worker.ok("finished_step", outputs=["competitors.md"])
    assert (await worker.ok("finished_step", outputs=["interviews.md"]))["status"] == "needs_work"


async def test_an_aborted_workflow_gives_way_to_the_one_around_it(worker: ProfileClient) -> None:
    await start(worker)
    await start(worker, "small_job", "only")
    answer = await worker.twice("abort_workflow", explanation="Not needed.")
    assert answer == {
        "aborted_workflow": "small_job/only",
        "aborted_step": "one",
        "explanation": "Not needed.",
        "stack": [{"workflow": "competitive_research/full_analysis", "step": "identify"}],
        "resumed_workflow": "competitive_research/full_analysis",
        "resumed_step": "identify",
        "hint": "competitive_research/full_analysis is open. To abort it too, call with another explanation.",
    }
    last = await worker.twice("abort_workflow", explanation="This neither.")
    assert (last["resumed_workflow"], last["stack"]) == (None, [])


async def test_a_workflow_is_not_complete_while_an_issue_waits_for_a_person(
    site: Application, connect: Connect
) -> None:
    agent = f"agent-{secrets.token_hex(4)}"
    async with connect(key(site, agent=agent), "deepwork") as client, connect(key(site, agent=agent)) as native:
        await register(client)
        await start(client, "small_job", "only")
        await client.ok("finished_step", outputs=["a.md"])
        (run,) = (await native.ok("list_runs", tag="deepwork", agent=agent))["runs"]
        here = {"workflow_id": run["workflow_id"], "agent_id": agent}
        issue = await native.ok("add_journal_entry", **here, kind="issue", text="Which year?", key="q", blocks=True)
        for _ in range(2):
            refused = await client.failed("finished_step", outputs=["b.md"])
            assert ("Every step of" in refused.text, "Which year?" in refused.text) == (True, True)
        await native.ok("resolve_issue", **here, issue=issue["entry"], how="This one.")
        assert (await client.ok("finished_step", outputs=["b.md"]))["status"] == "workflow_complete"


async def test_a_workflow_is_started_again_however_often_it_was_before(worker: ProfileClient) -> None:
    for _ in range(6):
        begun = await start(worker, "small_job", "only")
        assert begun["begin_step"]["step_id"] == "one"
        await worker.ok("abort_workflow", explanation="Later.")


async def test_a_step_is_gone_back_to_and_what_followed_is_done_again(worker: ProfileClient) -> None:
    await start(worker, "small_job", "only")
    await worker.ok("finished_step", outputs=["one.md"])
    back = await worker.twice("go_to_step", step_id="one")
    assert (back["begin_step"]["step_id"], back["invalidated_steps"]) == ("one", ["one", "two"])
    assert len(back["stack"]) == 1
    refused = await worker.failed("go_to_step", step_id="two")
    assert "no step up to the current one" in refused.text
    again = await worker.twice("finished_step", outputs=["one.md"])
    assert again["begin_step"]["step_id"] == "two"
    done = await worker.twice("finished_step", outputs=["two.md"])
    assert done["all_outputs"] == ["one.md", "two.md"]


async def test_two_agents_have_sessions_of_their_own_also_of_the_same_name(
    site: Application, connect: Connect, worker: ProfileClient
) -> None:
    await start(worker, "small_job", "only")
    async with connect(key(site), "deepwork") as other:
        seen = {job["name"] for job in (await other.ok("get_workflows"))["jobs"]}
        assert "competitive_research" not in seen
        refusal = await other.failed("finished_step", outputs=[])
        assert "No workflow is under way" in refusal.text


async def test_a_job_that_is_wrong_is_told_of_and_not_kept(worker: ProfileClient) -> None:
    for name, text, wrong in (
        ("bad", "name: [", "not valid YAML"),
        ("bad", "name: Bad\nsteps: []", "lower-case"),
        ("other", SMALL, "is of 'small_job'"),
        ("small_job", SMALL.replace("steps: [one, two]", "steps: [one, three]"), "'three'"),
    ):
        answer = await worker.ok("register_session_job", job_name=name, job_definition_yaml=text)
        assert wrong in answer["error"]
    assert (await worker.ok("get_session_job", job_name="small_job"))["job_definition_yaml"] == SMALL
    assert "error" in await worker.ok("get_session_job", job_name="bad")


async def test_an_edit_of_the_job_does_not_change_a_workflow_that_goes_on(worker: ProfileClient) -> None:
    await start(worker, "small_job", "only")
    changed = SMALL.replace("Do two.", "Do something else.")
    await worker.ok("register_session_job", job_name="small_job", job_definition_yaml=changed)
    after = await worker.ok("finished_step", outputs=["a.md"])
    assert after["begin_step"]["step_instructions"] == "Do two."


async def test_a_failed_review_comes_back_with_the_failed_criteria_only(
    site: Application, connect: Connect, worker: ProfileClient
) -> None:
    await start(worker)
    await worker.ok("finished_step", outputs=["competitors.md"])
    await worker.ok("finished_step", outputs=["interviews.md"])
    reviewer = f"agent-{secrets.token_hex(4)}"
    async with connect(key(site, agent=reviewer), "deepwork") as other:
        await pass_review(other, worker)
    await worker.ok("finished_step", outputs=["interviews.md"])
    await worker.ok("finished_step", outputs=["numbers.csv"])
    async with connect(key(site, agent=reviewer), "deepwork") as other:
        text = (await other.answer("get_review_instructions")).text
        run, state, gate, content = re.findall(r"Review (\S+)", text)[-1].split(":")
    async with connect(key(site, agent=reviewer)) as native:
        good = {"criterion": "Sums are right.", "passed": True}
        bad = {"criterion": "Each number has a source.", "passed": False, "feedback": "The third has none."}
        here = {"workflow_id": run, "state": state, "gate": gate, "content_sha256": content, "agent_id": reviewer}
        await native.ok("decide_gate", **here, verdict="fail", criteria=[good, bad])
    waits = await worker.twice("finished_step", outputs=["numbers.csv"])
    assert waits["failed_criteria"] == [bad]
    assert "The third has none." in waits["feedback"]
    mended = await worker.ok("finished_step", outputs=["numbers.csv"], notes="With sources.")
    assert (mended["status"], mended["failed_criteria"]) == ("needs_work", [])


async def test_jobs_of_the_catalogue_are_served_and_those_that_are_wrong_are_told_of(
    site: Application, connect: Connect, worker: ProfileClient
) -> None:
    """As text, for everybody; the one of the session comes before it."""
    async with connect(key(site)) as planner:
        names = [f"shared_{secrets.token_hex(4)}", "small_job"]
        for name in names:
            text = SMALL.replace("small_job", name).replace("Do one.", "Do the shared one.")
            await planner.ok("put_definition", kind="job", name=name, content=text)
        wrong = f"wrong_{secrets.token_hex(4)}"
        await planner.ok("put_definition", kind="job", name=wrong, content={"name": wrong, "steps": []})
    answer = await worker.ok("get_workflows")
    assert {job["name"] for job in answer["jobs"]} >= {*names, "competitive_research"}
    assert any(problem.startswith(f"{wrong}: ") for problem in answer["problems"])
    assert (await start(worker, names[0], "only"))["begin_step"]["step_instructions"] == "Do the shared one."
    assert (await start(worker, "small_job", "only"))["begin_step"]["step_instructions"] == "Do one."


def test_a_job_of_very_many_steps_is_refused_in_as_many_looks() -> None:
    class Watched(list[Any]):
        looks = 0

        def __iter__(self) -> Iterator[Any]:
            Watched.looks += 1
            return super().__iter__()

    steps = Watched({"name": f"s{number}"} for number in range(1000))
    with pytest.raises(NotDone, match="invalid_argument"):
        read_job({"name": "big", "workflows": {"all": {"steps": steps}}})
    assert Watched.looks < len(steps)
