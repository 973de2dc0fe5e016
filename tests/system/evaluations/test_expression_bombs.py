"""A server outlives every expression: its memory stays within bounds, and it answers while others evaluate."""

from pathlib import Path

import pytest

from benchmarks.expressions import BOMBS, meet, workflow
from benchmarks.waiting import serving
from dcf.application.application import open_application
from dcf.settings.process import Settings

pytestmark = pytest.mark.processes

LIMITED = {"States.QueryEvaluationError", "States.DataLimitExceeded"}


def test_a_server_answers_and_hardly_grows_while_expressions_want_too_much(short_directory: Path) -> None:
    settings = Settings(redis_url=None, data_dir=short_directory / "bombs")
    with open_application(settings) as app, serving(app, "serve", "--transport", "http") as served:
        meet(served, "warm", [workflow("[1..3]")])
        trials = [[workflow(bomb) for bomb in BOMBS[first::3]] for first in range(3)]
        trials.append([workflow(BOMBS[0], wait_s=1)])  # the timer loop evaluates it
        for workflows in trials:
            met = meet(served, "some at a time", workflows)
            assert met.errors <= LIMITED, workflows
            assert met.growth_mib < 64, workflows
            assert met.answers > 1, workflows
            assert met.health_ms < 10_000, workflows  # 250 ms on a machine that is idle else; see the benchmark
