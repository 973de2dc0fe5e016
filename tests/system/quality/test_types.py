"""Types: those of all our code, and of what `dcf init` makes.

mypy keeps its cache in `.mypy_cache`, as `make check` does: only a machine that has none checks every module.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.system.dcf_run.test_init import init


@pytest.mark.timeout(1200)
def test_every_type_is_right_also_in_what_init_makes(tmp_path: Path) -> None:
    """One process checks both, since what `dcf init` makes imports a third of dcf."""
    assert init(tmp_path, "letters").exit_code == 0
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["packages"]
    targets = [*(word for package in packages for word in ("-p", package)), "-m", "letters"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *targets],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(tmp_path / "letters")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
