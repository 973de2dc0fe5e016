"""The tools on findings, as an MCP client calls them: what is kept once, found again, replaced, and by whom."""

import secrets
from dataclasses import replace
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import Answer, Tools, new_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def project() -> str:
    return f"p-{secrets.token_hex(4)}"


def wish(title: str = "Prices lack a currency", **more: Any) -> dict[str, Any]:
    return {"severity": "medium", "category": "data", "title": title, "text": f"{title}.", **more}


async def added(tools: Tools, title: str, **more: Any) -> str:
    answer = await tools.ok("add_finding", **wish(title, **more))
    return str(answer["finding"]["finding_id"])


def titles(answer: Answer) -> list[str]:
    return [finding["title"] for finding in answer["findings"]]


async def test_a_finding_is_kept_once_found_read_and_deleted(tools: Tools, operator: Tools, project: str) -> None:
    request = wish(
        tags_json=["api", "money"], project=project, location_json={"file": "a.py", "line": 7}, agent_id="ann"
    )
    made = await tools.ok("add_finding", **request)
    assert (made["existed"], made["changed"]) == (False, True)
    again = await tools.ok("add_finding", **request)
    assert (again["existed"], again["changed"], again["finding"]) == (True, False, made["finding"])
    answer = await tools.ok("search_findings", project=project, text="currency", include_global=False)
    assert titles(answer) == [request["title"]]
    assert (answer["total"], answer["total_is_exact"], answer["next_cursor"]) == (1, True, None)
    item = await tools.ok("get_finding", finding_id=made["finding"]["finding_id"])
    assert item["finding"]["location"] == {"file": "a.py", "line": 7}
    assert (item["finding"]["scope"], item["finding"]["author"], item["finding"]["status"]) == (
        "project",
        "ann",
        "active",
    )
    finding_id = item["finding"]["finding_id"]
    deleted = await operator.ok("delete_finding", finding_id=finding_id, reason="a test")
    assert (deleted["existed"], deleted["status"]) == (True, "deleted")
    repeated = await operator.ok("delete_finding", finding_id=finding_id)
    assert (repeated["existed"], repeated["status"]) == (False, "was gone already")
    await tools.refused("unknown_finding", "get_finding", finding_id=finding_id)
    assert titles(await tools.ok("search_findings", project=project, include_global=False)) == []


async def test_a_key_stands_for_one_finding(tools: Tools, project: str) -> None:
    first = await added(tools, "one", project=project, key="k")
    assert await added(tools, "one", project=project, key="k") == first
    await tools.refused("finding_exists", "add_finding", **wish("two", project=project, key="k"))
    assert await added(tools, "two", project=f"{project}-b", key="k") != first


async def test_project_query_misses_global(tools: Tools, project: str) -> None:
    """It does not: findings for all projects are among those of a project, unless they are not wanted."""
    word = secrets.token_hex(4)
    for title, more in (("own", {"project": project}), ("all", {"scope": "global"}), ("other", {"project": "x"})):
        await added(tools, f"{title} {word}", **more)
    answer = await tools.ok("search_findings", project=project, text=word)
    assert titles(answer) == [f"all {word}", f"own {word}"]
    alone = await tools.ok("search_findings", project=project, text=word, include_global=False)
    assert titles(alone) == [f"own {word}"]
    assert titles(await tools.ok("search_findings", scope="global", text=word)) == [f"all {word}"]
    assert len(titles(await tools.ok("search_findings", text=word))) == 3


@rows("text", ["c++", "foo-bar", '"', "a AND (b", "***", "", " "])
async def test_search_raises_on_c_plus_plus(tools: Tools, project: str, text: str) -> None:
    """No text is an error; a name with signs is found."""
    await added(tools, "The C++ build of foo-bar is slow", project=project)
    answer = await tools.ok("search_findings", project=project, text=text, include_global=False)
    assert len(answer["findings"]) == (1 if text in {"c++", "foo-bar", "", " "} else 0)


async def test_offset_without_limit(tools: Tools, project: str) -> None:
    """It works: the page has as many rows as its own limit allows."""
    for number in range(4):
        await added(tools, f"finding {number}", project=project)
    answer = await tools.ok("search_findings", project=project, offset=1, include_global=False)
    assert titles(answer) == ["finding 2", "finding 1", "finding 0"]
    assert titles(await tools.ok("search_findings", project=project, offset=3, limit=5, text="finding")) == [
        "finding 0"
    ]
    beyond = await tools.ok("search_findings", project=project, offset=9, include_global=False)
    assert (beyond["findings"], beyond["total"], beyond["next_cursor"]) == ([], 4, None)


async def test_redaction_eats_identifiers(tools: Tools, project: str) -> None:
    """It does not: long names stay, and secrets of known shapes are taken out and counted."""
    name, secret = "create_workflow_control_plane_for_everybody", "ghp_" + "a1B2" * 9
    made = await tools.ok("add_finding", **wish(text=f"{name} logs {secret}", project=project))
    finding = made["finding"]
    assert finding["text"] == f"{name} logs [redacted github_token]"
    assert finding["redacted"] == {"github_token": 1}
    assert "1 secrets were taken out" in made["status"]
    changed = await tools.ok("update_finding", finding_id=finding["finding_id"], text=f"{secret} and {secret}")
    assert changed["finding"]["redacted"] == {"github_token": 3}
    assert secret not in changed.text


async def test_filters_are_met_all_together(tools: Tools, project: str) -> None:
    run = await new_run(tools, f"r-{secrets.token_hex(4)}")
    await added(tools, "one", project=project, severity="high", tags_json=["a"], workflow_id=run)
    await added(tools, "two", project=project, severity="low", tags_json=["a", "b"], category="speed")
    await added(tools, "three", project=project, severity="info", tags_json=["b"])
    for request, expected in (
        ({"severity": "high"}, ["one"]),
        ({"severity": ["high", "info"]}, ["three", "one"]),
        ({"tags_json": ["a", "b"]}, ["three", "two", "one"]),
        ({"tags_json": ["a", "b"], "every_tag": True}, ["two"]),
        ({"tags_json": '["a"]', "severity": ["low"], "category": "speed"}, ["two"]),
        ({"run": run}, ["one"]),
        ({"status": "deprecated"}, []),
    ):
        answer = await tools.ok("search_findings", project=project, include_global=False, **request)
        assert titles(answer) == expected, request


async def test_a_finding_of_a_run_is_of_the_runs_project(tools: Tools, project: str) -> None:
    run = await new_run(tools, f"r-{secrets.token_hex(4)}", project=project)
    made = await tools.ok("add_finding", **wish(workflow_id=run, state="A"))
    assert (made["finding"]["project"], made["finding"]["run"], made["finding"]["state"]) == (project, run, "A")
    whole = await tools.ok("add_finding", **wish(workflow_id=run, scope="global"))
    assert whole["finding"]["project"] is None
    await tools.refused("unknown_run", "add_finding", **wish(workflow_id="nobody"))
    await tools.refused("invalid_argument", "add_finding", **wish(scope="project"))


async def test_pages_go_on_where_the_last_one_ended(tools: Tools, project: str) -> None:
    for number in range(5):
        await added(tools, f"finding {number}", project=project)
    for text in (None, "finding"):
        request = {"project": project, "include_global": False, "limit": 2, "text": text}
        first = await tools.ok("search_findings", **request)
        second = await tools.ok("search_findings", **request, cursor=first["next_cursor"])
        third = await tools.ok("search_findings", **request, cursor=second["next_cursor"])
        shown = titles(first) + titles(second) + titles(third)
        assert (shown, third["next_cursor"]) == ([f"finding {number}" for number in (4, 3, 2, 1, 0)], None)
        assert {answer["total"] for answer in (first, second, third)} == {5}
    await tools.refused("invalid_argument", "search_findings", project="x", cursor=first["next_cursor"])


async def test_a_finding_is_superseded_by_a_better_one_and_says_why(tools: Tools, project: str) -> None:
    old, new = [await added(tools, title, project=project) for title in ("old", "new")]
    why = {"reason": "measured again", "agent_id": "ann"}
    changed = await tools.ok("update_finding", finding_id=old, superseded_by=new, **why)
    assert (changed["finding"]["status"], changed["finding"]["superseded_by"]) == ("superseded", new)
    (change,) = changed["finding"]["changes"]
    assert (change["by"], change["reason"], set(change["fields"])) == (
        "ann",
        why["reason"],
        {"status", "superseded_by"},
    )
    again = await tools.ok("update_finding", finding_id=old, superseded_by=new, **why)
    assert (again["changed"], again["finding"]) == (False, changed["finding"])
    assert titles(await tools.ok("search_findings", project=project, include_global=False)) == ["new"]
    everything = await tools.ok("search_findings", project=project, include_global=False, status="any")
    assert titles(everything) == ["new", "old"]
    await tools.refused("not_superseded", "update_finding", finding_id=new, superseded_by=old)
    await tools.refused("not_superseded", "update_finding", finding_id=new, superseded_by=new)
    await tools.refused("not_superseded", "update_finding", finding_id=new, superseded_by="f-none")
    await tools.refused("not_superseded", "update_finding", finding_id=new, status="superseded")
    revived = await tools.ok("update_finding", finding_id=old, status="active")
    assert (revived["finding"]["status"], revived["finding"]["superseded_by"]) == ("active", None)


async def test_a_worker_changes_its_own_findings_and_a_planner_any(application: Application, project: str) -> None:
    worker, other = (key_of(Scope.READ, Scope.WORK, agent_id=name) for name in ("ann", "bob"))
    made = await ask(application, worker, "add_finding", **wish(project=project))
    finding_id = made["finding"]["finding_id"]
    assert made["finding"]["author"] == "ann"
    change = {"finding_id": finding_id, "status": "deprecated"}
    assert (await ask(application, other, "update_finding", **change)).code == "forbidden"
    assert (await ask(application, worker, "update_finding", **change)).code == "ok"
    planner = key_of(Scope.READ, Scope.WORK, Scope.PLAN, agent_id="bob")
    assert (await ask(application, planner, "update_finding", finding_id=finding_id, title="x")).code == "ok"
    assert (await ask(application, planner, "delete_finding", finding_id=finding_id)).code == "forbidden"


async def test_a_key_of_a_project_sees_its_findings_and_global_ones_and_changes_its_own(
    application: Application, tools: Tools, project: str
) -> None:
    word = secrets.token_hex(4)
    foreign = await added(tools, f"foreign {word}", project="elsewhere")
    shared = await added(tools, f"shared {word}", scope="global")
    bound = replace(key_of(Scope.READ, Scope.WORK, Scope.PLAN, Scope.OPERATE), project=project)
    made = await ask(application, bound, "add_finding", **wish(f"own {word}"))
    assert made["finding"]["project"] == project
    answer = await ask(application, bound, "search_findings", text=word)
    assert titles(answer) == [f"own {word}", f"shared {word}"]
    assert (await ask(application, bound, "search_findings", text=word, project="elsewhere")).code == "forbidden"
    assert (await ask(application, bound, "get_finding", finding_id=foreign)).code == "unknown_finding"
    assert (await ask(application, bound, "get_finding", finding_id=shared)).code == "ok"
    for tool, more in (("update_finding", {"status": "deprecated"}), ("delete_finding", {})):
        assert (await ask(application, bound, tool, finding_id=foreign, **more)).code == "unknown_finding"
        assert (await ask(application, bound, tool, finding_id=shared, **more)).code == "forbidden"
    assert (await ask(application, bound, "add_finding", **wish(scope="global"))).code == "forbidden"


async def test_long_texts_are_cut_on_lists_and_whole_by_themselves(tools: Tools, project: str) -> None:
    made = await tools.ok("add_finding", **wish(text="word " * 1000, project=project))
    (listed,) = (await tools.ok("search_findings", project=project, include_global=False))["findings"]
    assert (len(listed["text"]), listed["is_whole"], "metadata" in listed) == (401, False, False)
    whole = await tools.ok("get_finding", finding_id=made["finding"]["finding_id"])
    assert whole["finding"]["text"] == "word " * 1000


async def test_an_issue_of_a_run_becomes_one_finding_that_says_how_it_was_resolved(tools: Tools, project: str) -> None:
    run = await new_run(tools, f"r-{secrets.token_hex(4)}", project=project)
    issue = {"workflow_id": run, "kind": "issue", "text": "The tests need a clock.", "key": "k", "agent_id": "worker-1"}
    entry = (await tools.ok("add_journal_entry", **issue))["entry"]
    promoted = {"workflow_id": run, "issue": entry, "severity": "high", "tags_json": ["tests"]}
    made = await tools.ok("promote_issue", **promoted)
    finding = made["finding"]
    assert (finding["issue"], finding["run"], finding["project"], finding["title"]) == (
        entry,
        run,
        project,
        "The tests need a clock.",
    )
    assert (await tools.ok("promote_issue", **promoted))["existed"]
    assert titles(await tools.ok("search_findings", run=run)) == ["The tests need a clock."]
    note = (await tools.ok("add_journal_entry", **issue | {"kind": "note", "key": "n"}))["entry"]
    await tools.refused("unknown_issue", "promote_issue", workflow_id=run, issue=note)
    await tools.refused("unknown_issue", "promote_issue", workflow_id=run, issue="none")
    other = (await tools.ok("add_journal_entry", **issue | {"key": "o"}))["entry"]
    await tools.ok("resolve_issue", workflow_id=run, issue=other, how="One is passed in.", agent_id="worker-1")
    resolved = (await tools.ok("promote_issue", workflow_id=run, issue=other, scope="global"))["finding"]
    assert "Resolved by worker-1: One is passed in." in resolved["text"]
    assert resolved["scope"] == "global"
