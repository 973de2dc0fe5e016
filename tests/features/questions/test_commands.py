"""The commands for what workers, planner and people tell each other."""

import json

import pytest

from tests.cli.conftest import Dcf
from tests.support.workflows.machines import chain
from tests.support.world import World


@pytest.fixture
def run(world: World) -> str:
    return world.create(chain("A", "B"), agents={"A": "ann", "B": "ben"}, planner="mira")


def test_a_note_is_in_the_history_with_its_author(dcf: Dcf, world: World, run: str) -> None:
    done = dcf("runs", "note", run, "no hurry", "--as", "lea", "--state", "A")
    assert done.stdout == f"The note is in the history of {run}; mira is notified.\n"
    stdout = dcf("runs", "events", run, "--type", "NoteLeft").stdout
    assert "agent=lea text=no hurry" in stdout
    assert json.loads(dcf("runs", "note", run, "again", "--as", "lea", "--json").stdout)["note"] == 2


def test_a_question_is_seen_everywhere_and_answered_once(dcf: Dcf, world: World, run: str) -> None:
    token = world.acquire(run, "A", "ann")
    finished = dcf("tasks", "ask", run, "A", token, "EUR or USD?", "--choice", "EUR", "--choice", "USD")
    assert finished.stdout.startswith(f"Question q1 of {run} waits for an answer of the planner until ")
    assert "waits for an answer of the planner to q1: EUR or USD?" in dcf("show", run).stdout
    why = dcf("why", run).stdout
    assert "waiting_for_answer" in why
    assert f"dcf tasks reply {run} q1 ANSWER" in why
    line = next(line for line in dcf("inbox", "--for", "mira").stdout.splitlines() if line.startswith(run))
    assert "A q1" in line
    assert "EUR or USD?" in line
    whole = dcf("inbox", run, "A").stdout
    assert "ann asks" in whole
    assert f"dcf tasks reply {run} q1 EUR --as NAME" in whole
    refused = dcf("tasks", "reply", run, "q1", "yen", "--as", "lea")
    assert (refused.exit_code, "invalid_answer" in refused.stderr) == (1, True)
    done = dcf("tasks", "reply", run, "q1", "EUR", "--as", "lea", "--request-id", "r", "-m", "as ever")
    assert done.stdout == f"lea answered question q1 of {run}; ann is notified.\n"
    again = dcf("tasks", "reply", run, "q1", "EUR", "--as", "lea", "--request-id", "r", "-m", "as ever", "--json")
    assert json.loads(again.stdout)["repeated"] is True
    assert "already_answered" in dcf("tasks", "reply", run, "q1", "USD", "--as", "mira").stderr
    stdout = dcf("runs", "events", run, "--type", "QuestionAnswered").stdout
    assert "answered_by=lea answer=EUR comment=as ever" in stdout


def test_a_question_to_people_keeps_the_lease_if_asked_so(dcf: Dcf, world: World, run: str) -> None:
    token = world.acquire(run, "A", "ann")
    document = json.loads(
        dcf("tasks", "ask", run, "A", token, "Why?", "--to", "lea", "--to", "group:ops", "--keep", "--json").stdout
    )
    assert (document["asked"], document["gave_back"]) == ("lea or the group ops", False)
    assert "held by ann, who waits for an answer of lea or the group ops to q1: Why?" in dcf("show", run).stdout
    assert "not_asked" in dcf("tasks", "reply", run, "q1", "so", "--as", "bob").stderr
    assert dcf("tasks", "reply", run, "q1", "so", "--as", "bob", "--group", "ops").exit_code == 0
    world.complete(run, "A", token)


def test_a_result_is_corrected_until_it_is_used(dcf: Dcf, world: World, run: str) -> None:
    world.do(run, "A", "ann", {"total": 1})
    done = dcf("states", "correct", run, "A", '{"total": 2}', "--reason", "a typo")
    assert done.stdout == f"The result of A of {run} is corrected; B will get it.\n"
    assert world.given(run, "B") == {"total": 2}
    assert "reason=a typo" in dcf("runs", "events", run, "--type", "ResultCorrected").stdout
    world.acquire(run, "B", "ben")
    late = dcf("states", "correct", run, "A", "3")
    assert "result_used: The result of 'A' was used: 'ben' works on 'B'" in late.stderr
