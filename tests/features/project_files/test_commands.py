"""`dcf projects index`: which files of a project are indexed, and how the search finds them."""

import json
import secrets
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dcf.features.project_files import model
from dcf.features.project_files.operations import ProjectFiles
from tests.cli.conftest import Dcf


@pytest.fixture
def word() -> str:
    return f"w{secrets.token_hex(5)}"


@pytest.fixture
def project(dcf: Dcf, tmp_path: Path, word: str) -> str:
    """A project with a directory that has files of every kind."""
    for path, text in {
        "src/prices.py": f"def {word}(): ...\n",
        "docs/guide.md": f"# Guide\n\nUse {word}.\n",
        "docs/Blueprints/core.md": f"{word} is a class.\n",
        "node_modules/x.js": word,
        ".hidden/x.md": word,
        "long.txt": f"{word}\n" * 60_000,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "binary.bin").write_bytes(b"\0" + word.encode())
    (tmp_path / "link.py").symlink_to(tmp_path / "src/prices.py")
    name = f"p-{secrets.token_hex(4)}"
    assert dcf("projects", "add", name, "--path", str(tmp_path)).exit_code == 0
    return name


def index(dcf: Dcf, project: str, *options: str) -> dict[str, Any]:
    done = dcf("projects", "index", project, "--json", *options)
    assert done.exit_code == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def found(dcf: Dcf, word: str) -> dict[str, str]:
    """The results of the search, by the name of the file."""
    results = json.loads(dcf("runs", "search", word, "--limit", 50, "--json").stdout)["results"]
    return {result["title"]: result["type"] for result in results}


def test_text_files_are_indexed_and_found_by_their_kind(dcf: Dcf, project: str, word: str) -> None:
    assert index(dcf, project)["files"] == 3
    assert found(dcf, word) == {
        "src/prices.py": "code",
        "docs/guide.md": "document",
        "docs/Blueprints/core.md": "blueprint",
    }
    (hit,) = json.loads(dcf("runs", "search", word, "--type", "code", "--json").stdout)["results"]
    assert (hit["id"], hit["snippet"]) == ("src/prices.py:1", f"def {word}(): ...")


def test_an_index_replaces_the_one_before(dcf: Dcf, project: str, word: str, tmp_path: Path) -> None:
    index(dcf, project)
    assert index(dcf, project) | {"paths": []} == {
        "project": project,
        "paths": [],
        "files": 3,
        "written": 0,
        "unchanged": 3,
        "removed": 0,
        "all_files": True,
    }
    (tmp_path / "src/prices.py").write_text("def other(): ...\n")
    (tmp_path / "docs/guide.md").unlink()
    again = index(dcf, project)
    assert (again["written"], again["removed"]) == (1, 1)
    assert found(dcf, word) == {"docs/Blueprints/core.md": "blueprint"}
    index(dcf, project, "--only", "src/**")
    assert found(dcf, word) == {}


def test_of_a_worktree_only_what_git_knows_or_would_add_is_indexed(
    dcf: Dcf, project: str, word: str, tmp_path: Path
) -> None:
    (tmp_path / ".gitignore").write_text("docs/\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    assert index(dcf, project)["files"] == 2
    assert found(dcf, word) == {"src/prices.py": "code"}


def test_a_project_has_so_many_files_at_most(dcf: Dcf, project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_FILES", 2)
    done = index(dcf, project)
    assert (done["files"], done["all_files"]) == (2, False)


def test_the_files_of_a_project_go_with_it(dcf: Dcf, project: str, word: str) -> None:
    index(dcf, project)
    assert dcf("projects", "delete", project, "--yes").exit_code == 0
    assert found(dcf, word) == {}


def test_a_secret_in_a_file_is_not_kept(dcf: Dcf, project: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "src/prices.py").write_text(f"{word} = 'AKIAIOSFODNN7EXAMPLE'\n")
    index(dcf, project)
    assert "AKIAIOSFODNN7EXAMPLE" not in dcf("runs", "search", word, "--json").stdout
    assert found(dcf, "AKIAIOSFODNN7EXAMPLE") == {}


def test_a_project_without_a_directory_here_is_told_how_to_name_one(dcf: Dcf, tmp_path: Path) -> None:
    name = f"p-{secrets.token_hex(4)}"
    dcf("projects", "add", name, "--path", "elsewhere=/srv/shop")
    refused = dcf("projects", "index", name)
    assert refused.exit_code == 2
    assert "--path" in refused.stderr
    assert dcf("projects", "index", name, "--path", tmp_path).exit_code == 0
    assert dcf("projects", "index", name, "--path", tmp_path / "missing").exit_code == 2


def test_a_refused_index_is_recorded_with_the_code_of_its_refusal(
    dcf: Dcf, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProjectFiles.__init__, "__kwdefaults__", {"wait_replicas": 0, "most": 0})
    refused = dcf("projects", "index", project)
    assert (refused.exit_code, "too_many_pieces" in refused.stderr) == (1, True)
    (entry, *_) = json.loads(dcf("store", "audit", "--type", "index_project_files", "--json").stdout)
    assert (entry["about"], entry["outcome"]) == ({"project": project}, "too_many_pieces")
