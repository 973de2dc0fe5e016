"""Two callers without intelligence share a run with a review: by the newest `next` none judges blind or loops."""

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.leasing.first_terms import FIRST_TERM_S
from dcf.verbs.merged.naming import RETIRED
from tests.support.tables import rows
from tests.tools.access import PLANNER, WORKER
from tests.tools.calls import Answer, Json, Tools
from tests.tools.following.conftest import Join
from tests.tools.following.follower import STEP, Follower, first_of
from tests.tools.following.test_instructions import TO_PLAN, TO_REVIEW, TO_SCHEDULE, TO_WORK, reviewed, started

pytestmark = pytest.mark.anyio

SHORT: Final[Json] = {"text": "short"}
LONG: Final[Json] = {"text": "x" * 9_000}
PERSON = (Scope.READ, Scope.ANSWER)
LOST: Final = frozenset({"ok", "review_running", "token_required", "lease_lost"})


@dataclass(slots=True, kw_only=True)
class Team:
    """The agents of a run that waits for a review."""

    writer: Follower
    reviewer: Follower
    planner: Follower
    run: str


@asynccontextmanager
async def in_review(join: Join, output: Json) -> AsyncIterator[Team]:
    """A run whose writer has delivered an output."""
    wish = {"your_result_as_JSON": output}
    async with (
        join("writer", *WORKER, **wish) as writer,
        join("reviewer", *WORKER, what_to_correct="Say more.") as reviewer,
        join("planner", *PLANNER, agent=writer.me, its_input={}) as planner,
    ):
        planner.wish["the workflow"] = reviewed(reviewer.me)
        run = (await started(planner))["workflow_id"]
        work = await writer.send(writer.way(TO_WORK)[0])
        delivered = await writer.send(first_of(work))
        assert delivered.code == "review_running"
        yield Team(writer=writer, reviewer=reviewer, planner=planner, run=run)


async def judged(reviewer: Follower, answer: Answer) -> Answer:
    return await reviewer.follow(answer, lambda _: reviewer.sent[-1] == "decide_gate")


def has_read(reviewer: Follower, output: Json) -> bool:
    """Whether the output stood in an answer before that to the verdict."""
    return any(f'"output":{_compact(output)}' in answer.text for answer in reviewer.answers[:-1])


def _compact(output: Json) -> str:
    return json.dumps(output, separators=(",", ":"))


@rows(
    ("way", "output", "calls"),
    [
        (TO_REVIEW, SHORT, ["list_asked", "list_asked", "decide_gate"]),
        (TO_REVIEW, LONG, ["list_asked", "list_asked", "decide_gate"]),
        (TO_WORK, SHORT, ["await_workflow_event", "decide_gate"]),
        (TO_WORK, LONG, ["await_workflow_event", "list_asked", "decide_gate"]),
    ],
    ids=["a short output, from the list", "a long one, from the list", "a short one, told", "a long one, told"],
)
async def test_a_reviewer_has_read_what_it_judges(join: Join, way: str, output: Json, calls: list[str]) -> None:
    async with in_review(join, output) as team:
        replies = await team.reviewer.send(team.reviewer.way(way)[0])
        assert (await judged(team.reviewer, replies))["verdict"] == "pass"
        assert team.reviewer.sent == calls
        assert has_read(team.reviewer, output)


async def test_finalizing_a_run_acknowledges_what_told_the_planner_of_its_end(join: Join, site: Application) -> None:
    async with in_review(join, SHORT) as team:
        await judged(team.reviewer, await team.reviewer.send(team.reviewer.way(TO_WORK)[0]))
        planner = team.planner
        replies = await planner.send(planner.way(TO_PLAN)[-1])
        assert replies["event"]["type"] == "run_finished"
        message_id = replies["message_id"]
        assert site.inbox.read(planner.me, message_id) is not None
        closed = await planner.follow(replies, lambda _: planner.sent[-1] == "finalize_workflow")
        assert site.inbox.read(planner.me, message_id) is None
        assert first_of(closed)[0] == "await_workflow_event"
        read = await planner.send(("read_workflow_control_plane", {"workflow_id": team.run, "summary": True}))
        assert first_of(read)[0] == "await_workflow_event"


async def test_a_local_user_that_finalizes_acknowledges_its_own_notifications_alone(
    tools: Tools, application: Application
) -> None:
    planner = f"pia-{secrets.token_hex(4)}"
    machine = {"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}
    for is_told in (True, False):
        run = (await tools.ok("start_run", workflow_json=machine, planner_agent_id=planner))["workflow_id"]
        if is_told:
            answer = await tools.ok("await_workflow_event", agent_id=planner, timeout_s=50)
            await tools.ok("finalize_workflow", workflow_id=run)
            assert application.inbox.read(planner, answer["message_id"]) is None
        else:
            await tools.ok("finalize_workflow", workflow_id=run)
            answer = await tools.ok("await_workflow_event", agent_id=planner, timeout_s=50)
            assert (answer["event"]["type"], answer["event"]["workflow_id"]) == ("run_finished", run)
        read = await tools.ok("read_workflow_control_plane", workflow_id=run)
        (call, *_) = read["next"]
        assert (call["tool"], call["arguments"]["agent_id"]) == ("await_workflow_event", planner)


@rows("remembers", [None, "lease-of-another-run"], ids=["no token", "the token of another run"])
async def test_a_writer_that_lost_its_memory_in_a_review_gets_its_work_again(join: Join, remembers: str | None) -> None:
    async with in_review(join, SHORT) as team:
        writer, reviewer = team.writer, team.reviewer
        reviewer.wish |= {"pass or fail": "fail", "true or false": False}
        await judged(reviewer, await reviewer.send(reviewer.way(TO_WORK)[0]))
        writer.answers.clear()
        writer.sent.clear()
        writer.expected, writer.wish["your lease_token"] = LOST, remembers
        writer.wish["your result as JSON"] = {"text": "more"}
        sent_back = await writer.send(writer.way(TO_WORK)[0])
        assert sent_back["event"]["type"] == "needs_work"
        assert "acquire_state_lease" in [call["tool"] for call in sent_back["next"]]
        delivered = await writer.follow(sent_back, lambda answer: answer.code == "review_running")
        assert delivered.code == "review_running"
        update = "update_workflow_control_plane"
        assert writer.sent == ["await_workflow_event", update, "acquire_state_lease", update]
        _, refused, regained, _ = writer.answers
        assert "`acquire_state_lease`" in refused.hint or refused.code == "token_required"
        assert regained["work"]["failed_criteria"][0]["feedback"] == "Say more."


@rows("scopes", [WORKER, PLANNER, PERSON, tuple(Scope)], ids=["worker", "planner", "person", "everything"])
async def test_instructions_name_what_the_list_has_and_the_key_may_do(join: Join, scopes: tuple[Scope, ...]) -> None:
    async with join("reader", *scopes) as caller:
        calls = STEP.findall(caller.instructions)
        ways = [line.partition(": ")[0] for line in caller.instructions.splitlines()[1:]]
        for way in ways:
            for tool, arguments in caller.way(way):
                assert set(arguments) <= set(caller.schemas[tool]["properties"]), tool
        assert calls
        assert ("To answer what people are asked" in ways) is (Scope.ANSWER in scopes)
        assert "the newest answer's `next` counts" in caller.instructions


async def test_a_step_follows_where_a_planner_has_one(join: Join) -> None:
    wish = {"its_name": f"nightly-{secrets.token_hex(4)}", "its_input": {}}
    async with join("worker", *WORKER) as worker, join("planner", *PLANNER, agent=worker.me, **wish) as planner:
        described = await planner.send(planner.way(TO_PLAN)[0])
        assert [call["tool"] for call in described["next"]] == ["start_run", "create_schedule"]
        run = await planner.send(first_of(described))
        assert run["workflow_id"]
        created = await planner.send(planner.way(TO_SCHEDULE)[1])
        paused = await planner.tools.ok("operate_schedule", name=wish["its_name"], action="pause")
        answers = [await planner.tools.ok("list_asked", kind=kind, agent_id=planner.me) for kind in ("gate", "task")]
        for answer in (created, paused, *answers):
            assert first_of(answer)[0] == "await_workflow_event", answer.text
            assert first_of(answer)[1]["agent_id"] == planner.me


async def test_the_language_names_the_tools_of_lists(join: Join) -> None:
    async with join("planner", *PLANNER) as planner:
        language = (await planner.send(planner.way(TO_PLAN)[0]))["language"]
        assert "`answer`" in language
        assert [name for name in sorted(RETIRED) if f"{name}" in language.replace("`answer`", "")] == []


async def test_work_says_how_long_its_first_lease_lasts(join: Join) -> None:
    async with join("worker", *WORKER) as worker, join("planner", *PLANNER, agent=worker.me, its_input={}) as planner:
        await started(planner)
        work = await worker.send(worker.way(TO_WORK)[0])
        why = work["next"][0]["why"]
        assert f"first lasts {FIRST_TERM_S} s" in why
        assert "`renew_state_lease`" in why
