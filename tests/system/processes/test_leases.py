"""Leases in real time: a slow worker keeps its lease, a frozen one loses it."""

import os
import signal
import threading
from datetime import datetime
from typing import Any

import pytest

from dcf.tools.calling.client import ToolClient, connect
from dcf.worker import Worker
from tests.support.waiting import wait_until
from tests.system.processes.runs import begin, read, state_of, wait_succeeded
from tests.system.processes.site import LONG, STATES, Server, Site, effective

pytestmark = pytest.mark.processes


LEASE_S = 3


def test_a_slow_function_keeps_its_lease(
    shared_server: Server, shared_site: Site, tools: ToolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than the lease; meanwhile no other agent gets the state.

    It is renewed so often that only a machine which stands still for almost the whole lease loses it.
    """
    monkeypatch.setattr("dcf.worker.worker._RENEWALS_PER_LEASE", 12)
    go, stop = threading.Event(), threading.Event()

    def slowly(value: Any) -> Any:
        assert go.wait(LONG)
        return {"total": "242.77"}

    with connect(shared_server.url) as own:
        worker = Worker(own, "slow", {"ValidateOrder": slowly}, lease_ttl_s=LEASE_S, wait_s=0.2)
        thread = threading.Thread(target=worker.serve, args=(stop,), daemon=True)
        thread.start()
        try:
            run_id = begin(tools, {"ValidateOrder": "slow"})
            _refuse_a_rival_for(LEASE_S, tools, run_id)
            go.set()
            wait_until(lambda: state_of(tools, run_id, "ValidateOrder")["status"] != "running", LONG)
        finally:
            stop.set()
            thread.join()
    assert state_of(tools, run_id, "ValidateOrder")["attempts"] == 1
    events = [event for event in shared_site.events(run_id) if event["state"] == "ValidateOrder"]
    assert effective(events) == {"ValidateOrder": 1}
    assert sum(event["type"] == "LeaseRenewed" for event in events) == 1, "of many renewals the first is told"
    tools.call("finalize_workflow", workflow_id=run_id)


def test_a_frozen_worker_is_replaced_and_its_late_result_refused(
    hooks: Site, shared_server: Server, tools: ToolClient
) -> None:
    """The copy has the lease, a long one, and is still at work when the frozen one wakes up and reports."""
    hooks.hook("signed")
    hooks.hook("GenerateInvoice.hold")
    frozen = hooks.worker(shared_server.url, "frozen", "--lease-ttl", "1")
    run_id = begin(tools, dict.fromkeys(STATES, "frozen"))
    hooks.wait_entered("GenerateInvoice")
    os.kill(frozen.pid, signal.SIGSTOP)
    copy = hooks.worker(shared_server.url, "frozen")
    hooks.wait_entered("GenerateInvoice", 2)
    hooks.hook(f"GenerateInvoice.go.{frozen.pid}")
    os.kill(frozen.pid, signal.SIGCONT)
    wait_until(lambda: "the result is given up: lease_lost" in hooks.said(frozen), LONG)
    assert read(tools, run_id)["meta"]["status"] == "running"
    assert read(tools, run_id)["outputs"]["GenerateInvoice"] is None
    hooks.hook("GenerateInvoice.go")
    result = wait_succeeded(tools, run_id)
    assert result["meta"]["output"]["pid"] == copy.pid
    assert result["states"]["GenerateInvoice"]["attempts"] == 2
    assert effective(hooks.events(run_id)) == dict.fromkeys(STATES, 1)


def _refuse_a_rival_for(seconds: float, tools: ToolClient, run_id: str) -> None:
    """Try to take the state as another copy would until the server's clock has moved on by so much."""
    wait_until(lambda: state_of(tools, run_id, "ValidateOrder")["status"] == "running", LONG)
    first = _expiry(state_of(tools, run_id, "ValidateOrder"))

    def refused_long_enough() -> bool:
        answer = tools.call(
            "acquire_state_lease", workflow_id=run_id, state="ValidateOrder", owner_agent_id="slow", lease_ttl_s=1
        )
        assert answer["code"] == "lease_held", answer
        return (_expiry(answer["updated_state"]) - first).total_seconds() > seconds

    wait_until(refused_long_enough, LONG)


def _expiry(doc: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(doc["lease"]["expires_at"])
