"""The log of a server has a line that a caller causes again and again only a few times, with a count."""

import logging
from collections.abc import Iterator

import pytest

from dcf.cli.log_throttle import LogThrottle


class _Written(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


class _Log:
    """A log with a throttle of three lines in ten seconds, and a clock of its own."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.written = _Written()
        self.written.addFilter(LogThrottle(burst=3, window_s=10, monotonic=lambda: self.now))
        self.logger = logging.getLogger("tests.throttled")
        self.logger.propagate = False
        self.logger.addHandler(self.written)

    @property
    def lines(self) -> list[str]:
        return self.written.lines

    def refuse(self, subject: str) -> None:
        self.logger.warning("refused %s", subject)

    def fail(self) -> None:
        self.logger.error("failed")


@pytest.fixture
def log() -> Iterator[_Log]:
    result = _Log()
    yield result
    result.logger.removeHandler(result.written)


def test_lines_of_one_place_are_written_a_few_times_whatever_they_say(log: _Log) -> None:
    for number in range(1000):
        log.refuse(str(number))
    assert log.lines == ["refused 0", "refused 1", "refused 2"]


def test_other_lines_are_written_meanwhile(log: _Log) -> None:
    for number in range(1000):
        log.refuse(str(number))
    log.fail()
    assert log.lines[3:] == ["failed"]


def test_later_the_next_line_says_how_many_were_left_out(log: _Log) -> None:
    for number in range(1000):
        log.refuse(str(number))
    log.now += 10
    log.refuse("again")
    log.refuse("and again")
    assert log.lines[3:] == ["refused again (997 more like this were left out)", "refused and again"]


def test_a_line_that_is_rarely_written_is_left_alone(log: _Log) -> None:
    for _ in range(5):
        log.refuse("x")
        log.now += 20
    assert log.lines == ["refused x"] * 5


def test_a_long_line_is_cut(log: _Log) -> None:
    log.refuse("x" * 10_000)
    assert len(log.lines[0]) < 1100
    assert log.lines[0].endswith("x...")
