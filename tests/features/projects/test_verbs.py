"""Projects through their tools: made once, found by id and by directory, listed by use, and never taken from others."""

import secrets
import threading
from typing import Any

import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.features.projects.model import (
    MOST_BYTES,
    MOST_OF_ONE,
    MOST_PATHS,
    MOST_PROJECTS,
    ProjectFound,
    ProjectPlace,
    ProjectWish,
)
from dcf.features.projects.rules import put
from dcf.store.keys.projects import PROJECTS, project, projects_at, projects_of
from dcf.values.refusal import Refusal
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK, Tools, new_run
from tests.tools.security.test_projects_of_keys import bound

pytestmark = pytest.mark.anyio


@pytest.fixture
def name() -> str:
    return f"p-{secrets.token_hex(5)}"


async def test_the_same_put_again_changes_nothing(tools: Tools, name: str) -> None:
    wish = {"project": name, "name": "Shop", "paths_json": [f"/srv/{name}/"], "git_json": {"branch": "main"}}
    made = await tools.ok("put_project", **wish)
    again = await tools.ok("put_project", **wish)
    assert (made["existed"], made["changed"], again["existed"], again["changed"]) == (False, True, True, False)
    assert again["project"] == made["project"]
    assert made["project"]["paths"] == [{"path": f"/srv/{name}", "machine": None}]


async def test_what_is_there_is_replaced_only_by_who_has_seen_it(tools: Tools, name: str) -> None:
    await tools.ok("put_project", project=name, name="Shop", description="sells")
    refused = await tools.refused("conflict", "put_project", project=name, name="Store")
    assert "name" in refused.error
    assert "revision 1" in refused.hint
    done = await tools.ok("put_project", project=name, name="Store", revision=1)
    assert (done["project"]["name"], done["project"]["revision"]) == ("Store", 2)
    assert done["project"]["description"] == "sells", "what was left out stays"
    await tools.refused("conflict", "put_project", project=name, name="Shop", revision=1)


async def test_git_facts_and_paths_are_told_without_a_revision(tools: Tools, name: str) -> None:
    await tools.ok("put_project", project=name, git_json={"branch": "main"}, paths_json=[f"/srv/{name}"])
    more = [{"path": f"/home/ada/{name}", "machine": "laptop"}]
    answer = await tools.ok("put_project", project=name, git_json={"branch": "fix"}, paths_json=more)
    assert answer["project"]["git"] == {"branch": "fix"}
    assert [path["path"] for path in answer["project"]["paths"]] == [f"/srv/{name}", f"/home/ada/{name}"]
    less = await tools.ok("put_project", project=name, forget_paths_json=[f"/srv/{name}"])
    assert [path["path"] for path in less["project"]["paths"]] == [f"/home/ada/{name}"]
    await tools.refused("unknown_project", "get_project", path=f"/srv/{name}")


async def test_two_projects_may_have_the_same_directory_name(tools: Tools, name: str) -> None:
    for project_id, path in ((f"{name}-a", f"/srv/{name}/app"), (f"{name}-b", f"/home/{name}/app")):
        await tools.ok("put_project", project=project_id, name="app", paths_json=[path])
    answer = await tools.ok("get_project", path=f"/home/{name}/app/")
    assert answer["project"]["project"] == f"{name}-b"


async def test_one_path_on_two_machines_may_be_two_projects(tools: Tools, name: str) -> None:
    for machine in ("ci-1", "ci-2"):
        paths = [{"path": f"/ci/{name}", "machine": machine}]
        await tools.ok("put_project", project=f"{name}-{machine}", paths_json=paths)
    answer = await tools.ok("get_project", path=f"/ci/{name}", machine="ci-2")
    assert answer["project"]["project"] == f"{name}-ci-2"
    either = await tools.refused("ambiguous_path", "get_project", path=f"/ci/{name}")
    assert f"{name}-ci-1" in either.error
    await tools.refused("unknown_project", "get_project", path=f"/ci/{name}", machine="ci-3")


async def test_a_path_is_not_taken_from_another_project(tools: Tools, name: str) -> None:
    await tools.ok("put_project", project=name, paths_json=[f"/srv/{name}"])
    refused = await tools.refused("conflict", "put_project", project=f"{name}-2", paths_json=[f"/srv/{name}"])
    assert f"/srv/{name}" in refused.error
    await tools.refused("unknown_project", "get_project", project=f"{name}-2")


async def test_of_many_who_put_a_path_at_once_one_gets_it(
    application: Application, name: str, raw_redis: redis.Redis
) -> None:
    answers: list[Any] = []
    begin = threading.Barrier(6)

    def attempt(number: int) -> None:
        begin.wait()
        wish = ProjectWish(project_id=f"{name}-{number}", paths=(_at(name),), by="key:racing")
        answers.append(application.projects.put(wish))

    for _ in range(20):
        answers.clear()
        threads = [threading.Thread(target=attempt, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(answer, Refusal) for answer in answers) == 5
        hgetall = raw_redis.hgetall(projects_at(_at(name).path))
        assert len(hgetall) == 1
        (holder,) = hgetall.values()
        assert isinstance(holder, bytes)
        application.projects.delete(holder.decode())
        assert raw_redis.exists(projects_at(_at(name).path)) == 0


def _at(name: str) -> ProjectPlace:
    return ProjectPlace(path=f"/race/{name}")


async def test_the_list_has_the_newest_use_first_and_pages(tools: Tools, name: str) -> None:
    made = [f"{name}-{number}" for number in range(5)]
    for project_id in made:
        await tools.ok("put_project", project=project_id)
    await new_run(tools, f"run-{name}", project=made[1])
    listed, cursor = list[str](), None
    while True:
        page = await tools.ok("list_projects", limit=2, **({} if cursor is None else {"cursor": cursor}))
        listed += [item["project"] for item in page["projects"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    mine = [item for item in listed if item.startswith(name)]
    assert mine == [made[1], *(item for item in reversed(made) if item != made[1])]
    assert page["total"] == len(listed) == len(set(listed))


async def test_the_overview_has_runs_by_status_and_agents(tools: Tools, name: str) -> None:
    await tools.ok("put_project", project=name)
    for number in range(3):
        await new_run(tools, f"run-{name}-{number}", project=name)
    await tools.ok("cancel_run", workflow_id=f"run-{name}-0")
    overview = (await tools.ok("get_project", project=name))["overview"]
    assert (overview["runs"], overview["agents"]) == (3, ["worker-1"])
    assert overview["runs_by_status"]["cancelled"] == 1
    assert overview["newest_runs"][0] == f"run-{name}-2"


async def test_a_deleted_project_leaves_its_runs_and_nothing_of_itself(
    tools: Tools, name: str, raw_redis: redis.Redis
) -> None:
    await tools.ok("put_project", project=name, paths_json=[f"/srv/{name}"])
    await new_run(tools, f"run-{name}", project=name)
    assert (await tools.ok("delete_project", project=name))["existed"] is True
    assert (await tools.ok("delete_project", project=name))["existed"] is False
    await tools.refused("unknown_project", "get_project", project=name)
    assert raw_redis.exists(project(name), projects_at(f"/srv/{name}")) == 0
    assert raw_redis.zscore(PROJECTS, name) is None
    assert raw_redis.zscore(projects_of("local"), name) is None
    listed = await tools.ok("list_runs", project=name)
    assert [run["workflow_id"] for run in listed["runs"]] == [f"run-{name}"]


async def test_a_bound_key_sees_and_changes_its_own_project_only(alone: Application, name: str) -> None:
    ours, theirs = f"{name}-ours", f"{name}-theirs"
    for project_id in (ours, theirs):
        made = await ask(alone, key_of(*Scope), "put_project", project=project_id, paths_json=[f"/srv/{project_id}"])
        assert made.code == "ok"
    caller = bound(ours)
    listed = await ask(alone, caller, "list_projects")
    assert [item["project"] for item in listed["projects"]] == [ours]
    assert (await ask(alone, caller, "get_project"))["project"]["project"] == ours
    assert (await ask(alone, caller, "get_project", path=f"/srv/{theirs}")).code == "unknown_project"
    for tool in ("get_project", "put_project", "delete_project"):
        assert (await ask(alone, caller, tool, project=theirs)).code == "forbidden"


@rows(
    ("wrong", "code"),
    [
        ({"paths_json": ["srv"]}, "invalid_argument"),
        ({"paths_json": [{"path": 1}]}, "invalid_argument"),
        ({"paths_json": {"path": "/x"}}, "invalid_argument"),
        ({"git_json": []}, "invalid_argument"),
        ({"features_json": {}}, "invalid_argument"),
        ({"name": "a\u200bb"}, "invalid_argument"),
        ({"project": "no good"}, "invalid_argument"),
        ({"metadata_json": {"long": "x" * MOST_BYTES}}, "too_large"),
        ({"paths_json": [f"/{number}" for number in range(MOST_PATHS + 1)]}, "invalid_argument"),
    ],
)
async def test_what_is_no_project_is_refused(tools: Tools, name: str, wrong: dict[str, Any], code: str) -> None:
    await tools.refused(code, "put_project", **{"project": name, **wrong})
    await tools.refused("unknown_project", "get_project", project=name)


@rows(("count", "own"), [(MOST_PROJECTS, 0), (0, MOST_OF_ONE)])
def test_there_are_no_more_projects_than_may_be(count: int, own: int) -> None:
    wish = ProjectWish(project_id="one-more", by="key:a")
    project_found = ProjectFound(now=1, project=None, holders={}, count=count, own_count=own)
    answer = put(project_found, wish)
    assert isinstance(answer, Refusal)
    assert answer.code == "quota_exceeded"


async def test_the_project_a_run_names_need_not_have_been_put(tools: Tools, name: str) -> None:
    await new_run(tools, f"run-{name}", ONE_TASK, project=name)
    await tools.refused("unknown_project", "get_project", project=name)
    assert name not in {project["project"] for project in (await tools.ok("list_projects", limit=1000))["projects"]}
