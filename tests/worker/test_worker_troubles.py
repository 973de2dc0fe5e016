"""A Python worker while its lease or its server is in trouble: it renews, keeps its result, or gives it up."""

import logging
import threading
from typing import Any

import pytest

from dcf.errors import DcfError, ServerUnreachable, ToolCallFailed
from dcf.worker import Work, Worker
from dcf.worker.results import Result
from tests.support.agents.worker_tools import (
    RUN,
    TIMEOUT,
    Answer,
    FakeTools,
    Inbox,
    claimed,
    event,
    message,
    serve,
    worker,
)
from tests.support.tables import rows

# The lease while the function runs


def test_the_lease_is_renewed_while_the_function_runs_and_not_afterwards() -> None:
    renewed = threading.Semaphore(0)

    def renew(**_: Any) -> Answer:
        renewed.release()
        return {}

    def work(value: Any) -> Any:
        assert all(renewed.acquire(timeout=60) for _ in range(2))

    tools = FakeTools(renew_state_lease=renew)
    done = worker(tools, {"A": work}, lease_ttl_s=1)
    done.handle(event())
    renewals = tools.arguments("renew_state_lease")
    token = tools.arguments("acquire_state_lease")[0]["lease_token"]
    assert renewals[0] == {"workflow_id": RUN, "state": "A", "lease_token": token, "reject_if_expired": False}
    assert done._renewals._held == {}, "the thread that renews has no lease to renew"


def test_a_renewal_that_fails_is_tried_again() -> None:
    answers: list[Answer | DcfError] = [ServerUnreachable("The dcf server did not answer."), {}]
    done = threading.Event()

    def renew(**_: Any) -> Answer:
        answer = answers.pop(0)
        if isinstance(answer, DcfError):
            raise answer
        done.set()
        return answer

    def work(value: Any) -> Any:
        assert done.wait(60)

    tools = FakeTools(renew_state_lease=renew)
    worker(tools, {"A": work}, lease_ttl_s=1).handle(event())
    assert tools.arguments("update_workflow_control_plane")[0]["new_status"] == "succeeded"


def test_the_result_is_discarded_when_the_lease_was_lost_during_the_work(caplog: pytest.LogCaptureFixture) -> None:
    lost = threading.Event()
    refusal = {"code": "lease_lost", "error": "lease_lost: This token does not hold state 'A'."}

    def renew(**_: Any) -> Answer:
        lost.set()
        return refusal

    def work(value: Any) -> Any:
        assert lost.wait(60)
        return "too late"

    tools = FakeTools(renew_state_lease=renew, update_workflow_control_plane=refusal | {"work": claimed("A")})
    with caplog.at_level(logging.WARNING):
        worker(tools, {"A": work}, lease_ttl_s=1).handle(event())
    assert tools.names[-1] == "update_workflow_control_plane", "nobody is told, nothing else is done"
    assert f"{RUN}/A: the result is given up: lease_lost" in caplog.text


# A finished result, while the server or its Redis is in trouble

TROUBLE: list[DcfError | Answer] = [
    ServerUnreachable("The dcf server did not answer."),
    ToolCallFailed("store_unavailable", "Redis refuses writes: its memory is full (OOM)."),
    ToolCallFailed("unknown_outcome", "It is not known whether the write took effect."),
    ToolCallFailed("conflict", "Others kept changing the same documents."),
    ToolCallFailed("rate_limited", "This key calls too often."),
    {"code": "quota_exceeded", "error": "quota_exceeded: The quota stored_bytes of this key is used up."},
]


@rows("trouble", TROUBLE, ids=lambda item: item.code if isinstance(item, DcfError) else item["code"])
def test_a_finished_result_is_kept_until_it_is_taken(
    trouble: DcfError | Answer, caplog: pytest.LogCaptureFixture
) -> None:
    worked: list[Any] = []
    troubles = [trouble] * 3

    def write(**_: Any) -> Answer:
        if troubles:
            trouble = troubles.pop()
            if isinstance(trouble, DcfError):
                raise trouble
            return trouble
        return {"run_status": "succeeded"}

    tools = FakeTools(acquire_state_lease={"work": {"input": 1}}, update_workflow_control_plane=write)
    worker(tools, {"A": worked.append}).handle(event())
    written = tools.arguments("update_workflow_control_plane")
    assert len(written) == 4
    assert all(text == written[0] for text in written), "the same request, so that it is applied once"
    assert worked == [1]
    why = trouble.message if isinstance(trouble, DcfError) else trouble["error"]
    assert caplog.text.count(f"{RUN}/A: the result is kept and sent again: {why}") == 3


REFUSALS: list[Answer | DcfError] = [
    {"code": "lease_lost", "error": "lease_lost: This token does not hold state 'A'."},
    {"code": "terminal", "error": "terminal: State 'A' is already succeeded."},
    {"code": "already_completed", "error": "already_completed: State 'A' has another result."},
    ToolCallFailed("too_large", "The output is too large."),
    ToolCallFailed("store_unsuitable", "Redis lacks a command that dcf needs."),
    ToolCallFailed("internal_error", "Something failed inside the server."),
]


@rows("refusal", REFUSALS, ids=lambda item: item.code if isinstance(item, DcfError) else item["code"])
def test_a_result_that_is_refused_is_given_up_and_said_to_be(
    refusal: Answer | DcfError, caplog: pytest.LogCaptureFixture
) -> None:
    tools = FakeTools(update_workflow_control_plane=refusal)
    worker(tools).handle(event())
    assert tools.names == ["acquire_state_lease", "update_workflow_control_plane"]
    why = refusal.message if isinstance(refusal, DcfError) else refusal["error"]
    assert f"{RUN}/A: the result is given up: {why}" in caplog.text


def test_a_worker_told_to_stop_does_not_wait_for_a_server_that_stays_away(caplog: pytest.LogCaptureFixture) -> None:
    inbox = Inbox(message(1), TIMEOUT)

    def write(**_: Any) -> Answer:
        inbox.stop.set()
        raise ServerUnreachable("The dcf server did not answer.")

    tools = serve(inbox, update_workflow_control_plane=write)
    assert tools.names.count("update_workflow_control_plane") == 1
    assert f"{RUN}/A: the result is given up: the worker was told to stop" in caplog.text


class Heard:
    """A witness that remembers what it heard of the ends of states."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def taken(self, work: Work) -> None:
        self.told.append("taken")

    def ended(self, work: Work, result: Result) -> None:
        self.told.append(str(result["new_status"]))

    def lost(self, work: Work, why: str) -> None:
        self.told.append(why)


def test_of_several_results_the_one_that_misfits_is_sent_again_as_a_failure() -> None:
    problem = {"path": "/total", "message": "Must be a number, not a string."}

    def complete(results: list[dict[str, Any]], **_: Any) -> Answer:
        fails = "error_name" in results[0]
        details = {"code": "ok"} if fails else {"code": "output_invalid", "error": "no", "problems": [problem]}
        return {"completed": [{"state": "A"} | details], "work": []}

    tools, heard = FakeTools(complete_states=complete), Heard()
    worker = Worker(tools, "me", {"A": lambda value: value}, pause_s=0.001, witness=heard)
    work = Work(workflow_id=RUN, state="A", token="t", given={})
    worker.deliver_all(RUN, [(work, {"new_status": "succeeded", "output_json": '{"total": "7"}'})], 0)
    _, again = tools.arguments("complete_states")
    (sent,) = again["results"]
    assert sent["error_name"] == "DCF.InvalidOutput"
    assert "/total: Must be a number" in sent["error_message"]
    assert heard.told == ["failed"], "nobody is told that it was lost"


def test_an_event_of_work_beyond_the_limit_is_not_acknowledged_and_comes_again() -> None:
    refused = [{"code": "work_limit_reached", "error": "You hold 1 state."}, {"code": "lease_held", "error": "Held."}]
    tools = serve(Inbox(message(1), message(1), TIMEOUT), acquire_state_lease=lambda **_: refused.pop(0))
    waits = tools.arguments("await_workflow_event")
    assert [wait["ack_message_id"] for wait in waits] == [None, None, "1-0"]
