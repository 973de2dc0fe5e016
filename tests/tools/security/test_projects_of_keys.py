"""A key that is bound to a project sees and changes only what is of it: every tool, on a run of another project.

Generated from the registry: a new tool is included, with every argument that could name a run.
"""

import json
import secrets
from dataclasses import replace
from typing import Any

import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.verbs.registry import TOOLS
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK, Answer
from tests.tools.security.test_authorization_matrix import Site

pytestmark = pytest.mark.anyio

OURS, THEIRS = "ours", "theirs"


def bound(project: str, agent_id: str | None = None) -> Caller:
    """A caller with every scope whose key is bound to a project."""
    return replace(key_of(*Scope, agent_id=agent_id, name=f"key:{project}"), project=project)


class ProjectSite(Site):
    """A run of a project, with its first state leased."""

    def __init__(self, application: Application, raw_redis: Any, project: str | None) -> None:
        super().__init__(application, raw_redis, "planner-1")
        self.project = project

    async def _did(self, tool: str, **arguments: Any) -> Answer:
        if tool == "create_workflow_control_plane" and self.project is not None:
            arguments["project"] = self.project
        return await super()._did(tool, **arguments)

    def kept_of_run(self) -> dict[bytes, Any]:
        """All that is stored of the run itself."""
        return {key: stored for key, stored in self.kept().items() if f"wf:{self.run}:".encode() in key}

    def arguments(self, tool: str, key: str, person: str) -> dict[str, Any]:
        arguments = super().arguments(tool, key, person)
        return {
            name: value for name, value in arguments.items() if name != "timeout_s" or tool == "await_workflow_event"
        }


async def refused_as_unknown(app: Application, caller: Caller, name: str, arguments: dict[str, Any]) -> None:
    """The tool answers about a run as it answers about one that is not there."""
    answer = await ask(app, caller, name, **arguments)
    absent = json.loads(json.dumps(arguments).replace(arguments["workflow_id"], "absent"))
    nothing = await ask(app, caller, name, **absent)
    assert answer.code == nothing.code, f"{answer.text}\n{nothing.text}"
    assert answer.text.replace(arguments["workflow_id"], "absent") == nothing.text


CREATES = {"start_run", "create_workflow_control_plane", "open_run"}


@rows("name", sorted(TOOLS))
@rows("project", [THEIRS, None])
async def test_a_run_of_another_project_is_not_there_for_a_bound_key(
    alone: Application, raw_redis: redis.Redis, name: str, project: str | None
) -> None:
    theirs = await ProjectSite(alone, raw_redis, project).open()
    before = theirs.kept_of_run()
    arguments = theirs.arguments(name, "meta", theirs.worker)
    caller = bound(f"p-{secrets.token_hex(4)}")
    answer = await ask(alone, caller, name, **arguments)
    assert theirs.kept_of_run() == before, answer.text
    if name in CREATES:
        assert answer.code == "conflict", answer.text
        assert theirs.worker not in answer.text
    elif "workflow_id" in arguments:
        assert answer.code == "unknown_run", answer.text
        await refused_as_unknown(alone, caller, name, arguments)
    elif "redis_key" in arguments:
        assert answer.code == "unknown_run", answer.text
    else:
        assert theirs.run not in answer.text.replace(theirs.worker, ""), answer.text


@rows("name", sorted(TOOLS))
async def test_every_tool_knows_the_project_of_a_call_or_is_refused_to_bound_keys(
    alone: Application, raw_redis: redis.Redis, name: str
) -> None:
    """On a run of its own project a bound key may do what its scopes allow; only tools that span projects refuse it."""
    ours = await ProjectSite(alone, raw_redis, OURS).open()
    answer = await ask(alone, bound(OURS), name, **ours.arguments(name, "meta", ours.worker))
    spans = answer.code == "forbidden" and "spans projects" in answer.error
    assert spans == (name in SPANNING), answer.text
    assert answer.code != "unknown_run", answer.text


SPANNING = {
    *("delete_agent", "remove_tool_return_limits", "register_agent", "list_registered_agents", "read_health"),
    *("csv_to_manifests", "csv_to_stub_config"),
    *("put_account", "list_accounts", "read_account", "open_account", "put_prices", "settle_account"),
    *("list_directory", "read_file", "write_file", "create_directory", "delete_path", "move_path"),
}
"""Tools without a project: agents, accounts, the installation, files of the server."""


async def test_a_run_that_a_bound_key_starts_belongs_to_its_project(alone: Application, run_id: str) -> None:
    wish = {"workflow_json": ONE_TASK, "workflow_id": run_id}
    assert (await ask(alone, bound(OURS), "start_run", **wish)).code == "ok"
    read = await ask(alone, bound(OURS), "read_workflow_control_plane", workflow_id=run_id)
    assert read["meta"]["project"] == OURS
    elsewhere = await ask(alone, bound(THEIRS), "read_workflow_control_plane", workflow_id=run_id)
    assert elsewhere.code == "unknown_run"
    refused = await ask(alone, bound(OURS), "start_run", **wish, project=THEIRS)
    assert refused.code == "forbidden"
    taken = await ask(alone, bound(THEIRS), "start_run", **wish)
    assert taken.code == "conflict"
    again = await ask(alone, bound(OURS), "start_run", **wish)
    assert (again.code, again["existed"]) == ("ok", True)


async def test_a_run_that_a_bound_key_opens_belongs_to_its_project(alone: Application, run_id: str) -> None:
    wish = {"name": "work", "workflow_id": run_id}
    assert (await ask(alone, bound(OURS), "open_run", **wish)).code == "ok"
    read = await ask(alone, bound(OURS), "read_workflow_control_plane", workflow_id=run_id)
    assert read["meta"]["project"] == OURS
    again = await ask(alone, bound(OURS), "open_run", **wish)
    assert (again.code, again["existed"]) == ("ok", True)
    taken = await ask(alone, bound(THEIRS), "open_run", **wish)
    assert taken.code == "conflict"
    assert "not opened like this" not in taken.text, "nothing is said of it"


async def test_a_bound_key_opens_no_run_within_one_of_another_project(alone: Application, run_id: str) -> None:
    assert (await ask(alone, bound(THEIRS), "open_run", name="work", workflow_id=run_id)).code == "ok"
    assert (await ask(alone, bound(OURS), "open_run", name="inner", parent_run=run_id)).code == "unknown_run"
    read = await ask(alone, bound(THEIRS), "read_run_events", workflow_id=run_id)
    assert "RunNested" not in read.text
    assert (await ask(alone, bound(THEIRS), "open_run", name="inner", parent_run=run_id)).code == "ok"


async def test_a_bound_key_lists_the_runs_of_its_project_only(alone: Application) -> None:
    ours, theirs, nobodys = (f"run-{secrets.token_hex(4)}" for _ in range(3))
    where = f"p-{secrets.token_hex(4)}"
    unbound = key_of(*Scope)
    for run, project in ((ours, {"project": where}), (theirs, {"project": THEIRS}), (nobodys, {})):
        assert (await ask(alone, unbound, "start_run", workflow_json=ONE_TASK, workflow_id=run, **project)).code == "ok"
    for caller, arguments in ((bound(where), {}), (unbound, {"project": where})):
        listed = await ask(alone, caller, "list_runs", **arguments)
        assert [(row["workflow_id"], row["project"]) for row in listed["runs"]] == [(ours, where)]
        assert listed["matching"] == 1
        assert bool(listed["counts"]) == (caller is unbound), "they are of all projects"
    assert (await ask(alone, bound(where), "list_runs", project=THEIRS)).code == "forbidden"


async def test_the_project_of_a_run_is_changed_by_nobody(alone: Application, run_id: str) -> None:
    unbound = key_of(*Scope)
    await ask(alone, unbound, "start_run", workflow_json=ONE_TASK, workflow_id=run_id, project=OURS)
    changed = await ask(
        alone, unbound, "json_set", redis_key=f"cp:wf:{run_id}:meta", path="$.project", value_json=f'"{THEIRS}"'
    )
    assert changed.code == "invalid_edit", changed.text


async def test_a_repeated_run_and_its_children_stay_in_the_project(alone: Application, run_id: str) -> None:
    await ask(alone, bound(OURS), "start_run", workflow_json=ONE_TASK, workflow_id=run_id)
    again = await ask(alone, key_of(*Scope), "rerun", workflow_id=run_id)
    read = await ask(alone, bound(OURS), "read_workflow_control_plane", workflow_id=again["workflow_id"])
    assert read["meta"]["project"] == OURS


async def test_a_call_without_a_project_costs_no_command_to_find_one(
    alone: Application, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request: list[str] = []
    monkeypatch.setattr(type(alone.projects), "of_run", lambda _, run: request.append(run))
    await ask(alone, key_of(*Scope), "start_run", workflow_json=ONE_TASK, workflow_id=run_id)
    await ask(alone, key_of(*Scope), "read_workflow_control_plane", workflow_id=run_id)
    assert request == []
    await ask(alone, bound(OURS), "read_workflow_control_plane", workflow_id=run_id)
    assert request == [run_id]


ASKS = {
    "asl": {
        "StartAt": "Ask",
        "States": {
            "Ask": {"Type": "Task", "Resource": "dcf:human", "Parameters": {"title": "Go?", "to": ["ada"]}, "End": True}
        },
    }
}


@pytest.fixture
async def two_projects(alone: Application) -> dict[str, str]:
    """A run of each of two projects, by project, with work for the agent `shared-…`."""
    made = {}
    for project in (f"a-{secrets.token_hex(4)}", f"b-{secrets.token_hex(4)}"):
        run = f"run-{project}"
        wish = {"workflow_id": run, "project": project, "agents_map_json": {"A": "shared"}}
        assert (await ask(alone, key_of(*Scope), "start_run", workflow_json=ONE_TASK, **wish)).code == "ok"
        made[project] = run
    return made


async def test_a_bound_key_is_told_only_the_work_of_its_project(
    alone: Application, two_projects: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that one key may not see is handed out again, here soon."""
    monkeypatch.setattr("dcf.store.events.inbox.VISIBILITY_S", 0.2)
    agent = f"shared-{secrets.token_hex(4)}"
    for project, run in two_projects.items():
        assigned = {"workflow_id": run, "state": "A", "assign_json": [agent]}
        assert (await ask(alone, key_of(*Scope), "resolve_state", **assigned)).code == "ok", project
    ours, theirs = two_projects
    caller = bound(ours, agent)
    answer = await ask(alone, caller, "get_my_assignment", agent_id=agent)
    assert answer["workflow_id"] == two_projects[ours]
    seen = set()
    for _ in range(3):
        event = await ask(alone, caller, "await_workflow_event", agent_id=agent, timeout_s=0, lease=False)
        seen.add(None if event["event"] is None else event["event"]["workflow_id"])
    assert seen <= {two_projects[ours], None}
    work = await ask(alone, bound(theirs, agent), "await_workflow_event", agent_id=agent, timeout_s=50)
    assert work["event"]["workflow_id"] == two_projects[theirs], "it is kept for a key that may see it"


async def test_a_bound_key_sees_the_tasks_of_people_of_its_project_only(alone: Application) -> None:
    ours, theirs = (f"p-{secrets.token_hex(4)}" for _ in range(2))
    for project in (ours, theirs):
        wish = {"workflow_json": ASKS, "workflow_id": f"run-{project}", "project": project}
        answer = await ask(alone, key_of(*Scope), "start_run", **wish)
        assert answer.code == "ok", answer.text
    listed = await ask(alone, bound(ours), "list_human_tasks", limit=100)
    assert [task["workflow_id"] for task in listed["tasks"]] == [f"run-{ours}"]


async def test_a_key_keeps_its_project_in_redis(alone: Application) -> None:
    made = alone.keys.create((Scope.READ,), agent_id=None, label=None, life_s=60, project=OURS)
    caller = alone.keys.admit(made.text)
    assert caller is not None
    assert caller.project == OURS


async def test_of_keys_by_prefix_only_key_expiry_project_and_scopes_count(alone: Application, run_id: str) -> None:
    """Row of the list of fixes: keys are found by their id, and then nothing but all of the key is enough."""
    made = alone.keys.create((Scope.READ,), agent_id=None, label=None, life_s=60, project=OURS)
    beginning, end = made.text[:-1], made.text[-1]
    assert alone.keys.admit(beginning + ("A" if end != "A" else "B")) is None
    expired = alone.keys.create((Scope.READ,), agent_id=None, label=None, life_s=-1, project=OURS)
    assert alone.keys.admit(expired.text) is None
    caller = alone.keys.admit(made.text)
    assert caller is not None
    await ask(alone, key_of(*Scope), "start_run", workflow_json=ONE_TASK, workflow_id=run_id, project=THEIRS)
    assert (await ask(alone, caller, "read_workflow_control_plane", workflow_id=run_id)).code == "unknown_run"
    assert (await ask(alone, caller, "cancel_run", workflow_id=run_id)).code == "forbidden"


async def test_a_bound_key_opens_runs_that_grow_in_its_project_only(alone: Application, run_id: str) -> None:
    wish = {"name": "release", "workflow_id": run_id}
    assert (await ask(alone, bound(OURS), "open_run", **wish)).code == "ok"
    again = await ask(alone, bound(OURS), "open_run", **wish)
    assert (again.code, again["existed"]) == ("ok", True)
    elsewhere = await ask(alone, bound(THEIRS), "open_run", **wish)
    assert (elsewhere.code, elsewhere["run_status"]) == ("conflict", None)
    inside = await ask(alone, bound(THEIRS), "open_run", name="release", parent_run=run_id)
    assert inside.code == "unknown_run"
    assert "RunNested" not in [item.type for item in alone.history.after(run_id)]


async def test_the_same_request_to_open_a_run_is_another_one_in_another_project(alone: Application) -> None:
    agent, wish = f"agent-{secrets.token_hex(4)}", {"name": "release", "request_id": "open-1"}
    ours = await ask(alone, bound(OURS, agent), "open_run", **wish)
    theirs = await ask(alone, bound(THEIRS, agent), "open_run", **wish)
    assert (ours.code, theirs.code, theirs["existed"]) == ("ok", "ok", False)
    assert ours["workflow_id"] != theirs["workflow_id"]


async def test_a_bound_key_does_not_find_workflows_that_others_started(alone: Application) -> None:
    mark = f"w{secrets.token_hex(5)}"
    started = await ask(
        alone, key_of(*Scope), "start_run", workflow_json=json.dumps({**ONE_TASK, "workflow_name": mark})
    )
    assert started.code == "ok", started.text
    answer = await ask(alone, key_of(*Scope), "search", query=mark)
    assert [result["title"] for result in answer["results"]] == [mark]
    assert (await ask(alone, bound(OURS), "search", query=mark))["results"] == []


async def test_a_claim_of_another_project_is_not_given_again(alone: Application, two_projects: dict[str, str]) -> None:
    agent = f"agent-{secrets.token_hex(4)}"
    for run in two_projects.values():
        assigned = {"workflow_id": run, "state": "A", "assign_json": [agent]}
        assert (await ask(alone, key_of(*Scope), "resolve_state", **assigned)).code == "ok"
    ours, theirs = two_projects
    wish = {"agent_id": agent, "claim": True, "request_id": "claim-1"}
    first = await ask(alone, bound(theirs), "find_work", **wish)
    assert first["workflow_id"] == two_projects[theirs], first.text
    other = await ask(alone, bound(ours), "find_work", **wish)
    assert other["workflow_id"] == two_projects[ours], other.text
