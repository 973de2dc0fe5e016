"""The commands with which people see what waits for them, and answer."""

import json
from typing import Any

import pytest

from dcf.cli import asking as asking_first
from dcf.core.documents.model import RunStatus
from tests.cli.conftest import Dcf
from tests.support.tables import rows
from tests.support.world import World

GIVEN = {
    "to": ["alice", {"group": "finance"}],
    "title": "Approve the order",
    "instructions": "Look at the total.\nIt is in euros.",
    "details": {"total": 7},
    "choices": ["approve", "reject", {"name": "defer", "comment": "required"}],
}


def asking(world: World, **more: Any) -> str:
    ask = {"Type": "Task", "Resource": "dcf:human", "Parameters": {**GIVEN, **more}, "End": True}
    return world.create({"workflow_name": "asking", "asl": {"StartAt": "Ask", "States": {"Ask": ask}}})


def epoch_of(dcf: Dcf, run: str) -> str:
    return str(json.loads(dcf("inbox", run, "Ask", "--json").stdout)["tasks"][0]["epoch"])


@rows("words", [(("approve",), ()), (("tasks", "reject"), ()), (("tasks", "answer"), ("approve",))])
def test_an_answer_is_about_the_visit_that_was_read(
    dcf: Dcf, world: World, words: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    run = asking(world)
    command, choice = words
    answered = (*command, run, "Ask", *choice, "--as", "alice")
    unread = dcf(*answered)
    assert (unread.exit_code, "--epoch" in unread.stderr) == (2, True)
    another = dcf(*answered, "--epoch", int(epoch_of(dcf, run)) - 1)
    assert (another.exit_code, "moved on" in another.stderr) == (1, True)
    assert world.run_status(run) is RunStatus.RUNNING
    assert dcf(*answered, "--epoch", epoch_of(dcf, run)).exit_code == 0
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_on_a_terminal_the_task_is_shown_before_the_answer_is_asked_for(
    dcf: Dcf, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_first, "can_ask", lambda: True)
    run = asking(world)
    refused = dcf("approve", run, "Ask", "--as", "alice", stdin="n\n")
    assert ("Look at the total." in refused.stderr, '"total": 7' in refused.stderr) == (True, True)
    assert (refused.exit_code, world.run_status(run)) == (1, RunStatus.RUNNING)
    done = dcf("approve", run, "Ask", "--as", "alice", "--json", stdin="y\n")
    assert json.loads(done.stdout.partition("\n")[2])["choice"] == "approve"


def test_the_inbox_lists_what_waits_for_somebody(dcf: Dcf, world: World) -> None:
    run = asking(world, to=["anna", {"group": "painters"}])
    line = next(line for line in dcf("inbox", "--for", "anna").stdout.splitlines() if line.startswith(run))
    assert "Ask" in line
    assert "anna, group painters" in line
    assert "Approve the order" in line
    assert run in dcf("inbox", "--group", "painters").stdout
    assert run not in dcf("inbox", "--for", "bob").stdout
    (row,) = json.loads(dcf("inbox", run, "--details", "--json").stdout)["tasks"]
    assert (row["state"], row["title"], row["details"]) == ("Ask", "Approve the order", {"total": 7})


def test_one_task_is_shown_whole_with_the_commands_that_answer_it(dcf: Dcf, world: World) -> None:
    run = asking(world)
    shown = dcf("inbox", run, "Ask").stdout
    for details in ("Approve the order", "Look at the total.", "It is in euros.", '"total": 7'):
        assert details in shown
    assert f"dcf approve {run} Ask --as NAME --epoch {epoch_of(dcf, run)}" in shown
    assert f"dcf tasks answer {run} Ask defer --comment WHY --as NAME --epoch {epoch_of(dcf, run)}" in shown


def test_a_person_approves_and_the_next_is_told_who_did(dcf: Dcf, world: World) -> None:
    run = asking(world)
    read = ("--epoch", epoch_of(dcf, run))
    done = dcf("approve", run, "Ask", "--as", "alice", "-m", "right", "--answer", '{"paid": true}', *read)
    assert done.stdout.startswith(f"alice answered Ask of {run}: approve. The run is succeeded")
    output = world.meta(run)["output"]
    assert (output["comment"], output["answer"], output["answered_by"]) == ("right", {"paid": True}, "alice")
    assert "approve, by alice" in dcf("show", run).stdout
    late = dcf("tasks", "reject", run, "Ask", "--as", "bob", "--group", "finance", *read)
    assert late.exit_code == 1
    assert "already_answered: State 'Ask' was answered by 'alice' with 'approve'" in late.stderr
    assert "nothing waits" in dcf("inbox", run).stdout.lower()
    stdout = dcf("runs", "events", run, "--type", "StateConcluded").stdout
    assert "answered_by=alice" in stdout
    assert "by=local" in stdout


def test_a_person_of_a_group_takes_another_choice(dcf: Dcf, world: World) -> None:
    run = asking(world)
    words = (
        "tasks",
        "answer",
        run,
        "Ask",
        "defer",
        "--as",
        "carol",
        "--group",
        "finance",
        "--epoch",
        epoch_of(dcf, run),
    )
    refused = dcf(*words)
    assert "invalid_answer" in refused.stderr
    answered = json.loads(dcf(*words, "--comment", "later", "--json", "--request-id", "r1").stdout)
    assert (answered["choice"], answered["answered_by"], answered["repeated"]) == ("defer", "carol", False)
    again = dcf(*words, "--comment", "later", "--request-id", "r1")
    assert "by an earlier command with this --request-id" in again.stdout


def test_somebody_else_is_told_whom_it_is_for(dcf: Dcf, world: World) -> None:
    run = asking(world)
    refused = dcf("approve", run, "Ask", "--as", "mallory", "--epoch", epoch_of(dcf, run))
    assert refused.exit_code == 1
    assert "not_asked: State 'Ask' waits for alice or the group finance, not for 'mallory'." in refused.stderr
    assert world.run_status(run) is RunStatus.RUNNING


def test_a_state_that_is_not_there_is_told(dcf: Dcf, world: World) -> None:
    assert "unknown_state" in dcf("approve", asking(world), "Nobody", "--as", "alice").stderr
    assert "unknown_run" in dcf("inbox", "no-such-run").stderr


def test_pages_of_the_inbox_go_on(dcf: Dcf, world: World) -> None:
    runs = [asking(world, to="pager") for _ in range(3)]
    first = json.loads(dcf("inbox", "--for", "pager", "--limit", 2, "--json").stdout)
    rest = json.loads(dcf("inbox", "--for", "pager", "--limit", 2, "--cursor", first["next_cursor"], "--json").stdout)
    assert [row["workflow_id"] for row in (*first["tasks"], *rest["tasks"])] == runs
    assert rest["next_cursor"] is None


def test_every_face_of_a_run_says_that_it_waits_for_a_person(dcf: Dcf, world: World) -> None:
    run = asking(world)
    assert "waits for alice or the group finance since" in dcf("why", run).stdout
    assert f"dcf approve {run} Ask --epoch {epoch_of(dcf, run)} --as alice" in dcf("why", run).stdout
    assert "waits for alice or the group finance" in next(
        line for line in dcf("show", run).stdout.splitlines() if line.startswith("Ask")
    )
    assert "Ask" in dcf("graph", run).stdout
    exported = json.loads(dcf("runs", "export", run).stdout)
    assert "alice" in json.dumps(exported)


@rows("field", ["Parameters", "Arguments"])
def test_a_description_that_cannot_be_followed_is_no_valid_workflow(dcf: Dcf, field: str, tmp_path: Any) -> None:
    ask = {"Type": "Task", "Resource": "dcf:human", field: {"to": [], "titel": "x"}, "End": True}
    machine = {"StartAt": "Ask", "States": {"Ask": ask}} | (
        {"QueryLanguage": "JSONata"} if field == "Arguments" else {}
    )
    file = tmp_path / "w.json"
    file.write_text(json.dumps({"workflow_name": "w", "asl": machine}))
    finished = dcf("validate", str(file))
    assert finished.exit_code != 0
    assert f"{field}: to must be the id of a person" in finished.output
    assert "a human task has no field 'titel'" in finished.output


def test_a_simulation_answers_a_human_task_by_the_rules_of_a_run(dcf: Dcf, tmp_path: Any) -> None:
    ask = {"Type": "Task", "Resource": "dcf:human", "Parameters": GIVEN, "Next": "Paid"}
    paid = {"Type": "Task", "Resource": "dcf:signal", "Parameters": {"name": "paid"}, "End": True}
    paid["ResultPath"] = "$.paid"
    (tmp_path / "w.json").write_text(json.dumps({"StartAt": "Ask", "States": {"Ask": ask, "Paid": paid}}))
    command = ("simulate", tmp_path / "w.json", "--signals", '[{"name": "paid", "payload": 7}]', "--mocks")
    done = json.loads(dcf(*command, '{"Ask": {"output": {"choice": "approve"}}}', "--json").stdout)
    assert (done["output"]["choice"], done["output"]["answered_by"], done["output"]["paid"]) == ("approve", "alice", 7)
    refused = dcf(*command, '{"Ask": {"output": {"choice": "defer"}}}')
    assert (refused.exit_code, "A run would refuse" in refused.stderr) == (2, True)
    wrong = dcf("simulate", tmp_path / "w.json", "--signals", '[{"name": "paid", "at": 7}]')
    assert (wrong.exit_code, "no list of signals" in wrong.stderr) == (2, True)
