"""The second tier interrupts processes, and begins with its longest files."""

import signal
from pathlib import Path
from typing import Final

import pytest

# A job in the background of a shell ignores SIGINT, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

LIMIT_S: Final = 600
"""Seconds of one test, also where other work leaves it a tenth of the machine; a wait in it ends earlier."""
HERE: Final = Path(__file__).parent
LONGEST_FIRST: Final = (
    "lab/test_lab.py",
    "quality/test_types.py",
    "dcf_run/test_dcf_run.py",
    "flows/test_killed_flows.py",
    "browser/test_every_screen.py",
    "dcf_run/test_direct_runs.py",
    "browser/test_in_a_browser.py",
    "browser/test_exports_in_a_browser.py",
    "quality/test_security_checks.py",
    "fuzz/test_schema_fuzz.py",
    "browser/test_live_browser.py",
    "clients/test_conformance.py",
    "browser/test_web_commands.py",
    "examples/test_examples.py",
    "local/test_lasting.py",
    "processes/test_python_client.py",
    "hosting/test_acceptance.py",
    "clients/test_checkers.py",
    "hosting/test_commands.py",
    "cluster/test_store_on_every_redis.py",
    "processes/test_workers.py",
    "stories/test_deepwork_story.py",
    "telemetry/test_live_traces.py",
    "processes/test_acceptance.py",
    "terminal/test_imports.py",
    "browser/test_acting_in_a_browser.py",
    "fuzz/test_stateful.py",
    "evaluations/test_evaluations.py",
    "terminal/test_doctor_of_processes.py",
    "processes/test_crashes.py",
    "dcf_run/test_init.py",
    "processes/test_on_a_cluster.py",
    "cluster/test_growth_benchmark.py",
    "browser/test_live_server.py",
)
"""The files that take longest. A long file at the end would keep one worker busy and the others idle."""


@pytest.fixture(scope="session", autouse=True)
def _trusted() -> None:
    """Programs of others fetch packages, and trust what the machine does."""


@pytest.fixture(scope="module", autouse=True)
def _empty_redis() -> None:
    """The demonstration runs of a session stay for all files."""


def pytest_configure(config: pytest.Config) -> None:
    """Let `--dist loadfile` keep the order of the files, which it otherwise sorts by their number of tests."""
    config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the long files to the front; the order that pytest-randomly drew is otherwise kept."""
    ranks = {HERE / name: rank for rank, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT_S))
