"""The lines that `dcf run` prints at its end, and while it waits for a person."""

import pytest

from dcf.cli.running.ending import Ending, command_again, print_ending
from dcf.cli.running.waits import Waits, waits_of
from tests.support.tables import rows

STATE = {"attempts": 1, "started_at": None, "finished_at": None}
ASKING = {"status": "running", "type": "Human", "started_at": "t1", "asked": {"to": ["alice"], "groups": ["finance"]}}


def printed(capsys: pytest.CaptureFixture[str], **ending: object) -> str:
    result = {
        "workflow_id": "order-1",
        "status": "failed",
        "output": None,
        "error": "Broken",
        "cause": "the tank is empty",
        "states": {"Fill": STATE | {"status": "failed"}, "Drive": STATE | {"status": "skipped"}},
    }
    print_ending(Ending(result=result, **ending), 1.5, again="dcf run f.py", lines=["f.py:3: fill()"])  # type: ignore[arg-type]
    return capsys.readouterr().out


def test_a_failure_is_one_line_with_its_place_and_the_next_commands(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, failures=("Fill failed after 2 attempts: Broken: the tank is empty",))
    assert "✘ failed  order-1  2 states: 1 failed, 1 skipped  1.5 s" in text
    assert "✘ Fill failed after 2 attempts: Broken: the tank is empty\n  at f.py:3: fill()" in text
    assert text.count("the tank is empty") == 1
    after = text.partition("Next:")[2]
    assert all(command in after for command in ("/ui/runs/order-1", "dcf runs events order-1", "dcf run f.py"))


def test_an_error_without_a_failed_state_is_printed_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert "✘ Broken: the tank is empty" in printed(capsys)


@rows(
    ("arguments", "command"),
    [
        (["run", "f.py", "--id", "a", "n=1"], "dcf run f.py n=1"),
        (["run", "f.py", "--id=a", "n=1"], "dcf run f.py n=1"),
        (["run", "f.py", "text=two words"], "dcf run f.py 'text=two words'"),
        (["run", "f.py", f"text={'x' * 500}"], None),
        (["--context", "x", "run", "f.py"], None),
    ],
)
def test_the_command_again_has_no_id_and_is_short(arguments: list[str], command: str | None) -> None:
    assert command_again(arguments) == command


def test_a_wait_for_a_person_is_said_once_a_visit_with_the_command() -> None:
    sentences: list[str] = []
    waits = Waits("order-1", sentences.append)
    for started in ("t1", "t1", "t2"):
        waits.saw({"Fill": STATE | {"status": "running"}, "Approve": ASKING | {"started_at": started}})
    assert len(sentences) == 2
    assert sentences[0].startswith("Approve waits for alice or the group finance. Answer in another terminal:")
    assert sentences[0].endswith("dcf approve order-1 Approve --as alice")


def test_only_a_group_leaves_the_name_open() -> None:
    sentences: list[str] = []
    Waits("order-1", sentences.append).saw({"Approve": ASKING | {"asked": {"to": [], "groups": ["finance"]}}})
    assert sentences[0].endswith("--as NAME --group finance")


def test_a_timeout_names_whom_the_run_waited_for() -> None:
    assert waits_of({"Approve": ASKING, "Done": ASKING | {"status": "succeeded"}}) == (
        "Approve waited for alice or the group finance.",
    )
