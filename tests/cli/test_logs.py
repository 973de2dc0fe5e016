"""The log of every process of dcf: text for people, or a line of JSON that says which run it is about."""

import json
import logging
from collections.abc import Callable, Iterator

import pytest

from dcf.cli import beginning
from dcf.telemetry import surroundings, tracing
from dcf.telemetry.ids import trace_id_of
from dcf.telemetry.log_lines import JsonLines


def begin(**environment: str) -> None:
    """Set the log up as at the start of a new process."""
    logging.getLogger().handlers[:] = []
    beginning.begin(environment)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """The standard error of a log that is set up again. The former set-up is restored afterwards."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    monkeypatch.setattr(surroundings, "is_watched", False)
    monkeypatch.setattr(tracing, "current", None)
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    yield lambda: capsys.readouterr().err
    root.handlers[:], root.level = before


def test_a_line_of_the_json_log_says_which_run_state_agent_and_trace_it_is_about(written: Callable[[], str]) -> None:
    begin(DCF_LOG_FORMAT="json")
    assert surroundings.is_watched
    with surroundings.work("r", "Each/1/A", 7, "me"):
        logging.getLogger("dcf.test").warning("%s is\n\tlate", "it")
    logging.getLogger("dcf.test").error("nobody's")
    first, second = map(json.loads, written().splitlines())
    assert first.pop("time").endswith("+00:00")
    assert first == {
        "level": "WARNING",
        "logger": "dcf.test",
        "message": "it is\n\tlate",
        "run": "r",
        "state": "Each/1/A",
        "agent": "me",
        "trace_id": f"{trace_id_of('r'):032x}",
    }
    assert not second.keys() & {"run", "trace_id"}


def test_an_exception_is_a_field_of_its_line(written: Callable[[], str]) -> None:
    begin(DCF_LOG_FORMAT="json")
    try:
        int("why")
    except ValueError:
        logging.getLogger("dcf.test").exception("it broke")
    (line,) = written().splitlines()
    assert json.loads(line)["exception"].endswith("invalid literal for int() with base 10: 'why'")


def test_the_log_is_text_unless_json_is_asked_for(written: Callable[[], str]) -> None:
    begin()
    logging.getLogger("dcf.test").warning("it is late")
    assert written() == "dcf: WARNING dcf.test: it is late\n"
    assert not surroundings.is_watched
    assert not [handler for handler in logging.getLogger().handlers if isinstance(handler.formatter, JsonLines)]
