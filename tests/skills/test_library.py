"""One resolver: whatever a skill is called, and no file outside the directory."""

import json
from pathlib import Path

import pytest

from dcf.errors import InvalidArgument, InvalidDefinition, SkillUnknown
from dcf.skills.library import Library, imported_manifests
from dcf.skills.listing import list_catalog, list_directory
from dcf.workflows.validation import validate_document
from tests.support.agents.skill_manifests import manifest
from tests.support.tables import rows

CHECK = manifest("Check.Order", skillPackageId="pkg-7")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "manifests"
    place.mkdir()
    (place / "check.json").write_text(json.dumps(CHECK))
    (place / "two.json").write_text(json.dumps({"skills": [manifest("a"), manifest("b")]}))
    (place / "broken.json").write_text("{")
    (place / "notes.txt").write_text("no manifest")
    (tmp_path / "secret.json").write_text(json.dumps(manifest("secret")))
    return place


@pytest.fixture
def library(directory: Path) -> Library:
    return Library(directory=directory)


NAMES = [
    "skill://Check.Order@1.0.0",
    "skill://check.order@1.0.0",
    "Check.Order@1.0.0",
    "CHECK.order@1.0.0",
    "skill.Check.Order@1.0.0",
    "pkg-7",
    "skill://pkg-7@1.0.0",
    "check.json",
    "./check.json",
    json.dumps(CHECK),
]


@rows("reference", NAMES)
def test_a_skill_is_found_by_every_name_it_goes_by(library: Library, reference: str) -> None:
    """D-62: skill:// was taken for a path."""
    assert library.resolve(reference).manifest_id == "skill.Check.Order@1.0.0"


def test_a_skill_is_found_by_a_file_uri_and_as_an_object(library: Library, directory: Path) -> None:
    assert library.resolve(f"file://{directory}/check.json").name == "Check.Order"
    assert library.resolve(CHECK).name == "Check.Order"


def test_a_skill_is_found_by_its_path_from_here(
    library: Library, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """csv_to_manifests answers paths like generated/manifests/NAME.json."""
    monkeypatch.chdir(directory.parent)
    assert library.resolve("manifests/check.json").name == "Check.Order"
    for elsewhere in ("secret.json", "manifests/../secret.json"):
        with pytest.raises(InvalidArgument, match="no such file"):
            library.resolve(elsewhere)


@rows("reference", NAMES[:7])
def test_validation_and_loading_understand_the_same_names(directory: Path, reference: str) -> None:
    binding = {"agent_ref": {"name": "w"}, "skills": [reference]}
    document = {
        "workflow_id": "w", "workflow_name": "W", "version": "1.0.0",
        "skill_imports": [{"uri": "check.json"}],
        "agents": [{"agent_name": "w", "agent_ref": {"name": "w"}}],
        "asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "AgentBinding": binding, "End": True}}},
    }  # fmt: skip
    verdict = validate_document(document, imports_base_dir=directory, skills_base_dir=directory)
    assert verdict.resolution["unresolved_skill_ids"] == []


@rows("name", ["skill://nothing@1.0.0", "nothing@1.0.0", "nothing"])
def test_an_unknown_name_says_where_to_look(library: Library, name: str) -> None:
    with pytest.raises(SkillUnknown) as refused:
        library.resolve(name)
    assert name in refused.value.message
    assert "get_skillset" in refused.value.hint


@pytest.mark.parametrize(
    "path",
    ["../secret.json", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "file://host/x.json", "link.json",
     "sub/../../secret.json", "http://169.254.169.254/x.json", "two.json", "broken.json", "missing.json", "\x00.json"],
)  # fmt: skip
def test_a_file_outside_or_unusable_is_refused_and_nothing_of_it_told(
    library: Library, directory: Path, path: str
) -> None:
    """D-104: any file could be read, and its beginning leaked through error texts."""
    (directory / "link.json").symlink_to(directory.parent / "secret.json")
    with pytest.raises(InvalidArgument) as refused:
        library.resolve(path)
    assert str(directory) not in refused.value.message + refused.value.hint
    assert "secret" not in refused.value.message
    assert "root:" not in refused.value.message


def test_a_symlink_that_leads_out_is_no_manifest_of_the_directory(library: Library, directory: Path) -> None:
    (directory / "link.json").symlink_to(directory.parent / "secret.json")
    with pytest.raises(SkillUnknown):
        library.resolve("skill://secret@1.0.0")


def test_a_manifest_that_changed_is_read_again(library: Library, directory: Path) -> None:
    library.resolve("skill://Check.Order@1.0.0")
    (directory / "check.json").write_text(json.dumps(manifest("Check.Order", "1.0.1")))
    assert library.resolve("skill://Check.Order@1.0.1").version == "1.0.1"
    with pytest.raises(SkillUnknown):
        library.resolve("skill://Check.Order@1.0.0")


def test_an_invalid_manifest_is_not_loaded(library: Library, directory: Path) -> None:
    (directory / "bad.json").write_text(json.dumps(manifest("bad", surplus=1)))
    with pytest.raises(InvalidDefinition):
        library.resolve("skill://bad@1.0.0")


def test_a_workflow_s_own_imports_come_first(library: Library, directory: Path) -> None:
    (directory / "own.json").write_text(json.dumps(manifest("Check.Order", description="the workflow's own")))
    imports = imported_manifests({"skill_imports": [{"uri": "own.json"}, {"uri": "gone.json"}, 7]}, directory)
    assert library.resolve("Check.Order@1.0.0", imports).description == "the workflow's own"


def test_without_a_directory_nothing_is_found(tmp_path: Path) -> None:
    with pytest.raises(SkillUnknown):
        Library(directory=tmp_path / "none").resolve("skill://a@1.0.0")
    with pytest.raises(InvalidArgument, match="cannot be read"):
        Library(directory=tmp_path / "none").entries()


# Listing


def test_the_listing_has_an_item_for_every_manifest_and_every_broken_file(library: Library) -> None:
    items = list_directory(library, None, 10).items
    assert [item["skillName"] for item in items] == [None, "a", "b", "Check.Order"]
    broken, result = items[0], items[3]
    assert (broken["path"], broken["valid_schema"]) == ("broken.json", False)
    assert broken["errors"] == ["ManifestLoadError: The file is not valid JSON."]
    assert set(result) == {
        "manifestId", "skillPackageId", "skillName", "skillVersion", "manifestApiVersion", "aliases", "description",
        "tags", "permissions", "toolNames", "toolCount", "dataSourceCount", "directives_preview", "path",
        "valid_schema", "errors", "warnings",
    }  # fmt: skip
    assert result["aliases"][0] == "skill.Check.Order@1.0.0"
    assert {"Check.Order@1.0.0", "skill://Check.Order@1.0.0", "skill://pkg-7@1.0.0"} <= set(result["aliases"])
    assert result["directives_preview"] == "Use Check.\N{HORIZONTAL ELLIPSIS}"
    assert (result["toolNames"], result["toolCount"], result["dataSourceCount"]) == (["verify"], 1, 1)
    assert result["permissions"] == {"egress": "none", "secrets": []}


def test_previews_may_be_left_out(library: Library) -> None:
    assert {item["directives_preview"] for item in list_directory(library, None, None).items} == {None}


def test_a_manifest_with_problems_is_listed_with_them(directory: Path) -> None:
    (directory / "bad.json").write_text(json.dumps({"manifestId": "x", "requiredTools": 7}))
    items = list_directory(Library(directory=directory), None, 10).items
    (bad,) = [item for item in items if item["manifestId"] == "x"]
    assert bad["errors"][0] == "Missing required fields: skillName, skillVersion"
    assert (bad["valid_schema"], bad["aliases"]) == (False, [])


def test_a_catalogue_lists_what_it_names(directory: Path, tmp_path: Path) -> None:
    catalog = tmp_path / "catalogs" / "skills.json"
    catalog.parent.mkdir()
    entries = [{"path": f"{directory}/check.json"}, {"path": "../secret.json"}, {"path": "/etc/passwd"}, {}, 7]
    catalog.write_text(json.dumps({"skills": entries}))
    skillset = list_catalog(catalog, directory, None, 10)
    assert [item["skillName"] for item in skillset.items] == [None, None, "Check.Order"]
    assert len(skillset.warnings) == 2
    catalog.write_text("{}")
    with pytest.raises(InvalidArgument, match="Catalog missing 'skills' array"):
        list_catalog(catalog, directory, None, 10)
    with pytest.raises(InvalidArgument, match="no such file"):
        list_catalog(tmp_path / "none.json", directory, None, 10)
