"""The instructions of the server, followed literally and without intelligence, lead to runs that are done."""

import anyio
import pytest

from dcf.tools.mcp.instructions import WAYS, instructions_for
from dcf.verbs.listed_tools import profiles
from tests.support.tables import rows
from tests.tools.access import PLANNER, WORKER
from tests.tools.calls import Answer, Json
from tests.tools.following.conftest import Join
from tests.tools.following.follower import STEP, Follower

pytestmark = pytest.mark.anyio

TO_PLAN = "To have a workflow carried out"
TO_SCHEDULE = "To have one carried out again and again"
TO_WORK = "To work"
TO_REVIEW = "To review"
LONGEST = 2_100
CHAPTERS = 12
CALLS_A_TASK = 1.3

CLOSED = ("read_workflow_control_plane", "read_workflow_control_plane", "finalize_workflow")
"""How a planner closes a run: it reads how it stands, then its output, which is long."""


def each_chapter() -> Json:
    write = {"Type": "Task", "OutputSchema": {"type": "object", "required": ["text"], "properties": TEXT}, "End": True}
    each = {"Type": "Map", "ItemProcessor": {"StartAt": "Write", "States": {"Write": write}}, "Next": "Bind"}
    return {"StartAt": "Each", "States": {"Each": each, "Bind": {"Type": "Task", "End": True}}}


TEXT = {"text": {"type": "string"}}


def reviewed(reviewer: str, *others: str) -> Json:
    gate = {"name": "review", "kind": "review", "criteria": ["It is short."], "reviewers": [reviewer, *others]}
    return {"StartAt": "Write", "States": {"Write": {"Type": "Task", "Gates": [gate], "End": True}}}


async def started(planner: Follower, way: str = TO_PLAN) -> Answer:
    """The answer to the second call of a way of the planner: the run is started, or the schedule created."""
    first, second, *_ = planner.way(way)
    await planner.send(first)
    return await planner.send(second)


async def works(worker: Follower) -> None:
    """Follow the way of a worker without end."""
    answer = await worker.send(worker.way(TO_WORK)[0])
    await worker.follow(answer, lambda _: False)


async def closed(planner: Follower, answer: Answer) -> Answer:
    """Follow `next` from the start of a run to its end."""
    return await planner.follow(answer, lambda _: planner.sent[-1] == "finalize_workflow")


async def nothing_waits_for(*callers: Follower) -> None:
    """No event is left: an event for a finished agent is stale."""
    for caller in callers:
        answer = await caller.tools.ok("await_workflow_event", agent_id=caller.me, timeout_s=0)
        assert answer["status"] == "timeout", answer.text


@rows("profile", profiles())
def test_instructions_are_short_and_name_only_what_the_list_has(profile: str) -> None:
    shown = profiles()[profile]
    instructions = instructions_for(shown)
    assert len(instructions) <= LONGEST
    assert {tool for tool, _ in STEP.findall(instructions)} <= shown


def test_every_list_has_a_way() -> None:
    lines = {profile: len(instructions_for(shown).splitlines()) for profile, shown in profiles().items()}
    assert {profile for profile, count in lines.items() if count < 2} == set()
    assert max(lines.values()) == len(WAYS) + 1


@rows(
    ("way", "wish"),
    [
        (TO_PLAN, {"its_input": {}}),
        (TO_PLAN, {"its_input": {"talks": [{"title": "One"}, {"title": "Two"}]}, "example": 1}),
        (TO_SCHEDULE, {"its_name": "weekdays-at-7"}),
    ],
    ids=["a greeting", "a programme of talks", "every weekday at 7"],
)
async def test_a_planner_gets_to_the_first_ready_state_in_two_calls(join: Join, way: str, wish: Json) -> None:
    async with join("worker", *WORKER) as worker, join("planner", *PLANNER, agent=worker.me, **wish) as planner:
        await nothing_waits_for(worker)
        answer = await started(planner, way)
        assert len(planner.sent) == 2
        assert worker.me in planner.answers[0]["agents"]
        if way == TO_SCHEDULE:
            assert answer["schedule"]["next_at"].endswith("07:00:00.000000Z")
            await planner.tools.ok("operate_schedule", name=wish["its_name"], action="trigger")
        work = await worker.send(worker.way(TO_WORK)[0])
        assert work["work"]["lease_token"]


async def test_a_planner_and_a_worker_carry_out_a_map_of_chapters(join: Join) -> None:
    wish = {"its_input": [{"chapter": number} for number in range(CHAPTERS)], "the_workflow": each_chapter()}
    async with join("worker", *WORKER) as worker, join("planner", *PLANNER, agent=worker.me, **wish) as planner:
        answer = await started(planner)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(works, worker)
            await closed(planner, answer)
            tasks.cancel_scope.cancel()
        assert len(worker.sent) == CHAPTERS + 2 <= CALLS_A_TASK * (CHAPTERS + 1)
        assert planner.sent == ["describe_workflow_language", "start_run", "await_workflow_event", *CLOSED]
        run = await planner.tools.ok("read_workflow_control_plane", workflow_id=answer["workflow_id"], summary=True)
        assert run["meta"]["status"] == "succeeded"
        await nothing_waits_for(worker, planner)


async def test_a_reviewer_judges_with_the_list_of_a_worker(join: Join) -> None:
    async with (
        join("author", *WORKER) as author,
        join("reviewer", *WORKER) as reviewer,
        join("planner", *PLANNER, agent=author.me, its_input={}) as planner,
    ):
        planner.wish["the workflow"] = reviewed(reviewer.me, author.me)
        answer = await started(planner)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(works, author)
            tasks.start_soon(works, reviewer)
            await closed(planner, answer)
            tasks.cancel_scope.cancel()
        assert author.sent == ["await_workflow_event", "update_workflow_control_plane"]
        assert reviewer.sent == ["await_workflow_event", "decide_gate"]
        run = await planner.tools.ok("read_workflow_control_plane", workflow_id=answer["workflow_id"], summary=True)
        assert run["meta"]["status"] == "succeeded"
        await nothing_waits_for(author, reviewer, planner)


async def test_a_reviewer_finds_what_waits_for_a_verdict(join: Join) -> None:
    async with (
        join("author", *WORKER) as author,
        join("reviewer", *WORKER) as reviewer,
        join("planner", *PLANNER, agent=author.me, its_input={}) as planner,
    ):
        planner.wish["the workflow"] = reviewed(reviewer.me)
        await started(planner)
        work = await author.send(author.way(TO_WORK)[0])
        await author.follow(work, lambda _: author.sent[-1] == "update_workflow_control_plane")
        replies = await reviewer.send(reviewer.way(TO_REVIEW)[0])
        judged = await reviewer.follow(replies, lambda _: reviewer.sent[-1] == "decide_gate")
        assert judged["verdict"] == "pass"


async def test_a_lost_answer_is_asked_for_again_and_gives_the_same_work(join: Join) -> None:
    wish = {"its_input": [{"chapter": number} for number in range(4)], "the_workflow": each_chapter()}
    async with join("worker", *WORKER) as worker, join("planner", *PLANNER, agent=worker.me, **wish) as planner:
        answer = await started(planner)
        call = worker.way(TO_WORK)[0]
        while True:
            lost = await worker.send(call)
            replies = await worker.send(call)
            assert bool(replies.payload.get("work")) is bool(lost.payload.get("work"))
            if not replies.payload.get("work"):
                break
            call = (replies["next"][0]["tool"], replies["next"][0]["arguments"])
        run = await planner.tools.ok("read_workflow_control_plane", workflow_id=answer["workflow_id"], summary=True)
        assert run["meta"]["status"] == "succeeded"


async def test_what_helps_a_planner_is_on_its_list(join: Join) -> None:
    async with join("planner", *PLANNER, agent="nobody", its_input={}) as planner:
        answer = await started(planner)
        run = answer["workflow_id"]
        await planner.tools.ok("operate_run", workflow_id=run, action="pause")
        (finding,) = (await planner.tools.ok("explain_run", workflow_id=run))["findings"]
        call = finding["remedy"]["call"]
        assert (call["tool"], call["arguments"]) == ("operate_run", {"action": "resume", "workflow_id": run})
        await planner.send((call["tool"], call["arguments"]))
        await planner.tools.ok("cancel_run", workflow_id=run)
        step, *_ = (await planner.tools.ok("cancel_run", workflow_id=run))["next"]
        assert (step["tool"], step.get("destroys")) == ("finalize_workflow", True)
