"""Runs that grow, through an MCP client: open, add, take, complete, close."""

import secrets
import uuid
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import Tools

pytestmark = pytest.mark.anyio


def new_run() -> str:
    return f"grown-{uuid.uuid4().hex[:12]}"


async def opened(tools: Tools, *units: dict[str, Any], **arguments: Any) -> str:
    run = new_run()
    answer = await tools.ok("open_run", name="release", workflow_id=run, **arguments)
    assert answer["run_status"] == "running"
    if units:
        await tools.ok("add_units", workflow_id=run, units=list(units))
    return run


async def take(tools: Tools, run: str, agent: str = "ann") -> dict[str, Any]:
    token = secrets.token_hex(8)  # each call is another process of the agent
    answer = await tools.ok("claim_ready_state", workflow_id=run, owner_agent_id=agent, lease_token=token)
    work: dict[str, Any] = answer["work"]
    return work


async def done(tools: Tools, work: dict[str, Any], output: Any = None, **more: Any) -> dict[str, Any]:
    answer = await tools.ok(
        "update_workflow_control_plane",
        workflow_id=work["workflow_id"],
        state=work["state"],
        lease_token=work["lease_token"],
        new_status="succeeded",
        output_json={} if output is None else output,
        **more,
    )
    return answer.payload


async def test_units_are_taken_in_the_order_of_their_dependencies(tools: Tools) -> None:
    run = await opened(
        tools,
        {"name": "Build", "instructions": "Build it.", "input": {"of": 1}},
        {"name": "Test", "depends_on": ["Build"]},
    )
    work = await take(tools, run)
    assert (work["state"], work["instructions"], work["input"]) == ("Build", "Build it.", {"of": 1})
    await tools.refused("nothing_ready", "claim_ready_state", workflow_id=run, owner_agent_id="bob")
    answer = await done(tools, work)
    assert answer["next_states"] == ["Test"]
    assert (await take(tools, run, "bob"))["state"] == "Test"
    shown = await tools.ok("read_workflow_control_plane", workflow_id=run, compute_readiness=True)
    assert {name: state["status"] for name, state in shown["states"].items()} == {
        "Build": "succeeded",
        "Test": "running",
    }


async def statuses(tools: Tools, run: str) -> dict[str, str]:
    shown = await tools.ok("read_workflow_control_plane", workflow_id=run)
    return {name: state["status"] for name, state in shown["states"].items()}


async def failed(tools: Tools, work: dict[str, Any]) -> None:
    await tools.ok(
        "update_workflow_control_plane",
        workflow_id=work["workflow_id"],
        state=work["state"],
        lease_token=work["lease_token"],
        new_status="failed",
        error_message="It broke.",
    )


async def run_status(tools: Tools, run: str) -> str:
    shown = await tools.ok("read_workflow_control_plane", workflow_id=run)
    return str(shown["meta"]["status"])


async def test_what_depends_on_a_group_waits_for_all_of_it_and_for_the_seal(tools: Tools) -> None:
    run = await opened(
        tools,
        {"name": "Phase", "kind": "group"},
        {"name": "One", "group": "Phase"},
        {"name": "Two", "group": "Phase"},
        {"name": "After", "depends_on": ["Phase"]},
    )
    first, second = await take(tools, run), await take(tools, run)
    assert {first["state"], second["state"]} == {"One", "Two"}
    await done(tools, first)
    assert (await done(tools, second))["next_states"] == []
    sealed = await tools.ok("seal_group", workflow_id=run, group="Phase")
    assert (sealed["open"], sealed["next_states"]) == (0, ["After"])
    assert (await statuses(tools, run))["Phase"] == "succeeded"
    await tools.refused("sealed", "add_units", workflow_id=run, units=[{"name": "Three", "group": "Phase"}])


async def test_a_sealed_group_ends_with_the_last_of_its_units(tools: Tools) -> None:
    run = await opened(
        tools,
        {"name": "Phase", "kind": "group"},
        {"name": "One", "group": "Phase"},
        {"name": "After", "depends_on": ["Phase"]},
    )
    sealed = await tools.ok("seal_group", workflow_id=run, group="Phase")
    assert sealed["open"] == 1
    assert (await done(tools, await take(tools, run)))["next_states"] == ["After"]


async def test_a_sealed_run_ends_when_all_its_units_have(tools: Tools) -> None:
    run = await opened(tools, {"name": "One"})
    await tools.ok("seal_group", workflow_id=run)
    assert await run_status(tools, run) == "running"
    answer = await done(tools, await take(tools, run))
    assert answer["run_status"] == "succeeded"
    assert await run_status(tools, run) == "succeeded"


async def test_failed_step_name_is_burnt(tools: Tools) -> None:
    """A retry is a new attempt of the same unit: its name is not used up."""
    run = await opened(tools, {"name": "Flaky"}, {"name": "Next", "depends_on": ["Flaky"]})
    await failed(tools, await take(tools, run))
    assert (await statuses(tools, run)) == {"Flaky": "failed", "Next": "pending"}
    assert await run_status(tools, run) == "running"
    answer = await tools.ok("retry_unit", workflow_id=run, unit="Flaky", reason="the network is back")
    assert (answer["retries"], answer["ready"]) == (1, True)
    work = await take(tools, run)
    assert (work["state"], work["attempt"], work["last_error"]) == ("Flaky", 2, "failed: It broke.")
    assert (await done(tools, work))["next_states"] == ["Next"]


async def test_unmet_deps_leave_a_burnt_row(tools: Tools) -> None:
    """A refused claim does not write anything, not even the units that were sent with it."""
    run = await opened(tools, {"name": "Base"})
    unit = {"name": "Top", "depends_on": ["Base"], "claim": True}
    await tools.refused("not_ready", "add_units", workflow_id=run, agent_id="ann", units=[{"name": "Other"}, unit])
    assert await statuses(tools, run) == {"Base": "pending"}
    await done(tools, await take(tools, run))
    answer = await tools.ok("add_units", workflow_id=run, agent_id="ann", units=[unit])
    assert [work["state"] for work in answer["work"]] == ["Top"]
    assert (await done(tools, answer["work"][0]))["status"] is not None


async def test_what_followed_a_unit_is_taken_back_with_it(tools: Tools) -> None:
    run = await opened(
        tools, {"name": "A"}, {"name": "B", "depends_on": ["A"]}, {"name": "C", "depends_on": ["B"]}, {"name": "X"}
    )
    works = {}
    for _ in range(2):
        work = await take(tools, run)
        works[work["state"]] = work
    await done(tools, works["A"], {"made": 1})
    await done(tools, works["X"])
    await done(tools, await take(tools, run))
    holding = await take(tools, run)
    assert holding["state"] == "C"
    answer = await tools.ok("rewind_unit", workflow_id=run, unit="A", reason="wrong input")
    assert sorted(answer["rewound"]) == ["A", "B", "C"]
    assert await statuses(tools, run) == {"A": "pending", "B": "pending", "C": "pending", "X": "succeeded"}
    await tools.refused(
        "lease_lost",
        "update_workflow_control_plane",
        workflow_id=run,
        state="C",
        lease_token=holding["lease_token"],
        new_status="succeeded",
        output_json={},
    )
    for name in "ABC":
        work = await take(tools, run)
        assert work["state"] == name
        await done(tools, work)


async def test_a_parent_is_completed_after_what_is_below_it(tools: Tools) -> None:
    run = await opened(tools, {"name": "Parent"})
    parent = await take(tools, run)
    await tools.ok("add_units", workflow_id=run, units=[{"name": "Child", "parent": "Parent"}])
    await tools.refused(
        "children_open",
        "update_workflow_control_plane",
        workflow_id=run,
        state="Parent",
        lease_token=parent["lease_token"],
        new_status="succeeded",
        output_json={},
    )
    await done(tools, await take(tools, run))
    await done(tools, parent)
    await tools.refused("parent_ended", "add_units", workflow_id=run, units=[{"name": "Late", "parent": "Parent"}])


async def test_a_run_is_closed_strictly_and_once(tools: Tools) -> None:
    run = await opened(tools, {"name": "One"}, {"name": "Two"})
    await done(tools, await take(tools, run))
    close = {"workflow_id": run, "summary": "Half of it.", "achievements": ["One"], "limitations": ["Two"]}
    refused = await tools.refused("units_open", "close_run", **close)
    assert "'Two'" in refused.error
    answer = await tools.ok("close_run", **close, status="partial", force=True)
    assert (answer["run_status"], answer["left"]) == ("partial", 1)
    again = await tools.ok("close_run", **close, status="partial", force=True)
    assert (again["run_status"], again["repeated"]) == ("partial", True)
    await tools.refused("run_over", "close_run", workflow_id=run, summary="Another.")
    await tools.refused("terminal", "add_units", workflow_id=run, units=[{"name": "Late"}])
    shown = await tools.ok("read_workflow_control_plane", workflow_id=run)
    assert shown["meta"]["closing"]["summary"] == "Half of it."
    assert await statuses(tools, run) == {"One": "succeeded", "Two": "cancelled"}


@rows(
    ("code", "units"),
    [
        ("unknown_unit", [{"name": "A", "depends_on": ["Nobody"]}]),
        ("dependency_cycle", [{"name": "A", "depends_on": ["B"]}, {"name": "B", "depends_on": ["A"]}]),
        ("dependency_cycle", [{"name": "G", "kind": "group"}, {"name": "A", "group": "G", "depends_on": ["G"]}]),
        ("dependency_cycle", [{"name": "A"}, {"name": "B", "parent": "A", "depends_on": ["A"]}]),
        (
            "dependency_cycle",
            [{"name": "G", "kind": "group", "group": "H"}, {"name": "H", "kind": "group", "group": "G"}],
        ),
        ("unknown_unit", [{"name": "A", "group": "Base"}]),
        ("conflict", [{"name": "Base", "title": "another"}]),
        ("conflict", [{"name": "A"}, {"name": "A", "title": "another"}]),
        ("invalid_definition", [{"name": "A/B"}]),
        ("invalid_definition", [{"name": "A", "depend_on": []}]),
        ("invalid_definition", [{"name": "A", "instructions": "{% $now() %}"}]),
        ("invalid_definition", [{"name": "A", "output_schema": {"type": "nothing"}}]),
    ],
)
async def test_units_that_cannot_be_are_refused_as_a_whole(
    tools: Tools, code: str, units: list[dict[str, Any]]
) -> None:
    run = await opened(tools, {"name": "Base"})
    answer = await tools.refused(code, "add_units", workflow_id=run, units=[{"name": "Fine"}, *units])
    assert answer["problems"][0]["path"].startswith("/units/")
    assert await statuses(tools, run) == {"Base": "pending"}


async def test_only_those_who_have_a_part_in_a_run_change_its_units(alone: Application) -> None:
    run = new_run()
    planner, worker, stranger = (key_of(Scope.READ, Scope.WORK, Scope.PLAN, agent_id=name) for name in ("p", "w", "s"))
    assert (await ask(alone, planner, "open_run", name="release", workflow_id=run)).code == "ok"
    add = {"workflow_id": run, "units": [{"name": "A", "agents": "w"}, {"name": "B"}]}
    assert (await ask(alone, stranger, "add_units", **add)).code == "forbidden"
    assert (await ask(alone, planner, "add_units", **add)).code == "ok"
    more = {"workflow_id": run, "units": [{"name": "C"}]}
    assert (await ask(alone, worker, "add_units", **more)).code == "ok", "a unit is assigned to it"
    assert (await ask(alone, stranger, "rewind_unit", workflow_id=run, unit="A")).code == "forbidden"
    taken = {"workflow_id": run, "state": "B", "owner_agent_id": "s"}
    assert (await ask(alone, stranger, "acquire_state_lease", **taken)).code == "ok"
    below = {"workflow_id": run, "units": [{"name": "Below", "parent": "B"}]}
    assert (await ask(alone, stranger, "add_units", **below)).code == "ok", "it works on a unit"
    assert (await ask(alone, stranger, "close_run", workflow_id=run, force=True)).code == "forbidden"


async def test_the_planner_has_agents_join_a_group_and_their_keys_add_units(alone: Application) -> None:
    run = new_run()
    planner, ann, bob = (key_of(Scope.READ, Scope.WORK, Scope.PLAN, agent_id=name) for name in ("p", "ann", "bob"))
    assert (await ask(alone, planner, "open_run", name="release", workflow_id=run)).code == "ok"

    async def group(*agents: str, **more: Any) -> Any:
        unit = {"name": "phase", "kind": "group", "agents": list(agents), **more}
        return await ask(alone, planner, "add_units", workflow_id=run, units=[unit])

    assert (await group("ann")).payload["added"] == ["phase"]
    below = {"workflow_id": run, "units": [{"name": "A", "group": "phase", "claim": True}], "agent_id": "ann"}
    assert (await ask(alone, ann, "add_units", **below)).payload["work"][0]["state"] == "A"
    another = {"workflow_id": run, "units": [{"name": "B", "group": "phase"}]}
    assert (await ask(alone, bob, "add_units", **another)).code == "forbidden"
    for _ in range(2):
        assert (await group("bob")).payload["existing"] == ["phase"]
    assert (await ask(alone, bob, "add_units", **another)).code == "ok"
    read = await ask(alone, planner, "read_workflow_control_plane", workflow_id=run)
    assert read["meta"]["agents"] == {"phase": ["ann", "bob"]}
    joined = [event for event in alone.history.after(run, "0", 100) if event.type == "AgentsJoined"]
    assert [event.data["agents"] for event in joined] == [["ann"], ["bob"]]
    assert (await group("bob", title="Another")).code == "conflict"


async def test_the_same_unit_again_is_found(tools: Tools) -> None:
    run = await opened(tools, {"name": "Base", "input": {"n": 1}})
    answer = await tools.ok("add_units", workflow_id=run, units=[{"name": "Base", "input": {"n": 1}}, {"name": "New"}])
    assert (answer["existing"], answer["added"], answer["units"]) == (["Base"], ["New"], 2)
    await tools.refused("conflict", "add_units", workflow_id=run, units=[{"name": "Base", "input": {"n": 2}}])


async def test_a_unit_that_is_not_needed_is_skipped(tools: Tools) -> None:
    run = await opened(tools, {"name": "A"}, {"name": "B", "depends_on": ["A"]})
    await failed(tools, await take(tools, run))
    answer = await tools.ok("resolve_state", workflow_id=run, state="A", skip=True, reason="not needed")
    assert answer["next_states"] == ["B"]
    assert await statuses(tools, run) == {"A": "skipped", "B": "pending"}
