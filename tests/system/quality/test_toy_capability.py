"""A capability of the tests in a copy of dcf: its folder, and one line in `dcf/features/installed.py`.

Nothing else of the copy is written by hand. `make verbs` derives its command and its method.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.paths import ROOT
from tests.support.redis.restricted import RestrictedRedis

CAPABILITIES: Final = ROOT / "tests" / "support" / "capabilities"
THERE: Final = "dcf.features.stamps"

LINE: Final = '    "stamps": ("syntax", "capability", "run_offers", "verbs"),\n'
"""The line of `dcf/features/installed.py` that adds the capability to dcf."""


def rewritten(source: Path, target: Path) -> None:
    """Copy a file of the capability, which imports itself from where it is put."""
    text = source.read_text("utf-8").replace("tests.support.capabilities.stamps", THERE)
    target.write_text(text, "utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of dcf that has the capability, with what is derived from its verb."""
    for name in ("dcf", "interfaces"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    features = tmp_path / "dcf" / "features"
    (features / "stamps").mkdir()
    for path in (CAPABILITIES / "stamps").glob("*.py"):
        rewritten(path, features / "stamps" / path.name)
    listed, place = features / "installed.py", '    "usage": '
    text = listed.read_text("utf-8")
    assert text.count(place) == 1
    listed.write_text(text.replace(place, LINE + place), "utf-8")
    rewritten(CAPABILITIES / "stamping.py", tmp_path / "stamping.py")
    python(tmp_path, "-m", "interfaces")
    return tmp_path


def python(place: Path, *arguments: str, **variables: str) -> str:
    """Run Python with the dcf of this place; return what it writes."""
    environment = {**os.environ, "PYTHONPATH": str(place), **variables}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_it_works_from_tool_command_and_client(copy: Path, server: RestrictedRedis) -> None:
    done: dict[str, Any] = json.loads(python(copy, "stamping.py", server.url))
    book = ["submitted", "stamped by rita"]
    answer = {"status": "Stamped, after 1 lines.", "lines": 1, "book": book, "is_looked": True, "next": ["B"]}
    assert done["tool"] == answer
    assert done["method"] == {"kind": "StampedOutput", "lines": 1, "next": ["B"]}
    command = ("-m", "dcf", "gates", "stamp", done["left"]["workflow_id"], "A", "rita")
    assert python(copy, *command, REDIS_URL=server.url).strip() == "Stamped, after 1 lines."
    assert "Stamp an output that waits for it" in python(copy, "-m", "dcf", "gates", "--help")
