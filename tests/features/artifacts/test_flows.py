"""Artifacts of flows: the functions of a flow put and get them with a client of their own."""

import pytest

from dcf.client import Client
from tests.features.artifacts.report_flow import report
from tests.support.redis.restricted import RestrictedRedis


def test_a_step_keeps_a_file_and_the_next_one_reads_it(
    served: Client, run_id: str, agent: str, python_redis: RestrictedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", python_redis.url)
    with served.serve(report, agent):
        served.start(report, report.input("report.txt", ["two words", "three"]), workflow_id=run_id, agents=agent)
        assert served.result(run_id) == 3
    (artifact,) = served.list_artifacts(run_id)
    assert (artifact.name, artifact.state) == ("report.txt", "write")
