"""Three ways to write the same skills and tools give the same manifests, catalogue and stub configuration."""

import csv
from pathlib import Path
from typing import Any

import yaml

from dcf.authoring.generation import Generation, generate, json_file, manifest_outputs, stub_output
from dcf.skills.manifest import judge
from dcf.skills.servers import Registry
from tests.support.paths import ROOT
from tests.support.tables import rows

SOURCES = Path(__file__).parent / "sources"
SHIPPED = ROOT / "skills_src"


def texts(generation: Generation) -> dict[str, str]:
    """Everything that would be written, by its path."""
    assert generation.problems == ()
    outputs = manifest_outputs(generation, Path("manifests"), Path("catalogs/skills_catalog.json"))
    return {str(item.path): item.text for item in [*outputs, stub_output(generation, Path("stub_config.json"))]}


def document(generation: Generation, manifest_id: str) -> Any:
    (document,) = [manifest.document for manifest in generation.manifests if manifest.record.manifest_id == manifest_id]
    return document


@rows("kind", ["yaml", "agent_skills"])
def test_each_kind_of_source_gives_what_the_tables_give(kind: str) -> None:
    assert texts(generate(SOURCES / kind)) == texts(generate(SOURCES / "csv"))


@rows("kind", ["csv", "yaml", "agent_skills"])
def test_a_generated_manifest_is_valid_by_our_own_validator_and_complete(kind: str) -> None:
    generation = generate(SOURCES / kind)
    assert all(
        judge(manifest.document).ok and not judge(manifest.document).warnings for manifest in generation.manifests
    )
    priced = document(generation, "skill.price.order@1.0.0")
    assert priced["permissions"] == {"egress": "intranet", "secrets": ["PRICE_KEY"], "riskLevel": "medium"}
    assert priced["requiredDataSources"] == [
        {
            "dataSourceId": "rounding",
            "description": "How to round.",
            "destination": "archival_memory",
            "content": {"type": "text_content", "text": "Round half up.\n\n- 0.125 becomes 0.13"},
        }
    ]
    add, discount = priced["requiredTools"]
    assert (add["required"], discount["required"]) == (True, False)
    assert (add["description"], discount["description"]) == ("Adds up.", "Only with a code.")


def test_d_97a_the_schema_of_a_tool_reaches_the_manifest() -> None:
    (add, _) = document(generate(SOURCES / "yaml"), "skill.price.order@1.0.0")["requiredTools"]
    assert add["definition"] == {"type": "mcp_server", "serverId": "pricing", "toolName": "add"}
    assert add["json_schema"] == {
        "name": "add",
        "description": "Adds up.",
        "parameters": {"type": "object", "properties": {"lines": {"type": "array"}}, "required": ["lines"]},
    }


def test_d_97b_a_profile_makes_a_manifest_of_version_2_1_that_is_valid_too(tmp_path: Path) -> None:
    names = ("horizon", "context", "tooling", "observability", "modality", "precision", "adaptability")
    profile = {"baseWCS": 7, "dimensionScores": dict.fromkeys(names, 1), "maturityLevel": "provisional"}
    skill = {
        "apiVersion": "skill/v1",
        "kind": "Skill",
        "metadata": {"name": "a", "version": "1.0.0"},
        "spec": {"directives": "Do it.", "complexityProfile": profile},
    }
    (tmp_path / "a.skill.yaml").write_text(_as_yaml(skill), "utf-8")
    generation = generate(tmp_path)
    assert generation.problems == ()
    (manifest,) = generation.manifests
    assert (manifest.document["manifestApiVersion"], manifest.document["complexityProfile"]) == ("v2.1.0", profile)
    assert judge(manifest.document).ok


def test_d_78_the_risk_level_leaves_the_source() -> None:
    levels = {
        manifest.record.name: manifest.document["permissions"]["riskLevel"] for manifest in generate(SHIPPED).manifests
    }
    assert levels == dict.fromkeys(levels, "low") | {"generate.invoice": "medium"}


def test_generating_the_shipped_skills_gives_exactly_the_committed_files() -> None:
    generation = generate(SHIPPED)
    generated = ROOT / "generated"
    outputs = manifest_outputs(generation, generated / "manifests", generated / "catalogs" / "skills_catalog.json")
    outputs.append(stub_output(generation, generated / "stub" / "stub_config.json"))
    assert (generation.problems, generation.warnings) == ((), ())
    assert [str(output.path) for output in outputs if not output.is_current] == []
    assert {output.path for output in outputs} == set(generated.rglob("*.json"))


def test_the_shipped_tables_written_as_yaml_give_the_same(tmp_path: Path) -> None:
    generation = generate(SHIPPED)
    for manifest in generation.manifests:
        (tmp_path / f"{manifest.record.name}.skill.yaml").write_text(_as_yaml(_skill(manifest.document)), "utf-8")
    servers = {
        server: {"tools": {name: _tool(tool.document) for name, tool in tools.items()}}
        for server, tools in generation.config.servers.items()
    }
    tools = {"apiVersion": "tools/v1", "kind": "ToolsRegistry", "servers": servers}
    (tmp_path / "tools.yaml").write_text(_as_yaml(tools), "utf-8")
    assert texts(generate(tmp_path)) == texts(generation)


def test_the_registry_leads_each_server_of_a_skill_to_its_address_at_the_stub() -> None:
    registry = Registry(path=SHIPPED / "registry.json", environment={})
    generation = generate(SHIPPED)
    needed = {reference.server for manifest in generation.manifests for reference in manifest.record.tools}
    assert needed == set(generation.config.servers)
    assert {registry.server(read_set)["url"] for read_set in needed} == {
        f"http://127.0.0.1:8765/mcp/{read_set}" for read_set in needed
    }


def test_nothing_depends_on_the_order_of_rows_or_files(tmp_path: Path) -> None:
    for name in ("skills.csv", "skill_tool_refs.csv", "mcp_tools.csv", "mcp_cases.csv"):
        (tmp_path / name).write_bytes((SHIPPED / name).read_bytes())
    with (SHIPPED / "mcp_tools.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    with (tmp_path / "mcp_tools.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *reversed(rows)])
    assert texts(generate(tmp_path)) == texts(generate(SHIPPED))


def _as_yaml(document: Any) -> str:
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False)


def _skill(manifest: Any) -> Any:
    data = [
        {"id": item["dataSourceId"], "text": item["content"]["text"], "destination": item["destination"]}
        | {"description": item["description"]}
        for item in manifest["requiredDataSources"]
    ]
    tools = [
        {"ref": ":".join((item["definition"]["serverId"], item["toolName"])), "required": item["required"]}
        | {"description": item["description"]}
        for item in manifest["requiredTools"]
    ]
    metadata = {"manifestId": "manifestId", "name": "skillName", "version": "skillVersion"}
    return {
        "apiVersion": "skill/v1",
        "kind": "Skill",
        "metadata": {ours: manifest[theirs] for ours, theirs in metadata.items()}
        | {"description": manifest["description"], "tags": manifest["tags"]},
        "spec": {
            "permissions": manifest["permissions"],
            "directives": manifest["skillDirectives"],
            "tools": tools,
            "dataSources": data,
        },
    }


def _tool(tool: Any) -> Any:
    cases = []
    for case in tool["cases"]:
        match = {"strategy": case["match"]["strategy"], "path": case["match"]["expr"], "value": case["match"]["value"]}
        rest = {key: value for key, value in case.items() if key not in {"caseId", "match"}}
        cases.append({"id": case["caseId"], "match": match} | rest)
    return {
        "version": tool["version"],
        "description": tool["description"],
        "params": tool["paramsSchema"],
        "result": tool["resultSchema"],
        "defaults": {
            "response": tool["defaultResponse"],
            "latencyMs": tool["latencyMs"]["default"],
            "rateLimit": tool["rateLimit"],
        },
        "cases": cases,
    }


def test_a_file_for_people_ends_with_a_line_break_and_keeps_their_letters() -> None:
    assert json_file({"name": "Grüße"}) == '{\n  "name": "Grüße"\n}\n'
