"""The tools on the catalogue, as an MCP client calls them: versions, hashes, whose come first, and search."""

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.features.catalogue.model import MOST_VERSIONS
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK, Answer, Tools

pytestmark = pytest.mark.anyio


@pytest.fixture
def name() -> str:
    return f"n-{secrets.token_hex(4)}"


async def put(tools: Tools, name: str, content: Any = "# Body", kind: str = "rule", **more: Any) -> Answer:
    return await tools.ok("put_definition", kind=kind, name=name, content=content, **more)


def names(answer: Answer) -> list[str]:
    return [definition["name"] for definition in answer["definitions"]]


async def test_new_content_is_a_new_version_and_old_ones_are_still_read(tools: Tools, name: str) -> None:
    first = (await put(tools, name, "one", description="d"))["definition"]
    again = await put(tools, name, "one", description="d")
    assert (again["changed"], again["definition"]["sha256"]) == (False, first["sha256"])
    second = await put(tools, name, {"two": [2]})
    assert (first["version"], second["definition"]["version"], second["changed"]) == ("1", "2", True)
    newest = (await tools.ok("get_definition", kind="rule", name=name))["definition"]
    assert (newest["content"], newest["version"], newest["versions"]) == ({"two": [2]}, "2", ["1", "2"])
    older = (await tools.ok("get_definition", kind="rule", name=name, version="1"))["definition"]
    assert (older["content"], older["sha256"], older["description"]) == ("one", first["sha256"], "d")
    by_hash = await tools.ok("get_definition", kind="rule", name=name, sha256=first["sha256"][:8])
    assert by_hash["definition"]["content"] == "one"
    await tools.refused("not_in_catalogue", "get_definition", kind="rule", name=name, version="3")
    await tools.refused("not_in_catalogue", "get_definition", kind="persona", name=name)


async def test_the_label_of_a_version_stands_for_one_content(tools: Tools, name: str) -> None:
    await put(tools, name, "one", version="1.0.0")
    await put(tools, name, "one", version="1.0.0")
    value = {"kind": "rule", "name": name, "content": "two", "version": "1.0.0"}
    await tools.refused("version_exists", "put_definition", **value)


async def test_the_oldest_versions_go(tools: Tools, name: str) -> None:
    for number in range(MOST_VERSIONS + 2):
        await put(tools, name, f"content {number}")
    answer = await tools.ok("get_definition", kind="rule", name=name)
    assert answer["definition"]["versions"] == [str(number) for number in range(3, MOST_VERSIONS + 3)]
    oldest = await tools.ok("get_definition", kind="rule", name=name, version="3")
    assert oldest["definition"]["content"] == "content 2"
    await tools.refused("not_in_catalogue", "get_definition", kind="rule", name=name, version="1")


async def test_who_has_the_hash_is_told_that_nothing_changed(tools: Tools, name: str) -> None:
    sha256 = (await put(tools, name))["definition"]["sha256"]
    same = await tools.ok("get_definition", kind="rule", name=name, if_none_match=sha256)
    assert (same["not_modified"], "content" in same["definition"]) == (True, False)
    other = await tools.ok("get_definition", kind="rule", name=name, if_none_match="0" * 64)
    assert (other["not_modified"], other["definition"]["content"]) == (False, "# Body")


async def test_as_much_is_told_as_is_asked_for(tools: Tools, name: str) -> None:
    await put(tools, name, description="what for", tags_json=["a"])
    short = (await tools.ok("get_definition", kind="rule", name=name, detail="name"))["definition"]
    assert set(short) == {"kind", "name", "version", "sha256", "scope", "project", "session"}
    summary = (await tools.ok("get_definition", kind="rule", name=name, detail="summary"))["definition"]
    assert (summary["description"], "content" in summary) == ("what for", False)
    fields = await tools.ok("get_definition", kind="rule", name=name, fields_json=["tags"])
    assert set(fields["definition"]) == {"tags", "sha256"}


async def test_that_of_the_session_comes_before_that_of_the_project_and_of_everybody(tools: Tools, name: str) -> None:
    await put(tools, name, "everybody")
    await put(tools, name, "project", project="p")
    await put(tools, name, "session", project="p", session="s")
    for request, content in (
        ({}, "everybody"),
        ({"project": "p"}, "project"),
        ({"project": "p", "session": "s"}, "session"),
        ({"project": "q", "session": "s"}, "everybody"),
    ):
        answer = await tools.ok("get_definition", kind="rule", name=name, **request)
        assert answer["definition"]["content"] == content
    seen = await tools.ok("search_definitions", text=name, project="p", session="s")
    assert sorted(definition["scope"] for definition in seen["definitions"]) == ["global", "project", "session"]
    assert len(names(await tools.ok("search_definitions", text=name))) == 1


async def test_a_definition_of_a_session_expires(tools: Tools, name: str) -> None:
    made = await put(tools, name, session="s", expires_in_s=60)
    assert made["definition"]["expires_at"] is not None
    assert (await put(tools, name))["definition"]["expires_at"] is None


async def test_definitions_are_found_by_all_tags_any_keyword_and_every_word(tools: Tools) -> None:
    word = f"w{secrets.token_hex(4)}"
    await put(tools, f"{word}-one", f"{word} reviews code", tags_json=["a", "b"], kind="workflow", complexity="high")
    await put(tools, f"{word}-two", f"{word} deploys", tags_json=["a"], keywords_json=["ship"], kind="persona")
    for request, expected in (
        ({"text": word}, 2),
        ({"text": f"{word} code"}, 1),
        ({"text": word, "tags_json": ["a"]}, 2),
        ({"text": word, "tags_json": ["a", "b"]}, 1),
        ({"text": word, "keywords_json": ["ship", "code"]}, 2),
        ({"text": word, "keywords_json": ["SHIP"]}, 1),
        ({"text": word, "kind": "workflow"}, 1),
        ({"text": word, "complexity": "high"}, 1),
        ({"text": f"{word} c++"}, 0),
    ):
        answer = await tools.ok("search_definitions", **request)
        assert (len(names(answer)), answer["total"], answer["total_is_exact"]) == (expected, expected, True), request
    whole = await tools.ok("search_definitions", text=word, detail="full")
    assert {definition["content"] for definition in whole["definitions"]} == {f"{word} reviews code", f"{word} deploys"}
    first = await tools.ok("search_definitions", text=word, limit=1)
    second = await tools.ok("search_definitions", text=word, limit=1, cursor=first["next_cursor"])
    assert {*names(first), *names(second)} == {f"{word}-one", f"{word}-two"}
    for offset, page in enumerate((first, second)):
        assert names(await tools.ok("search_definitions", text=word, limit=1, offset=offset)) == names(page)


async def test_rules_are_found_by_the_files_that_they_are_for(tools: Tools) -> None:
    word = f"w{secrets.token_hex(4)}"
    await put(tools, f"{word}-py", word, globs_json=["**/*.py", "*.pyi"])
    await put(tools, f"{word}-js", word, globs_json=["src/*.js"])
    await put(tools, f"{word}-all", word, always_apply=True)
    for files, expected in (
        (["src/deep/a.py"], {"py", "all"}),
        (["*.py"], {"py", "all"}),
        (["py"], {"py", "all"}),
        (["src/a/b.js", "x.pyi"], {"py", "js", "all"}),
        (["a.md"], {"all"}),
    ):
        answer = await tools.ok("search_definitions", kind="rule", text=word, file_types_json=files)
        assert {command_names.removeprefix(f"{word}-") for command_names in names(answer)} == expected, files
    never = {"kind": "rule", "text": word, "file_types_json": ["a.py"], "always_apply": False}
    assert names(await tools.ok("search_definitions", **never)) == [f"{word}-py"]
    assert names(await tools.ok("search_definitions", text=word, always_apply=True)) == [f"{word}-all"]


async def test_a_workflow_that_was_started_is_in_the_catalogue_and_not_copied(tools: Tools, name: str) -> None:
    document = {**ONE_TASK, "workflow_name": name, "version": "7", "asl": {**ONE_TASK["asl"], "Comment": "Adds sums."}}
    started = await tools.ok("start_run", workflow_json=document)
    (definition,) = (await tools.ok("search_definitions", text=f"{name} sums", kind="workflow"))["definitions"]
    assert (definition["source"], definition["version"], definition["sha256"]) == (
        "kept",
        "7",
        started["definition"]["sha256"],
    )
    whole = await tools.ok("get_definition", kind="workflow", name=name)
    assert whole["definition"]["content"]["asl"] == document["asl"]
    assert whole["definition"]["sha256"] == started["definition"]["sha256"]
    assert (await tools.ok("get_definition", kind="workflow", name=name, version="7"))["definition"]["version"] == "7"
    await tools.refused("not_in_catalogue", "get_definition", kind="workflow", name=name, version="8")


async def test_skills_are_a_kind_of_the_catalogue_and_stay_where_they_are(
    replica: Callable[..., Application], tmp_path: Path
) -> None:
    (tmp_path / "skill.json").write_text(
        '{"manifestId": "skill.sum@1.0.0", "skillName": "sum.up", "skillVersion": "1.0.0", "tags": ["math"],'
        ' "description": "Adds numbers.", "skillDirectives": "Add them."}'
    )
    site = replica(manifests_dir=tmp_path)
    reader = key_of(Scope.READ, Scope.WORK, Scope.PLAN)
    answer = await ask(site, reader, "search_definitions", kind="skill", text="numbers", tags_json=["math"])
    assert (names(answer), answer["total"]) == (["sum.up"], 1)
    assert names(await ask(site, reader, "search_definitions", kind="skill", text="nothing")) == []
    whole = await ask(site, reader, "get_definition", kind="skill", name="sum.up", version="1.0.0")
    assert whole["definition"]["content"]["skillDirectives"] == "Add them."
    assert (await ask(site, reader, "get_definition", kind="skill", name="none")).code == "not_in_catalogue"
    refused = await ask(site, reader, "put_definition", kind="skill", name="x", content="y")
    assert refused.code == "kept_elsewhere"


async def test_a_skill_that_is_asked_for_without_a_version_is_the_newest_that_was_released(
    replica: Callable[..., Application], tmp_path: Path
) -> None:
    for version in ("1.9.0", "1.10.0", "1.2.0", "2.0.0-rc.1"):
        manifest = {"manifestId": f"skill.sum@{version}", "skillName": "sum.up", "skillVersion": version}
        (tmp_path / f"{version}.json").write_text(json.dumps(manifest))
    site, reader = replica(manifests_dir=tmp_path), key_of(Scope.READ)
    answer = await ask(site, reader, "get_definition", kind="skill", name="sum.up")
    assert answer["definition"]["version"] == "1.10.0"


async def test_secrets_are_shown_to_a_planner_who_asks_for_them(
    application: Application, tools: Tools, name: str
) -> None:
    secret = "ghp_" + "a1B2" * 9
    made = await put(tools, name, f"use {secret}")
    shown = await tools.ok("get_definition", kind="rule", name=name)
    assert (shown["definition"]["content"], shown["redacted"]) == ("use [redacted github_token]", {"github_token": 1})
    assert shown["definition"]["sha256"] == made["definition"]["sha256"]
    whole = await tools.ok("get_definition", kind="rule", name=name, redact=False)
    assert whole["definition"]["content"] == f"use {secret}"
    worker = key_of(Scope.READ, Scope.WORK)
    assert (await ask(application, worker, "get_definition", kind="rule", name=name, redact=False)).code == "forbidden"


async def test_a_worker_keeps_what_is_of_its_session_and_a_planner_the_rest(
    application: Application, name: str
) -> None:
    worker = key_of(Scope.READ, Scope.WORK)
    value = {"kind": "rule", "name": name, "content": "x"}
    assert (await ask(application, worker, "put_definition", **value)).code == "forbidden"
    assert (await ask(application, worker, "put_definition", **value, session="s")).code == "ok"
    assert (await ask(application, worker, "delete_definition", kind="rule", name=name)).code == "forbidden"


async def test_a_key_of_a_project_sees_and_changes_what_is_of_it(
    application: Application, tools: Tools, name: str
) -> None:
    bound = replace(key_of(*Scope), project="p")
    await put(tools, name, "everybody")
    await put(tools, f"{name}-q", "theirs", project="q")
    made = await ask(application, bound, "put_definition", kind="rule", name=name, content="ours")
    assert made["definition"]["project"] == "p"
    assert (await tools.ok("get_definition", kind="rule", name=name))["definition"]["content"] == "everybody"
    seen = await ask(application, bound, "search_definitions", text=name)
    assert sorted(definition["scope"] for definition in seen["definitions"]) == ["global", "project"]
    theirs = await ask(application, bound, "get_definition", kind="rule", name=f"{name}-q")
    assert theirs.code == "not_in_catalogue"
    await tools.ok("start_run", workflow_json={**ONE_TASK, "workflow_name": f"{name}-flow"})
    assert len(names(await tools.ok("search_definitions", text=f"{name}-flow"))) == 1
    assert names(await ask(application, bound, "search_definitions", text=f"{name}-flow")) == []
    flow = await ask(application, bound, "get_definition", kind="workflow", name=f"{name}-flow")
    assert flow.code == "not_in_catalogue"
    assert (await ask(application, bound, "delete_definition", kind="rule", name=name))["existed"]
    assert (await tools.ok("get_definition", kind="rule", name=name))["definition"]["content"] == "everybody"


async def test_a_deleted_definition_is_gone_with_its_versions(operator: Tools, name: str, raw_redis: Any) -> None:
    for content in ("one", "two"):
        await put(operator, name, content, project="p")
    assert (await operator.ok("delete_definition", kind="rule", name=name, project="p"))["existed"]
    assert not (await operator.ok("delete_definition", kind="rule", name=name, project="p"))["existed"]
    await operator.refused("not_in_catalogue", "get_definition", kind="rule", name=name, project="p")
    left = raw_redis.keys("cp:idx:text:{catalogue}:entry:*")
    assert not [key for key in left if name.encode() in (raw_redis.hget(key, "document") or b"")]


@rows("content", ["\ud800", {"a": 10**30}, "x" * 300_000])
async def test_what_is_neither_text_nor_json_is_refused(tools: Tools, name: str, content: Any) -> None:
    answer = await tools.call("put_definition", kind="rule", name=name, content=content)
    assert answer.code in {"invalid_argument", "too_large"}


async def test_no_secret_of_a_known_shape_is_among_the_words_of_the_index(
    tools: Tools, name: str, raw_redis: Any
) -> None:
    mark = secrets.token_hex(16)
    await put(tools, name, f"use lease-{mark}", session=f"dcf_0123456789ab_{mark}00000000000")
    assert not [key for key in raw_redis.scan_iter() if mark.encode() in key]


@pytest.mark.parametrize("tool", ["start_run", "open_run"])
async def test_a_run_keeps_the_hash_of_the_definition_that_it_was_opened_with(
    tools: Tools, name: str, tool: str
) -> None:
    first = (await put(tools, name, "one"))["definition"]
    value = {"name": "release"} if tool == "open_run" else {"workflow_json": ONE_TASK}
    request = {**value, "workflow_id": f"r-{name}", "definition_ref": f"rule:{name}"}
    await tools.ok(tool, **request)
    await put(tools, name, "two")
    assert (await tools.ok(tool, **request))["existed"], (
        "the same call finds the run, whatever became of the definition"
    )
    if tool == "open_run":
        await tools.refused("conflict", tool, **{**request, "definition_ref": f"rule:{name}@1"})
    pinned = (await tools.ok("read_workflow_control_plane", workflow_id=f"r-{name}"))["meta"]["definition_ref"]
    assert pinned == {"kind": "rule", "name": name, "version": "1", "sha256": first["sha256"]}
    if tool == "start_run":
        again = (await tools.ok("rerun", workflow_id=f"r-{name}"))["workflow_id"]
        meta = (await tools.ok("read_workflow_control_plane", workflow_id=again))["meta"]
        assert meta["definition_ref"] == pinned
    there = await tools.ok("get_definition", kind="rule", name=name, sha256=pinned["sha256"])
    assert there["definition"]["content"] == "one"
    for wrong, code in (
        (f"rule:{name}-none", "not_in_catalogue"),
        ("odd:x", "invalid_argument"),
        ("x", "invalid_argument"),
    ):
        await tools.refused(code, tool, **{**request, "workflow_id": f"s-{name}", "definition_ref": wrong})
