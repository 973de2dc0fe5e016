"""`dcf runs export`: a run as a file that is read without Redis, and as a page that is read without dcf."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from dcf.core.documents.model import Status
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry, EntryAdded
from tests.cli.conftest import Dcf
from tests.features.diagnosis.test_operations import started
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World

SECRET = "secret-lease-token-4711"
TAG = "</script><img src=x onerror=alert(1)>"
HOSTILE = f"{TAG}\x1b[31m\u202e"
NOWHERE = "redis://127.0.0.1:1"


CELLS = {"td", "th"}
VOID = {"meta", "br"}


class Page(HTMLParser):
    """The content of a page: its tags, their references, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if len({name for name, _ in attrs}) < len(attrs):
            self.wrong.append(f"an attribute twice in {self.get_starttag_text()}")
        if self.open and self.open[-1] in CELLS and tag in CELLS:
            self.open.pop()  # a cell ends with the next
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] in CELLS and tag == "tr":
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> in line {self.getpos()[0]} closes nothing")

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def run(world: World) -> str:
    """A run with a Map that ended, a Parallel under way, a failure, a held lease, and hostile text."""
    states = {
        "Each": each({"S": task()}, "Both", ToleratedFailureCount=1),
        "Both": parallel({"L": task()}, {TAG: task()}, following="End"),
        "End": task(),
    }
    run = started(world, workflow(states), run_input=[0, 1, 2], agents={"L": "l-1"})
    for index in range(3):
        token = world.acquire(run, f"Each/{index}/S", "w")
        if index == 1:
            world.update(run, "Each/1/S", token, status=Status.FAILED, error="Broken", cause=HOSTILE)
        else:
            world.complete(run, f"Each/{index}/S", token, {"html": HOSTILE})
    world.acquire(run, "Both/0/L", "l-1", SECRET)
    return run


def exported(dcf: Dcf, run: str, file: Path) -> dict[str, Any]:
    assert dcf("runs", "export", run, "--to", file).exit_code == 0
    document: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return document


def test_an_export_has_workflow_documents_and_history_and_no_lease_token(
    dcf: Dcf, world: World, run: str, tmp_path: Path
) -> None:
    world.journal.add_journal_entry(run, AddEntry(kind=EntryKind.LOG, text="I began.", agent="l-1", key="k"))
    result = exported(dcf, run, tmp_path / "run.json")
    assert ([item["text"] for item in result["journal"]], result["artifacts"], result["usage"]) == (
        ["I began."],
        [],
        None,
    )
    assert (result["format"], result["version"], result["workflow_id"]) == ("dcf-run", 1, run)
    assert set(result["definition"]["asl"]["States"]) == {"Each", "Both", "End"}
    ended = [result["states"][f"Each/{index}/S"] for index in range(3)]
    assert [item["status"] for item in ended] == ["succeeded", "failed", "succeeded"]
    assert (ended[0]["input"], ended[0]["output"]) == (0, {"html": HOSTILE})
    assert "Both/0/L" in result["states"]
    assert [event["type"] for event in result["events"]] == world.event_types(run)
    text = (tmp_path / "run.json").read_text("utf-8")
    assert SECRET not in text
    assert result["states"]["Both/0/L"]["lease"]["token"] == "***"


def test_an_exported_run_is_shown_without_redis(dcf: Dcf, run: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    exported(dcf, run, file)
    here, there = dcf("show", run).stdout, dcf("show", "--file", file, REDIS_URL=NOWHERE).stdout
    assert re.sub(r"\d+ s", "", there).split("\n")[:5] == re.sub(r"\d+ s", "", here).split("\n")[:5]
    assert "held by l-1" in there
    assert "\x1b" not in there
    for picture in ("text", "mermaid"):
        drawn = dcf("graph", "--file", file, "-o", picture, REDIS_URL=NOWHERE).stdout
        assert drawn == dcf("graph", run, "-o", picture).stdout != ""
    standing = json.loads(dcf("graph", "--file", file, "--json", REDIS_URL=NOWHERE).stdout)
    assert standing["maps"]["Each"] == {"size": 3, "done": 3, "failed": 1}
    why = json.loads(dcf("why", run, "--json").stdout)
    document = json.loads(dcf("why", "--file", file, "--json", REDIS_URL=NOWHERE).stdout)
    assert [finding["cause"] for finding in document["findings"]] == [finding["cause"] for finding in why["findings"]]
    assert (
        [finding["state"] for finding in document["findings"]]
        == [finding["state"] for finding in why["findings"]]
        != []
    )
    assert "held" in dcf("why", "--file", file, "Both/0/L", REDIS_URL=NOWHERE).stdout
    events = dcf("runs", "events", run, "--json").stdout
    assert dcf("runs", "events", "--file", file, "--json", REDIS_URL=NOWHERE).stdout == events
    some = ("--state", "S", "--type", "StateFailed", "--newest")
    assert (
        dcf("runs", "events", "--file", file, *some, REDIS_URL=NOWHERE).stdout
        == dcf("runs", "events", run, *some).stdout
        != ""
    )


@rows("of_a_file", [False, True])
def test_the_page_fetches_nothing_runs_nothing_and_shows_everything(
    dcf: Dcf, run: str, tmp_path: Path, of_a_file: bool
) -> None:
    file, page = tmp_path / "run.json", tmp_path / "run.html"
    exported(dcf, run, file)
    subject = ["--file", file] if of_a_file else [run]
    assert (
        dcf(
            "runs", "export", *subject, "--html", "--to", page, **({"REDIS_URL": NOWHERE} if of_a_file else {})
        ).exit_code
        == 0
    )
    text = page.read_text("utf-8")
    result = Page(text)
    assert not {"script", "img", "link", "iframe", "object", "base", "form", "a"} & set(result.tags)
    assert not [name for name, _ in result.attributes if name.startswith("on") or name in {"src", "href", "action"}]
    assert "default-src 'none'" in text
    assert SECRET not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert result.tags.count("svg") == 1
    assert (result.wrong, result.open) == ([], []), "every tag is closed where it belongs"
    ids = [value for name, value in result.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {ET.fromstring(item).tag for item in re.findall(r"<svg.*?</svg>", text, re.DOTALL)}
    assert "@media print" in text
    assert "url(" not in text
    assert "@import" not in text
    for shown in (run, "Each/1/S", "Both/0/L", "Broken", "LeaseAcquired", "onerror=alert(1)", "lease_held"):
        assert shown in result.text, shown


def test_a_run_of_many_states_is_exported_whole_and_its_page_says_what_it_leaves_out(
    dcf: Dcf, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.cli.reading.export._STATES_SHOWN", 100)
    monkeypatch.setattr("dcf.cli.reading.export._EVENTS_SHOWN", 100)
    document = workflow({"Each": each({"S": task()}, MaxConcurrency=1000)})
    run = started(world, document, run_input=list(range(450)), agents={"S": "s-1"})
    result = exported(dcf, run, tmp_path / "run.json")
    assert len(result["states"]) == 451
    assert len(result["events"]) == len(list(world.history_of(run)))
    dcf("runs", "export", run, "--html", "--to", tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text("utf-8")
    assert "This page has the first 100 states; the JSON export has all." in text
    assert "This page has the first 100 events; the JSON export has all." in text


@rows("broken", ["[]", "{}", '{"format": "dcf-run", "version": 2}', '{"format": "dcf-run", "version": 1}', "no"])
def test_a_file_that_is_no_export_is_refused(dcf: Dcf, tmp_path: Path, broken: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(broken)
    for command in (
        ("show",),
        ("runs", "events"),
        ("why",),
        ("graph",),
        ("runs", "export", "--html"),
    ):
        assert dcf(*command, "--file", file, REDIS_URL=NOWHERE).exit_code == 2


def test_an_export_that_somebody_changed_by_hand_is_shown_as_far_as_it_goes(dcf: Dcf, run: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    result = exported(dcf, run, file)
    result["states"]["Each"] = {"status": 7, "started_at": "noon", "attempts": "many", "agents": 3}
    result["explanation"] = {"findings": [{"cause": 1}, 2]}
    result["events"].append({"type": None})
    result["definition"] = {"asl": 1}
    file.write_text(json.dumps(result))
    for command in (("show",), ("why",), ("runs", "export", "--html")):
        assert dcf(*command, "--file", file, REDIS_URL=NOWHERE).exit_code == 0
    assert dcf("graph", "--file", file, REDIS_URL=NOWHERE).exit_code == 2


def test_an_export_is_read_on_another_machine_with_an_empty_data_directory(
    dcf: Dcf, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, elsewhere = tmp_path / "run.json", tmp_path / "elsewhere"
    exported(dcf, run, file)
    monkeypatch.delenv("REDIS_URL")
    for command in (
        ("show",),
        ("runs", "events"),
        ("why",),
        ("graph",),
        ("runs", "export", "--html"),
    ):
        read = dcf(*command, "--file", file, DCF_DATA_DIR=str(elsewhere))
        assert (read.exit_code, read.stdout != "") == (0, True)
    assert not elsewhere.exists(), "no Redis was started"


def test_a_report_in_markdown_has_states_and_journal_and_unchanged_texts(dcf: Dcf, world: World, run: str) -> None:
    for kind, text in ((EntryKind.MILESTONE, "**Half** way\n# no heading"), (EntryKind.NOTE, HOSTILE)):
        wish = AddEntry(kind=kind, text=text, agent="ann", key=text, is_operator=True)
        assert isinstance(world.journal.add_journal_entry(run, wish), EntryAdded)
    report = dcf("runs", "export", run, "--markdown").stdout
    lines = report.split("\n")
    assert lines[0] == f"# {run}: running"
    assert "| Each/0/S | succeeded | 1 |" in report
    assert re.search(r"\| Each/1/S \| failed \| 1 \| [0-9.]+ s \| Broken.* \|\n", report)
    assert r"\*\*Half\*\* way" in lines
    assert r"\# no heading" in lines
    assert not {"<", "\x1b", "\u202e"} & set(report.replace(r"\<", ""))
    assert [line for line in lines if line.startswith("#")][1:3] == ["## States", "## Journal"]


def test_a_report_tells_how_a_run_that_grew_was_closed(dcf: Dcf) -> None:
    assert dcf("runs", "open", "report", "--id", "grown-report").exit_code == 0
    assert (
        dcf("runs", "close", "grown-report", "--status", "partial", "--summary", "All *done*", "--yes").exit_code == 0
    )
    report = dcf("runs", "export", "grown-report", "--markdown").stdout
    assert report.startswith("# grown-report: partial\n")
    assert "\n## Summary\n\nAll \\*done\\*\n" in report


def test_export_wants_one_thing_to_export(dcf: Dcf, run: str, tmp_path: Path) -> None:
    for wrong in (
        [],
        [run, "--file", "x"],
        [run, "--html", "--json"],
        [run, "--html", "--markdown"],
        [run, "--to", tmp_path],
    ):
        assert dcf("runs", "export", *wrong).exit_code == 2
    assert dcf("runs", "export", "no-such-run").exit_code == 3
