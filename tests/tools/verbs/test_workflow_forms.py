"""A workflow may be given in three forms; what it leaves open is defaulted and told, and so is who is missing."""

import secrets
from typing import Any

import pytest

from tests.support.tables import rows
from tests.tools.calls import Answer, Tools

pytestmark = pytest.mark.anyio

MACHINE = {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}}
STEPS = {"steps": [{"step_id": "A"}, {"step_id": "B"}]}
FORMS: dict[str, Any] = {"bare": MACHINE, "wrapped": {"asl": MACHINE}, "linear": STEPS}
BOTH = {"A": "agent-a", "B": "agent-b"}
MAPPED = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemProcessor": {"StartAt": "Write", "States": {"Write": {"Type": "Task", "End": True}}},
            "End": True,
        }
    },
}


def bound(**binding: Any) -> dict[str, Any]:
    task = {"Type": "Task", "AgentBinding": binding, "End": True}
    return {"StartAt": "A", "States": {"A": task}}


async def follow(tools: Tools, answer: Answer, **filled: Any) -> Answer:
    """Make the first of the calls that an answer proposes; arguments that are to be filled in are given."""
    step = answer["next"][0]
    return await tools.call(step["tool"], **step["arguments"] | filled)


async def known(tools: Tools, *agents: str) -> None:
    """Let agents be known: each looks for work."""
    for agent_id in agents:
        await tools.ok("find_work", agent_id=agent_id)


async def assigned(tools: Tools, run: str) -> Any:
    return (await tools.ok("read_workflow_control_plane", workflow_id=run))["meta"]["agents"]


@rows("form", FORMS)
async def test_every_form_is_validated_started_created_and_scheduled_alike(tools: Tools, form: str) -> None:
    workflow, name = FORMS[form], f"forms-{secrets.token_hex(4)}"
    await known(tools, *BOTH.values())
    details = await tools.ok("validate_workflow", workflow_json=workflow, agents_map_json=BOTH)
    started = await tools.ok("start_run", workflow_json=workflow, agents_map_json=BOTH)
    created = await tools.ok("create_workflow_control_plane", workflow_json=workflow, agents_map_json=BOTH)
    for answer in (details, started, created):
        assert answer["warnings"] == []
        assert "workflow_name: unnamed-workflow" in answer["defaulted"]
        assert any(line.startswith("version: none") for line in answer["defaulted"])
    for run in (started["workflow_id"], created["workflow_id"]):
        read = await tools.ok("read_workflow_control_plane", workflow_id=run)
        assert list(read["states"]) == ["A", "B"]
        assert read["meta"]["agents"] == BOTH
        assert f"workflow_id: {run}" in (*started["defaulted"], *created["defaulted"])
    made = await tools.ok("create_schedule", name=name, every_s=3600, workflow_json=workflow, agents_map_json=BOTH)
    assert made["warnings"] == []
    await tools.ok("delete_schedule", name=name)


async def test_facts_may_stand_beside_the_fields_of_a_bare_machine(tools: Tools) -> None:
    name = f"facts-{secrets.token_hex(4)}"
    document = {"workflow_name": name, "version": "2.0.0", **MACHINE}
    assert (await tools.ok("validate_workflow", workflow_json=document))["ok"]
    started = await tools.ok("start_run", workflow_json=document)
    assert (started["definition"]["name"], started["definition"]["version"]) == (name, "2.0.0")
    assert [line for line in started["defaulted"] if line.startswith(("version", "workflow_name"))] == []


async def test_a_step_keeps_what_it_says_of_its_task(tools: Tools) -> None:
    steps = [{"AgentBinding": {"agent_ref": {"id": "writer-7"}}, "TimeoutSeconds": 60}]
    started = await tools.ok("start_run", workflow_json={"steps": steps})
    assert await assigned(tools, started["workflow_id"]) == {"Step_1": "writer-7"}
    assert "steps/0/step_id: Step_1" in started["defaulted"]


@rows(
    ("binding", "agents"),
    [
        ({"agent_ref": {"id": "writer-7"}}, []),
        ({"agent_ref": {"name": "writer"}}, [{"agent_name": "writer", "agent_ref": {"id": "writer-7"}}]),
        ({"agent_ref": {"id": "writer-7"}, "lifecycle": {"mode": "existing"}}, []),
    ],
)
async def test_an_agent_ref_assigns_unless_the_call_does(tools: Tools, binding: Any, agents: Any) -> None:
    document = {"asl": bound(**binding), "agents": agents}
    valid = await tools.ok("validate_workflow", workflow_json=document)
    assert (valid["warnings"], "agent of 'A': writer-7 (agent_ref)" in valid["defaulted"]) == ([], True)
    started = await tools.ok("start_run", workflow_json=document)
    assert await assigned(tools, started["workflow_id"]) == {"A": "writer-7"}
    event = await tools.ok("await_workflow_event", agent_id="writer-7", timeout_s=50, lease=False)
    await tools.ok(
        "await_workflow_event", agent_id="writer-7", timeout_s=0, ack_message_id=event["message_id"], lease=False
    )
    other = await tools.ok("start_run", workflow_json=document, agents_map_json={"*": "somebody-else"})
    assert await assigned(tools, other["workflow_id"]) == {"A": "somebody-else"}


async def test_a_reference_that_may_mean_a_template_assigns_nobody(tools: Tools) -> None:
    for binding in (
        {"agent_template_ref": {"name": "worker"}},
        {"agent_template_ref": {"name": "worker"}, "agent_ref": {"id": "writer-7"}},
        {"agent_ref": {"name": "worker"}},
    ):
        created = await tools.ok("create_workflow_control_plane", workflow_json=bound(**binding))
        assert created["meta_sample"]["agents"] == {}
        assert created["warnings"]
        await tools.ok("create_worker_agents", workflow_id=created["workflow_id"])
        assert set(await assigned(tools, created["workflow_id"])) == {"A"}


async def test_a_task_that_nobody_does_is_a_warning_with_the_argument_that_mends_it(tools: Tools) -> None:
    valid = await tools.ok("validate_workflow", workflow_json=MAPPED)
    assert 'agents_map_json={"Write":"<agent id>"}' in valid["warnings"][0]
    (step,) = valid["next"]
    assert (step["tool"], step["arguments"]["agents_map_json"]) == ("start_run", {"Write": "<agent id>"})
    mended = {"workflow_json": MAPPED, "agents_map_json": {"Write": "writer-7"}}
    assert (await tools.ok("validate_workflow", **mended))["warnings"] == []
    await known(tools, "writer-7")
    started = await follow(tools, valid, **mended, input_json=[1])
    assert (started.code, started["warnings"]) == ("ok", [])


async def test_the_calls_after_a_creation_assign_start_and_watch_the_run(tools: Tools) -> None:
    planner = f"boss-{secrets.token_hex(4)}"
    created = await tools.ok(
        "create_workflow_control_plane", workflow_json=MAPPED, input_json=[1, 2], planner_agent_id=planner
    )
    assert (created["started"], "not started" in created["status"]) == (False, True)
    assert 'agents_map_json={"Write":"<agent id>"}' in created["warnings"][0]
    named = [step["tool"] for step in created["next"]]
    assert named == [
        *("resolve_state", "create_worker_agents"),
        *("notify_next_worker_agent", "await_workflow_event", "read_workflow_control_plane"),
    ]
    run = created["workflow_id"]
    before = await tools.ok("read_workflow_control_plane", workflow_id=run)
    assert "not started" in before["status"]
    assert before["next"][0]["tool"] == "notify_next_worker_agent"
    refused = await follow(tools, before)
    assert refused.code == "not_delivered", "nobody is assigned"
    mended = await follow(tools, refused, assign_json=["writer-8"])
    assert mended.code == "ok", mended.text
    assert await assigned(tools, run) == {"Write": "writer-8"}
    assert (await follow(tools, before)).code == "ok"
    event = await tools.ok("await_workflow_event", agent_id="writer-8", timeout_s=50, lease=False)
    assert event["event"]["workflow_id"] == run
    after = await tools.ok("read_workflow_control_plane", workflow_id=run)
    assert "running" in after["status"]
    inside = await follow(tools, after)
    assert set(inside["states"]) == {"Each/0/Write", "Each/1/Write"}


async def test_a_key_that_is_a_path_is_refused_with_the_name_that_was_meant(tools: Tools) -> None:
    for call in ("validate_workflow", "start_run"):
        for key in ("Each/0/Write", "Wrte"):
            refused = await tools.refused(
                "invalid_argument", call, workflow_json=MAPPED, agents_map_json={key: "writer-7"}
            )
            assert "Did you mean 'Write'?" in refused.hint
    request = {"workflow_json": MAPPED, "input_json": [1], "planner_agent_id": "boss"}
    run = (await tools.ok("create_workflow_control_plane", **request))["workflow_id"]
    meta = {"redis_key": f"cp:wf:{run}:meta", "value_json": ["w"], "agent_id": "boss"}
    refused = await tools.refused("invalid_edit", "json_set", path="$.agents['Each/0/Write']", **meta)
    assert "Did you mean 'Write'?" in refused.hint


async def test_a_wrong_workflow_points_to_the_page_and_has_the_paths_of_the_call(tools: Tools) -> None:
    wrong = {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "Gone"}}}
    for call in ("validate_workflow", "start_run", "create_workflow_control_plane"):
        for workflow, path in ((wrong, "/States/A/Next"), ({"asl": wrong}, "/asl/States/A/Next")):
            refused = await tools.refused("invalid_definition", call, workflow_json=workflow)
            assert path in {problem["path"] for problem in refused["problems"]}
            assert refused["next"][0]["tool"] == "describe_workflow_language"
    nothing = await tools.refused("invalid_definition", "start_run", workflow_json={"name": "x"})
    assert "describe_workflow_language" in nothing.hint


async def test_hints_show_what_to_add_in_the_form_in_which_it_is_written(tools: Tools) -> None:
    unknown = {"asl": bound(agent_ref={"name": "nobody"})}
    refused = await tools.refused("invalid_definition", "validate_workflow", workflow_json=unknown)
    assert '"agent_ref": {"id": "<agent id>"}' in refused.hint
    lacking = {"asl": {"StartAt": "A", "States": {"A": {"AgentBinding": {"agent_ref": {"id": "a"}}, "End": True}}}}
    refusal = await tools.refused("invalid_definition", "validate_workflow", workflow_json=lacking)
    assert any('"Type": "Task"' in problem["hint"] for problem in refusal["problems"])
