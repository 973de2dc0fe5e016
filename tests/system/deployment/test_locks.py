"""The lock files are what `make lock` writes: nothing in pyproject.toml has changed since, on any platform."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.release.lock import LOCKS
from tests.deployment.locks import read
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lock files, written again in a copy of the project; the versions that they name are kept."""
    place = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "requirements", place / "requirements")
    (place / "deploy" / "release").mkdir(parents=True)
    for name in ("pyproject.toml", "deploy/release/lock.py"):
        shutil.copy(ROOT / name, place / name)
    command: list[str | Path] = [sys.executable, place / "deploy" / "release" / "lock.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    if done.returncode and "error sending request" in done.stderr and os.environ.get("CI") != "true":
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    return place / "requirements"


@pytest.mark.parametrize("name", [lock.name for lock in LOCKS])
def test_a_lock_is_what_resolving_gives(again: Path, name: str) -> None:
    """But for hashes: a release may get files for further platforms at any time."""
    renewed, locked = (
        {str(pin.requirement) for pin in read(place / f"{name}.txt")} for place in (again, ROOT / "requirements")
    )
    assert renewed == locked, "run `make lock`"
