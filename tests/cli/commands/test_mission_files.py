"""`dcf init --mission-control` and `dcf validate`: the files of a workflow of Mission Control."""

import json
import re
from pathlib import Path

import pytest
from yaml import safe_load as read_yaml

from dcf.profiles.arguments import schema_of
from dcf.profiles.mission_control.profile import PROFILE
from tests.support.command_line import call

CALL = re.compile(r"(\w+)\(\{(.*?)\}\)")
"""A call of a tool, with its arguments."""

ARGUMENT = re.compile(r"(?:^|, )(\w+)(?=[:,]|$)")
"""The name of an argument, with its value or without."""

CLAUDE = """# Project

Be kind.

## Active Workflow
Workflow: old
ID: `old-1`
Path: .claude/workflows/old/

## Style

Plain.
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def test_the_templates_are_valid_as_they_are(project: Path) -> None:
    assert call("init", "shop", "--mission-control").exit_code == 0
    folder = project / ".claude/workflows/shop"
    assert {item.name for item in folder.iterdir()} == {"definition.md", "workflow.md", "start.md"}
    assert (project / ".claude/agents/workflow-architect.md").is_file()
    for named in (folder, folder / "workflow.md", Path(".claude/workflows/shop")):
        assert call("validate", named).stdout == "✔ shop is valid\n"
    document = json.loads(call("validate", folder, "--json").stdout)
    assert [phase["number"] for phase in document["phases"]] == [1, 2]
    assert document["phases"][1]["checkpoint"] == "human"
    assert read_yaml(call("validate", folder, "-o", "yaml").stdout) == document


def test_every_call_that_the_templates_print_is_taken_by_its_tool(project: Path) -> None:
    assert call("init", "shop", "--mission-control").exit_code == 0
    printed = [words for file in (project / ".claude").rglob("*.md") for words in CALL.findall(file.read_text())]
    assert {name for name, _ in printed} >= {"start_workflow", "start_phase", "start_task", "get_context"}
    for name, inside in printed:
        schema = schema_of(PROFILE.tools[name].arguments)
        named = set(ARGUMENT.findall(inside))
        assert set(schema.get("required", ())) <= named <= set(schema["properties"]), f"{name}({inside})"


def test_the_section_of_claude_md_is_replaced_and_nothing_else(project: Path) -> None:
    (project / ".claude").mkdir()
    claude = project / ".claude/CLAUDE.md"
    claude.write_text(CLAUDE)
    assert call("init", "shop", "--mission-control", "--workflow-id", "shop-abc").exit_code == 0
    text = claude.read_text()
    assert text.startswith("# Project\n\nBe kind.\n\n## Active Workflow\nWorkflow: shop\nID: `shop-abc`\n")
    assert text.endswith("\n\n## Style\n\nPlain.\n")
    assert '- "continue workflow" → Resume' in text
    assert "old" not in text
    again = json.loads(call("init", "shop", "--mission-control", "--workflow-id", "shop-abc", "--json").stdout)
    assert set(again["files"].values()) == {"left"}
    assert claude.read_text() == text


def test_the_id_is_written_into_what_is_there_and_texts_of_people_stay(project: Path) -> None:
    call("init", "shop", "--mission-control")
    definition = project / ".claude/workflows/shop/definition.md"
    definition.write_text(definition.read_text().replace("Say what must not change.", "Nothing new."))
    document = json.loads(call("init", "shop", "--mission-control", "--workflow-id", "shop-abc", "--json").stdout)
    assert document["files"][".claude/workflows/shop/definition.md"] == "changed"
    assert "workflow_id: `shop-abc`" in definition.read_text()
    assert "Nothing new." in definition.read_text()
    assert "ID: `shop-abc`" in (project / ".claude/CLAUDE.md").read_text()
    assert call("init", "shop", "--workflow-id", "shop-abc").exit_code == 2


def test_a_wrong_plan_is_told_line_by_line(project: Path) -> None:
    call("init", "shop", "--mission-control")
    workflow = project / ".claude/workflows/shop/workflow.md"
    workflow.write_text(workflow.read_text().replace("requires: 1", "requires: 7").replace("analyzer", "stranger"))
    refused = call("validate", workflow)
    assert refused.exit_code == 1
    assert ".claude/workflows/shop/workflow.md:28" in refused.stdout
    assert "unknown_phase" in refused.stdout
    assert "unknown_agent" in refused.stdout
    assert refused.stdout.endswith("✘ 2 problems\n")
    assert call("validate", workflow.rename(project / "workflow.md")).exit_code == 2


def test_an_agent_of_the_user_is_one_of_the_project_too(project: Path) -> None:
    call("init", "shop", "--mission-control")
    mine, users = project / ".claude/agents/analyzer.md", project / "home/.claude/agents/analyzer.md"
    users.parent.mkdir(parents=True)
    mine.rename(users)
    assert call("validate", ".claude/workflows/shop").exit_code == 0
    users.write_text("---\nname: analyzer\ntools: Read, Write\n---\n")
    workflow = project / ".claude/workflows/shop/workflow.md"
    workflow.write_text(workflow.read_text().replace('"general-purpose"', "Explore", 1))
    assert "cannot_write" in call("validate", workflow).stdout
