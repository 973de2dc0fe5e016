"""What is seen of a run while Parallel and Map are open: `dcf show`, `dcf ls`, and `dcf run` on a terminal."""

import json
import re
from typing import Any

import pytest

from dcf.cli.running.live_progress import LiveProgress
from tests.cli.conftest import Dcf
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import each, parallel, retrying, task
from tests.support.world import World

PAUSE = {"Pause": {"Type": "Wait", "Seconds": 3600, "End": True}}
STATES = {
    "List": task("Each"),
    "Each": each({"Score": task()}, "Both", MaxConcurrency=2),
    "Both": parallel({"Mean": task()}, {"Best": task()}),
}


def rows_of(shown: str) -> list[str]:
    """The lines of the table of states, blanks squeezed but for those at the beginning, without the time taken."""
    lines = shown.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("state"))
    table = [line for line in lines[start + 1 :] if re.match(r" *\S+( \S+)? +[·▶✔✘◼-] | +and \d+ more", line)]
    squeezed = [" " * (len(line) - len(line.lstrip())) + " ".join(line.split()) for line in table]
    return [re.sub(r"(running|succeeded)( \d+)? [\d.]+ m?s\b", r"\1\2", line) for line in squeezed]


def document(dcf: Dcf, run: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(dcf("show", run, "--json").stdout)
    return document


# show


def test_open_iterations_stand_below_their_map_and_the_map_has_counts(dcf: Dcf, world: World) -> None:
    run = world.create(workflow({"Each": each({"Score": task()}, "After"), "After": task()}), run_input=[0, 1, 2, 3])
    world.do(run, "Each/0/Score")
    world.acquire(run, "Each/2/Score", "agent-1")
    table = rows_of(dcf("show", run).stdout)
    assert table[0].startswith("Each ▶ running 1 of 4 iterations done; waits for the other 3")
    assert table[1] == "  1 Score · pending 0 not started yet; for any agent"
    assert table[2].startswith("  2 Score ▶ running 1 held by agent-1")
    assert table[3:] == ["  3 Score · pending 0 not started yet; for any agent", "After · pending 0 waits for Each"]


def test_a_wide_map_shows_ten_iterations_and_counts_the_others(dcf: Dcf, world: World) -> None:
    run = world.create(workflow({"Each": each({"Score": task()})}), run_input=list(range(40)))
    table = rows_of(dcf("show", run).stdout)
    assert len(table) == 12
    assert table[-2].startswith("  9 Score")
    assert table[-1] == "  and 30 more"
    result = document(dcf, run)
    assert len(result["states"]) == 41
    assert result["more"] == {}
    assert result["states"]["Each"]["tally"] == {"done": 0, "failed": 0}
    assert result["states"]["Each"]["scope"]["size"] == 40
    assert result["states"]["Each/39/Score"]["ready"] is True


def test_a_wait_says_until_when_and_a_retried_scope_when_it_is_tried_again(dcf: Dcf, world: World) -> None:
    both = parallel({"Bad": task()}, {"Good": task()}, Retry=retrying("Broken", BackoffRate=1))
    both["Retry"][0]["IntervalSeconds"] = 600
    run = world.create(workflow({"Way": parallel(PAUSE, {"Retried": both})}))
    inner = "Way/1/Retried"
    table = rows_of(dcf("show", run).stdout)
    assert table[0] == "Way ▶ running waits for 2 branches"
    assert re.fullmatch(r"  0 Pause ▶ running waits until (\S+ )?\S+ UTC, in (1 h 0 min|59 min \d+ s)", table[1])
    assert table[2] == "  1 Retried ▶ running waits for 2 branches"
    assert table[3:5] == [f"    {at} · pending 0 not started yet; for any agent" for at in ("0 Bad", "1 Good")]
    world.fail(run, f"{inner}/0/Bad", world.acquire(run, f"{inner}/0/Bad"))
    (line,) = (line for line in rows_of(dcf("show", run).stdout) if "Retried" in line)
    assert re.search(r"pending is tried again in (10 min 0 s|9 min \d+ s): Broken: why$", line)


def test_a_run_without_anything_open_inside_has_only_its_own_states(dcf: Dcf, world: World) -> None:
    run = world.create(workflow({"Each": each({"Score": task()})}), run_input=[0])
    world.do(run, "Each/0/Score")
    assert rows_of(dcf("show", run).stdout) == ["Each ✔ succeeded 1 iteration"]
    assert list(document(dcf, run)["states"]) == ["Each"]


@rows("left", ["Each/0/Score", "Each/7/Gone", "Each/x/Score", "strange"])
def test_what_the_clock_still_lists_by_mistake_is_not_shown(dcf: Dcf, world: World, left: str) -> None:
    run = world.create(workflow({"Each": each({"Score": task()}, "After"), "After": task()}), run_input=[0])
    world.do(run, "Each/0/Score")
    world.make_due(run, left)
    assert list(document(dcf, run)["states"]) == ["Each", "After"]
    assert dcf("graph", run).exit_code == 0


# ls


def test_a_list_counts_the_states_of_the_workflow_only(dcf: Dcf, world: World) -> None:
    run = world.create(workflow(STATES))
    world.do(run, "List", output=[0, 1, 2])
    (row,) = json.loads(dcf("ls", "--json", "--limit", 1).stdout)
    assert (row["workflow_id"], row["states_done"], row["states"]) == (run, 1, 3)


# run


def test_lines_tell_every_tenth_of_a_wide_map(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveProgress(quiet=True) as tell:
        for done in range(1000):
            doc = {"status": "running", "attempts": 0, "type": "Map", "scope": {"size": 1000}}
            nested = {f"Each/{done}/Score": {"status": "running", "attempts": 1}}
            states = {"Each": doc | {"tally": {"done": done, "failed": 0}}} | nested
            tell({"meta": {"workflow_id": "r", "status": "running"}, "states": states, "more": {}})
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "dcf: run r: 1 state"
    assert len(lines) == 11
    assert lines[-1] == "dcf: Each: running, 900 of 1000 iterations done; waits for the other 100"
