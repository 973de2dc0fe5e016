"""One call tells an agent that lost its memory where it is and what is next, in as many bytes as it has room for."""

import json
import secrets
from typing import Any

import pytest
import redis

from dcf.core.listing.runs import FOR_ANYBODY, Facet
from dcf.features.agent_context.rules import MOST_BYTES
from dcf.store.keys import table as keys
from tests.tools.calls import Tools, new_run

pytestmark = pytest.mark.anyio

WORKFLOW: dict[str, Any] = {
    "asl": {
        "StartAt": "A",
        "States": {
            "A": {"Type": "Task", "Instructions": "Work out the price.", "Next": "B"},
            "B": {"Type": "Task", "Instructions": "Send the offer.", "End": True},
        },
    }
}


class Place:
    """An agent of its own, with runs that it works in."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.agent = f"a-{secrets.token_hex(4)}"
        self.planner = f"p-{secrets.token_hex(4)}"

    async def run(self, *, held: bool = False, **more: Any) -> str:
        run = f"run-{secrets.token_hex(4)}"
        agents = {"A": self.agent, "B": self.agent}
        await new_run(self.tools, run, WORKFLOW, agents_map_json=agents, planner_agent_id=self.planner, **more)
        await self.tools.ok("notify_next_worker_agent", workflow_id=run)
        if held:
            await self.tools.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id=self.agent)
        return run

    async def write(self, run: str, kind: str, text: str, **more: Any) -> str:
        entry = {"agent_id": self.agent, "kind": kind, "text": text, **more}
        return str((await self.tools.ok("add_journal_entry", workflow_id=run, **entry))["entry"])

    async def context(self, **more: Any) -> dict[str, Any]:
        return (await self.tools.ok("get_context", **({"agent_id": self.agent} | more))).payload


@pytest.fixture
def place(operator: Tools, raw_redis: redis.Redis) -> Place:
    raw_redis.delete(keys.runs_by(Facet.AGENT, FOR_ANYBODY))  # what other tests left for anybody to do
    return Place(operator)


async def test_an_agent_sees_what_it_holds_what_blocks_and_what_was_said(place: Place) -> None:
    run = await place.run(held=True)
    await place.write(run, "handoff", "The prices are in EUR.", details_json={"next_steps": ["check the totals"]})
    await place.write(run, "decision", "EUR.", details_json={"chosen": "EUR"})
    await place.write(run, "milestone", "Half.", details_json={"progress": 50}, state="A")
    issue = await place.write(run, "issue", "Which tax?", blocks=True)
    context = await place.context()
    assert [run["workflow_id"] for run in context["runs"]] == [run]
    assert (context["runs"][0]["status"], context["runs"][0]["blocked_by"][0]["issue"]) == ("blocked", issue)
    (holding,) = context["held"]
    assert (holding["state"], holding["instructions"]) == ("A", "Work out the price.")
    assert holding["lease_expires_at"]
    assert [issue["entry"] for issue in context["issues"]] == [issue]
    assert context["handoffs"][0]["details"]["next_steps"] == ["check the totals"]
    assert (context["decisions"][0]["text"], context["milestones"][0]["details"]["progress"]) == ("EUR.", 50)
    assert [item["tool"] for item in context["next"]] == ["renew_state_lease", "read_journal"]
    assert context["inputs"][0]["state"] == "A"


async def test_what_is_ready_comes_with_the_call_that_takes_it(place: Place) -> None:
    run = await place.run()
    context = await place.context()
    assert [(item["workflow_id"], item["state"], item["instructions"]) for item in context["ready"]] == [
        (run, "A", "Work out the price.")
    ]
    (call,) = context["next"]
    leased = await place.tools.ok(call["tool"], **call["arguments"])
    assert leased["work"]["state"] == "A"


async def test_no_token_of_a_lease_is_shown(place: Place) -> None:
    run = f"run-{secrets.token_hex(4)}"
    agents = {"A": place.agent, "B": place.agent}
    await new_run(place.tools, run, WORKFLOW, agents_map_json=agents)
    leased = await place.tools.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id=place.agent)
    assert leased["work"]["lease_token"] not in json.dumps(await place.context())


async def test_an_agent_with_nothing_is_told_to_wait(place: Place) -> None:
    context = await place.context()
    assert "runs" not in context
    assert context["status"].startswith("0 runs")


async def test_a_planner_finds_the_runs_it_plans_and_resolves_what_blocks_them(place: Place) -> None:
    run = await place.run()
    issue = await place.write(run, "issue", "Which tax?", blocks=True)
    context = await place.context(agent_id=place.planner)
    assert [(run["workflow_id"], run["you_plan_it"]) for run in context["runs"]] == [(run, True)]
    call = next(item for item in context["next"] if item["tool"] == "resolve_issue")
    assert call["arguments"]["issue"] == issue
    await place.tools.ok("resolve_issue", **{**call["arguments"], "how": "20 %."})


async def test_a_session_is_the_runs_with_its_tag_and_a_run_is_found_alone(place: Place) -> None:
    session = f"s-{secrets.token_hex(4)}"
    workflow_id = f"run-{secrets.token_hex(4)}"
    workflow = json.dumps(WORKFLOW)
    await place.tools.ok(
        "start_run",
        workflow_json=workflow,
        workflow_id=workflow_id,
        agents_map_json={"*": place.agent},
        tags_json=[session],
    )
    other = await place.run()
    context = await place.context(agent_id=None, session=session)
    assert [run["workflow_id"] for run in context["runs"]] == [workflow_id]
    assert [state["state"] for state in context["ready"]] == ["A"]
    alone = await place.context(agent_id=None, workflow_id=other)
    assert [run["workflow_id"] for run in alone["runs"]] == [other]
    assert [call["tool"] for call in alone["next"]] == ["explain_run"]


@pytest.mark.parametrize("most", [1_000, 2_000, 6_000, 40_000])
async def test_the_answer_has_the_size_that_was_asked_for_and_says_what_was_left_out(place: Place, most: int) -> None:
    run = await place.run(held=True)
    for number in range(6):
        await place.write(run, "decision", f"{number} " + "x" * 500, details_json={"chosen": "A"})
        await place.write(run, "issue", f"{number} " + "y" * 500)
    context = await place.context(max_bytes=most)
    context.pop("provenance")
    assert len(json.dumps(context).encode()) < most + 800, "the frame of the answer is not counted"
    assert [run["workflow_id"] for run in context["runs"]] == [run]
    left = {item["what"]: item["count"] for item in context.get("left_out", ())}
    for name, several in (("decisions", 5), ("issues", 6)):
        assert len(context.get(name, ())) + left.get(name, 0) == several
    assert all(item["see"] for item in context.get("left_out", ()))


async def test_a_context_says_whose_it_is_and_has_a_size(operator: Tools) -> None:
    refused = await operator.refused("invalid_argument", "get_context")
    assert "agent_id" in refused["hint"]
    await operator.refused("invalid_argument", "get_context", agent_id="ann", max_bytes=MOST_BYTES + 1)
    await operator.refused("unknown_run", "get_context", workflow_id="no-such-run")
