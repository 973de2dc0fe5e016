"""`dcf runs timeline`, and what `dcf runs export -o` makes of a run: on Redis, and of a file without it."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from dcf.cli.reading.timelines import bars
from dcf.workflows.drawing.timeline import Phase, Segment, StateTimes, Timeline
from tests.cli.conftest import Dcf
from tests.features.diagnosis.test_operations import started
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import task
from tests.support.world import World
from tests.web.run_stories import let_a_moment_pass

NOWHERE = "redis://127.0.0.1:1"


@pytest.fixture
def run(world: World) -> str:
    """A run whose first state was tried, lost and taken over, and whose second is worked on."""
    states = {"First": task("Second"), "Second": task()}
    run = started(world, workflow(states), agents={"First": "ann", "Second": "bob"})
    world.acquire(run, "First", "ann")
    world.expire_lease(run, "First")
    let_a_moment_pass(world)
    token = world.acquire(run, "First", "ann")
    let_a_moment_pass(world)
    world.complete(run, "First", token, {})
    world.acquire(run, "Second", "bob")
    return run


def phases(document: dict[str, list[dict[str, list[dict[str, str]]]]], at: int) -> list[str]:
    return [segment["phase"] for segment in document["states"][at]["segments"]]


def test_a_run_that_is_worked_on_shows_takeovers_and_what_lasts(dcf: Dcf, run: str) -> None:
    document = json.loads(dcf("runs", "timeline", run, "--json").stdout)
    assert [row["state"] for row in document["states"]] == ["First", "Second"]
    assert [row["outcome"] for row in document["states"]] == ["succeeded", None]
    assert document["end"] is None
    first = [segment for segment in document["states"][0]["segments"] if segment["phase"] == "working"]
    assert [first_told["outcome"] for first_told in first] == ["lost_lease", "succeeded"]
    assert phases(document, 0)[-2:] == ["lost_lease", "working"]
    assert (document["states"][1]["segments"][-1]["agent"], document["states"][1]["segments"][-1]["end"]) == (
        "bob",
        None,
    )


def test_a_retried_state_backs_off_and_a_resolved_one_is_over(dcf: Dcf, world: World) -> None:
    again = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 3600, "MaxAttempts": 2}]
    run = started(world, workflow({"Only": task(Retry=again)}), agents={"Only": "ann"})
    token = world.acquire(run, "Only", "ann")
    world.fail(run, "Only", token)
    document = json.loads(dcf("runs", "timeline", run, "--json").stdout)
    assert phases(document, 0)[-2:] == ["working", "backing_off"]
    assert dcf("states", "resolve", run, "Only", "--output", "{}", "--yes").exit_code == 0
    document = json.loads(dcf("runs", "timeline", run, "--json").stdout)
    assert (phases(document, 0)[-1], document["states"][0]["outcome"]) == ("backing_off", "succeeded")
    assert document["end"] is not None


def test_a_pipe_gets_a_line_for_each_segment_and_a_file_the_same(dcf: Dcf, run: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    dcf("runs", "export", run, "--to", file)
    lines = dcf("runs", "timeline", run).stdout
    assert dcf("runs", "timeline", "--file", file, REDIS_URL=NOWHERE).stdout == lines
    last = lines.splitlines()[-1].split("\t")
    assert (last[0], last[2][-1], last[3:]) == ("Second", "+", ["working", "attempt 1", "bob"])


@rows("of_a_file", [False, True])
def test_a_run_is_exported_as_pictures_and_as_a_trace(dcf: Dcf, run: str, tmp_path: Path, of_a_file: bool) -> None:
    file = tmp_path / "run.json"
    dcf("runs", "export", run, "-o", "json", "--to", file)
    subject = ["--file", file] if of_a_file else [run]
    where = {"REDIS_URL": NOWHERE} if of_a_file else {}
    assert ET.fromstring(dcf("runs", "export", *subject, "-o", "svg", **where).stdout).tag.endswith("svg")
    assert dcf("runs", "export", *subject, "-o", "mermaid", **where).stdout.startswith("flowchart")
    assert dcf("runs", "export", *subject, "-o", "html", **where).stdout.startswith("<!doctype html>")
    trace = json.loads(dcf("runs", "export", *subject, "-o", "trace", **where).stdout)
    threads = [item["args"]["name"] for item in trace["traceEvents"] if item["name"] == "thread_name"]
    assert threads == ["First", "Second"]
    assert {item["ph"] for item in trace["traceEvents"]} == {"M", "X"}
    assert min(item["ts"] for item in trace["traceEvents"] if item["ph"] == "X") >= 0


def test_a_bar_is_as_long_as_its_time_and_what_lasts_reaches_the_end() -> None:
    spans = [Segment(phase=Phase.READY, start=0, end=10), Segment(phase=Phase.WORKING, start=10, end=20)]
    lasting = [Segment(phase=Phase.WORKING, start=30, end=None)]
    states = (StateTimes(state="A", segments=tuple(spans)), StateTimes(state="B", segments=tuple(lasting)))
    table = bars(Timeline(start=0, last=40, end=None, rows=states))
    assert [str(cell) for cell in table.columns[1].cells] == [
        f"{'░' * 10}{'█' * 10}{' ' * 20}",
        f"{' ' * 30}{'█' * 10}",
    ]


def test_one_thing_is_asked_for(dcf: Dcf, run: str, tmp_path: Path) -> None:
    for wrong in (
        ["runs", "timeline"],
        ["runs", "timeline", run, "--file", "x"],
        ["runs", "export", run, "-o", "svg", "--html"],
    ):
        assert dcf(*wrong).exit_code == 2
    assert dcf("runs", "timeline", "no-such-run").exit_code == 3
    assert dcf("runs", "export", run, "-o", "markdown").stdout.startswith(f"# {run}: running")
    file = tmp_path / "run.json"
    dcf("runs", "export", run, "--to", file)
    assert dcf("runs", "export", "--file", file, "-o", "markdown").exit_code == 2
