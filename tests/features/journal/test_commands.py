"""The commands `dcf journal ls`: show, add, resolve."""

import getpass
import json

import pytest

from tests.cli.conftest import Dcf
from tests.support.workflows.machines import chain
from tests.support.world import World


@pytest.fixture
def run(world: World) -> str:
    return world.create(chain("A", "B"), agents={"A": "ann", "B": "ben"}, planner="pat")


def test_an_entry_is_added_once_and_shown_with_its_author(dcf: Dcf, run: str) -> None:
    entry = ("journal", "add", run, "decision", "EUR.", "--details", '{"chosen": "EUR"}', "--key", "k", "--as", "lea")
    assert dcf(*entry).stdout.startswith(f"The decision is in the journal of {run} as j")
    assert json.loads(dcf(*entry, "--json").stdout)["repeated"] is True
    shown = dcf("journal", "ls", run).stdout
    assert "decision  lea: EUR." in shown
    assert "chosen: EUR" in shown
    assert "conflict" in dcf("journal", "add", run, "note", "EUR.", "--key", "k", "--as", "lea").stderr


def test_an_issue_blocks_the_run_everywhere_until_it_is_resolved(dcf: Dcf, world: World, run: str) -> None:
    world.plane.kick_off(run, "go")
    added = dcf("journal", "add", run, "issue", "Which currency?", "--blocks", "--as", "ann", "--json").stdout
    issue = json.loads(added)["entry"]
    assert "blocked" in dcf("show", run).stdout
    assert "⊘ blocked" in next(line for line in dcf("ls", "--blocked").stdout.splitlines() if run in line)
    why = dcf("why", run).stdout
    assert f"dcf journal resolve {run} {issue} --how" in why
    assert "Which currency?" in dcf("journal", "ls", run, "--open").stdout
    done = dcf("journal", "resolve", run, issue, "--how", "EUR.", "--as", "lea")
    assert done.stdout == f"Issue {issue} of {run} is resolved.\n"
    assert "No issue blocks the run." in done.stderr
    assert dcf("journal", "ls", run, "--open").stdout == ""
    assert "resolved by lea: EUR." in dcf("journal", "ls", run).stdout
    again = dcf("journal", "resolve", run, issue, "--how", "USD.", "--as", "lea")
    assert (again.exit_code, "already_resolved" in again.stderr) == (1, True)
    assert run not in dcf("ls", "--blocked").stdout


def test_the_journal_as_a_markdown_page_shows_texts_as_they_are(dcf: Dcf, run: str) -> None:
    dcf("journal", "add", run, "issue", "# not *a* <b>heading</b>\n- nor a list", "--state", "A", "--as", "ann")
    page = dcf("journal", "ls", run, "--markdown").stdout
    assert page.startswith(f"# Journal of {run}\n")
    assert "\\# not \\*a\\* \\<b\\>heading\\</b\\>\n\\- nor a list" in page
    assert "issue: ann, A (attempt 0)" in page
    assert "**Open** (does not block the run)" in page


def test_who_is_not_named_is_the_user_of_this_machine(dcf: Dcf, run: str) -> None:
    dcf("journal", "add", run, "issue", "Which currency?", "--blocks")
    (entry,) = map(json.loads, dcf("journal", "ls", run, "--json").stdout.splitlines())
    assert entry["agent"] == getpass.getuser()
    done = dcf("journal", "resolve", run, entry["entry"], "--how", "EUR.", "--json").stdout
    assert json.loads(done)["resolved_by"] == getpass.getuser()


def test_a_note_that_was_left_is_in_the_journal(dcf: Dcf, run: str) -> None:
    dcf("runs", "note", run, "no hurry", "--as", "lea")
    assert "note  lea: no hurry" in dcf("journal", "ls", run, "--kind", "note").stdout


def test_limits_and_filters_of_what_is_shown(dcf: Dcf, run: str) -> None:
    for number in range(3):
        dcf("journal", "add", run, "log", f"line {number}", "--as", "ann")
    lines = dcf("journal", "ls", run, "--limit", "2", "--json").stdout.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["line 0", "line 1"]
    newest = dcf("journal", "ls", run, "--newest", "--limit", "1", "--json", "--agent", "ann").stdout
    assert json.loads(newest)["text"] == "line 2"
    assert dcf("journal", "ls", run, "--kind", "gossip").exit_code != 0


def test_the_context_of_an_agent_and_of_a_run(dcf: Dcf, world: World, run: str) -> None:
    world.acquire(run, "A", "ann")
    dcf("journal", "add", run, "decision", "EUR.", "--details", '{"chosen": "EUR"}', "--as", "ann")
    stdout = dcf("runs", "brief", run, "--agent", "ann").stdout
    assert f"runs: {run}  running" in stdout
    assert f"held: {run}  A  running" in stdout
    assert f"decisions: {run}  EUR." in stdout
    assert "next: renew_state_lease" in stdout
    document = json.loads(dcf("runs", "brief", run, "--json").stdout)
    assert [item["tool"] for item in document["next"]] == ["explain_run"]
    assert dcf("runs", "brief").exit_code != 0


def test_a_search_over_everything(dcf: Dcf, run: str) -> None:
    dcf("journal", "add", run, "note", f"About {run} prices.", "--as", "ann")
    stdout = dcf("runs", "search", f"{run} prices", "--type", "journal").stdout
    assert "note of ann" in stdout
    assert run in stdout
    document = json.loads(dcf("runs", "search", f"{run} prices", "--run", run, "--json").stdout)
    assert [result["workflow_id"] for result in document["results"]] == [run]
    assert dcf("runs", "search", "nothing like this anywhere").stdout == "Nothing was found.\n"
    assert dcf("runs", "search", "x", "--type", "gossip").exit_code != 0


def test_an_open_issue_names_the_command_that_resolves_it(dcf: Dcf, run: str) -> None:
    issues = []
    for text in ("Which currency?", "Which price?"):
        added = dcf("journal", "add", run, "issue", text, "--blocks", "--json")
        issues.append(json.loads(added.stdout)["entry"])
    shown = dcf("journal", "ls", run, "--context", "local").stdout
    assert f"`dcf --context local journal resolve {run} {issues[0]} --how WHAT`" in shown
    resolved = dcf("journal", "resolve", run, issues[0], "--how", "EUR.", "--context", "local")
    assert f"1 more block the run: `dcf --context local journal ls {run} --open`" in resolved.stderr
