"""`dcf runs trace`: any process makes the whole trace of a run from its history, and a collector gets one tree."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.telemetry.ids import trace_id_of
from tests.cli.conftest import Dcf
from tests.support.collector import Collector, collecting
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World

SECRET = "what-an-agent-wrote"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


def test_a_collector_gets_a_run_of_several_workers_as_one_tree(world: World, dcf: Dcf, collector: Collector) -> None:
    states = {
        "Each": each({"S": task()}, "Both"),
        "Both": parallel({"L": task()}, {"R": task()}, following="End"),
        "End": task(),
    }
    run = world.create(workflow(states), run_input=[0, 1])
    for path in ("Each/0/S", "Each/1/S", "Both/0/L", "Both/1/R", "End"):
        world.do(run, path, f"worker-of-{path[-1]}", {"output": SECRET})

    finished = dcf("runs", "trace", run, "--otlp", collector.url, "--json")

    by_id = {span.span_id: span for span in collector.spans}
    assert json.loads(finished.stdout) == {
        "workflow_id": run,
        "trace_id": f"{trace_id_of(run):032x}",
        "spans": len(by_id),
    }
    assert {span.trace_id.hex() for span in collector.spans} == {f"{trace_id_of(run):032x}"}
    parents = {span.name: by_id[span.parent_span_id].name for span in collector.spans if span.parent_span_id}
    (root,) = {span.name for span in collector.spans} - set(parents)
    assert parents == {
        "Each": root,
        "Both": root,
        "End": root,
        "Each/0/S": "Each",
        "Each/1/S": "Each",
        "Both/0/L": "Both",
        "Both/1/R": "Both",
    }
    links = {span.name: [by_id[link.span_id].name for link in span.links] for span in collector.spans}
    assert (links["Both"], links["End"]) == (["Each"], ["Both"])
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano > 0 for span in collector.spans)
    assert SECRET not in str(collector.spans)


def test_an_exported_file_gives_the_same_spans_as_the_run(
    world: World, dcf: Dcf, collector: Collector, tmp_path: Path
) -> None:
    run, file = world.create(chain("A", "B")), tmp_path / "run.json"
    world.do(run, "A")
    world.do(run, "B")
    assert dcf("runs", "export", run, "--to", file).exit_code == 0
    assert dcf("runs", "trace", run, "--otlp", collector.url).exit_code == 0
    live, collector.spans = collector.spans, []
    assert dcf("runs", "trace", "--file", file, "--otlp", f"{collector.url}/v1/traces").exit_code == 0
    assert live
    assert collector.spans == live


def test_a_collector_that_refuses_is_told_of(world: World, dcf: Dcf, collector: Collector) -> None:
    run = world.create(chain("A", "B"))
    collector.says = 400
    refused = dcf("runs", "trace", run, "--otlp", collector.url)
    assert refused.exit_code != 0
    assert "took 0 of 2 spans" in refused.stderr


@rows("url", ["localhost:4318", "ftp://host/", "http://", "http://[::1"])
def test_what_is_no_url_of_a_collector_is_refused(world: World, dcf: Dcf, url: str) -> None:
    refused = dcf("runs", "trace", world.create(chain("A", "B")), "--otlp", url)
    assert refused.exit_code != 0
    assert "http://127.0.0.1:4318" in refused.stderr
