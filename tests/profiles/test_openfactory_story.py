"""openfactory's document followed word by word, at its URL: planner, agent and reviewer have a key each."""

from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.features.project_files.model import ProjectFile
from dcf.features.project_files.operations import Indexed
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.tools.access import ask, key_of

pytestmark = pytest.mark.anyio

URL = "/api/mcp"
READ_WRITE = (Scope.READ, Scope.WORK)
ORDER: dict[str, Any] = {
    "title": "Show prices in zloty",
    "description": "Every price has a currency.",
    "acceptanceCriteria": "- A price shows its currency.\n- The page stays fast.",
    "outOfScope": "Taxes.",
    "implementationPlan": "1. Add the column.",
    "phase": "Launch",
    "feature": "Prices",
    "deliverableType": "feature",
    "assigneeIds": ["ada"],
    "reviewerIds": ["rita"],
}


def _key(site: Application, *scopes: Scope, agent_id: str, project: str) -> str:
    made = site.keys.create(scopes, agent_id=agent_id, label=None, life_s=None, profile="openfactory", project=project)
    return made.text


async def moved(client: ProfileClient, order: str, status: str) -> str:
    return str((await client.ok("update_work_order_status", workOrderId=order, status=status))["newStatus"])


async def listed(client: ProfileClient, status: str) -> list[str]:
    return [item["id"] for item in (await client.ok("list_work_orders", status=status))["workOrders"]]


async def test_a_planner_an_agent_and_a_reviewer_work_without_leaving_the_profile(
    site: Application, connect: Connect
) -> None:
    project = "story"
    planner = _key(site, *READ_WRITE, Scope.PLAN, agent_id="paul", project=project)
    agent = _key(site, *READ_WRITE, agent_id="ada", project=project)
    reviewer = _key(site, *READ_WRITE, Scope.ANSWER, agent_id="rita", project=project)
    async with connect(planner, path=URL) as paul, connect(agent, path=URL) as ada, connect(reviewer, path=URL) as rita:
        await paul.twice("create_feature", name="Prices", description="What things cost.")
        needs = [{"kind": "needs", "feature": "Prices"}]
        added = await paul.ok("create_feature", name="Carts", relationships=needs)
        assert added["features"] == ["Prices", "Carts"]
        (content,) = (await ada.client.read_resource("project://features")).contents
        assert '"relationships":[{"kind":"needs","feature":"Prices"}]' in content.text  # type: ignore[union-attr]
        order = await paul.twice("create_work_order", **ORDER)
        details = {"title": "Ship it", "blockedBy": [order["id"]], "assigneeIds": ["ada"]}
        later = await paul.ok("create_work_order", **details)
        assert (order["status"], order["phase"], later["status"]) == ("ready", "Launch", "backlog")
        whole = await ada.ok("get_work_order", workOrderId=order["id"])
        assert {name: whole[name] for name in ("description", "acceptanceCriteria", "outOfScope")} == {
            name: ORDER[name] for name in ("description", "acceptanceCriteria", "outOfScope")
        }
        assert await listed(ada, "ready") == [order["id"]]
        assert await moved(ada, order["id"], "in_progress") == "in_progress"
        assert await listed(rita, "in_review") == []
        assert await moved(ada, order["id"], "in_review") == "in_review"
        assert await listed(rita, "in_review") == [order["id"]]
        assert await listed(paul, "in_review") == []
        own = await ada.failed("update_work_order_status", workOrderId=order["id"], status="done")
        assert "not_a_reviewer" in own.text
        assert await moved(rita, order["id"], "in_progress") == "in_progress"
        assert await listed(rita, "in_review") == []
        assert await moved(ada, order["id"], "in_review") == "in_review"
        assert await moved(rita, order["id"], "done") == "done"
        assert await listed(rita, "in_review") == []
        assert await listed(ada, "ready") == [later["id"]]


async def test_who_may_not_plan_is_listed_the_four_tools_of_the_document(site: Application, connect: Connect) -> None:
    async with connect(_key(site, *READ_WRITE, agent_id="ada", project="story"), path=URL) as ada:
        names = [tool.name for tool in (await ada.client.list_tools()).tools]
        assert names == ["list_work_orders", "get_work_order", "update_work_order_status", "search_context"]
        assert "scope" in (await ada.failed("create_work_order", title="Mine")).text


async def test_an_order_of_another_planner_blocks_nothing(site: Application, connect: Connect) -> None:
    planner = _key(site, *READ_WRITE, Scope.PLAN, agent_id="paul", project="two-planners")
    other = _key(site, *READ_WRITE, Scope.PLAN, agent_id="pia", project="two-planners")
    async with connect(planner, path=URL) as paul, connect(other, path=URL) as pia:
        theirs = await pia.ok("create_work_order", title="Hers")
        refused = await paul.failed("create_work_order", title="His", blockedBy=[theirs["id"]])
        assert "same planner" in refused.text
        assert await paul.ok("create_work_order", title="His")


async def test_context_of_every_documented_type_is_found(site: Application, connect: Connect) -> None:
    project, word = "seek", "quetzal"
    planner = _key(site, *READ_WRITE, Scope.PLAN, agent_id="paul", project=project)
    files = (
        ProjectFile(path="docs/requirements.md", text=f"# Requirements\n\nThe {word} must fly."),
        ProjectFile(path="docs/blueprints/birds.md", text=f"The {word} is a class of its own."),
        ProjectFile(path="src/birds.py", text=f"class Bird:\n    name = '{word}'\n"),
    )
    assert isinstance(site.project_files.index(project, files), Indexed)
    async with connect(planner, path=URL) as paul:
        order = await paul.ok("create_work_order", title=f"Feed the {word}", description="Twice a day.")
        run = order["id"].partition(":")[0]
        caller = key_of(*READ_WRITE, Scope.PLAN, agent_id="paul")
        answer = await ask(site, caller, "put_artifact", workflow_id=run, name=f"{word}.md", content="# It")
        assert answer.code == "ok", answer.text
        for kind, titles in {
            "documents": {f"Feed the {word}", "docs/requirements.md"},
            "blueprints": {"docs/blueprints/birds.md"},
            "artifacts": {f"{word}.md"},
            "code": {"src/birds.py"},
        }.items():
            results = (await paul.ok("search_context", query=word, types=[kind]))["results"]
            assert {result["title"] for result in results} == titles
            assert {result["type"] for result in results} == {kind}
        everything = (await paul.ok("search_context", query=word, limit=20))["results"]
        assert len(everything) == 5
        (item,) = [result for result in everything if result["title"] == f"Feed the {word}"]
        assert (await paul.ok("get_work_order", workOrderId=item["entityId"]))["title"] == item["title"]
    elsewhere = _key(site, *READ_WRITE, agent_id="ada", project="story")
    async with connect(elsewhere, path=URL) as ada:
        assert await ada.ok("search_context", query=word) == {"results": []}


async def test_a_project_of_which_only_the_key_is_known_can_be_read_by_its_resources(
    site: Application, connect: Connect
) -> None:
    async with connect(_key(site, *READ_WRITE, agent_id="ada", project="unheard-of"), path=URL) as ada:
        (content,) = (await ada.client.read_resource("project://overview")).contents
        assert content.text == '{"name":"unheard-of","description":"","features":[]}'  # type: ignore[union-attr]


async def test_the_only_reviewer_of_an_order_does_not_carry_it_out(site: Application, connect: Connect) -> None:
    project = "reviewed"
    planner = _key(site, *READ_WRITE, Scope.PLAN, agent_id="paul", project=project)
    reviewer = _key(site, *READ_WRITE, Scope.ANSWER, agent_id="rita", project=project)
    async with connect(planner, path=URL) as paul, connect(reviewer, path=URL) as rita:
        alone = await paul.ok("create_work_order", title="Reviewed by rita", reviewerIds=["rita"])
        both = await paul.ok("create_work_order", title="Reviewed by two", reviewerIds=["rita", "ruth"])
        assert await listed(rita, "ready") == [both["id"]], "no agent could accept the other one"
        refused = await rita.failed("update_work_order_status", workOrderId=alone["id"], status="in_progress")
        assert refused.text.startswith("Error: You alone accept this work order, so that you cannot carry it out.")
        assert await moved(rita, both["id"], "in_progress") == "in_progress"


async def test_refusals_name_the_holder_the_assignee_and_the_reviewer(site: Application, connect: Connect) -> None:
    project = "words"
    planner = _key(site, *READ_WRITE, Scope.PLAN, agent_id="paul", project=project)
    worker = _key(site, *READ_WRITE, agent_id="ada", project=project)
    async with connect(planner, path=URL) as paul, connect(worker, path=URL) as ada:
        plain = (await paul.ok("create_work_order", title="Nobody reviews it"))["id"]
        reviewed = (await paul.ok("create_work_order", title="Rita reviews it", reviewerIds=["rita"]))["id"]
        assigned = (await paul.ok("create_work_order", title="Bob does it", assigneeIds=["bob"]))["id"]
        for order in (plain, reviewed):
            assert await moved(ada, order, "in_progress") == "in_progress"
            assert await moved(ada, order, "in_review") == "in_review"
        texts = [
            (await paul.failed("update_work_order_status", workOrderId=plain, status="done")).text,
            (await ada.failed("update_work_order_status", workOrderId=reviewed, status="done")).text,
            (await ada.failed("update_work_order_status", workOrderId=assigned, status="in_progress")).text,
        ]
    assert texts[0].startswith("Error: 'ada' has this work order in_review.")
    assert texts[1].startswith(
        "Error: The verdict 'review' on this work order is given by rita, not by 'ada'. It stays"
    )
    assert texts[2].endswith(
        "Choose another one: list_work_orders lists those that are ready for you. (owner_mismatch)"
    )
    assert not [word for text in texts for word in ("meta.agents", "lease", "gate ") if word in text.rpartition("(")[0]]


async def test_the_local_user_reads_the_project_of_the_servers_directory(site: Application, tmp_path: Path) -> None:
    settings = {"redis_url": site.redis_url, "profile": "openfactory", "auth": "off", "profile_directory": tmp_path}
    with open_application(Settings.model_validate(settings)) as opened:
        async with Client(build_server(opened)) as connected:
            with pytest.raises(MCPError, match="The directory of this server belongs to no project"):
                await connected.read_resource("project://overview")
            about = {"project": "here", "name": "Here", "paths_json": [str(tmp_path)]}
            assert (await ask(site, key_of(*Scope), "put_project", **about)).code == "ok"
            client = ProfileClient(client=connected)
            assert (await client.ok("create_feature", name="Prices"))["features"] == ["Prices"]
            (content,) = (await connected.read_resource("project://overview")).contents
            assert content.text == '{"name":"Here","description":"","features":["Prices"]}'  # type: ignore[union-attr]
