"""Outputs, errors and names come from models: a terminal shows any of them and obeys no control character."""

import io
import json
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dcf.asl.state_paths import join, open_scope
from dcf.cli.reading import runs as catalog
from dcf.cli.reading import views
from dcf.cli.running.ending import Ending, print_ending
from dcf.cli.text import clean, json_text
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import RunRow
from tests.cli.conftest import Dcf, Seed
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.world import World

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07",  # clears the screen, sets the title
    "\x9b31m",  # the same as ESC [ in one character
    "[bold red]markup[/bold red] [link=https://x.invalid]click[/link] :skull:",
    "first\nsecond\r\nrun succeeded\u2028third\u2029fourth\x85fifth\x0bsixth",
    "invoice\u202egnp.exe",  # reverses what follows
    "pay\u200bpal \ufeff\u2066isolated\u2069",
    "\x00\x7f\x08\x08\x08",
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def is_harmless(text: str) -> bool:
    return all(unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} for character in text)


@given(st.text())
def test_cleaned_text_is_one_line_that_a_terminal_only_shows(text: str) -> None:
    assert is_harmless(clean(text))
    assert len(clean(text * 50, 100)) <= 100


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=200))
def test_plain_text_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda part: st.lists(part) | st.dictionaries(st.text(), part),
    )
)
def test_json_means_the_same_and_holds_nothing_that_a_terminal_obeys(document: Any) -> None:
    assert json.loads(json_text(document)) == document
    assert is_harmless(json_text(document))
    assert json.loads(json_text(document, indent=2)) == document
    assert all(map(is_harmless, json_text(document, indent=2).split("\n")))


def test_letters_of_other_languages_stay_readable() -> None:
    assert clean("Zoë 東京 привет 🎉") == "Zoë 東京 привет 🎉"
    assert json_text({"name": "Zoë 東京"}) == '{"name": "Zoë 東京"}'


@rows("text", HOSTILE)
def test_an_output(dcf: Dcf, seed: Seed, text: str) -> None:
    run_id = seed({"note": text})
    for arguments in (
        ["show", run_id],
        ["show", run_id, "--json"],
        ["runs", "events", run_id],
        ["runs", "events", run_id, "--json"],
    ):
        printed = dcf(*arguments).stdout
        assert all(map(is_harmless, printed.split("\n")))
    assert json.loads(dcf("show", run_id, "--json").stdout)["meta"]["output"] == {"note": text}
    assert not any(line.lstrip().startswith(("second", "run succeeded", "third")) for line in printed.split("\n"))


@rows("text", HOSTILE)
def test_names_in_a_list(dcf: Dcf, seed: Seed, world: World, text: str) -> None:
    run_id = seed()
    set_member(world.ask, f"cp:wf:{run_id}:meta", "workflow_name", f"x{text}")
    set_member(world.ask, f"cp:wf:{run_id}:meta", "created_at", text)
    line = dcf("ls", "--limit", 1).stdout.split("\n")[1]
    assert line.startswith(run_id)
    assert is_harmless(line)
    assert json.loads(dcf("ls", "--json", "--limit", 1).stdout)[0]["workflow_name"] == f"x{text}"


@rows("text", HOSTILE)
def test_an_event_that_somebody_else_wrote(dcf: Dcf, seed: Seed, world: World, text: str) -> None:
    run_id = seed()
    data = json.dumps({text: text})
    world.ask("XADD", f"cp:wf:{run_id}:events", "*", "type", text, "state", text, "data", data)
    printed = dcf("runs", "events", run_id).stdout
    assert all(map(is_harmless, printed.split("\n")))
    assert len(printed.splitlines()) == len(dcf("runs", "events", run_id, "--json").stdout.splitlines())


@rows("text", HOSTILE)
def test_the_views_of_a_run(text: str) -> None:
    """State names, holders, errors and notes, on a terminal: only rich's own colours are left."""
    doc: dict[str, Any] = {
        "status": "running",
        "attempts": 1,
        "lease": {"owner_agent_id": text, "expires_at": "2026-01-01T00:00:27Z"},
        "started_at": "2025-12-31T23:59:57Z",
        "finished_at": None,
        "last_error": text,
        "waits_for": {text: 0},
    }
    value = [doc, doc | {"status": "failed"}, doc | {"status": text}, doc | {"status": "pending", "last_error": None}]
    states = {join("", f"{number}{text}"): result for number, result in enumerate(value)}
    inside = {join(open_scope(path, 0), text): state for path, state in states.items()}
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=200)
    meta = {"status": text, "workflow_id": text, "workflow_name": text}
    console.print(views.run_view(meta, states | inside, NOW, {next(iter(states)): 7}))
    lines = screen.getvalue().split("\n")
    assert all(map(is_harmless, lines))
    assert len(lines) == 1 + 1 + 4 + 4 + 1 + 1
    if "markup" in text:
        assert text in screen.getvalue(), "shown as it is, not obeyed"


@rows("text", HOSTILE)
def test_the_result_of_a_run(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    doc = {"status": "failed", "attempts": 1, "started_at": None, "finished_at": None}
    result = {
        "workflow_id": "r",
        "status": "failed",
        "output": None,
        "error": text,
        "cause": text,
        "states": {text: doc},
    }
    ending = Ending(
        result=result | {"states": {join("", text): doc}}, failures=(text,), waits=(text,), logs=Path(text[:100])
    )
    print_ending(ending, 1.5, again=text, lines=(text,))
    printed = capsys.readouterr().out
    assert all(map(is_harmless, printed.split("\n")))
    assert len(printed.splitlines()) == 14


def test_a_very_long_error_is_cut() -> None:
    assert len(clean("x" * 10_000_000)) == 200


# Colours


def test_no_color_is_respected_and_colour_is_only_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(**environment: str) -> str:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        screen = io.StringIO()
        Console(file=screen, force_terminal=True).print(views.status_text("failed"))
        return screen.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31m" in shown(TERM="xterm-256color")
    assert shown(NO_COLOR="1") == "✘ failed\n"


@rows("run_id", ["order-processing-pipeline-20261121-234842-f944", "x" * 64])
def test_a_list_on_a_narrow_terminal_keeps_the_id_and_the_status(monkeypatch: pytest.MonkeyPatch, run_id: str) -> None:
    screen = io.StringIO()
    narrow = Console(file=screen, force_terminal=True, color_system=None, width=80)
    monkeypatch.setattr(catalog, "console", lambda: narrow)
    row = RunRow(
        workflow_id=run_id,
        status=RunStatus.SUCCEEDED,
        workflow_name="Order Processing Pipeline",
        definition_sha256="0a1b2c3d" * 8,
        names=("A", "B", "C"),
        states_done=3,
        created_at="2026-11-21T23:48:42Z",
    )
    catalog.print_runs([row.as_json()] * 3)
    lines = screen.getvalue().splitlines()
    assert len(lines) == 4
    for line in lines[1:]:
        assert line.startswith(f"{run_id}  ✔ succeeded")
        assert len(line) <= 80


@rows("width", [20, 40, 60, 80, 100])
def test_a_run_on_a_narrow_terminal_has_a_line_for_each_state(width: int) -> None:
    doc = {"status": "running", "attempts": 1, "started_at": "2025-12-31T23:58:57Z", "finished_at": None}
    doc |= {"lease": {"owner_agent_id": "2-calculatepricing-3fa4b1", "expires_at": "2026-01-01T00:00:27Z"}}
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=width)
    meta = {"status": "running", "workflow_id": "order-processing-pipeline-20261121-234842-f944"}
    console.print(views.run_view(meta, {"CalculatePricing": doc, "GenerateInvoice": doc}, NOW))
    lines = screen.getvalue().splitlines()
    assert len(lines) == 4
    assert all(len(line) <= width for line in lines)
    if width >= 60:
        assert "CalculatePricing  ▶ running" in lines[2]
        assert "1 min 3 s" in lines[2]
