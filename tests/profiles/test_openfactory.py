"""openfactory's tools over MCP: orders of a key, the moves they make, and what the original promised and lacked."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect
from tests.profiles.contract import OPENFACTORY
from tests.support.redis.documents import set_member
from tests.support.redis.restricted import RestrictedRedis
from tests.tools.access import ask

pytestmark = pytest.mark.anyio

WORKER = (Scope.READ, Scope.WORK)
PLANNER = (Scope.READ, Scope.WORK, Scope.PLAN)
REVIEW = {
    "name": "review",
    "kind": "person",
    "people": ["ada", "carl"],
    "criteria": ["It works."],
    "author_may_review": True,
}


def _key(site: Application, *scopes: Scope, agent_id: str, project: str | None = None) -> str:
    made = site.keys.create(scopes, agent_id=agent_id, label=None, life_s=None, profile="openfactory", project=project)
    return made.text


def _planner(site: Application, project: str | None = None) -> Caller:
    key = site.keys.create(PLANNER, agent_id="boss", label=None, life_s=None, project=project)
    caller = site.keys.admit(key.text)
    assert caller is not None
    return caller


async def planned(site: Application, *units: dict[str, Any], project: str | None = None) -> str:
    """Plan work orders, as a planner does with dcf's own tools."""
    caller = _planner(site, project)
    opened = await ask(site, caller, "open_run", name="orders", planner_agent_id="boss", project=project)
    run = str(opened["workflow_id"])
    added = await ask(site, caller, "add_units", workflow_id=run, units=list(units))
    assert added.code == "ok", added.text
    return run


@pytest.fixture
async def ada(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    async with connect(_key(site, *WORKER, Scope.ANSWER, agent_id="ada")) as result:
        yield result


async def listed(client: ProfileClient, run: str, status: str = "ready") -> list[dict[str, Any]]:
    result = (await client.ok("list_work_orders", status=status, limit=50))["workOrders"]
    return [item for item in result if item["id"].startswith(f"{run}:")]


async def moved(client: ProfileClient, order: str, status: str) -> dict[str, Any]:
    answer: dict[str, Any] = await client.ok("update_work_order_status", workOrderId=order, status=status)
    assert OPENFACTORY["update_work_order_status"].answer <= set(answer)
    return answer


async def test_an_order_goes_from_ready_to_done(site: Application, ada: ProfileClient) -> None:
    value = {
        "feature": "Prices",
        "deliverableType": "bugfix",
        "description": "Add a **currency**.",
        "outOfScope": "Taxes.",
        "implementationPlan": "1. Add it.",
    }
    run = await planned(
        site,
        {"name": "phase", "kind": "group", "title": "Phase one"},
        {"name": "fix", "title": "Fix prices", "group": "phase", "agents": ["ada"], "input": value, "gates": [REVIEW]},
        {"name": "ship", "title": "Ship it", "depends_on": ["fix"]},
    )
    (order,) = await listed(ada, run)
    assert order == {
        "id": f"{run}:fix",
        "title": "Fix prices",
        "status": "ready",
        "phase": "Phase one",
        "feature": "Prices",
        "deliverableType": "bugfix",
    }
    whole = await ada.twice("get_work_order", workOrderId=order["id"])
    assert set(whole) == OPENFACTORY["get_work_order"].answer
    assert (whole["description"], whole["acceptanceCriteria"]) == ("Add a **currency**.", "- It works.")
    assert whole["graphConnections"] == [
        {"entityType": "work_order", "label": "Ship it", "edgeType": "blocks"},
        {"entityType": "feature", "label": "Prices", "edgeType": "part_of"},
        {"entityType": "phase", "label": "Phase one", "edgeType": "part_of"},
    ]
    begun = await moved(ada, order["id"], "In Progress")
    assert (begun["previousStatus"], begun["newStatus"]) == ("ready", "in_progress")
    assert [item["status"] for item in await listed(ada, run, "in_progress")] == ["in_progress"]
    again = await moved(ada, order["id"], "in_progress")
    assert (again["previousStatus"], again["newStatus"]) == ("in_progress", "in_progress")
    handed = await moved(ada, order["id"], "in_review")
    assert handed["newStatus"] == "in_review"
    assert [item["id"] for item in await listed(ada, run, "in_review")] == [order["id"]]
    rework = await moved(ada, order["id"], "in_progress")
    assert (rework["previousStatus"], rework["newStatus"]) == ("in_review", "in_progress")
    await moved(ada, order["id"], "in_review")
    assert (await moved(ada, order["id"], "done"))["newStatus"] == "done"
    assert (await moved(ada, order["id"], "done"))["previousStatus"] == "done"
    assert [item["title"] for item in await listed(ada, run)] == ["Ship it"]


async def test_an_order_without_a_gate_goes_the_same_way(site: Application, ada: ProfileClient) -> None:
    run = await planned(site, {"name": "fix", "title": "Fix"})
    order = f"{run}:fix"
    for status in ("in_progress", "in_review", "in_progress", "in_review"):
        assert (await moved(ada, order, status))["newStatus"] == status
        assert [item["id"] for item in await listed(ada, run, status)] == [order]
    assert (await moved(ada, order, "done"))["newStatus"] == "done"


async def test_a_wrong_move_changes_nothing(site: Application, ada: ProfileClient) -> None:
    run = await planned(site, {"name": "fix"}, {"name": "later", "depends_on": ["fix"]})
    for order, status in ((f"{run}:fix", "done"), (f"{run}:fix", "in_review"), (f"{run}:later", "in_progress")):
        refused = await ada.failed("update_work_order_status", workOrderId=order, status=status)
        assert refused.text.startswith("Error: ")
        assert "invalid_transition" in refused.text
    assert [item["id"] for item in await listed(ada, run)] == [f"{run}:fix"]


async def test_empty_list_as_sentence(ada: ProfileClient, site: Application) -> None:
    assert await ada.ok("search_context", query="nobody-wrote-this-word") == {"results": []}
    assert await ada.ok("search_context", query="nobody-wrote-this-word", types=["code"]) == {"results": []}
    key = site.keys.create(WORKER, agent_id="nobody-has-work", label=None, life_s=None, project="empty")
    caller = site.keys.admit(key.text)
    assert caller is not None
    answer = await ada.ok("list_work_orders", status="in_review")
    assert isinstance(answer["workOrders"], list)


async def test_an_order_that_another_agent_holds_cannot_be_taken(
    site: Application, ada: ProfileClient, connect: Connect
) -> None:
    run = await planned(site, {"name": "fix"})
    await moved(ada, f"{run}:fix", "in_progress")
    async with connect(_key(site, *WORKER, agent_id="bob")) as bob:
        assert await listed(bob, run, "in_progress") == []
        for status in ("in_progress", "in_review"):
            refused = await bob.failed("update_work_order_status", workOrderId=f"{run}:fix", status=status)
            assert refused.text.startswith("Error: 'ada' has this work order in_progress. Choose another one")
        await moved(ada, f"{run}:fix", "in_review")
        refused = await bob.failed("update_work_order_status", workOrderId=f"{run}:fix", status="in_review")
        assert refused.text.startswith("Error: 'ada' has this work order in_review.")


async def test_of_two_agents_that_take_an_order_at_once_only_one_has_it(
    site: Application, ada: ProfileClient, connect: Connect
) -> None:
    run = await planned(site, {"name": "fix"})
    call = {"workOrderId": f"{run}:fix", "status": "in_progress"}
    async with connect(_key(site, *WORKER, agent_id="bob")) as bob:
        answers: dict[str, Any] = {}

        async def take(name: str, client: ProfileClient) -> None:
            answers[name] = await client.answer("update_work_order_status", **call)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take, "ada", ada)
            tasks.start_soon(take, "bob", bob)
        holders = [name for name, client in (("ada", ada), ("bob", bob)) if await listed(client, run, "in_progress")]
        assert [name for name, answer in answers.items() if not answer.failed] == holders
        assert len(holders) == 1


async def test_an_order_whose_holder_lost_its_lease_is_taken_over_visibly(
    site: Application, ada: ProfileClient, connect: Connect, profiles_redis: RestrictedRedis
) -> None:
    run = await planned(site, {"name": "fix"})
    await moved(ada, f"{run}:fix", "in_progress")
    with profiles_redis.admin() as admin:
        expired = ("lease", "expires_at")
        set_member(admin.execute_command, f"cp:wf:{run}:state:fix", expired, "2001-01-01T00:00:00.000000Z")
    async with connect(_key(site, *WORKER, agent_id="bob")) as bob:
        assert "'ada'" in (await moved(bob, f"{run}:fix", "in_progress"))["note"]
        assert len(await listed(bob, run, "in_progress")) == 1


async def test_an_order_has_the_texts_that_it_was_created_with_and_no_others(
    site: Application, connect: Connect
) -> None:
    async with connect(_key(site, *PLANNER, agent_id="boss", project="texts")) as boss:
        texts = {"acceptanceCriteria": "- Works", "implementationPlan": "1. Do.", "outOfScope": "Taxes."}
        made = await boss.ok("create_work_order", title="Only parts", feature="Nonesuch", **texts)
        assert made["note"] == "The project has no feature 'Nonesuch' (none). create_feature adds it."
        whole = await boss.ok("get_work_order", workOrderId=made["id"])
        assert (whole["description"], {name: whole[name] for name in texts}) == ("", texts)
        await boss.ok("create_feature", name="Nonesuch")
        assert "note" not in await boss.ok("create_work_order", title="Second", feature="Nonesuch")
        blocked = await boss.ok("create_work_order", title="Third", blockedBy=[made["id"]])
        refused = await boss.failed("update_work_order_status", workOrderId=blocked["id"], status="in_progress")
        assert "It becomes ready when 'Only parts' is done." in refused.text
        unknown = await boss.failed("get_work_order", workOrderId="4be0643f-1d98-573b-97cd-ca98a65347dd")
        assert unknown.text.startswith("Error: There is no such work order.")


async def test_keys_by_prefix_only(site: Application, connect: Connect) -> None:
    """The whole key counts, with its scope, its project and its expiry."""
    mine = await planned(site, {"name": "fix"}, project="shop")
    other = await planned(site, {"name": "fix"}, project="bank")
    key = _key(site, *WORKER, agent_id="ada", project="shop")
    async with connect(key) as result:
        assert [item["id"] for item in await listed(result, mine)] == [f"{mine}:fix"]
        assert await listed(result, other) == []
        await result.failed("get_work_order", workOrderId=f"{other}:fix")
        await result.failed("update_work_order_status", workOrderId=f"{other}:fix", status="in_progress")
    reader = _key(site, Scope.READ, agent_id="ada", project="shop")
    async with connect(reader) as result:
        assert len(await listed(result, mine)) == 1
        refused = await result.failed("update_work_order_status", workOrderId=f"{mine}:fix", status="in_progress")
        assert "scope" in refused.text
    assert site.keys.admit(key[:-1] + ("x" if key[-1] != "x" else "y")) is None


async def test_the_project_of_the_key_can_be_read(site: Application, connect: Connect) -> None:
    features = ["Prices", {"name": "Carts", "relationships": [{"kind": "needs", "feature": "Prices"}]}]
    answer = await ask(
        site, _planner(site), "put_project", project="atlas", name="Atlas", description="Maps.", features_json=features
    )
    assert answer.code == "ok", answer.text
    async with connect(_key(site, *WORKER, agent_id="ada", project="atlas")) as result:
        read = await result.client.read_resource("project://overview")
        (content,) = read.contents
        assert '"name":"Atlas"' in content.text  # type: ignore[union-attr]
        assert '"features":["Prices","Carts"]' in content.text  # type: ignore[union-attr]
        (content,) = (await result.client.read_resource("project://features")).contents
        assert '"needs"' in content.text  # type: ignore[union-attr]
    async with connect(_key(site, *WORKER, agent_id="ada")) as result:
        with pytest.raises(MCPError, match="unknown_project"):
            await result.client.read_resource("project://overview")


async def test_context_is_found_with_scores(site: Application, ada: ProfileClient) -> None:
    caller = _planner(site)
    details = {
        "severity": "low",
        "category": "pricing",
        "title": "Zlotych everywhere",
        "text": "Prices are in zlotych.",
    }
    assert (await ask(site, caller, "add_finding", **details)).code == "ok"
    answer = await ada.ok("search_context", query="zlotych", types=["Documents"], limit=1)
    (result,) = answer["results"]
    assert set(result) == {"type", "title", "snippet", "entityId", "score"}
    assert (result["type"], result["title"]) == ("documents", "Zlotych everywhere")
    assert result["score"] > 0
    sentence = "How do I show zlotych to the customers?"
    answer = await ada.ok("search_context", query=sentence, types=["documents"])
    assert answer["results"][0]["title"] == "Zlotych everywhere"
    assert await ada.ok("search_context", query="zlotych AND customers", types=["documents"]) == {"results": []}
