"""The tools on agents and skills over a real MCP client: a planner staffs a run, its agents load skills and work."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.core.lifecycle.dismissals import count
from dcf.errors import PlatformUnavailable, StoreUnavailable
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from dcf.workforce.crew import closing
from dcf.workforce.crew.workers import Workers
from tests.support.agents.skill_manifests import REGISTRY, manifest, source, tool
from tests.support.redis.redis_contents import content_of
from tests.support.tables import rows
from tests.tools.calls import WORKFLOWS, Answer, Tools

pytestmark = pytest.mark.anyio

BUNDLE = {
    "agents": [
        {"id": "agent-0", "name": "worker", "block_ids": ["block-0"], "tool_ids": ["tool-0"], "tags": ["kind:worker"]}
    ],
    "blocks": [{"id": "block-0", "label": "persona", "value": "You carry out one state of a workflow."}],
    "tools": [{"id": "tool-0", "name": "acquire_state_lease"}],
}


def task(*skills: str, **more: Any) -> dict[str, Any]:
    return {"Type": "Task", "AgentBinding": {"agent_template_ref": {"name": "worker"}, "skills": list(skills)}} | more


def bound(binding: dict[str, Any]) -> dict[str, Any]:
    """A machine of one Task with this binding."""
    return {"asl": {"StartAt": "A", "States": {"A": task(End=True, AgentBinding=binding)}}}


def workflow(run: str, **states: Any) -> dict[str, Any]:
    result = states or {"A": task("skill://check.order@1.0.0", Next="B"), "B": task(End=True)}
    return {
        "workflow_id": run,
        "workflow_name": "Small",
        "version": "1.0.0",
        "af_imports": [{"uri": "worker.af"}],
        "skill_imports": [{"uri": "check.json"}],
        "asl": {"StartAt": next(iter(result)), "States": result},
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("site")
    for name in ("manifests", "agents", "workflows"):
        (base / name).mkdir()
    (base / "agents" / "worker.af").write_text(json.dumps(BUNDLE))
    (base / "manifests" / "check.json").write_text(json.dumps(manifest()))
    loose = manifest("python", requiredTools=[tool("run", definition={"type": "python_source", "sourceCode": "x"})])
    (base / "manifests" / "python.json").write_text(json.dumps(loose))
    (base / "registry.json").write_text(json.dumps(REGISTRY))
    (base / "catalog.json").write_text(json.dumps({"skills": [{"path": "manifests/check.json"}]}))
    return base


@pytest.fixture(scope="module")
def site(application: Application, place: Path) -> Iterator[Application]:
    settings = Settings.model_validate(
        {
            "redis_url": application.redis_url,
            "workflows_dir": place / "workflows",
            "manifests_dir": place / "manifests",
            "agents_dir": place / "agents",
            "skills_catalog": place / "catalog.json",
            "skill_registry": place / "registry.json",
        }
    )
    with open_application(settings) as opened:
        yield opened


@pytest.fixture(scope="module")
async def tools(site: Application) -> AsyncIterator[Tools]:
    async with Client(build_server(site)) as client:
        yield await Tools.of(client)


async def staffed(tools: Tools, run: str) -> Answer:
    await tools.ok("create_workflow_control_plane", workflow_json=workflow(run), input_json={"order": 7})
    return await tools.ok("create_worker_agents", workflow_id=run)


async def test_an_agent_that_was_deleted_by_hand_is_made_again_and_told(
    site: Application, tools: Tools, run_id: str
) -> None:
    first = await staffed(tools, run_id)
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    site.platforms.maker(None)[1].delete_agent(first["agents_map"]["A"])
    again = await tools.ok("create_worker_agents", workflow_id=run_id)
    assert [item["state"] for item in again["created"]] == ["A"]
    site.clock.pulse()
    woken = await tools.ok("await_workflow_event", lease=False, agent_id=again["agents_map"]["A"], timeout_s=50)
    assert (woken["event"]["workflow_id"], woken["event"]["target_state"]) == (run_id, "A")


async def test_agents_are_not_told_before_their_run_is_started(site: Application, tools: Tools, run_id: str) -> None:
    crew = await staffed(tools, run_id)
    site.clock.pulse()
    agent = crew["agents_map"]["A"]
    assert (await tools.ok("await_workflow_event", lease=False, agent_id=agent, timeout_s=0))["event"] is None


async def test_a_planner_and_two_agents_carry_out_a_run_with_what_the_tools_tell_them(
    tools: Tools, run_id: str
) -> None:
    verdict = await tools.ok("validate_workflow", workflow_json=workflow(run_id))
    assert verdict["resolution"]["state_skill_map"] == {
        "A": [{"skill": "skill://check.order@1.0.0", "manifestId": "skill.check.order@1.0.0"}]
    }
    crew = await staffed(tools, run_id)
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    for state, agent in crew["agents_map"].items():
        woken = await tools.ok("await_workflow_event", lease=False, agent_id=agent, timeout_s=50)
        assert woken["event"]["target_state"] == state
        mine = await tools.ok("get_my_assignment", agent_id=agent)
        assert (mine["workflow_id"], [state["state"] for state in mine["states"]]) == (run_id, [state])
        token = None
        for step in mine["next"]:  # an agent that follows `next` literally
            sent = json.loads(json.dumps(step["arguments"]))
            if "lease_token" in sent:
                sent["lease_token"] = token
            if "output_json" in sent:
                sent["output_json"] = {"from": state}
            answer = await tools.ok(step["tool"], **sent)
            if step["tool"] == "acquire_state_lease":
                token = answer["lease"]["token"]
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert read["meta"]["status"] == "succeeded"
    assert read["outputs"] == {"A": {"from": "A"}, "B": {"from": "B"}}
    final = await tools.ok("finalize_workflow", workflow_id=run_id)
    assert final["summary"]["agents"] == {"to_delete": 2, "deleted": 2, "delete_errors": 0}
    assert {agent["agent_id"] for agent in final["agents"]} == set(crew["agents_map"].values())
    counts = {name: final["audit"]["agents"][name] for name in final["summary"]["agents"]}
    assert counts == final["summary"]["agents"], "the stored record says the same"
    again = await tools.ok("finalize_workflow", workflow_id=run_id)
    assert again["warnings"] == ["The run was finalized before; this is the first result."]
    assert [again[name] for name in ("summary", "agents", "audit")] == [
        final[name] for name in ("summary", "agents", "audit")
    ]
    await tools.refused("unknown_agent", "remove_tool_return_limits", agent_id=crew["agents_map"]["A"])


async def test_the_audit_record_counts_agents_that_could_not_be_deleted(
    tools: Tools, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, deleting = (await staffed(tools, run_id))["agents_map"]["A"], Workers.delete_agent

    def failing(workers: Workers, agent_id: str) -> bool:
        if agent_id == stays:
            raise PlatformUnavailable("The platform does not answer.")
        return deleting(workers, agent_id)

    monkeypatch.setattr(Workers, "delete_agent", failing)
    for _ in range(2):
        final = await tools.ok("finalize_workflow", workflow_id=run_id)
        assert final["summary"]["agents"] == {"to_delete": 2, "deleted": 1, "delete_errors": 1}
        assert [agent["agent_id"] for agent in final["audit"]["agents"]["each"] if not agent["deleted"]] == [stays]
    monkeypatch.undo()
    last = await tools.ok("finalize_workflow", workflow_id=run_id)
    assert last["summary"]["agents"] == {"to_delete": 2, "deleted": 2, "delete_errors": 0}
    assert (await tools.ok("finalize_workflow", workflow_id=run_id))["audit"] == last["audit"]


async def test_an_audit_record_that_was_not_written_denies_no_deletion_and_counts_it_later(
    tools: Tools, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew, failures = set((await staffed(tools, run_id))["agents_map"].values()), iter((True,))

    def unwritten(*args: Any, **more: Any) -> Any:
        if next(failures, False):
            raise StoreUnavailable("Redis does not answer.")
        return count(*args, **more)

    monkeypatch.setattr(closing, "count", unwritten)
    final = await tools.ok("finalize_workflow", workflow_id=run_id)
    (warning,) = final["warnings"]
    assert "does not count" in warning
    assert {agent["agent_id"]: agent["deleted"] for agent in final["agents"]} == dict.fromkeys(crew, True)
    assert final["audit"]["agents"] == dict.fromkeys(("to_delete", "deleted", "delete_errors"))
    again = await tools.ok("finalize_workflow", workflow_id=run_id)
    assert again["summary"]["agents"] == {"to_delete": 2, "deleted": 2, "delete_errors": 0}
    assert {agent["agent_id"] for agent in again["agents"]} == crew


async def test_an_assignment_has_input_skills_directives_and_what_the_record_holds(tools: Tools, run_id: str) -> None:
    agent = (await staffed(tools, run_id))["agents_map"]["A"]
    before = await tools.ok("get_my_assignment", agent_id=agent, workflow_id=run_id, state="A")
    (state,) = before["states"]
    assert (state["ready"], state["held_by_you"], state["input"], state["lease"]) == (True, False, {"order": 7}, None)
    assert state["skills"] == [
        {
            "reference": "skill://check.order@1.0.0",
            "manifestId": "skill.check.order@1.0.0",
            "skillName": "check.order",
            "skillVersion": "1.0.0",
            "loaded": False,
            "directives": "Use check.order with care.",
            "tools": [{"name": "verify", "description": "Does verify.", "required": True}],
        }
    ]
    assert [item["tool"] for item in state["next"]][:2] == ["load_skill", "acquire_state_lease"]
    assert before["context"] == [{"label": "persona", "value": "You carry out one state of a workflow."}]
    await tools.ok("load_skill", skill_json="skill://check.order@1.0.0", agent_id=agent)
    after = await tools.ok("get_my_assignment", agent_id=agent)
    assert after["states"][0]["skills"][0]["loaded"]
    assert "load_skill" not in [item["tool"] for item in after["next"]]
    assert {"label": "skill_ds_check.order_rules", "value": "No orders over 10000."} in after["context"]
    assert {tool["name"] for tool in after["tools"]} == {"acquire_state_lease", "verify"}
    assert after["tools"][-1]["server"]["url"] == "http://stub.example:8765/mcp"


async def test_a_long_input_cuts_nothing_off_from_what_to_do_about_it(tools: Tools, run_id: str) -> None:
    """Letta cuts an answer after 50,000 characters: it did so within the input, and the calls to make were lost."""
    long = {"text": ["a line of the input"] * 10_000}
    await tools.ok("create_workflow_control_plane", workflow_json=workflow(run_id), input_json=long)
    agent = (await tools.ok("create_worker_agents", workflow_id=run_id))["agents_map"]["A"]
    answer = await tools.ok("get_my_assignment", agent_id=agent, workflow_id=run_id)
    assert len(answer.text) < 50_000
    (state,) = answer["states"]
    assert state["input"] is None
    assert [item["tool"] for item in answer["next"]][:2] == ["load_skill", "acquire_state_lease"]
    key = state["input_left_out"].partition('redis_key="')[2].partition('"')[0]
    result, cursor = [], 0
    while cursor is not None:
        part = await tools.ok("json_read", redis_key=key, path="text", cursor=cursor)
        assert len(part.text) < 50_000
        result += json.loads(part["value_json"])
        cursor = part["next_cursor"]
    assert result == long["text"]


async def test_the_input_comes_last_in_what_is_shown_of_a_state(tools: Tools, run_id: str) -> None:
    agent = (await staffed(tools, run_id))["agents_map"]["A"]
    answer = await tools.ok("get_my_assignment", agent_id=agent, workflow_id=run_id)
    assert list(answer["states"][0])[-1] == "input"
    names = list(json.loads(answer.text))
    assert names.index("next") < names.index("states")


async def test_nobody_is_told_a_lease_token_whose_key_is_not_bound_to_the_holder(tools: Tools, run_id: str) -> None:
    """D-12: a repeated call must not let a second process of the same agent continue with the first one's lease."""
    crew = await staffed(tools, run_id)
    holder, other = crew["agents_map"]["A"], crew["agents_map"]["B"]
    holding = await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id=holder)
    mine = await tools.ok("get_my_assignment", agent_id=holder, workflow_id=run_id)
    assert mine["states"][0]["held_by_you"]
    assert mine["states"][0]["lease"]["epoch"] == holding["lease"]["epoch"]
    assert mine["next"][0]["tool"] == "renew_state_lease"
    for agent in (holder, other, "somebody-else"):
        for state in ("A", None):
            answer = await tools.ok(
                "get_my_assignment", agent_id=agent, workflow_id=run_id, **({} if state is None else {"state": state})
            )
            assert holding["lease"]["token"] not in answer.text
    theirs = await tools.ok("get_my_assignment", agent_id=other, workflow_id=run_id, state="A")
    assert (theirs["states"][0]["lease"], theirs["states"][0]["input"]) == (None, None)


async def test_asking_changes_nothing(tools: Tools, run_id: str, raw_redis: Any) -> None:
    agent = (await staffed(tools, run_id))["agents_map"]["A"]

    def documents() -> dict[bytes, Any]:
        keys = [key for key in raw_redis.scan_iter() if run_id.encode() in key or agent.encode() in key]
        return {key: content_of(raw_redis.execute_command, key) for key in keys}

    before = documents()
    for arguments in ({}, {"workflow_id": run_id}, {"workflow_id": run_id, "state": "B"}):
        await tools.ok("get_my_assignment", agent_id=agent, **arguments)
    assert documents() == before


async def test_an_agent_that_nobody_made_is_told_by_its_inbox_or_by_the_live_runs(tools: Tools, run_id: str) -> None:
    agent = f"py-{run_id}"
    nothing = await tools.ok("get_my_assignment", agent_id=agent)
    assert (nothing["workflow_id"], nothing["states"]) == (None, [])
    assert nothing["next"][0]["tool"] == "await_workflow_event"
    assigned = {"A": agent, "B": agent}
    await tools.ok(
        "create_workflow_control_plane", workflow_json=workflow(run_id), agents_map_json=assigned, input_json={}
    )
    assert (await tools.ok("get_my_assignment", agent_id=agent))["workflow_id"] == run_id
    other = f"{run_id}-x"
    await tools.ok("create_workflow_control_plane", workflow_json=workflow(other), agents_map_json=assigned)
    both = await tools.ok("get_my_assignment", agent_id=agent)
    assert sorted(both["candidates"]) == sorted([run_id, other])
    assert "workflow_id" in both.hint
    await tools.ok("notify_next_worker_agent", workflow_id=other)
    assert (await tools.ok("get_my_assignment", agent_id=agent))["workflow_id"] == other


async def test_an_agent_without_a_state_is_told_how_to_get_one(tools: Tools, run_id: str) -> None:
    await tools.ok("create_workflow_control_plane", workflow_json=workflow(run_id))
    mine = await tools.ok("get_my_assignment", agent_id="anybody", workflow_id=run_id)
    assert mine["next"][0] == {
        "tool": "find_work",
        "arguments": {"workflow_id": run_id, "agent_id": "anybody", "claim": True},
        "why": "No state is assigned to you; this takes one that anybody may do, if there is one.",
    }
    await tools.ok("find_work", **mine["next"][0]["arguments"])
    assert (await tools.ok("get_my_assignment", agent_id="anybody", workflow_id=run_id, state="A"))["states"][0][
        "held_by_you"
    ]


async def test_a_skill_that_cannot_be_resolved_is_said_to_be_a_problem(tools: Tools, run_id: str) -> None:
    lost = workflow(run_id, A=task("skill://lost@1.0.0", End=True))
    await tools.ok("create_workflow_control_plane", workflow_json=lost, agents_map_json={"A": "someone"})
    mine = await tools.ok("get_my_assignment", agent_id="someone", workflow_id=run_id)
    assert mine["states"][0]["skills"] == [
        {"reference": "skill://lost@1.0.0", "problem": "unknown_skill: There is no skill 'skill://lost@1.0.0'."}
    ]


# Making agents


async def test_agents_are_made_before_the_run_for_a_planner_that_wants_the_map(tools: Tools, run_id: str) -> None:
    crew = await tools.ok(
        "create_worker_agents", workflow_json=json.dumps(workflow(run_id)), default_tags_json='["team:x"]'
    )
    assert set(crew["agents_map"]) == {"A", "B"}
    assert crew["created"][0]["agent_name"] == f"wf-{run_id}-A"
    create, *_ = crew["next"]
    assert create["tool"] == "start_run"
    assert create["arguments"]["agents_map_json"] == crew["agents_map"]
    created = await tools.ok(
        "create_workflow_control_plane", workflow_json=workflow(run_id), agents_map_json=crew["agents_map"]
    )
    assert created["meta_sample"]["agents"] == crew["agents_map"]
    again = await tools.ok("create_worker_agents", workflow_id=run_id)
    assert (again["agents_map"], again["created"]) == (crew["agents_map"], [])


async def test_tasks_inside_parallel_and_map_get_agents_too(tools: Tools, run_id: str) -> None:
    """D-41: nested states had no workers."""
    branch = {"StartAt": "Left", "States": {"Left": task(End=True)}}
    each = {"StartAt": "Item", "States": {"Item": task(End=True)}}
    nested = workflow(
        run_id,
        Both={"Type": "Parallel", "Branches": [branch], "Next": "Each"},
        Each={"Type": "Map", "ItemProcessor": each, "End": True},
    )
    crew = await tools.ok("create_worker_agents", workflow_json=nested)
    assert set(crew["agents_map"]) == {"Left", "Item"}


@rows(
    ("change", "code", "words"),
    [
        ({"af_imports": [{"uri": "../../etc/passwd"}]}, "invalid_argument", "leads out of the directory"),
        ({"af_imports": [{"uri": "gone.af"}]}, "invalid_argument", "no such file"),
        ({"af_imports": [{"uri": "worker.af", "integrity": "0" * 64}]}, "invalid_argument", "integrity"),
        ({"asl": {"StartAt": "A", "States": {"A": task(Next="Z")}}}, "invalid_definition", "Z"),
        ({"asl": {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}}, "invalid_argument", "no Task"),
        (bound({"agent_template_ref": {"name": "../worker"}}), "invalid_argument", "is in no imported file"),
        (bound({"agent_ref": {"id": "agent-none"}}), "unknown_agent", "agent-none"),
        (bound({"lifecycle": {"mode": "pooled"}}), "invalid_argument", "reuse_key"),
        ({"af_v2_entities": {"agents": [{"name": "worker", "block_ids": ["block-9"]}], "blocks": []}},
         "invalid_argument", "block-9"),
    ],
)  # fmt: skip
async def test_a_document_that_cannot_be_staffed_makes_no_agent(
    tools: Tools, site: Application, run_id: str, change: Any, code: str, words: str
) -> None:
    refused = await tools.refused(code, "create_worker_agents", workflow_json=workflow(run_id) | change)
    assert words in refused.error
    assert refused.broken
    assert site.platforms.maker(None)[1].find_agents((f"wf:{run_id}",)) == []


async def test_templates_are_looked_for_in_the_order_of_the_seed(tools: Tools, site: Application, run_id: str) -> None:
    embedded = {"agents": [{"name": "worker", "tags": ["from:embedded"]}]}
    answer = await tools.ok("create_worker_agents", workflow_json=workflow(run_id) | {"af_v2_entities": embedded})
    assert "from:embedded" in site.platforms.maker(None)[1].retrieve_agent(answer["agents_map"]["A"]).tags
    disk = workflow(f"{run_id}-d") | {"af_imports": []}
    two = await tools.ok("create_worker_agents", workflow_json=disk)
    assert "kind:worker" in site.platforms.maker(None)[1].retrieve_agent(two["agents_map"]["A"]).tags
    legacy = workflow(f"{run_id}-l", A={"Type": "Task", "End": True})
    legacy["agents"] = [{"agent_name": "A", "agent_config": {"tags": ["from:legacy"]}}]
    three = await tools.ok("create_worker_agents", workflow_json=legacy)
    assert "from:legacy" in site.platforms.maker(None)[1].retrieve_agent(three["agents_map"]["A"]).tags


async def test_another_document_than_the_run_s_is_refused(tools: Tools, run_id: str) -> None:
    await staffed(tools, run_id)
    other = workflow(run_id, A=task(End=True))
    await tools.refused("conflict", "create_worker_agents", workflow_json=other)


# One agent


async def test_an_agent_is_found_by_name_and_deleted_by_it(tools: Tools, run_id: str) -> None:
    crew = await staffed(tools, run_id)
    name = crew["created"][0]["agent_name"]
    answer = await tools.ok("resolve_agent_name_to_id", agent_name=name)
    assert answer["agent_id"] == crew["agents_map"]["A"]
    removed = await tools.ok("delete_agent", agent_name=name)
    assert removed["deleted_agent_id"] == crew["agents_map"]["A"]
    await tools.refused("unknown_agent", "resolve_agent_name_to_id", agent_name=name)
    await tools.refused("unknown_agent", "delete_agent", agent_id=crew["agents_map"]["A"])


async def test_an_agent_that_was_not_made_for_a_run_is_not_deleted(tools: Tools, run_id: str) -> None:
    """D-103: any agent could delete any other."""
    await tools.ok("await_workflow_event", lease=False, agent_id=f"py-{run_id}", timeout_s=0)
    await tools.refused("forbidden", "delete_agent", agent_id=f"py-{run_id}")
    for arguments in ({}, {"agent_id": "a", "agent_name": "b"}):
        await tools.refused("invalid_argument", "delete_agent", **arguments)


async def test_there_are_no_limits_to_remove_from_a_mailbox_agent(tools: Tools, run_id: str) -> None:
    crew = await staffed(tools, run_id)
    answer = await tools.ok("remove_tool_return_limits", agent_id=crew["agents_map"]["A"])
    assert answer["updated_count"] == 0
    assert "nothing to do" in answer["status"]


# Skills


async def test_the_skillset_shows_what_there_is(tools: Tools) -> None:
    listed = await tools.ok("get_skillset", preview_chars=7)
    assert (listed["ok"], listed["exit_code"]) == (True, 0)
    assert [available_skill["skillName"] for available_skill in listed["available_skills"]] == ["check.order", "python"]
    assert listed["available_skills"][0]["directives_preview"] == "Use che\N{HORIZONTAL ELLIPSIS}"
    catalogued = await tools.ok("get_skillset_from_catalog", include_previews=False)
    assert [available_skill["skillName"] for available_skill in catalogued["available_skills"]] == ["check.order"]
    assert catalogued["available_skills"][0]["directives_preview"] is None


@rows(
    ("tool_name", "argument"),
    [("get_skillset", "manifests_dir"), ("get_skillset_from_catalog", "catalog_path"), ("get_skillset", "schema_path"),
     ("validate_skill_manifest", "schema_path"), ("create_worker_agents", "imports_base_dir")],
)  # fmt: skip
async def test_a_caller_cannot_choose_another_path(tools: Tools, tool_name: str, argument: str) -> None:
    more = {"skill_json": "{}"} if tool_name == "validate_skill_manifest" else {}
    refused = await tools.refused("invalid_argument", tool_name, **{argument: "/etc/passwd"}, **more)
    assert f"{argument} may not be chosen" in refused.error


async def test_a_manifest_is_judged_as_text_as_an_object_and_by_name(tools: Tools) -> None:
    for skill_json in (manifest(), json.dumps(manifest()), "skill://check.order@1.0.0", "check.json"):
        answer = await tools.ok("validate_skill_manifest", skill_json=skill_json)
        assert (answer["ok"], answer["exit_code"]) == (True, 0)


@rows(
    ("given", "exit_code", "code"),
    [
        ("{", 4, "invalid_argument"),
        ("", 4, "invalid_argument"),
        ("skill://none@1.0.0", 4, "invalid_argument"),
        ("../../etc/passwd.json", 4, "invalid_argument"),
        ({}, 1, "invalid_definition"),
        (manifest(surplus=1), 1, "invalid_definition"),
        (manifest(requiredTools=[tool("a"), tool("A")]), 2, "invalid_definition"),
        (manifest(requiredDataSources=[source("a", "x" * 1_100_000)]), 4, "invalid_argument"),
    ],
)
async def test_a_manifest_that_is_wrong_has_an_exit_code_and_problems(
    tools: Tools, given: Any, exit_code: int, code: str
) -> None:
    answer = await tools.refused(code, "validate_skill_manifest", skill_json=given)
    assert (answer["ok"], answer["exit_code"], answer.broken) == (False, exit_code, False)
    assert set(answer["problems"][0]) == {"stage", "path", "code", "message", "hint"}
    assert bool(answer["schema_errors"]) == (exit_code == 1)
    assert bool(answer["static_errors"]) == (exit_code == 2)


async def test_a_skill_is_loaded_once_and_unloaded_once(tools: Tools, run_id: str) -> None:
    agent = (await staffed(tools, run_id))["agents_map"]["A"]
    loaded = await tools.ok("load_skill", skill_json="check.order@1.0.0", agent_id=agent)
    assert (loaded["ok"], loaded["exit_code"], loaded["already_loaded"]) == (True, 0, False)
    assert loaded["status"] == "Skill 'check.order' v1.0.0 loaded (manifest skill.check.order@1.0.0)."
    assert {name: len(ids) for name, ids in loaded["added"].items()} == {
        "memory_block_ids": 1, "tool_ids": 1, "data_block_ids": 1,
    }  # fmt: skip
    again = await tools.ok("load_skill", skill_json=manifest(), agent_id=agent)
    assert (again["already_loaded"], again["added"]) == (True, loaded["added"])
    answer = await tools.ok("unload_skill", manifest_id="skill.check.order@1.0.0", agent_id=agent)
    assert answer["removed"] == loaded["added"], "D-79c: the result had no ids"
    nothing = await tools.ok("unload_skill", manifest_id="skill.check.order@1.0.0", agent_id=agent)
    assert "nothing to unload" in nothing["status"]


@rows(
    ("given", "code"),
    [
        ("skill://python@1.0.0", "forbidden"),
        ("skill://none@1.0.0", "unknown_skill"),
        ("../../etc/passwd.json", "invalid_argument"),
        (manifest(surplus=1), "invalid_definition"),
        (manifest(requiredTools=[tool("a", "nowhere")]), "tool_unavailable"),
        (manifest(permissions={"egress": "internet"}), "forbidden"),
        (manifest(permissions={"secrets": ["API_KEY"]}), "forbidden"),
        (
            manifest(
                requiredTools=[
                    tool(
                        "a",
                        definition={"type": "mcp_server", "endpointUrl": "http://169.254.169.254/", "operationId": "a"},
                    )
                ]
            ),
            "forbidden",
        ),
    ],
)
async def test_a_skill_that_cannot_be_loaded_leaves_the_agent_as_it_was(
    tools: Tools, site: Application, run_id: str, given: Any, code: str
) -> None:
    agent = (await staffed(tools, run_id))["agents_map"]["A"]
    before = (await tools.ok("get_my_assignment", agent_id=agent)).payload
    refused = await tools.refused(code, "load_skill", skill_json=given, agent_id=agent)
    assert (refused["ok"], refused["exit_code"], refused.broken) == (False, 4, True)
    assert (await tools.ok("get_my_assignment", agent_id=agent)).payload == before
    assert site.equipment.loaded(agent) == []


async def test_a_skill_for_an_agent_that_is_not_there_is_refused(tools: Tools) -> None:
    await tools.refused("unknown_agent", "load_skill", skill_json=manifest(), agent_id="agent-nobody")


@rows("name", ["order_processing", "customer_support"])
async def test_the_shipped_workflows_can_be_staffed_and_their_skills_loaded(
    application: Application, run_id: str, name: str
) -> None:
    document = json.loads((WORKFLOWS / f"{name}.json").read_text()) | {"workflow_id": run_id}
    async with Client(build_server(application)) as client:
        shipped = await Tools.of(client)
        verdict = await shipped.ok("validate_workflow", workflow_json=document)
        crew = await shipped.ok("create_worker_agents", workflow_json=document)
        for state, skills in verdict["resolution"]["state_skill_map"].items():
            agent = crew["agents_map"][state]
            for skill in skills:
                loaded = await shipped.ok("load_skill", skill_json=skill["skill"], agent_id=agent)
                assert loaded["warnings"] == []
                await shipped.ok("unload_skill", manifest_id=skill["manifestId"], agent_id=agent)
            assert application.equipment.loaded(agent) == []
    assert len(application.workers.delete_workers(run_id)) == len(crew["agents_map"])


async def test_an_agent_that_was_deleted_is_told_so_instead_of_waiting(tools: Tools, run_id: str) -> None:
    agent = (await staffed(tools, run_id))["agents_map"]["A"]
    await tools.ok("finalize_workflow", workflow_id=run_id)
    answer = await tools.call("await_workflow_event", lease=False, agent_id=agent, timeout_s=0)
    assert answer.code == "unknown_agent"
    answer = await tools.call("load_skill", skill_json="skill://check.order@1.0.0", agent_id=agent)
    assert answer.code == "unknown_agent"
