"""The checks of `make check`, but for mypy: `test_types.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

BIN = Path(sys.executable).parent

CHECKS = {
    "ruff finds nothing to complain about": [BIN / "ruff", "check", "--no-cache", "."],
    "the code is formatted": [BIN / "ruff", "format", "--no-cache", "--check", "."],
    "editors see the types of the public API": [BIN / "pyright", "-p", "tests/python", "--pythonpath", sys.executable],
    "imports go downwards only": [BIN / "lint-imports", "--no-cache"],
}


@pytest.mark.parametrize("command", CHECKS.values(), ids=CHECKS)
def test_the_code_keeps_its_rules(command: list[Path | str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
