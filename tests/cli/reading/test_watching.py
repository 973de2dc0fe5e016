"""--watch prints an answer again when it has changed, and ends with Ctrl-C."""

import pytest
import typer

from dcf.cli.reading.watching import print_changes
from tests.cli.conftest import Dcf, Seed


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.cli.reading.watching.sleep", lambda _: None)


def watched(answers: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is printed of these answers, one after the other, until Ctrl-C."""
    left = iter(answers)

    def show() -> None:
        try:
            typer.echo(next(left))
        except StopIteration:
            raise KeyboardInterrupt from None

    print_changes(show)
    return capsys.readouterr().out


def test_an_answer_is_printed_when_it_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(["one", "one", "two", "two", "one"], capsys) == "one\ntwo\none\n"


def test_a_pipe_is_not_told_that_time_goes_by(capsys: pytest.CaptureFixture[str]) -> None:
    aging = ["held, 4.5 s", "held, 7 s", "held, 2 min", "free, 1 s"]
    assert watched(aging, capsys) == "held, 4.5 s\nfree, 1 s\n"


def test_a_list_is_watched(dcf: Dcf, seed: Seed, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [seed()]

    def pause(_: float) -> None:
        if len(made) > 1:
            raise KeyboardInterrupt
        made.append(seed())

    monkeypatch.setattr("dcf.cli.reading.watching.sleep", pause)
    shown = dcf("ls", "--limit", 1, "--watch", "-o", "name")
    assert (shown.exit_code, shown.stdout) == (0, f"{made[0]}\n{made[1]}\n")
