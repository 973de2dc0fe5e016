"""`dcf graph` of a file and of a run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from dcf.core.documents.model import Lease, ScopeBounds, StateDoc, Status
from dcf.runs.views.survey import current
from tests.cli.conftest import Dcf
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import catching, each, parallel, task
from tests.support.world import World

Write = Callable[..., Path]

TWO = {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Wait", "Seconds": 5, "End": True}}}
SCORES = workflow(
    {
        "Each": each({"Score": task("Keep"), "Keep": task()}, "Both", MaxConcurrency=3, ToleratedFailureCount=2),
        "Both": parallel({"Left": task()}, {"Right": task("Last"), "Last": task()}),
    }
)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(document: Any, name: str = "workflow.json") -> Path:
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document, indent=2))
        return path

    return put


@pytest.fixture
def scores(world: World) -> str:
    """A run whose Map of five has an iteration that ended, a failed iteration, and two more."""
    run = world.create(SCORES, run_input=[0, 1, 2, 3, 4])
    for index in (0, 1):
        world.do(run, f"Each/{index}/Score")
    world.do(run, "Each/0/Keep")
    world.fail(run, "Each/2/Score", world.acquire(run, "Each/2/Score"))
    world.acquire(run, "Each/3/Score")
    return run


def pictured(dcf: Dcf, run: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(dcf("graph", run, "--json").stdout)
    return document


# A file


def test_a_workflow_is_drawn_in_three_forms(dcf: Dcf, write: Write, tmp_path: Path) -> None:
    assert dcf("graph", write(TWO)).output == "A  (Task)\n  → B\nB  (Wait)\n  → end\n"
    assert dcf("graph", write(TWO), "-o", "mermaid").output.startswith("flowchart TD\n")
    target = tmp_path / "picture.svg"
    named = write({"workflow_name": "Small <b>", "asl": TWO})
    assert dcf("graph", named, "-o", "svg", "--to", target).output == ""
    assert "<title>Small &lt;b&gt;</title>" in target.read_text()


def test_a_file_is_drawn_without_redis(dcf: Dcf, write: Write) -> None:
    assert dcf("graph", write(TWO), REDIS_URL="redis://127.0.0.1:1/0").exit_code == 0


def test_a_workflow_with_problems_is_not_drawn(dcf: Dcf, write: Write, tmp_path: Path) -> None:
    broken = dcf("graph", write({"StartAt": "A", "States": {}}))
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert "invalid_definition" in broken.stderr
    assert "cannot be written" in dcf("graph", write(TWO), "--to", tmp_path).stderr
    assert dcf("graph", write(TWO), "-o", "png").exit_code == 2


def test_json_of_a_file_has_no_statuses(dcf: Dcf, write: Write) -> None:
    assert json.loads(dcf("graph", write({"workflow_name": "Small", "asl": TWO}), "--json").stdout) == {
        "workflow_id": None,
        "workflow_name": "Small",
        "status": None,
        "statuses": {},
        "maps": {},
        "left_out": 0,
    }


# A run


def test_a_run_is_drawn_with_counts_for_all_iterations_of_a_map(dcf: Dcf, scores: str) -> None:
    assert dcf("graph", scores).stdout.splitlines() == [
        "Each  (Map)  ▶ running, 2 of 5 done, 1 failed",
        "  │ each item",
        "  │   Score  (Task)  ✘ 1 failed, 1 running, 2 succeeded of 5",
        "  │     → Keep",
        "  │   Keep  (Task)  · 1 pending, 1 succeeded of 5",
        "  → Both",
        "Both  (Parallel)  · pending",
        "  │ branch 0",
        "  │   Left  (Task)",
        "  │ branch 1",
        "  │   Right  (Task)",
        "  │     → Last",
        "  │   Last  (Task)",
        "  → end",
    ]


def test_a_run_is_drawn_as_a_picture_and_as_a_chart(dcf: Dcf, scores: str) -> None:
    root = ET.fromstring(dcf("graph", scores, "-o", "svg").stdout)
    spoken = {group.get("data-state"): group.get("aria-label") for group in root.iter() if group.get("data-state")}
    assert spoken["Each/0/Score"] == "Score: 1 failed, 1 running, 2 succeeded of 5"
    assert root.get("aria-label") == f"test: {scores}, running"
    chart = dcf("graph", scores, "-o", "mermaid").stdout
    assert "1  #10004; 2 of 5" in chart
    assert ":::failed" in chart


def test_branches_of_a_parallel_show_their_own_status(dcf: Dcf, world: World) -> None:
    run = world.create(workflow({"Both": SCORES["asl"]["States"]["Both"]}))
    world.do(run, "Both/0/Left")
    world.acquire(run, "Both/1/Right")
    result = pictured(dcf, run)
    assert result["statuses"] == {"Both": "running", "Both/0/Left": "succeeded", "Both/1/Right": "running"}
    assert result["maps"] == {}
    assert "Left  (Task)  ✔ succeeded" in dcf("graph", run).stdout


def test_json_tells_the_status_of_every_state_by_its_path(dcf: Dcf, scores: str) -> None:
    result = pictured(dcf, scores)
    assert (result["workflow_id"], result["status"], result["left_out"]) == (scores, "running", 0)
    assert result["maps"] == {"Each": {"size": 5, "done": 2, "failed": 1}}
    assert result["statuses"]["Each/3/Score"] == "running"
    assert result["statuses"]["Each/2/Score"] == "failed"
    assert "Each/3/Keep" not in result["statuses"]


def test_what_an_earlier_visit_left_behind_is_not_counted(dcf: Dcf, world: World) -> None:
    both = parallel({"Left": task("More"), "More": task()}, {"Right": task()}, Catch=catching("Again"))
    run = world.create(workflow({"Both": both, "Again": {"Type": "Pass", "Next": "Both"}}))
    world.do(run, "Both/0/Left")
    world.do(run, "Both/0/More")
    world.fail(run, "Both/1/Right", world.acquire(run, "Both/1/Right"))
    assert pictured(dcf, run)["statuses"] == {
        "Both": "running",
        "Again": "succeeded",
        "Both/0/Left": "pending",
        "Both/1/Right": "pending",
    }


def test_of_a_smaller_second_visit_only_its_own_iterations_count() -> None:
    def inner(epoch: int) -> StateDoc:
        return StateDoc(status=Status.SUCCEEDED, scope_epoch=epoch)

    owner = StateDoc(status=Status.SUCCEEDED, lease=Lease(epoch=9), scope=ScopeBounds(size=2, concurrency=2))
    result = {"Each": owner, "Each/0/A": inner(5), "Each/0/B": inner(3), "Each/1/A": inner(5), "Each/2/A": inner(5)}
    assert list(current(result)) == ["Each", "Each/0/A", "Each/1/A"]


def test_a_wide_map_is_read_in_part_and_says_so(dcf: Dcf, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.create(workflow({"Each": each({"Score": task("Keep"), "Keep": task()})}), run_input=list(range(30)))
    monkeypatch.setattr("dcf.runs.views.survey.MOST", 11)
    shown = dcf("graph", run)
    result = pictured(dcf, run)
    assert result["left_out"] > 0
    assert len(result["statuses"]) <= 11
    assert result["maps"]["Each"]["size"] == 30
    assert f"a part of the run: {result['left_out']} or more states inside" in shown.stderr


def test_what_never_began_in_a_very_wide_map_is_not_looked_for(dcf: Dcf, world: World) -> None:
    run = world.create(workflow({"Each": each({"Score": task("Keep"), "Keep": task()})}), run_input=list(range(5000)))
    world.do(run, "Each/3/Score")
    world.do(run, "Each/3/Keep")
    result = pictured(dcf, run)
    assert result["left_out"] == 0
    assert result["maps"] == {"Each": {"size": 5000, "done": 1, "failed": 0}}
    assert result["statuses"]["Each/43/Score"] == "pending"
    assert sum(path.endswith("/Score") for path in result["statuses"]) == 41


# Which of them


def test_a_file_wins_over_a_run_of_the_same_name(
    dcf: Dcf, world: World, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.create(SCORES, run_input=[])
    write(TWO, run)
    monkeypatch.chdir(tmp_path)
    assert dcf("graph", run).stdout.startswith("A  (Task)\n")


def test_what_is_neither_file_nor_run_is_told_in_one_sentence(dcf: Dcf) -> None:
    finished = dcf("graph", "nobody.json")
    assert (finished.exit_code, finished.stdout) == (3, "")
    assert "There is no file and no run 'nobody.json'." in finished.stderr
    assert "`dcf ls`" in finished.stderr


@rows("name", ["no/where.json", "x" * 5000, "\x1b[31m", "[red]"])
def test_what_cannot_be_a_run_is_not_looked_up(dcf: Dcf, name: str) -> None:
    finished = dcf("graph", name, REDIS_URL="redis://127.0.0.1:1/0")
    assert (finished.exit_code, finished.stdout) == (2, "")
    assert "There is no file " in finished.stderr
    assert "\x1b" not in finished.stderr


def test_a_redis_that_is_away_does_not_hide_that_there_is_no_such_file(dcf: Dcf) -> None:
    finished = dcf("graph", "nobody.json", REDIS_URL="redis://127.0.0.1:1/0")
    assert finished.exit_code == 4
    assert "There is no file nobody.json, and no run can be read: " in finished.stderr
