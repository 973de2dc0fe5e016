"""Checks before a release: files agree about the version, and the shortfalls are listed."""

import shutil
from pathlib import Path

import pytest

from deploy.release import check
from tests.support.paths import ROOT
from tests.support.tables import rows

VERSION = check.project(ROOT)["version"]

FILES = (
    "pyproject.toml",
    "dcf/version.py",
    "server.json",
    "deploy/mcpb/manifest.json",
    "deploy/helm/dcf/Chart.yaml",
    "CHANGELOG.md",
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that a release compares."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_files_agree_about_the_version() -> None:
    assert check.find_disagreements(ROOT) == []


@rows("name", FILES[1:])
def test_a_file_with_another_version_stops_the_release(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("copy")
    for other in FILES:
        (place / other).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / other).read_text("utf-8")
        (place / other).write_text(text.replace(VERSION, "99.0.0") if other == name else text, "utf-8")
    assert check.find_disagreements(place) == [f"{name} does not have version {VERSION}"]


def test_what_only_a_publisher_can_give_is_listed(copy: Path) -> None:
    before = check.find_shortfalls(copy)
    assert [text.partition(":")[0] for text in before] == [
        "server.json and README.md",
        "pyproject.toml",
        "CHANGELOG.md",
    ]
    for name, old, new in (
        ("server.json", check.RESERVED, "org.publisher/"),
        ("pyproject.toml", "[project.urls]", '[project.urls]\nSource = "https://publisher.example/dcf"\n'),
        ("CHANGELOG.md", f"{VERSION} - unreleased", f"{VERSION} - 2030-01-01"),
    ):
        text = (copy / name).read_text("utf-8")
        assert old in text
        (copy / name).write_text(text.replace(old, new, 1), "utf-8")
    assert check.find_shortfalls(copy) == []
