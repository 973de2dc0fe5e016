"""`dcf run` of a Map and a Parallel: on a terminal, and with two copies of a worker."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Dcf
from tests.support.terminal import on_a_terminal
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import each, parallel, task

STATES = {
    "List": task("Each"),
    "Each": each({"Score": task()}, "Both", MaxConcurrency=2),
    "Both": parallel({"Mean": task()}, {"Best": task()}),
}
FUNCTIONS = """
import pathlib, time
from dcf.worker import task

GO = pathlib.Path(__file__).with_name("go")


@task("List")
def items(given):
    return [3, 1, 2]


@task("Score")
def score(given):
    while given == 1 and not GO.exists():
        time.sleep(0.01)
    return given * 10


@task("Mean")
def mean(given):
    return sum(given) / len(given)


@task("Best")
def best(given):
    return max(given)
"""


TOGETHER = """
import os, pathlib, time
from dcf.worker import task

PLACE = pathlib.Path(__file__).parent


@task("Score")
def score(given):
    (PLACE / f"here-{os.getpid()}").touch()
    while len(list(PLACE.glob("here-*"))) < 2:
        time.sleep(0.01)
    return given
"""


@pytest.mark.processes
def test_copies_of_a_worker_share_the_iterations_of_a_map(tmp_path: Path, dcf: Dcf) -> None:
    """Each iteration waits until two processes are at work, which one alone would never see."""
    (tmp_path / "wide.json").write_text(json.dumps(workflow({"Each": each({"Score": task()})})))
    (tmp_path / "input.json").write_text(json.dumps(list(range(20))))
    (tmp_path / "wide.py").write_text(TOGETHER)
    command = ("run", str(tmp_path / "wide.json"), "--input", str(tmp_path / "input.json"), "--copies", "2", "--json")
    document = json.loads(dcf(*command).stdout)
    assert (document["status"], document["output"]) == ("succeeded", list(range(20)))
    assert len(list(tmp_path.glob("here-*"))) == 2


def test_a_run_with_a_map_and_a_parallel_of_python_functions(
    tmp_path: Path, dcf: Dcf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is open inside is seen while it is, and only there: the end shows the workflow's own states."""
    (tmp_path / "scores.json").write_text(json.dumps(workflow(STATES)))
    (tmp_path / "scores.py").write_text(FUNCTIONS)
    command = (sys.executable, "-m", "dcf", "run", str(tmp_path / "scores.json"), "--id", f"r-{tmp_path.name}")
    with on_a_terminal(*command) as terminal:
        live = terminal.until(r"1 Score +▶ running.+held by")
        (tmp_path / "go").touch()
        end = terminal.until(r"dcf runs events r-")
    assert re.search(r"Each +▶ running +\d+ s +(waits for 3 iterations|\d of 3 iterations done)", live)
    final = end[end.rindex("✔ succeeded  r-") :]
    assert re.search(r"Each +✔ succeeded +\S+ \S+ +3 iterations", final)
    assert re.search(r"Both +✔ succeeded +\S+ \S+ +2 branches", final)
    assert "Score" not in final
    assert json.loads(final[final.index("\n[") : final.index("]") + 1]) == [20.0, 30]
