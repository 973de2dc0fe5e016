"""Files and names of code on the pages for contributors exist, and each invariant names a test."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.paths import ROOT
from tests.support.tables import rows

ARCHITECTURE: Final = "ARCHITECTURE.md"
_ABOUT_CODE: Final = ("docs/contributing", "docs/decisions")
PAGES: Final = [
    ARCHITECTURE,
    *(str(page.relative_to(ROOT)) for top in _ABOUT_CODE for page in sorted((ROOT / top).rglob("*.md"))),
]
MOST_WORDS: Final = 1500
_SPAN: Final = re.compile(r"`([^`\s<>*…:]+(?:/|\.py))(?:: ([\w., ]+))?`")
_TOPS: Final = ("dcf", "tests", "lab", "benchmarks", "deploy", "interfaces")
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def spans(text: str) -> Iterator[tuple[str, list[str]]]:
    """The files and folders of a page, with the names of code that it puts behind them."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for path, names in _SPAN.findall(prose):
        yield path, [name.strip() for name in names.split(",") if name.strip()]


@cache
def files_by_name() -> dict[str, list[Path]]:
    """All files of the project by their last part."""
    files: dict[str, list[Path]] = {}
    for top in _TOPS:
        for path in (ROOT / top).rglob("*.py"):
            files.setdefault(path.name, []).append(path)
    return files


def places(path: str) -> list[Path]:
    """Where a file or folder may be: below the project or the package; a name without folder anywhere."""
    known = [root / path for root in (ROOT, ROOT / "dcf") if (root / path).exists()]
    return known or (files_by_name().get(path, []) if "/" not in path else [])


@cache
def names_in(path: Path) -> frozenset[str]:
    """The functions, classes and constants of a module, and the members of classes as `Class.member`."""
    return frozenset(_names(ast.parse(path.read_text("utf-8")).body, ""))


def _names(body: list[ast.stmt], owner: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, Named):
            yield f"{owner}{node.name}"
        if isinstance(node, ast.ClassDef):
            yield from _names(node.body, f"{node.name}.")
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (f"{owner}{target.id}" for target in targets if isinstance(target, ast.Name))


def problems(text: str) -> list[str]:
    """The names on a page that do not exist."""
    wrong = []
    for path, names in spans(text):
        known = places(path)
        if not known:
            wrong.append(path)
        wrong += [f"{path}: {name}" for name in names if known and not any(name in names_in(file) for file in known)]
    return wrong


@rows("page", PAGES)
def test_every_file_and_name_of_code_on_a_page_exists(page: str) -> None:
    assert problems((ROOT / page).read_text("utf-8")) == []


def test_a_file_and_a_name_that_do_not_exist_are_found() -> None:
    text = (
        "`core/leasing/lease.py: acquire`, `core/leasing/lease.py: aquire`, `core/lease.py`, `core/none/`, `lease.py`"
    )
    assert problems(text) == ["core/leasing/lease.py: aquire", "core/lease.py", "core/none/"]
    assert problems("`runs/limiting.py: LeaseLimits.acquire, LeaseLimits.none`") == [
        "runs/limiting.py: LeaseLimits.none"
    ]


def test_each_invariant_names_a_test() -> None:
    table = (ROOT / ARCHITECTURE).read_text("utf-8").split("## The invariants")[1].split("\n## ")[0]
    invariants = re.findall(r"^\| (\d+) \|.*$", table, re.MULTILINE)
    named = re.findall(r"^\| \d+ \|.*`tests/\S+\.py: test_\w+` \|$", table, re.MULTILINE)
    assert [int(number) for number in invariants] == list(range(1, len(invariants) + 1))
    assert len(named) == len(invariants) >= 8


def test_the_page_of_the_architecture_is_short() -> None:
    assert len((ROOT / ARCHITECTURE).read_text("utf-8").split()) <= MOST_WORDS
