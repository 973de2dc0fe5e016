"""The tests' tree follows that of the package, and no folder of it is too large to look through."""

from collections import Counter
from pathlib import Path
from typing import Final

from tests.support.paths import ROOT

TESTS: Final = ROOT / "tests"
MOST_FILES: Final = 20
MOST_PARTS: Final = 4
"""Of the path of a module below `tests/`."""
FOLLOWING: Final = ("asl", "core", "features", "runs", "store")
WITHOUT_TWIN: Final = {
    "runs": {"lifecycle": "by operators", "scopes": "Parallel and Map", "whole": "runs from start to end"},
    "store": {"durability": "what stays when servers and memory fail"},
}
"""Folders of tests by a topic that has no folder in the package."""


def folders(place: Path) -> set[str]:
    return {path.parent.relative_to(place).parts[0] for path in place.glob("*/*.py")}


def test_every_capability_has_its_folder_of_tests_and_every_folder_its_capability() -> None:
    capabilities = folders(ROOT / "dcf" / "features")
    assert len(capabilities) > 20
    assert folders(TESTS / "features") == capabilities
    assert [name for name in sorted(capabilities) if not any((TESTS / "features" / name).glob("test_*.py"))] == []


def test_folders_of_tests_of_the_engine_are_those_of_the_package() -> None:
    strange = {
        f"{layer}/{name}"
        for layer in FOLLOWING
        for name in folders(TESTS / layer) - folders(ROOT / "dcf" / layer) - set(WITHOUT_TWIN.get(layer, {}))
    }
    assert strange == set()


def test_no_folder_has_more_than_twenty_files() -> None:
    files = Counter(str(path.parent.relative_to(TESTS)) for path in TESTS.rglob("*.py"))
    assert {folder: count for folder, count in files.items() if count > MOST_FILES} == {}


def test_no_path_is_deeper_than_four_parts() -> None:
    paths = [path.relative_to(TESTS) for path in TESTS.rglob("*.py")]
    assert [str(path) for path in paths if len(path.parts) > MOST_PARTS] == []
