"""Work across runs, from Python."""

import uuid
from typing import Any

from dcf.client import Client

TWO: dict[str, Any] = {
    "asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}}
}


def test_work_is_found_and_claimed_across_runs(client: Client, run_id: str) -> None:
    me = f"a-{uuid.uuid4().hex[:8]}"
    client.start(TWO, workflow_id=run_id, agents=me)
    (ready,) = client.find_work(me, workflow_id=run_id)
    assert (ready.workflow_id, ready.state, ready.status, ready.attempt) == (run_id, "A", "ready", 1)
    claimed = client.claim_work(me, workflow_id=run_id)
    assert claimed is not None
    assert (claimed.state, claimed.work["workflow_id"]) == ("A", run_id)
    (held,) = client.find_work(me, workflow_id=run_id, status="running")
    assert held.holder == me
    assert client.claim_work(me, workflow_id=run_id) is None


def test_a_run_that_grows_is_opened_in_a_project_with_its_input_and_limits(client: Client, run_id: str) -> None:
    project = f"p-{uuid.uuid4().hex[:8]}"
    client.open_run("release", run_id, project=project, input=[7], expiry_secs=60, max_attempts=3, reason="soon")
    assert [run.workflow_id for run in client.list(project=project)] == [run_id]
    exported = client.export(run_id)
    meta = exported.head["meta"]
    assert (meta["input"], meta["retention_s"], meta["max_attempts"]) == ([7], 60, 3)
    assert exported.events[0]["reason"] == "soon"
