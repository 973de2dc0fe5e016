"""Whole runs from a server: read in pages, they make the exports, pictures, timelines and traces that Redis makes."""

import json
import re
from pathlib import Path

import pytest

from dcf.core.documents.model import Status
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry
from tests.cli.conftest import Dcf
from tests.support.collector import collecting
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World


@pytest.fixture
def run(world: World) -> str:
    """A run with a Map that ended, a Parallel under way, a failure, a held lease, and a journal."""
    states = {
        "Each": each({"S": task()}, "Both", ToleratedFailureCount=1),
        "Both": parallel({"L": task()}, {"R": task()}, following="End"),
        "End": task(),
    }
    run = world.create(workflow(states), run_input=[0, 1, 2], agents={"L": "l-1"})
    for index in range(3):
        token = world.acquire(run, f"Each/{index}/S", "w")
        if index == 1:
            world.update(run, "Each/1/S", token, status=Status.FAILED, error="Broken", cause="why")
        else:
            world.complete(run, f"Each/{index}/S", token, {"done": index})
    world.acquire(run, "Both/0/L", "l-1")
    for number in range(3):
        wish = AddEntry(kind=EntryKind.LOG, text=f"Step {number}.", agent="l-1", key=str(number))
        world.journal.add_journal_entry(run, wish)
    return run


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of two parts."""
    monkeypatch.setattr("dcf.cli.reading.run_parts._PAGE", 2)
    monkeypatch.setattr("dcf.cli.reading.answers._PAGE", 2)
    monkeypatch.setattr("dcf.cli.reading.events._PAGE", 2)


@pytest.mark.usefixtures("small_pages")
def test_an_export_that_was_read_in_pages_is_the_one_that_redis_gives(
    dcf_at_server: Dcf, dcf: Dcf, run: str, tmp_path: Path
) -> None:
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    assert dcf("runs", "export", run, "--to", here, DCF_CONTEXT="local").exit_code == 0
    assert dcf_at_server("runs", "export", run, "--to", there, REDIS_URL="").exit_code == 0
    ours, theirs = (json.loads(file.read_text("utf-8")) for file in (here, there))
    for document in (ours, theirs):
        document.pop("exported_at")
        document.pop("explanation")
    assert theirs == ours
    assert (list(theirs["states"]), list(theirs["events"])) == (list(ours["states"]), list(ours["events"]))
    assert len(theirs["states"]) > 6
    assert len(theirs["journal"]) == 3


@pytest.mark.usefixtures("small_pages")
@rows(
    "words",
    [
        ("graph",),
        ("graph", "-o", "mermaid"),
        ("runs", "events"),
        ("runs", "events", "--json"),
    ],
    ids=" ".join,
)
def test_a_picture_of_a_server_is_the_one_of_redis(
    dcf_at_server: Dcf, dcf: Dcf, run: str, words: tuple[str, ...]
) -> None:
    command = [word for word in words if word.isalpha() and word != "mermaid"]
    options = words[len(command) :]
    here = dcf(*command, run, *options, DCF_CONTEXT="local")
    there = dcf_at_server(*command, run, *options, REDIS_URL="")
    assert (there.exit_code, there.stdout, there.stderr) == (0, here.stdout, here.stderr)
    assert "Each" in there.stdout


@pytest.mark.usefixtures("small_pages")
@rows("words", [("show",), ("show", "--json")], ids=" ".join)
def test_a_run_that_is_read_in_pages_is_shown_whole(
    dcf_at_server: Dcf, dcf: Dcf, run: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = dcf_at_server(words[0], run, *words[1:], REDIS_URL="")
    monkeypatch.setattr("dcf.cli.reading.answers._PAGE", 1000)
    here = dcf(words[0], run, *words[1:], DCF_CONTEXT="local")
    assert there.exit_code == 0, there.stderr
    assert _steady(there.stdout) == _steady(here.stdout)
    assert all(name in there.stdout for name in ("Each", "Both", "End", "Both/0/L" if "--json" in words else "0 L"))


def _steady(text: str) -> str:
    """Return what is shown without the seconds that pass."""
    return re.sub(r" +", " ", re.sub(r"\b\d+(\.\d+)? (m?s)\b", "SECONDS", text))


@pytest.mark.usefixtures("small_pages")
def test_the_states_of_a_server_stand_as_in_redis(dcf_at_server: Dcf, dcf: Dcf, run: str) -> None:
    here = dcf("graph", run, "--json", DCF_CONTEXT="local")
    there = dcf_at_server("graph", run, "--json", REDIS_URL="")
    assert json.loads(there.stdout) == json.loads(here.stdout)


@pytest.mark.usefixtures("small_pages")
def test_a_page_of_a_server_says_what_it_leaves_out(
    dcf_at_server: Dcf, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.cli.reading.export._STATES_SHOWN", 3)
    monkeypatch.setattr("dcf.cli.reading.export._EVENTS_SHOWN", 3)
    page = dcf_at_server("runs", "export", run, "--html", REDIS_URL="").stdout
    assert "This page has the first 3 states; the JSON export has all." in page
    assert "This page has the first 3 events; the JSON export has all." in page


@pytest.mark.usefixtures("small_pages")
def test_a_trace_of_a_server_is_the_one_of_redis(dcf_at_server: Dcf, dcf: Dcf, run: str) -> None:
    with collecting() as collector:
        words = ("runs", "trace", run, "--otlp", collector.url)
        here = dcf(*words, DCF_CONTEXT="local")
        ours, collector.spans = collector.spans, []
        there = dcf_at_server(*words, REDIS_URL="")
        assert ours
        assert (there.exit_code, there.stdout, collector.spans) == (0, here.stdout, ours)


def test_the_audit_trail_of_a_server_names_the_key_that_took_a_copy(
    dcf_at_server: Dcf, dcf: Dcf, run: str, tmp_path: Path
) -> None:
    dcf_at_server("runs", "export", run, "--to", tmp_path / "run.json", REDIS_URL="")
    entries = json.loads(dcf("store", "audit", "--json", "--type", "read", DCF_CONTEXT="local").stdout)
    (by,) = [entry["by"] for entry in entries if entry["about"] == {"workflow_id": run}]
    assert by.startswith("key:")
