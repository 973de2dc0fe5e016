"""A capability of the tests in a copy of dcf: its folder, and its rows in the modules that install capabilities.

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

ROWS: Final = {
    "installed.py": {
        "from dcf.features.usage.capability": f"from {THERE}.capability import STAMPS\n",
        "    USAGE,\n": "    STAMPS,\n",
    },
    "installed_language.py": {
        "from dcf.features.people.syntax": f"from {THERE}.syntax import FIELD as STAMP\n",
        "GATES,)": "STAMP, ",
    },
    "installed_runs.py": {
        "from dcf.features.usage.storage": f"from {THERE} import operations, storage\n",
        "QUESTIONS, *GROWING": "storage.ROW, ",
        "refreshing, settling": "operations.counting, ",
    },
    "verb_modules.py": {
        "from dcf.features.task_log import": f"from {THERE} import verbs as stamps\n",
        '    "task_log": ': '    "stamps": (stamps,),\n',
    },
}
"""What is written in which module of `dcf/features`, each before a text of it."""


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
    for name, rows in ROWS.items():
        text = (features / name).read_text("utf-8")
        for place, row in rows.items():
            assert text.count(place) == 1, f"{name}: {place}"
            text = text.replace(place, row + place)
        (features / name).write_text(text, "utf-8")
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
