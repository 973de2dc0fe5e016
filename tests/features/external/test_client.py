"""Signals, child runs and callbacks, from Python."""

from typing import Any

import pytest

from dcf.client import Client
from dcf.errors import Refused, RunFailed
from tests.python.workflows import chain
from tests.support.waiting import wait_until


def one_state(**state: Any) -> dict[str, Any]:
    return {"asl": {"StartAt": "Wait", "States": {"Wait": {"Type": "Task", "End": True, **state}}}}


def test_a_signal_ends_the_task_that_waits_for_it_and_an_early_one_is_kept(client: Client, run_id: str) -> None:
    paid = one_state(Resource="dcf:signal", Parameters={"name": "paid"})
    client.start(paid, workflow_id=run_id)
    sent = client.signal(run_id, "paid", {"amount": 7}, request_id="first")
    assert (sent.kept, sent.state, sent.state_status, sent.run_status) == (False, "Wait", "succeeded", "succeeded")
    assert client.signal(run_id, "paid", {"amount": 7}, request_id="first").repeated
    assert client.result(run_id) == {"amount": 7}
    early = f"{run_id}-early"
    wait = paid["asl"]["States"]["Wait"]
    client.start(
        {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "Wait"}, "Wait": wait}}}, workflow_id=early
    )
    signal = client.signal(early, "paid", "in advance")
    assert (signal.kept, signal.number, signal.state) == (True, 1, None)
    assert [(item.name, item.number) for item in client.get(early).signals] == [("paid", 1)]
    client.resolve(early, "A", output="done")
    assert client.result(early) == "in advance"


def test_a_child_run_is_found_by_its_parent_and_names_it(client: Client, run_id: str) -> None:
    started = client.start(chain("Work") | {"workflow_name": f"child-of-{run_id}"})
    client.cancel(started.workflow_id)
    begins = one_state(
        Resource="arn:aws:states:::states:startExecution.sync:2",
        Parameters={"StateMachineArn": f"child-of-{run_id}", "Input": {"a": 1}},
    )
    client.start(begins, workflow_id=run_id)
    wait_until(lambda: list(client.list(parent=run_id)))
    (child,) = client.list(parent=run_id)
    parent = client.get(child.workflow_id).parent
    assert parent is not None
    assert (child.parent, parent.run, parent.state, parent.depth) == (run_id, run_id, "Wait", 1)
    client.resolve(child.workflow_id, "Work", output="done by the child")
    assert client.result(run_id, timeout_s=60)["Output"] == "done by the child"


def waiting_for_a_callback(client: Client, run_id: str, agent: str) -> str:
    """A run whose function has handed its task token out, and that token."""
    tokens: list[str] = []
    sends = one_state(Resource="mail.waitForTaskToken", Parameters={"token.$": "$$.Task.Token"}, HeartbeatSeconds=600)
    with client.serve({"Wait": lambda value: tokens.append(value["token"])}, agent):
        client.start(sends, workflow_id=run_id, agents=agent)
        wait_until(lambda: any(event.type == "CallbackAwaited" for event in client.events(run_id)))
    return tokens[0]


def test_who_holds_a_task_token_keeps_the_task_alive_and_ends_it(
    client: Client, served: Client, run_id: str, agent: str
) -> None:
    token = waiting_for_a_callback(served, run_id, agent)
    alive = client.send_task_heartbeat(token)
    assert (alive.state, alive.state_status) == ("Wait", "running")
    assert alive.heartbeat_due is not None
    ended = client.send_task_success(token, {"paid": True})
    assert (ended.workflow_id, ended.state_status, ended.run_status) == (run_id, "succeeded", "succeeded")
    assert client.send_task_success(token, {"paid": True}).repeated
    assert client.result(run_id) == {"paid": True}
    with pytest.raises(Refused):
        client.send_task_failure(token, error="TooLate")


def test_who_holds_a_task_token_fails_the_task(client: Client, served: Client, run_id: str, agent: str) -> None:
    token = waiting_for_a_callback(served, run_id, agent)
    assert client.send_task_failure(token, error="Declined", cause="no money").state_status == "failed"
    with pytest.raises(RunFailed) as failed:
        client.result(run_id)
    assert (failed.value.error, failed.value.cause) == ("Declined", "no money")
