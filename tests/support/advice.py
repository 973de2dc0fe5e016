"""Says at the end of a run with failures how to repeat one of them alone, and how to run all tests of its subject."""

import shlex
from pathlib import Path

import pytest

from tests.support.paths import ROOT, capability_of


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
