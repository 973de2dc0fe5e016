"""Lines in the history of a run, from Python."""

from dcf.client import Client
from tests.features.journal.test_client import ONE


def test_a_line_is_written_once(client: Client, run_id: str) -> None:
    client.start(ONE, workflow_id=run_id, agents="ann")
    taken = client.claim_work("ann", workflow_id=run_id)
    assert taken is not None
    line = (run_id, "A", str(taken.work["lease_token"]), 1, "half done")
    assert not client.log_event(*line, fields={"done": 2}).repeated
    assert client.log_event(*line, fields={"done": 2}).repeated
    (event,) = client.events(run_id, types=["TaskLogged"])
    assert event.data["fields"] == {"done": 2}
