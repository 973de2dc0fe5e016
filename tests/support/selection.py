"""Finds the tests of a file of dcf: `pytest --of=dcf/core/leasing/lease.py`, or `pytest --changed` for all changes.

The tests of `dcf/core/leasing/lease.py` are the files with `lease` in their name, and those that import the module.
For a file of `dcf/features/gates` they are `tests/features/gates`, the files with `gate` or `gates` in their name,
and those that import it. With `--of` and `--changed`, pytest looks through both tiers.
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.paths import ROOT, capability_of

_CHOSEN = pytest.StashKey[frozenset[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dcf")
    group.addoption("--of", action="append", default=[], metavar="FILE", help="Run the tests of this file of dcf.")
    group.addoption(
        "--changed",
        nargs="?",
        const="HEAD",
        metavar="REVISION",
        help="Run the tests of the files that differ from this revision (HEAD).",
    )


def pytest_configure(config: pytest.Config) -> None:
    files = [ROOT / file for file in config.getoption("--of")]
    if (revision := config.getoption("--changed")) is not None:
        files += changed_files(revision)
    if files or revision is not None:
        config.stash[_CHOSEN] = frozenset(find_tests(files))
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = [str(ROOT / "tests"), str(ROOT / "tests" / "system")]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out every file that is no test of the named ones."""
    chosen = config.stash.get(_CHOSEN, None)
    if chosen is None or not collection_path.name.startswith("test_"):
        return None
    return collection_path not in chosen or None


def changed_files(revision: str) -> list[Path]:
    """Return the files of the checkout that differ from a revision, new ones included."""
    commands = (
        ["git", "diff", "--name-only", "--diff-filter=d", revision],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    outputs = [subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True) for command in commands]
    return [ROOT / name for output in outputs for name in output.stdout.splitlines()]


def find_tests(files: Iterable[Path]) -> set[Path]:
    """Return the test files of files of dcf, and those among the files that are tests themselves."""
    files = set(files)
    tests = {path: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    chosen = files & set(tests)
    for module in files:
        if module.suffix == ".py" and module.is_relative_to(ROOT / "dcf"):
            imports = _imports(module)
            chosen |= {path for path, text in tests.items() if _has_its_name(path, module) or imports.search(text)}
    return chosen


def _has_its_name(test: Path, module: Path) -> bool:
    """Say whether a test is of a module by its name. Names of files in a capability are the same for all of them."""
    capability = capability_of(module)
    if capability_of(test) is not None:
        return capability_of(test) == capability
    if capability is None:
        return f"_{module.stem}_" in f"{test.stem}_"
    return re.search(rf"_{capability.removesuffix('s')}s?_", f"{test.stem}_") is not None


def _imports(module: Path) -> re.Pattern[str]:
    """Return what finds an import of a module."""
    *package, name = module.relative_to(ROOT).with_suffix("").parts
    parent = re.escape(".".join(package))
    whole, part = rf"(from|import) {parent}\.{name}\b", rf"from {parent} import (\([^)]*|[^(\n]*)\b{name}\b"
    return re.compile(rf"^({whole}|{part})", re.MULTILINE)
