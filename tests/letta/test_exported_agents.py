"""Agents that a real Letta exported, read from all four sources of templates, without Letta."""

import json
from pathlib import Path
from typing import Any

import pytest

from dcf.adapters.letta.bundles import Blueprint, BundledTool, read_wish
from dcf.workflows.validation import validate_document
from dcf.workforce.crew.descriptions import Description, wish_of
from dcf.workforce.crew.templates import read_staffing
from tests.letta.exported_agents import EXPORTED, NAMES, SOURCES, export, workflow, write_sources
from tests.support.tables import rows

TRIAGE, LEAD = NAMES
TOOLS = ["conversation_search", "memory_insert", "memory_replace", "rate_claim"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_sources(tmp_path / "imports", tmp_path / "templates")
    return tmp_path


def description(place: Path, document: dict[str, Any]) -> Description:
    (staffing,) = read_staffing(document, import_dirs=(place / "imports",), agents_dir=place / "templates")
    assert staffing.description is not None
    return staffing.description


def blueprint(description: Description) -> Blueprint:
    """Return what Letta is asked for."""
    return read_wish(wish_of("worker", (), description))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", NAMES)
def test_an_export_is_valid_in_each_source_and_is_what_the_worker_is_made_from(
    place: Path, name: str, source: str
) -> None:
    document = workflow("claims", name, source)
    imports = place / "imports"
    verdict = validate_document(
        document, imports_base_dir=imports, skills_base_dir=imports, agents_dir=place / "templates"
    )
    assert verdict.problems == ()
    assert f"from:{source}" in blueprint(description(place, without_disk(place, document, source))).tags


def without_disk(place: Path, document: dict[str, Any], source: str) -> dict[str, Any]:
    """Take the templates away for a source that comes after them."""
    if source == "inline":
        for file in (place / "templates").iterdir():
            file.unlink()
    return document


@rows("first", range(3))
def test_exports_are_looked_for_in_the_documented_order(tmp_path: Path, first: int) -> None:
    place = tmp_path / str(first)
    place.mkdir()
    write_sources(place / "imports", place / "templates")
    document = workflow("claims", TRIAGE, *SOURCES[first:])
    assert f"from:{SOURCES[first]}" in blueprint(description(place, document)).tags


@rows("source", SOURCES)
def test_an_exported_agent_keeps_its_blocks_tools_and_settings(tmp_path: Path, source: str) -> None:
    place = tmp_path / source
    place.mkdir()
    write_sources(place / "imports", place / "templates")
    result = blueprint(description(place, without_disk(place, workflow("claims", TRIAGE, source), source)))
    assert [block["label"] for block in result.blocks] == ["persona", "policy", "notes"]
    assert [(block["read_only"], block["limit"]) for block in result.blocks] == [
        (False, 100_000),
        (True, 900),
        (False, 100_000),
    ]
    assert sorted(tool.name for tool in result.tools) == TOOLS
    expected: dict[str, Any] = {"system": "You rate insurance claims, and write down why.", "timezone": "Europe/Berlin"}
    expected |= {"max_files_open": 7, "metadata": {"owner": "claims"}, "description": "Rates claims."}
    assert expected.items() <= result.arguments.items()
    assert result.arguments["tool_exec_environment_variables"] == {"CLAIMS_KEY": ""}
    assert set(result.tags) >= {"team:claims", "template:triage"}


@rows("source", ["on disk", "inline"])
def test_a_python_tool_keeps_what_its_export_says_of_it(tmp_path: Path, source: str) -> None:
    place = tmp_path / source
    place.mkdir()
    write_sources(place / "imports", place / "templates")
    result = blueprint(description(place, without_disk(place, workflow("claims", TRIAGE, source), source)))
    (tool,) = [tool for tool in result.tools if tool.name == "rate_claim"]
    assert tool.source is not None
    assert "def rate_claim(" in tool.source
    assert tool.details["return_char_limit"] == 3000
    assert tool.details["json_schema"]["parameters"]["required"] == ["amount", "days_open"]


def test_a_tool_of_an_mcp_server_is_known_by_its_server(place: Path) -> None:
    result = blueprint(description(place, workflow("claims", LEAD, "imported")))
    assert result.tools == (BundledTool(name="ledger_book", server="ledger"),)


def test_an_agent_of_the_first_form_tells_a_mailbox_its_texts_and_tools(place: Path) -> None:
    document = without_disk(place, workflow("claims", TRIAGE, "inline"), "inline")
    wish = wish_of("worker", (), description(place, document))
    assert wish.texts == {
        "persona": "I am exact.\nI never guess.",
        "policy": "Claims above 5,000 are high.",
        "notes": "",
    }
    assert sorted(wish.tools) == TOOLS
    assert wish.tags == ("team:claims", "template:triage", "from:inline")


@rows("file", ["triage.af", "lead.af", "triage_v1.json"])
def test_an_export_tells_no_secret_and_no_address_of_the_machine_that_made_it(file: str) -> None:
    text = (EXPORTED / file).read_text("utf-8")
    for word in ("canary", "127.0.0.1", "localhost", "/tmp/", "/home/"):
        assert word not in text
    assert json.loads(text) == export(file)
