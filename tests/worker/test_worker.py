"""A Python worker against a server of a few lines: what it calls, in which order, and what it makes of answers."""

import threading
from typing import Any

import pytest

from dcf.errors import DcfError, ServerUnreachable, ToolCallFailed
from dcf.worker import FUNCTIONS, Work, Worker, task
from dcf.worker.context import TaskContext, idempotency_key_of
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
from tests.support.waiting import wait_until

LONG = 60.0

# The order of things


def test_a_state_is_leased_worked_on_and_written_with_one_call_each() -> None:
    tools = FakeTools(
        acquire_state_lease={"work": {"input": {"n": 1}}}, update_workflow_control_plane={"run_status": "running"}
    )
    worker(tools, {"A": lambda value: {"n": value["n"] + 1}}).handle(event())
    assert tools.names == ["acquire_state_lease", "update_workflow_control_plane"]
    (request,), (written,) = tools.arguments("acquire_state_lease"), tools.arguments("update_workflow_control_plane")
    assert (request["workflow_id"], request["state"], request["owner_agent_id"], request["lease_ttl_s"]) == (
        RUN,
        "A",
        "me",
        30,
    )
    assert (written["new_status"], written["output_json"]) == ("succeeded", '{"n":2}')
    assert written["lease_token"] == request["lease_token"]


def test_every_lease_has_a_token_of_its_own_that_cannot_be_guessed() -> None:
    tools = FakeTools()
    for _ in range(2):
        worker(tools).handle(event())
    tokens = {argument["lease_token"] for argument in tools.arguments("acquire_state_lease")}
    assert len(tokens) == 2
    assert all(len(token) > 32 for token in tokens)


def test_a_duplicate_event_is_dropped_where_the_lease_is_refused() -> None:
    worked: list[Any] = []
    tools = FakeTools(acquire_state_lease={"code": "terminal", "error": "terminal: State 'A' is already succeeded."})
    worker(tools, {"A": worked.append}).handle(event())
    assert (worked, tools.names) == ([], ["acquire_state_lease"])


@rows("state", ["Unknown", None])
def test_an_event_of_a_state_without_a_function_is_dropped(state: str | None) -> None:
    tools = FakeTools()
    worker(tools).handle(event(state))
    assert tools.calls == []


def test_the_decorator_registers_by_state_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FUNCTIONS, "Registered", lambda value: value)
    registered = task("Registered")(lambda value: [value])
    assert FUNCTIONS["Registered"] is registered
    tools = FakeTools(acquire_state_lease={"work": {"input": 5}})
    Worker(tools, "me").handle(event("Registered"))
    assert tools.arguments("update_workflow_control_plane")[0]["output_json"] == "[5]"


# The context of a call


def test_a_function_that_asks_for_it_is_told_which_call_it_is() -> None:
    seen: list[TaskContext] = []

    def work(work: Any, context: TaskContext) -> Any:
        seen.append(context)
        return work

    granted: Answer = {"input": 1, "epoch": 41, "attempt": 2, "entry_epoch": 7, "task_token": "secret-1"}
    next_lease: Answer = {"lease_token": "t", "epoch": 42, "attempt": 3, "entry_epoch": 8}
    claims: list[Answer] = [{"work": claimed("B") | next_lease}, {}]
    tools = FakeTools(acquire_state_lease={"work": granted}, update_workflow_control_plane=lambda **_: claims.pop(0))
    worker(tools, {"A": work, "B": work}).handle(event())
    assert seen == [
        TaskContext(
            workflow_id=RUN,
            state="A",
            attempt=2,
            epoch=41,
            task_token="secret-1",
            idempotency_key=idempotency_key_of(RUN, "A", 7),
        ),
        TaskContext(workflow_id=RUN, state="B", attempt=3, epoch=42, idempotency_key=idempotency_key_of(RUN, "B", 8)),
    ]


@rows("function", [lambda value, more=7: [value, more], lambda value, *rest: [value, 7], print])
def test_a_function_that_does_not_ask_for_it_gets_the_input_alone(function: Any) -> None:
    tools = FakeTools(acquire_state_lease={"work": {"input": 1, "epoch": 41}})
    worker(tools, {"A": function}).handle(event())
    written = tools.arguments("update_workflow_control_plane")[0]
    assert written["output_json"] == ("null" if function is print else "[1,7]")


def test_an_object_without_a_hash_may_be_the_function_of_a_state() -> None:
    class Doubling(list[int]):
        def __call__(self, value: int, context: TaskContext) -> list[int]:
            return [2 * value, context.epoch]

    tools = FakeTools(acquire_state_lease={"work": {"input": 4, "epoch": 41}})
    worker(tools, {"A": Doubling()}).handle(event())
    assert tools.arguments("update_workflow_control_plane")[0]["output_json"] == "[8,41]"


@rows(
    ("told", "is_cancelled"),
    [
        ({"type": "run_over"}, True),
        ({"type": "lease_lost", "epoch": 41, "target_state": "A"}, True),
        ({"type": "lease_lost", "epoch": 40, "target_state": "A"}, False),
        ({"type": "lease_lost", "epoch": 41, "target_state": "leased in the same call"}, False),
    ],
)
def test_a_function_is_cancelled_by_the_event_that_nobody_wants_its_result(
    told: dict[str, Any], is_cancelled: bool
) -> None:
    began, go_on = threading.Event(), threading.Event()

    def work(work: Any, context: TaskContext) -> Any:
        began.set()
        assert go_on.wait(LONG)
        context.check()
        return work

    tools = FakeTools(acquire_state_lease={"work": {"input": 1, "epoch": 41}})
    item = worker(tools, {"A": work})
    serving = threading.Thread(target=item.handle, args=(event(),))
    serving.start()
    assert began.wait(LONG)
    assert item.acquire({"workflow_id": RUN, **told}) is None
    go_on.set()
    serving.join(LONG)
    assert ("update_workflow_control_plane" in tools.names) is not is_cancelled
    assert tools.names.count("acquire_state_lease") == 1


# The next state's lease, brought along by a completion


def test_the_next_state_is_worked_on_at_once_when_its_lease_came_along() -> None:
    answers: list[Answer] = [{"run_status": "running", "work": claimed("B")}, {"run_status": "succeeded"}]
    tools = FakeTools(update_workflow_control_plane=lambda **_: answers.pop(0))
    worker(tools, {"A": lambda value: 1, "B": lambda value: [value]}).handle(event())
    first, second = tools.arguments("update_workflow_control_plane")
    assert (first["state"], first["claim_next"]) == ("A", True)
    assert (second["state"], second["lease_token"]) == ("B", "token-B")
    assert second["output_json"] == '[{"from":"A"}]'
    assert tools.names.count("acquire_state_lease") == 1


def test_a_claimed_state_without_a_function_is_given_back() -> None:
    tools = FakeTools(update_workflow_control_plane={"run_status": "running", "work": claimed("Z")})
    worker(tools).handle(event())
    assert tools.arguments("release_state_lease")[-1] == {
        "workflow_id": RUN,
        "state": "Z",
        "lease_token": "token-Z",
        "reason": "this worker has no function for the state.",
    }
    assert tools.names.count("update_workflow_control_plane") == 1


def test_a_lease_that_cannot_be_given_back_does_not_end_the_worker(caplog: pytest.LogCaptureFixture) -> None:
    away = ServerUnreachable("The dcf server did not answer.")
    tools = FakeTools(
        update_workflow_control_plane={"run_status": "running", "work": claimed("Z")}, release_state_lease=away
    )
    worker(tools).handle(event())
    assert f"{RUN}/Z: the lease is not released" in caplog.text


class Hearing:
    """A witness that keeps its messages."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def taken(self, work: Work) -> None:
        self.heard.append(f"taken {work.state}")

    def ended(self, work: Work, result: Result) -> None:
        self.heard.append(f"ended {work.state}")

    def lost(self, work: Work, why: str) -> None:
        self.heard.append(why)


CANCELLED = {"status": "lease_already_clear", "updated_state": {"status": "cancelled"}}
RELEASED = {"status": "lease_released", "updated_state": {"status": "pending"}}


@rows(
    ("released", "told", "is_for_others"),
    [(CANCELLED, "the state is cancelled", False), (RELEASED, "given back", True)],
)
def test_only_what_others_can_still_do_is_said_to_be_given_back(
    released: Answer, told: str, is_for_others: bool
) -> None:
    """A function that was cancelled with its run may end after its worker was told to stop."""

    def work(value: Any, context: TaskContext) -> Any:
        assert item.acquire({"workflow_id": RUN, "type": "run_over"}) is None
        item._stop.set()
        context.check()

    tools = FakeTools(acquire_state_lease={"work": {"input": 1, "epoch": 41}}, release_state_lease=released)
    hearing = Hearing()
    item = worker(tools, {"A": work}, witness=hearing)
    item.handle(event())
    assert hearing.heard == ["taken A", told]
    assert [work.state for work in item.drain(0)] == (["A"] if is_for_others else [])


def keeps_waiting(changed: threading.Condition) -> bool:
    """Whether this thread keeps those waiting who wait for a change."""
    return bool(changed._is_owned())  # type: ignore[attr-defined]


def test_who_drains_a_worker_does_so_until_its_witness_has_heard_of_the_last_loss() -> None:
    """Else the report of all outcomes leaves it out."""
    drained = threading.Event()

    class Slow(Hearing):
        def lost(self, work: Work, why: str) -> None:
            wait_until(lambda: drained.is_set() or keeps_waiting(item._changed))
            super().lost(work, why)

    def drain() -> None:
        item.drain(LONG)
        hearing.heard.append("drained")
        drained.set()

    def work(value: Any, context: TaskContext) -> Any:
        draining.start()
        assert item._stop.wait(60)
        assert item.acquire({"workflow_id": RUN, "type": "run_over"}) is None
        context.check()

    tools = FakeTools(acquire_state_lease={"work": {"input": 1, "epoch": 41}}, release_state_lease=CANCELLED)
    hearing, draining = Slow(), threading.Thread(target=drain)
    item = worker(tools, {"A": work}, witness=hearing)
    item.handle(event())
    draining.join(60)
    assert hearing.heard == ["taken A", "the state is cancelled", "drained"]


def test_a_witness_hears_of_no_loss_of_what_the_worker_never_took() -> None:
    hearing = Hearing()
    tools = FakeTools(update_workflow_control_plane={"run_status": "running", "work": claimed("Z")})
    worker(tools, witness=hearing).handle(event())
    assert "release_state_lease" in tools.names
    assert hearing.heard == ["taken A", "ended A"]


# Waiting for events


def acknowledged(tools: FakeTools) -> list[str | None]:
    return [argument["ack_message_id"] for argument in tools.arguments("await_workflow_event")]


def test_an_event_is_acknowledged_after_it_was_handled() -> None:
    tools = serve(Inbox(message(1), TIMEOUT, message(2), TIMEOUT))
    assert acknowledged(tools) == [None, "1-0", None, "2-0"]
    first = tools.names.index("update_workflow_control_plane")
    assert tools.names[: first + 1] == ["await_workflow_event", "acquire_state_lease", "update_workflow_control_plane"]
    (request, *_) = tools.arguments("await_workflow_event")
    assert (request["agent_id"], request["timeout_s"]) == ("me", 0)


def test_work_that_comes_with_its_event_needs_no_further_call_before_the_function() -> None:
    tools = serve(Inbox(message(1) | {"work": claimed("A")}, TIMEOUT))
    assert tools.names == ["await_workflow_event", "update_workflow_control_plane", "await_workflow_event"]
    (written,) = tools.arguments("update_workflow_control_plane")
    assert (written["lease_token"], written["output_json"]) == ("token-A", '{"from":"A"}')


def test_work_that_comes_after_the_stop_is_released_and_not_acknowledged() -> None:
    tools = serve(Inbox(message(1) | {"work": claimed("A")}))
    assert tools.names == ["await_workflow_event", "release_state_lease"]
    (given_back,) = tools.arguments("release_state_lease")
    assert given_back["lease_token"] == "token-A"


def test_a_wait_names_the_states_of_the_workers_functions_unless_they_are_too_many() -> None:
    for count, named in ((1, ["S0"]), (201, None)):
        tools = FakeTools(await_workflow_event=(inbox := Inbox(TIMEOUT)))
        worker(tools, {f"S{number}": lambda value: value for number in range(count)}).serve(inbox.stop)
        (argument,) = tools.arguments("await_workflow_event")
        assert (argument.get("lease_states"), argument.get("lease", True)) == (named, named is not None)


def test_a_wait_has_the_same_token_until_it_was_answered() -> None:
    away = ServerUnreachable("The dcf server did not answer.")
    arguments = serve(Inbox(TIMEOUT, away, TIMEOUT, TIMEOUT)).arguments("await_workflow_event")
    first, lost, again, last = (argument["lease_token"] for argument in arguments)
    assert lost == again
    assert len({first, lost, last}) == 3


@rows(
    "error",
    [ToolCallFailed("unknown_run", "There is no run 'run-1'."), ServerUnreachable("The dcf server did not answer.")],
)
def test_an_event_that_cannot_be_handled_does_not_end_the_worker(
    error: DcfError, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does it come again and again: it is acknowledged, and the timer loop reports owed states."""
    tools = serve(Inbox(message(1), TIMEOUT), acquire_state_lease=error)
    assert acknowledged(tools) == [None, "1-0"]
    assert f"{RUN}: the event of A is dropped: {error.message}" in caplog.text


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


def test_a_drain_ends_at_once_when_the_lease_that_was_asked_for_is_refused() -> None:
    asking, answering = threading.Event(), threading.Event()

    def refuse(**_: Any) -> Answer:
        asking.set()
        assert answering.wait(LONG)
        return {"code": "lease_held", "error": "lease_held: Another agent has it."}

    inbox = Inbox(message(1), TIMEOUT)
    tools = FakeTools(await_workflow_event=inbox, acquire_state_lease=refuse)
    item = worker(tools)
    serving, draining = threading.Thread(target=item.serve), threading.Thread(target=item.drain, args=(LONG * 100,))
    serving.start()
    assert asking.wait(LONG)
    draining.start()
    wait_until(item._stop.is_set)
    answering.set()
    draining.join(LONG)
    serving.join(LONG)
    assert not draining.is_alive()


class SlowToRead(dict[str, Any]):
    """An answer that is read slowly. A drain that does not wait for it overtakes it; `looks` counts its checks."""

    drained = threading.Event()
    looks = 0

    def __getitem__(self, name: str) -> Any:
        before = self.looks
        wait_until(lambda: self.drained.is_set() or self.looks > before + 1)
        return super().__getitem__(name)


def test_what_came_with_a_result_is_given_back_by_a_drain_that_begins_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer, returned, begun, door = SlowToRead(claimed("A")), list[Work](), threading.Event(), threading.Event()

    def drain() -> None:
        returned.extend(item.drain(LONG))
        answer.drained.set()

    def is_free_within(_: float) -> bool:
        """As if the grace were over as soon as the function has begun."""
        wait_until(lambda: begun.is_set() or looks_free())
        return is_free(0)

    def looks_free() -> bool:
        answer.looks += 1
        return is_free(0)

    def write(**_: Any) -> Answer:
        draining.start()
        wait_until(item._stop.is_set)
        return {"work": answer}

    def work(value: Any, context: TaskContext) -> Any:
        if value is not None:
            begun.set()
            assert door.wait(LONG)
            context.check()

    inbox = Inbox(message(1), TIMEOUT)
    item = worker(FakeTools(await_workflow_event=inbox, update_workflow_control_plane=write), {"A": work})
    is_free = item._is_free_within
    monkeypatch.setattr(item, "_is_free_within", is_free_within)
    serving, draining = threading.Thread(target=item.serve), threading.Thread(target=drain)
    serving.start()
    wait_until(item._stop.is_set)
    draining.join(LONG)
    door.set()
    serving.join(LONG)
    assert [work.token for work in returned] == ["token-A"]
