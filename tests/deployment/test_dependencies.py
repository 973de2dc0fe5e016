"""docs/contributing/dependencies.md: each package that a user installs has its facts, each other its reason."""

import re
import tomllib
from itertools import chain
from typing import Any

from packaging.requirements import Requirement

from deploy.release.lock import USED
from tests.support.paths import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FOLDER = ROOT / "docs" / "contributing"
PAGE = "".join((FOLDER / f"{name}.md").read_text("utf-8") for name in ("dependencies", "development-packages"))
FACTS = (
    *("package", "what dcf uses of it", "who maintains it", "releases a year"),
    *("wheels", "cost at start", "possible replacement"),
)


def names(texts: list[str]) -> set[str]:
    return {Requirement(text).name for text in texts} - {PROJECT["name"]}


def tables() -> list[list[list[str]]]:
    """The cells of each table of the page, its header first."""
    blocks = re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in block.splitlines()] for block in blocks
    ]


def packages(rows: list[list[str]]) -> set[str]:
    return {name.strip() for row in rows[2:] for name in re.sub(r"\(.*?\)", "", row[0]).split(",")}


def test_every_package_of_a_user_has_all_facts() -> None:
    (table,) = [rows for rows in tables() if tuple(rows[0]) == FACTS]
    used = names([*PROJECT["dependencies"], *chain(*(PROJECT["optional-dependencies"][extra] for extra in USED))])
    assert used - packages(table) == set(), "a new dependency needs its row"
    assert [row for row in table[2:] if len(row) != len(FACTS) or not all(row)] == []


def test_every_package_of_the_tests_has_a_reason() -> None:
    (table,) = [rows for rows in tables() if rows[0] == ["package", "why"]]
    every = names(list(chain(*PROJECT["optional-dependencies"].values())))
    used = names(list(chain(*(PROJECT["optional-dependencies"][extra] for extra in USED))))
    stubs = {name for name in every if name.startswith("types-")}
    assert every - used - stubs - packages(table) == set(), "a new dependency needs its row"
