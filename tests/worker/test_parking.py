"""A worker parks a state whose function met a usage limit: it reports the usage, and releases without an attempt."""

from datetime import datetime, timedelta, timezone
from typing import Any

import dcf.testing
from dcf.errors import DcfError
from dcf.worker import AccountLimited, TaskContext, TaskFailed
from dcf.worker.lease_calls import work_of
from tests.support.agents.worker_tools import FakeTools, event, worker
from tests.support.tables import rows

PARKED = {"status": "lease_released", "updated_state": {"status": "pending"}}
WORK: dict[str, Any] = {"input": 1, "epoch": 41}


class TooMany(Exception):
    """As a client of an API raises it."""

    status_code = 429

    def __init__(self, **headers: str) -> None:
        super().__init__("Too many requests.")
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def calls(error: BaseException, **work: Any) -> FakeTools:
    """The calls of a worker whose function raises this."""

    def fail(_: Any) -> None:
        raise error

    tools = FakeTools(acquire_state_lease={"work": {**WORK, **work}}, release_state_lease=PARKED)
    worker(tools, {"A": fail}).handle(event())
    return tools


def released(error: BaseException, **work: Any) -> dict[str, Any]:
    tools = calls(error, **work)
    assert tools.names == ["acquire_state_lease", "release_state_lease"]
    return tools.arguments("release_state_lease")[0]


def test_a_function_that_met_a_limit_releases_its_state_until_then() -> None:
    until = datetime(2126, 11, 24, 14, 0, tzinfo=timezone(timedelta(hours=1)))
    result = released(AccountLimited(until=until, cause="five-hour limit"))
    assert (result["limited_until"], result["limit_kind"]) == ("2126-11-24T13:00:00+00:00", "limit")
    assert result["reason"] == "usage limit (limit): five-hour limit"
    assert "attempt_counts" not in result


def test_an_error_of_a_client_that_tells_the_time_parks_the_state_too() -> None:
    assert released(TooMany(retry_after="36.2"))["limited_until"] == "37s"


@rows("error", [TooMany(), TaskFailed("Mine", "try again in 9s: usage limit reached"), ValueError("429")])
def test_an_error_without_a_told_time_fails_the_state_for_retry_and_catch(error: Exception) -> None:
    (written,) = calls(error).arguments("update_workflow_control_plane")
    assert written["new_status"] == "failed"


@rows("times, wait", [(0, "60s"), (1, "120s"), (4, "960s"), (9, "960s")])
def test_without_a_time_the_pause_doubles_up_to_sixteen_minutes_and_is_a_guess(times: int, wait: str) -> None:
    result = released(AccountLimited(), parked={"times": times, "seconds": 0})
    assert (result["limited_until"], result["limit_kind"]) == (wait, "guess")


def test_spent_credit_is_parked_as_such() -> None:
    assert released(AccountLimited(kind="spent"))["limit_kind"] == "spent"


def test_the_usage_of_the_attempt_is_reported_before_and_once() -> None:
    def use(_: Any, context: TaskContext) -> None:
        context.report_usage(tokens_in=7)
        raise AccountLimited(after_s=5)

    tools = FakeTools(acquire_state_lease={"work": WORK}, release_state_lease=PARKED)
    worker(tools, {"A": use}).handle(event())
    assert tools.names == ["acquire_state_lease", "update_workflow_control_plane", "release_state_lease"]
    (used,) = tools.arguments("update_workflow_control_plane")
    assert (used["usage_json"]["tokens_in"], used["request_id"]) == (7, "usage-of-attempt")
    assert "new_status" not in used
    assert "usage_json" not in tools.arguments("release_state_lease")[0]


def test_a_server_that_does_not_answer_is_asked_again_until_the_state_is_parked() -> None:
    answers: list[Any] = [DcfError("away"), PARKED]
    answers[0].code = "server_unreachable"

    def release(**_: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, DcfError):
            raise answer
        return answer

    def fail(_: Any) -> None:
        raise AccountLimited(after_s=5)

    tools = FakeTools(acquire_state_lease={"work": WORK}, release_state_lease=release)
    worker(tools, {"A": fail}).handle(event())
    assert tools.names.count("release_state_lease") == 2


def test_of_several_results_the_parked_ones_are_released_and_the_others_written() -> None:
    tools = FakeTools(
        complete_states={"completed": [{"code": "ok", "state": "B"}], "work": []}, release_state_lease=PARKED
    )
    served = worker(tools)
    limit = {"new_status": "parked", "limited_until": "5s", "limit_kind": "limit", "reason": "r"}
    done = {"new_status": "succeeded", "output_json": "1"}
    works = [_work("A"), _work("B")]
    assert served.deliver_all("run-1", [(works[0], limit), (works[1], done)], 0) == []
    (sent,) = tools.arguments("complete_states")
    assert [result["state"] for result in sent["results"]] == ["B"]
    assert [argument["state"] for argument in tools.arguments("release_state_lease")] == ["A"]


def test_results_that_are_all_parked_need_no_completion() -> None:
    tools = FakeTools(release_state_lease=PARKED)
    limit = {"new_status": "parked", "limited_until": "5s", "limit_kind": "limit", "reason": "r"}
    assert worker(tools).deliver_all("run-1", [(_work("A"), limit)], 1) == []
    assert tools.names == ["release_state_lease"]


def test_a_worker_that_shuts_down_gives_its_states_back_without_an_attempt() -> None:
    tools = FakeTools(release_state_lease=PARKED)
    worker(tools).decline({"workflow_id": "run-1", "state": "A", "lease_token": "t"})
    assert tools.arguments("release_state_lease")[0]["attempt_counts"] is False


def test_a_limit_in_a_test_run_fails_by_the_name_that_a_catch_can_use() -> None:
    machine = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}
    finished = dcf.testing.run(machine, answers={"A": AccountLimited(after_s=5)})
    assert finished.error == "DCF.AccountLimit"


def _work(state: str) -> Any:
    return work_of({"workflow_id": "run-1", "state": state, "lease_token": f"t-{state}"})
