"""Skills as folders of files: what is listed is what is read, and the newest version of each name is there."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.skills.folders import SkillFolder, SkillFolders, folder_of
from dcf.skills.library import Library
from dcf.skills.manifest import DataNeed, read_manifest
from dcf.tools.mcp.reading import ToolReading
from dcf.tools.mcp.resource_reads import skill_reads
from dcf.tools.mcp.resources import Resources
from dcf.tools.mcp.server import build_server
from dcf.verbs.limits import meter_of
from tests.support.agents.skill_manifests import manifest
from tests.support.tables import rows
from tests.tools.access import key_of

pytestmark = pytest.mark.anyio


def _folder(**more: Any) -> SkillFolder:
    skill_folder = folder_of(read_manifest(manifest(**more)))
    assert skill_folder is not None
    return skill_folder


def _write(directory: Path, *documents: dict[str, Any]) -> None:
    for document in documents:
        name = f"{document['skillName']}-{document['skillVersion']}.json"
        (directory / name).write_text(json.dumps(document))


def _front(text: str) -> Any:
    return yaml.safe_load(text.split("---\n")[1])


def test_a_skill_is_a_folder_with_its_directives_tools_and_references() -> None:
    skill_folder = _folder(description="Checks orders.")
    assert (skill_folder.name, skill_folder.description) == ("check-order", "Checks orders.")
    assert list(skill_folder.files) == ["SKILL.md", "references/rules.md"]
    assert skill_folder.files["references/rules.md"] == "No orders over 10000."
    for part in ("Use check.order with care.", "`verify`: Does verify.", "[references/rules.md](references/rules.md)"):
        assert part in skill_folder.files["SKILL.md"]


DESCRIPTIONS = ["a: b # c", 'say "yes"', "- 1\n- 2", "{x}: [y]", "käse 🧀", "no", "null", "1.0", "---"]


@rows("description", DESCRIPTIONS)
def test_the_frontmatter_of_the_file_is_the_one_of_the_list(description: str) -> None:
    skill_folder = _folder(description=description)
    assert _front(skill_folder.files["SKILL.md"]) == skill_folder.frontmatter
    assert skill_folder.frontmatter["description"] == description


def test_a_skill_without_a_description_gets_one() -> None:
    assert _folder().description == "The skill check.order."


@rows(
    ("name", "folder"),
    [("Check Order", "check-order"), ("a--b..c", "a-b-c"), ("x" * 80, "x" * 64), ("...", None), ("é", None)],
)
def test_a_folder_is_named_as_the_standard_says(name: str, folder: str | None) -> None:
    skill_folder = folder_of(replace(read_manifest(manifest()), name=name))
    assert (None if skill_folder is None else skill_folder.name) == folder


def test_a_text_whose_name_cannot_be_a_file_is_left_out() -> None:
    odd = DataNeed(source_id="../x", text="", destination="archival_memory")
    skill_folder = folder_of(replace(read_manifest(manifest()), data=(odd,)))
    assert skill_folder is not None
    assert list(skill_folder.files) == ["SKILL.md"]


def test_of_several_versions_the_newest_is_there(tmp_path: Path) -> None:
    _write(tmp_path, *(manifest(version=version) for version in ("1.9.0", "1.10.0", "1.2.0")))
    (result,) = SkillFolders(Library(directory=tmp_path)).all()
    assert result.frontmatter["metadata"]["version"] == "1.10.0"


def test_a_file_that_changes_is_read_again_and_a_broken_one_left_out(tmp_path: Path) -> None:
    folders = SkillFolders(Library(directory=tmp_path))
    assert folders.all() == []
    _write(tmp_path, manifest())
    (tmp_path / "broken.json").write_text("{}")
    assert [item.name for item in folders.all()] == ["check-order"]
    _write(tmp_path, manifest("pack.order"))
    assert [item.name for item in folders.all()] == ["check-order", "pack-order"]


def test_only_a_whole_address_finds_a_file(tmp_path: Path) -> None:
    _write(tmp_path, manifest())
    folders = SkillFolders(Library(directory=tmp_path))
    assert folders.find("skill://check-order/SKILL.md") is not None
    for uri in ("SKILL.md", "skill://check-order/", "skill://check-order/SKILL.md/", "skill://check-order/../SKILL.md"):
        assert folders.find(uri) is None, uri


async def test_every_listed_file_has_the_digest_and_size_that_the_list_says(application: Application) -> None:
    reading = ToolReading(application, lambda: key_of(Scope.READ), meter_of(Settings()))
    entries = await Resources(reading, skill_reads(application.library)).entries()
    assert entries
    async with Client(build_server(application)) as client:
        assert "io.modelcontextprotocol/skills" in (client.server_capabilities.extensions or {})
        for entry in entries:
            assert entry["uri"] in {item["uri"] for item in entry["resources"]}
            for resource in entry["resources"]:
                (content,) = (await client.read_resource(resource["uri"])).contents
                read = content.text.encode()  # type: ignore[union-attr]
                assert resource["digest"] == f"sha256:{hashlib.sha256(read).hexdigest()}"
                assert resource["size"] == len(read)
