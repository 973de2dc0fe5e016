"""Gates, from Python: what waits for a verdict, and a verdict about the output that was read."""

from typing import Any

import pytest

from dcf.client import Client
from dcf.errors import Refused

CRITERIA = ["Every claim has a source.", "It is short."]
REVIEW = {"name": "review", "kind": "review", "criteria": CRITERIA}
GATED: dict[str, Any] = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Gates": [REVIEW], "End": True}}}}


def deliver(client: Client, run_id: str, token: str, text: str) -> None:
    written = {"workflow_id": run_id, "state": "A", "lease_token": token, "new_status": "succeeded"}
    answer = client._tools.call("update_workflow_control_plane", **written, output_json={"text": text})
    assert answer["code"] == "review_running"


def test_a_verdict_is_about_the_output_that_was_read(client: Client, served: Client, run_id: str) -> None:
    client.start(GATED, workflow_id=run_id, agents={"A": "ann"})
    lease = served._tools.call("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="ann")
    deliver(served, run_id, lease["work"]["lease_token"], "one")
    (read,) = client.list_gates(workflow_id=run_id)
    assert (read.criteria, read.output, read.author) == (tuple(CRITERIA), {"text": "one"}, "ann")
    deliver(served, run_id, lease["work"]["lease_token"], "two")
    (other,) = client.list_gates(workflow_id=run_id)
    verdict: dict[str, Any] = {"agent_id": "rita", "failed": ()}
    with pytest.raises(Refused) as stale:
        client.decide_gate(run_id, "A", "review", "pass", content_sha256=read.content_sha256, **verdict)
    assert stale.value.code == "content_changed"
    assert other.content_sha256 not in f"{stale.value} {stale.value.hint}"
    decided = client.decide_gate(run_id, "A", "review", "pass", content_sha256=other.content_sha256, **verdict)
    assert (decided.verdict, decided.run_status) == ("pass", "succeeded")
