"""Work across runs, from Python."""

import uuid
from typing import Any

import pytest

from dcf.client import Client
from dcf.errors import Refused

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
    (holding,) = client.find_work(me, workflow_id=run_id, status="running")
    assert holding.holder == me
    assert client.claim_work(me, workflow_id=run_id) is None


def test_a_claim_is_kept_given_back_failed_and_completed(client: Client, run_id: str) -> None:
    me = f"a-{uuid.uuid4().hex[:8]}"
    vague = [{"ErrorEquals": ["TooVague"], "Next": "B"}]
    states = {"A": {"Type": "Task", "Catch": vague, "End": True}, "B": {"Type": "Task", "End": True}}
    client.start({"asl": {"StartAt": "A", "States": states}}, workflow_id=run_id, agents=me)
    claim = client.claim_work(me, workflow_id=run_id, lease_ttl_s=30)
    assert claim is not None
    before, after = claim.work["lease_expires_at"], claim.renew(600).lease
    assert (claim.workflow_id, claim.state) == (run_id, "A")
    assert after is not None
    assert after["expires_at"] > before
    assert (claim.release("lunch").updated_state or {})["status"] == "pending"
    with pytest.raises(Refused) as lost:
        claim.complete("too late")
    assert lost.value.code == "lease_lost"
    again = client.claim_work(me, workflow_id=run_id)
    assert again is not None
    assert again.fail("TooVague", "No figures.").next_states == ("B",)
    last = client.claim_work(me, workflow_id=run_id)
    assert last is not None
    assert last.work["input"] == {"Error": "TooVague", "Cause": "No figures."}
    assert last.complete({"n": 1}, usage={"tokens_in": 5}).run_status == "succeeded"
    assert client.result(run_id) == {"n": 1}


def test_a_run_that_grows_is_opened_in_a_project_with_its_input_and_limits(client: Client, run_id: str) -> None:
    project = f"p-{uuid.uuid4().hex[:8]}"
    client.open_run("release", run_id, project=project, input=[7], expiry_secs=60, max_attempts=3, reason="soon")
    assert [run.workflow_id for run in client.list(project=project)] == [run_id]
    exported = client.export(run_id)
    meta = dict(exported.head or {})["meta"]
    assert (meta["input"], meta["retention_s"], meta["max_attempts"]) == ([7], 60, 3)
    assert exported.events[0]["reason"] == "soon"
