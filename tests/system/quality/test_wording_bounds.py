"""How many places are hard to read, by folder: never more than `deploy/wording/bounds.toml` says."""

import tomllib
from pathlib import Path
from typing import Final

from deploy.wording.counting import rate
from tests.support.paths import ROOT
from tests.support.tables import rows

_TABLE: Final = tomllib.loads((ROOT / "deploy" / "wording" / "bounds.toml").read_text("utf-8"))
BOUNDS: Final[dict[str, float]] = _TABLE["places"]
AIMS: Final[dict[str, float]] = _TABLE["aims"]
_SPLIT: Final = ("dcf", "tests")
"""Folders whose own folders have a bound each."""


def folders() -> list[str]:
    """Every folder and page with prose of the project."""
    tops = ("agents", "benchmarks", "deploy", "docs", "examples", "interfaces", "lab", "skills_src", "workflows")
    inner = [f"{top}/{path.name}" for top in _SPLIT for path in sorted((ROOT / top).iterdir()) if _has_text(path)]
    return [*(page.name for page in sorted(ROOT.glob("*.md"))), *tops, *inner]


def _has_text(path: Path) -> bool:
    return path.is_dir() and path.name != "__pycache__"


@rows("folder", folders())
def test_a_folder_has_no_more_hard_places_than_its_bound(folder: str) -> None:
    aim = AIMS["documentation" if folder in {"README.md", "docs"} else "elsewhere"]
    measured, bound = rate(ROOT / folder), BOUNDS.get(folder, aim)
    assert measured <= bound, (
        f"{measured:.1f} hard places per 1,000 lines, at most {bound}. See them: python -m deploy.wording {folder}"
    )


def test_each_bound_is_of_a_folder_that_exists() -> None:
    assert sorted(set(BOUNDS) - set(folders())) == []
