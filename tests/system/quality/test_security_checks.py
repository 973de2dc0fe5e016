"""Rules of our own (semgrep) find nothing in dcf, and each rule, as ruff, is seen to find a planted fault.

semgrep pins another mcp than ours, so it lives in an environment of its own in pytest's cache; made once, a minute.
"""

import json
import re
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.support.exclusion import one_at_a_time
from tests.support.paths import ROOT
from tests.system.quality.test_checks import BIN

RULES = Path(__file__).parent / "semgrep" / "rules.yml"
PLANTED = Path(__file__).parent / "semgrep" / "planted.txt"
SEMGREP = "semgrep==1.182.0"

Finding = tuple[int, str]

pytestmark = pytest.mark.timeout(1800)


def test_ruff_finds_dangerous_calls(tmp_path: Path) -> None:
    """That it finds none in dcf is one of the checks."""
    (tmp_path / "planted.py").write_text(
        "import pickle, subprocess\nsubprocess.run('x', shell=True)\npickle.loads(b'')"
    )
    command: list[str | Path] = [BIN / "ruff", "check", "--no-cache", "--config", "pyproject.toml", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert {"S602", "S301"} <= set(re.findall(r"^(S\d+)", done.stdout, re.MULTILINE))


def test_what_is_let_pass_says_why() -> None:
    lines = [line for path in (ROOT / "dcf").rglob("*.py") for line in path.read_text("utf-8").splitlines()]
    silenced = [line for line in lines if re.search(r"# (nosemgrep|noqa: S\d)", line)]
    assert silenced
    assert [line for line in silenced if not re.search(r"# (nosemgrep: [\w-]+|noqa: S\d+) - .{10}", line)] == []


@pytest.fixture(scope="module")
def semgrep(request: pytest.FixtureRequest) -> Path:
    """The directory of its commands, and no analysis, update or rule of others."""
    cache: pytest.Cache = request.config.cache
    place = cache.mkdir(SEMGREP.replace("==", "-"))
    with one_at_a_time(place / "lock"):
        if not (place / "complete").exists():
            venv.create(place / "env", clear=True, with_pip=True)
            install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", SEMGREP]
            subprocess.run([place / "env/bin/python", *install], check=True, timeout=600)
            (place / "complete").touch()
    return place / "env/bin"


@pytest.fixture(scope="module")
def found(semgrep: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Finding]]:
    """The findings of the rules, by file: in dcf, and in the planted file at a tool's place."""
    place = tmp_path_factory.mktemp("planted")
    (place / "dcf/tools").mkdir(parents=True)
    planted = place / "dcf/tools/planted.py"
    planted.write_text(PLANTED.read_text("utf-8"))
    options = ["--metrics=off", "--disable-version-check", "--quiet", "--json", "--no-git-ignore", "--jobs=1"]
    command: list[str | Path] = [semgrep / "semgrep", "scan", *options, "--config", RULES, ROOT / "dcf", planted]
    environment = {"PATH": f"{semgrep}:/usr/bin:/bin", "HOME": str(place)}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["errors"] == []
    assert len(report["paths"]["scanned"]) > len(list((ROOT / "dcf").rglob("*.py"))) * 0.9
    results: dict[str, set[Finding]] = {}
    for result in report["results"]:
        path = Path(result["path"])
        name = "planted" if path.name == planted.name else str((place / path).resolve().relative_to(ROOT))
        results.setdefault(name, set()).add((result["start"]["line"], result["check_id"].rpartition(".")[2]))
    return results


def test_our_own_rules_find_nothing(found: dict[str, set[Finding]]) -> None:
    assert {name: sorted(lines) for name, lines in found.items() if name != "planted"} == {}


def test_every_planted_fault_is_found_and_nothing_else(found: dict[str, set[Finding]]) -> None:
    lines = enumerate(PLANTED.read_text("utf-8").splitlines(), start=1)
    expected = {(number, line.partition("# finds: ")[2]) for number, line in lines if "  # finds: " in line}
    assert sorted(found["planted"] ^ expected) == []


def test_every_rule_has_a_planted_fault() -> None:
    rules = set(re.findall(r"^  - id: (\S+)$", RULES.read_text("utf-8"), re.MULTILINE))
    planted = set(re.findall(r"  # finds: (\S+)$", PLANTED.read_text("utf-8"), re.MULTILINE))
    assert len(rules) == 11
    assert rules == planted
