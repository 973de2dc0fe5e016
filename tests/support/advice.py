"""Says how to repeat a failed test alone, how to run all tests of its subject, and what Redis removed until then."""

import shlex
from collections.abc import Generator
from pathlib import Path

import pytest
import redis

from tests.support.paths import ROOT, capability_of
from tests.support.redis import restricted


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what took keys of the Redis away that tests share: nothing should, but the start of a file."""
    report = yield
    for server in restricted.RUNNING if report.failed else ():
        try:
            removals = server.removals()
        except redis.RedisError as error:
            removals = str(error)
        report.sections.append((f"Redis at {server.socket.parent.name}", removals))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
    failed = sorted({report.nodeid for report in reports if isinstance(report, pytest.TestReport)})
    if not failed:
        return
    seed = config.getoption("randomly_seed", default=None)
    file = ROOT / Path(failed[0].split("::")[0])
    subject = capability_of(file) or file.stem.removeprefix("test_")
    terminalreporter.section("what to do")
    terminalreporter.line(f"Repeat one: python -m pytest --randomly-seed={seed} {shlex.quote(failed[0])}")
    terminalreporter.line(f"Run its subject in both tiers: python -m pytest tests tests/system -k {subject}")
    terminalreporter.line("A test that fails only on a busy machine has a defect: CONTRIBUTING.md, Tests.")
