"""Types: those of all our code, of the examples, and of what `dcf init` makes.

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
def test_every_type_is_right_also_in_examples_and_new_projects(tmp_path: Path) -> None:
    """One process checks all, since what `dcf init` makes imports a third of dcf."""
    assert init(tmp_path, "shop").exit_code == 0
    assert init(tmp_path, "letters", "--asl").exit_code == 0
    made = [tmp_path / "shop", tmp_path / "letters", *(ROOT / "examples").glob("*/")]
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["packages"]
    targets = [*(word for package in packages for word in ("-p", package))]
    targets += [word for folder in made for file in folder.glob("*.py") for word in ("-m", file.stem)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *targets],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": os.pathsep.join(map(str, made))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
