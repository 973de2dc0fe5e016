"""A Python worker against a server of a few lines: what it calls, in which order, and what it makes of answers."""

import logging
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from dcf.errors import DcfError, ServerUnreachable, ToolCallFailed
from dcf.worker import FUNCTIONS, TaskFailed, TaskFunction, Worker, task

RUN = "run-1"
Answer = dict[str, Any]
Tool = Callable[..., Answer]


class FakeTools:
    """Remembers every call; answers `ok` unless a test says otherwise for a tool."""

    def __init__(self, **answers: Answer | DcfError | Tool) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answers = answers

    def call(self, tool: str, **arguments: Any) -> Answer:
        self.calls.append((tool, arguments))
        answer = self._answers.get(tool, {"code": "ok"})
        if isinstance(answer, DcfError):
            raise answer
        return {"code": "ok", **(answer(**arguments) if callable(answer) else answer)}

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def arguments(self, tool: str) -> list[dict[str, Any]]:
        return [arguments for name, arguments in self.calls if name == tool]


def event(state: str | None = "A", **more: Any) -> dict[str, Any]:
    return {"workflow_id": RUN, "target_state": state, **more}


def worker(tools: FakeTools, functions: dict[str, TaskFunction] | None = None, *, lease_ttl_s: int = 30) -> Worker:
    named = functions or {"A": lambda given: given}
    return Worker(tools, "me", named, lease_ttl_s=lease_ttl_s, wait_s=0, pause_s=0.001)


def report(function: TaskFunction) -> dict[str, Any]:
    """What a worker with this function writes."""
    tools = FakeTools()
    worker(tools, {"A": function}).handle(event())
    (written,) = tools.arguments("update_workflow_control_plane")
    return written


def failing(error: Exception) -> TaskFunction:
    def fail(given: Any) -> Any:
        raise error

    return fail


# The order of things


def test_a_state_is_leased_worked_on_written_told_and_released() -> None:
    tools = FakeTools(acquire_state_lease={"input": {"n": 1}}, update_workflow_control_plane={"run_status": "running"})
    worker(tools, {"A": lambda given: {"n": given["n"] + 1}}).handle(event())
    assert tools.names == [
        "acquire_state_lease",
        "update_workflow_control_plane",
        "notify_next_worker_agent",
        "release_state_lease",
    ]
    (asked,), (written,) = tools.arguments("acquire_state_lease"), tools.arguments("update_workflow_control_plane")
    assert (asked["workflow_id"], asked["state"], asked["owner_agent_id"], asked["lease_ttl_s"]) == (RUN, "A", "me", 30)
    assert (written["new_status"], written["output_json"]) == ("succeeded", '{"n":2}')
    assert written["lease_token"] == asked["lease_token"] == tools.arguments("release_state_lease")[0]["lease_token"]


def test_every_lease_has_a_token_of_its_own_that_cannot_be_guessed() -> None:
    tools = FakeTools()
    for _ in range(2):
        worker(tools).handle(event())
    tokens = {asked["lease_token"] for asked in tools.arguments("acquire_state_lease")}
    assert len(tokens) == 2
    assert all(len(token) > 32 for token in tokens)


def test_nobody_is_told_when_the_run_is_over() -> None:
    tools = FakeTools(update_workflow_control_plane={"run_status": "succeeded"})
    worker(tools).handle(event())
    assert "notify_next_worker_agent" not in tools.names


def test_a_duplicate_event_is_dropped_where_the_lease_is_refused() -> None:
    worked: list[Any] = []
    tools = FakeTools(acquire_state_lease={"code": "terminal", "error": "terminal: State 'A' is already succeeded."})
    worker(tools, {"A": worked.append}).handle(event())
    assert (worked, tools.names) == ([], ["acquire_state_lease"])


@pytest.mark.parametrize("state", ["Unknown", None])
def test_an_event_of_a_state_without_a_function_is_dropped(state: str | None) -> None:
    tools = FakeTools()
    worker(tools).handle(event(state))
    assert tools.calls == []


def test_the_decorator_registers_by_state_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, "Registered", lambda given: given)
    registered = task("Registered")(lambda given: [given])
    assert FUNCTIONS["Registered"] is registered
    tools = FakeTools(acquire_state_lease={"input": 5})
    Worker(tools, "me").handle(event("Registered"))
    assert tools.arguments("update_workflow_control_plane")[0]["output_json"] == "[5]"


# What a function returns or raises


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (None, "null"),
        ("", '""'),
        ('{"looks": "like JSON"}', r'"{\"looks\": \"like JSON\"}"'),
        ("\u00fc\u202e", '"\u00fc\u202e"'),
        (True, "true"),
        ([1, 2.5], "[1,2.5]"),
        ({"a": {"b": None}}, '{"a":{"b":null}}'),
    ],
)
def test_an_output_arrives_as_the_value_it_is(output: Any, text: str) -> None:
    written = report(lambda given: output)
    assert (written["new_status"], written["output_json"]) == ("succeeded", text)


@pytest.mark.parametrize(
    "output",
    [Decimal("1.50"), float("nan"), float("inf"), {1, 2}, {"amount": Decimal(1)}, "\ud800", 2**64, "x" * 300_000],
    ids=["decimal", "nan", "infinity", "set", "nested", "surrogate", "huge-number", "huge-text"],
)
def test_an_output_that_is_no_json_fails_the_state(output: Any) -> None:
    written = report(lambda given: output)
    assert (written["new_status"], written["error_name"]) == ("failed", "DCF.InvalidOutput")
    assert written["error_message"].startswith("the output ")
    assert "output_json" not in written


def test_an_output_that_contains_itself_fails_the_state() -> None:
    output: list[Any] = []
    output.append(output)
    assert report(lambda given: output)["error_name"] == "DCF.InvalidOutput"


def test_an_output_with_keys_that_are_no_text_fails_the_state() -> None:
    assert report(lambda given: {1: "a"})["new_status"] == "failed"


def test_task_failed_names_the_error_and_the_cause() -> None:
    written = report(failing(TaskFailed("OrderRejected", "no such customer")))
    assert (written["new_status"], written["error_name"]) == ("failed", "OrderRejected")
    assert written["error_message"] == "no such customer"


def test_any_other_exception_is_a_failure_of_the_state_and_not_of_the_worker() -> None:
    written = report(failing(KeyError("price")))
    assert (written["new_status"], written["error_name"]) == ("failed", "States.TaskFailed")
    assert written["error_message"] == "KeyError: 'price'"


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "name", "cause"),
    [
        (TaskFailed("E" * 300, "c" * 30_000), "E" * 200, "c" * 20_000),
        (TaskFailed("", ""), "States.TaskFailed", ""),
        (TaskFailed("Bad\ud800", "bad \ud800 text"), "Bad?", "bad ? text"),
        (ValueError("\udcff"), "States.TaskFailed", "ValueError: ?"),
        (SpeechlessError(), "States.TaskFailed", "SpeechlessError"),
    ],
    ids=["too-long", "empty", "surrogates", "surrogate-in-exception", "speechless"],
)
def test_a_failure_can_always_be_reported(
    caplog: pytest.LogCaptureFixture, error: Exception, name: str, cause: str
) -> None:
    caplog.set_level(logging.CRITICAL, "dcf")  # a report of pytest cannot hold what stands in some of these
    written = report(failing(error))
    assert (written["error_name"], written["error_message"]) == (name, cause)
    written["error_message"].encode()


# The next state's lease, brought along by a completion


def claimed(state: str) -> Answer:
    return {"state": state, "lease": {"token": f"token-{state}"}, "input": {"from": "A"}}


def test_the_next_state_is_worked_on_at_once_when_its_lease_came_along() -> None:
    answers: list[Answer] = [{"run_status": "running", "claimed": claimed("B")}, {"run_status": "succeeded"}]
    tools = FakeTools(update_workflow_control_plane=lambda **_: answers.pop(0))
    worker(tools, {"A": lambda given: 1, "B": lambda given: [given]}).handle(event())
    first, second = tools.arguments("update_workflow_control_plane")
    assert (first["state"], first["claim_next"]) == ("A", True)
    assert (second["state"], second["lease_token"]) == ("B", "token-B")
    assert second["output_json"] == '[{"from":"A"}]'
    assert tools.names.count("acquire_state_lease") == 1


def test_a_claimed_state_without_a_function_is_given_back() -> None:
    tools = FakeTools(update_workflow_control_plane={"run_status": "running", "claimed": claimed("Z")})
    worker(tools).handle(event())
    assert tools.arguments("release_state_lease")[-1] == {
        "workflow_id": RUN,
        "state": "Z",
        "lease_token": "token-Z",
    }
    assert tools.names.count("update_workflow_control_plane") == 1


# The lease while the function runs


def test_the_lease_is_renewed_while_the_function_runs_and_not_afterwards() -> None:
    renewed = threading.Semaphore(0)

    def renew(**_: Any) -> Answer:
        renewed.release()
        return {}

    def work(given: Any) -> Any:
        assert all(renewed.acquire(timeout=10) for _ in range(2))

    tools = FakeTools(renew_state_lease=renew)
    worker(tools, {"A": work}, lease_ttl_s=1).handle(event())
    renewals = tools.arguments("renew_state_lease")
    token = tools.arguments("acquire_state_lease")[0]["lease_token"]
    assert renewals[0] == {"workflow_id": RUN, "state": "A", "lease_token": token, "reject_if_expired": False}
    assert not renewed.acquire(timeout=0.5), "a third of the lease and more has passed"


def test_a_renewal_that_fails_is_tried_again() -> None:
    answers: list[Answer | DcfError] = [ServerUnreachable("The dcf server did not answer."), {}]
    done = threading.Event()

    def renew(**_: Any) -> Answer:
        answer = answers.pop(0)
        if isinstance(answer, DcfError):
            raise answer
        done.set()
        return answer

    def work(given: Any) -> Any:
        assert done.wait(10)

    tools = FakeTools(renew_state_lease=renew)
    worker(tools, {"A": work}, lease_ttl_s=1).handle(event())
    assert tools.arguments("update_workflow_control_plane")[0]["new_status"] == "succeeded"


def test_the_result_is_discarded_when_the_lease_was_lost_during_the_work(caplog: pytest.LogCaptureFixture) -> None:
    lost = threading.Event()
    refusal = {"code": "lease_lost", "error": "lease_lost: This token does not hold state 'A'."}

    def renew(**_: Any) -> Answer:
        lost.set()
        return refusal

    def work(given: Any) -> Any:
        assert lost.wait(10)
        return "too late"

    tools = FakeTools(renew_state_lease=renew, update_workflow_control_plane=refusal | {"claimed": claimed("A")})
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


@pytest.mark.parametrize("trouble", TROUBLE, ids=lambda one: one.code if isinstance(one, DcfError) else one["code"])
def test_a_finished_result_is_kept_until_it_is_taken(
    trouble: DcfError | Answer, caplog: pytest.LogCaptureFixture
) -> None:
    worked: list[Any] = []
    troubles = [trouble] * 3

    def write(**_: Any) -> Answer:
        if troubles:
            told = troubles.pop()
            if isinstance(told, DcfError):
                raise told
            return told
        return {"run_status": "succeeded"}

    tools = FakeTools(acquire_state_lease={"input": 1}, update_workflow_control_plane=write)
    worker(tools, {"A": worked.append}).handle(event())
    written = tools.arguments("update_workflow_control_plane")
    assert len(written) == 4
    assert all(one == written[0] for one in written), "the same request, so that it is applied once"
    assert worked == [1]
    why = trouble.message if isinstance(trouble, DcfError) else trouble["error"]
    assert caplog.text.count(f"{RUN}/A: the result is kept and sent again: {why}") == 3
    assert tools.names[-1] == "release_state_lease"


REFUSALS: list[Answer | DcfError] = [
    {"code": "lease_lost", "error": "lease_lost: This token does not hold state 'A'."},
    {"code": "terminal", "error": "terminal: State 'A' is already succeeded."},
    {"code": "already_completed", "error": "already_completed: State 'A' has another result."},
    ToolCallFailed("too_large", "The output is too large."),
    ToolCallFailed("store_unsuitable", "Redis lacks a command that dcf needs."),
    ToolCallFailed("internal_error", "Something failed inside the server."),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.code if isinstance(one, DcfError) else one["code"])
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


@pytest.mark.parametrize("failing_call", ["notify_next_worker_agent", "release_state_lease"])
def test_work_that_came_along_is_done_although_telling_others_failed(failing_call: str) -> None:
    """The clock tells whoever is to be told; a lease that came along nobody else may use."""
    answers: list[Answer] = [{"run_status": "running", "claimed": claimed("B")}, {"run_status": "succeeded"}]
    away: dict[str, Any] = {failing_call: ServerUnreachable("The dcf server did not answer.")}
    tools = FakeTools(update_workflow_control_plane=lambda **_: answers.pop(0), **away)
    worker(tools, {"A": lambda given: 1, "B": lambda given: 2}).handle(event())
    assert [written["state"] for written in tools.arguments("update_workflow_control_plane")] == ["A", "B"]


# Waiting for events


class Inbox:
    """Hands out what the test put in, then stops the worker."""

    def __init__(self, *found: Answer | DcfError) -> None:
        self.stop = threading.Event()
        self._found = list(found)

    def __call__(self, **_: Any) -> Answer:
        answer = self._found.pop(0)
        if not self._found:
            self.stop.set()
        if isinstance(answer, DcfError):
            raise answer
        return answer


TIMEOUT: Answer = {"status": "timeout", "message_id": None}


def message(number: int, **more: Any) -> Answer:
    return {"status": "event", "message_id": f"{number}-0", "event": event(**more)}


def serve(inbox: Inbox, **answers: Any) -> FakeTools:
    tools = FakeTools(await_workflow_event=inbox, **answers)
    worker(tools).serve(inbox.stop)
    return tools


def acknowledged(tools: FakeTools) -> list[str | None]:
    return [asked["ack_message_id"] for asked in tools.arguments("await_workflow_event")]


def test_an_event_is_acknowledged_after_it_was_handled() -> None:
    tools = serve(Inbox(message(1), TIMEOUT, message(2), TIMEOUT))
    assert acknowledged(tools) == [None, "1-0", None, "2-0"]
    first = tools.names.index("update_workflow_control_plane")
    assert tools.names[: first + 1] == ["await_workflow_event", "acquire_state_lease", "update_workflow_control_plane"]
    (asked, *_) = tools.arguments("await_workflow_event")
    assert (asked["agent_id"], asked["timeout_s"]) == ("me", 0)


@pytest.mark.parametrize(
    "error",
    [ToolCallFailed("unknown_run", "There is no run 'run-1'."), ServerUnreachable("The dcf server did not answer.")],
)
def test_an_event_that_cannot_be_handled_does_not_end_the_worker(
    error: DcfError, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does it come again and again: it is acknowledged, and the clock tells of what is still owed."""
    tools = serve(Inbox(message(1), TIMEOUT), acquire_state_lease=error)
    assert acknowledged(tools) == [None, "1-0"]
    assert f"{RUN}/A: the event is dropped: {error.message}" in caplog.text


def test_a_server_that_goes_away_is_waited_for_and_the_acknowledgement_is_not_lost() -> None:
    away = ServerUnreachable("The dcf server did not answer.")
    tools = serve(Inbox(message(1), away, away, TIMEOUT))
    assert acknowledged(tools) == [None, "1-0", "1-0", "1-0"]


def test_a_server_that_was_never_reached_ends_the_worker() -> None:
    with pytest.raises(ServerUnreachable):
        serve(Inbox(ServerUnreachable("The dcf server did not answer."), TIMEOUT))


def test_a_call_that_is_wrong_ends_the_worker() -> None:
    with pytest.raises(ToolCallFailed):
        serve(Inbox(TIMEOUT, ToolCallFailed("invalid_argument", "agent_id has the wrong form."), TIMEOUT))
