"""Async task functions: many at once on one event loop, and cancelled when no caller waits for them."""

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from dcf.errors import ServerUnreachable
from dcf.features.task_log import rules as task_log
from dcf.worker import TaskFunction, Worker
from dcf.worker import calls as task_calls
from dcf.worker.context import TaskCancelled, TaskContext
from dcf.worker.loop import TaskLoop
from tests.support.agents.worker_tools import RUN, Answer, FakeTools, Inbox, event, message, report, worker
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.worker.test_concurrency import LONG, Server, serve

if TYPE_CHECKING:
    from concurrent.futures import Future

LOST: Answer = {"code": "lease_lost", "error": "lease_lost: This token does not hold state 'A'."}


def test_so_many_async_functions_wait_at_once_on_one_thread() -> None:
    server, waiting, everybody, threads, alive = Server(51), [0], asyncio.Event(), set[int](), [0]
    before = threading.active_count()

    async def meet(meet: Any) -> Any:
        threads.add(threading.get_ident())
        if meet == "50":  # the first, which comes alone
            return meet
        waiting[0] += 1
        alive.append(threading.active_count() - before)
        if waiting[0] == 50:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), LONG)
        return meet

    serve(server, meet, concurrency=50)
    assert len(server.done) == 51
    assert all("output_json" in item for item in server.done)
    assert len(threads) == 1
    assert max(alive) < 10, "nor does one of them need a thread to wait for it"


def test_sync_functions_beside_them_run_on_threads() -> None:
    server, loops, threads = Server(6), set[threading.Thread](), set[threading.Thread]()
    both = threading.Barrier(2)

    async def later(later: Any) -> Any:
        loops.add(threading.current_thread())
        return later

    def now(now: Any) -> Any:
        threads.add(threading.current_thread())
        if now in {"3", "4"}:
            both.wait(LONG)
        return now

    serve(server, now, concurrency=3)
    serve(Server(6), later, concurrency=3)
    assert not loops & threads
    assert len(threads) > 1


def test_an_exception_of_an_async_function_fails_the_state() -> None:
    async def fail(value: Any) -> Any:
        raise ValueError("no good")

    written = report(fail)
    assert (written["error_name"], written["error_message"]) == ("ValueError", "no good")


def test_an_async_function_that_cancels_itself_fails_the_state() -> None:
    async def give_up(value: Any) -> Any:
        raise asyncio.CancelledError

    written = report(give_up)
    assert (written["new_status"], written["error_name"]) == ("failed", "RuntimeError")


def test_a_function_whose_own_event_loop_was_cancelled_fails_the_state_alone() -> None:
    async def give_up() -> None:
        raise asyncio.CancelledError

    written = report(lambda value: asyncio.run(give_up()))
    assert (written["new_status"], written["error_name"]) == ("failed", "RuntimeError")


@rows("concurrency", [1, 3])
def test_an_async_function_that_ends_its_process_ends_the_worker(concurrency: int) -> None:
    async def leave(value: Any) -> Any:
        raise SystemExit(3)

    server = Server(2)
    with pytest.raises(SystemExit):
        serve(server, leave, concurrency=concurrency)


# Cancellation


def lost_at_once(function: TaskFunction, concurrency: int = 1, **answers: Any) -> FakeTools:
    """Serve one state whose lease is refused at the first renewal."""
    inbox = Inbox(message(1), {"status": "timeout"}, {"status": "timeout"})
    tools = FakeTools(await_workflow_event=inbox, renew_state_lease=LOST, **answers)
    Worker(tools, "me", {"A": function}, lease_ttl_s=1, wait_s=0, concurrency=concurrency).serve(inbox.stop)
    return tools


def test_an_async_function_whose_lease_is_lost_is_cancelled_and_nothing_is_written() -> None:
    seen: list[str] = []

    async def work(value: Any) -> Any:
        try:
            await asyncio.sleep(LONG * 10)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    tools = lost_at_once(work)
    assert seen == ["cancelled"]
    assert "update_workflow_control_plane" not in tools.names
    assert "release_state_lease" not in tools.names, "it is not this worker's any more"


def test_a_function_on_a_thread_notices_by_its_context() -> None:
    seen: list[str] = []

    def work(value: Any, context: TaskContext) -> Any:
        assert context.cancelled.wait(LONG)
        seen.append("noticed")
        context.check()

    tools = lost_at_once(work)
    assert seen == ["noticed"]
    assert "update_workflow_control_plane" not in tools.names


def test_the_result_of_a_cancelled_function_is_sent_and_the_server_decides() -> None:
    def work(value: Any, context: TaskContext) -> Any:
        assert context.cancelled.wait(LONG)
        return "done"

    assert lost_at_once(work).arguments("update_workflow_control_plane")[0]["output_json"] == '"done"'


def test_a_check_of_a_function_that_is_waited_for_does_nothing() -> None:
    def work(value: Any, context: TaskContext) -> Any:
        context.check()
        return "done"

    assert report(work)["output_json"] == '"done"'


# Heartbeats


def test_a_heartbeat_renews_the_lease_now_and_raises_when_it_is_lost() -> None:
    raised: list[TaskCancelled] = []
    answers: list[Answer] = [{}, LOST]

    def work(value: Any, context: TaskContext) -> Any:
        context.heartbeat()
        try:
            context.heartbeat()
        except TaskCancelled as error:
            raised.append(error)
            raise

    tools = FakeTools(renew_state_lease=lambda **_: answers.pop(0))
    worker(tools, {"A": work}).handle(event())
    assert len(tools.arguments("renew_state_lease")) == 2
    assert f"'A' of run '{RUN}'" in raised[0].message
    assert "update_workflow_control_plane" not in tools.names


def test_a_heartbeat_that_does_not_get_through_does_not_fail_the_function(caplog: pytest.LogCaptureFixture) -> None:
    def work(value: Any, context: TaskContext) -> Any:
        context.heartbeat()
        return "done"

    away = ServerUnreachable("The dcf server did not answer.")
    tools = FakeTools(renew_state_lease=away)
    worker(tools, {"A": work}).handle(event())
    assert tools.arguments("update_workflow_control_plane")[0]["output_json"] == '"done"'
    assert "the heartbeat is not sent" in caplog.text


def test_an_async_heartbeat_delays_no_function_and_is_sent_before_the_result() -> None:
    on_loop: list[bool] = []

    def renew(**_: Any) -> Answer:
        try:
            asyncio.get_running_loop()
            on_loop.append(True)
        except RuntimeError:
            on_loop.append(False)
        return {}

    async def work(value: Any, context: TaskContext) -> Any:
        context.heartbeat()
        return "done"

    tools = FakeTools(renew_state_lease=renew)
    worker(tools, {"A": work}).handle(event())
    assert on_loop == [False]
    assert tools.names[-2:] == ["renew_state_lease", "update_workflow_control_plane"]


def test_an_async_function_whose_heartbeat_is_refused_is_cancelled() -> None:
    async def work(value: Any, context: TaskContext) -> Any:
        context.heartbeat()
        await asyncio.sleep(LONG * 10)

    tools = FakeTools(renew_state_lease=LOST)
    worker(tools, {"A": work}).handle(event())
    assert "update_workflow_control_plane" not in tools.names


def test_a_state_with_heartbeat_seconds_is_renewed_in_time_however_long_its_lease_is() -> None:
    renewed = threading.Semaphore(0)

    def renew(**_: Any) -> Answer:
        renewed.release()
        return {}

    def work(value: Any) -> Any:
        assert all(renewed.acquire(timeout=LONG) for _ in range(2))

    tools = FakeTools(acquire_state_lease={"work": {"heartbeat_s": 1}}, renew_state_lease=renew)
    worker(tools, {"A": work}, lease_ttl_s=3600).handle(event())
    assert tools.arguments("update_workflow_control_plane")[0]["new_status"] == "succeeded"


# Lines in the history


def logged(function: TaskFunction, **answers: Any) -> tuple[FakeTools, list[tuple[int, str, Any]]]:
    tools = FakeTools(**answers)
    worker(tools, {"A": function}).handle(event())
    arguments = tools.arguments("log_event")
    return tools, [(argument["number"], argument["message"], argument["fields_json"]) for argument in arguments]


def test_lines_of_a_function_are_numbered_and_sent_before_its_result() -> None:
    def now(value: Any, context: TaskContext) -> Any:
        context.log("begun")
        context.log("half done", done=2, of=4)

    async def later(value: Any, context: TaskContext) -> Any:
        context.log("begun")
        context.log("half done", done=2, of=4)

    for function in (now, later):
        tools, details = logged(function)
        assert details == [(1, "begun", {}), (2, "half done", {"done": 2, "of": 4})]
        assert tools.names[-1] == "update_workflow_control_plane"


def test_what_an_async_function_sends_has_arrived_before_its_result_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    returned, order, end = threading.Event(), list[str](), task_calls.TaskCall._end

    def end_and_tell(call: task_calls.TaskCall, ended: task_calls.Ended, *result: Any) -> None:
        def noted(*end_of_call: Any) -> None:
            order.append("result")
            ended(*end_of_call)

        end(call, noted, *result)
        returned.set()

    async def work(value: Any, context: TaskContext) -> Any:
        context.log("the last words")

    def log(**_: Any) -> Answer:
        assert returned.wait(LONG)
        order.append("line")
        return {}

    monkeypatch.setattr(task_calls.TaskCall, "_end", end_and_tell)
    worker(FakeTools(log_event=log), {"A": work}).handle(event())
    assert order == ["line", "result"]


def test_lines_from_a_thread_of_an_async_function_come_after_those_before_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrived, queued, send_beside = list[int](), list[object](), TaskLoop.beside

    def queue(loop: TaskLoop, call: Callable[[], None]) -> "Future[None]":
        sent = send_beside(loop, call)
        queued.append(call)
        return sent

    async def work(value: Any, context: TaskContext) -> Any:
        context.log("first")
        await asyncio.to_thread(context.log, "second")
        await asyncio.to_thread(context.heartbeat)

    def log(number: int, **_: Any) -> Answer:
        if number == 1:
            wait_until(lambda: arrived or len(queued) >= 2)
        arrived.append(number)
        return {}

    monkeypatch.setattr(TaskLoop, "beside", queue)
    tools = FakeTools(log_event=log)
    worker(tools, {"A": work}).handle(event())
    assert arrived == [1, 2], "the history has no line after a later one"
    assert tools.names[-2:] == ["renew_state_lease", "update_workflow_control_plane"]


def test_fields_may_have_any_name() -> None:
    _, details = logged(lambda value, context: context.log("begun", message="x"))
    assert details == [(1, "begun", {"message": "x"})]


def test_a_line_never_fails_the_function(caplog: pytest.LogCaptureFixture) -> None:
    def talk(value: Any, context: TaskContext) -> Any:
        context.log("x" * 3000, when=object())
        for _ in range(200):
            context.log("again")
        return "done"

    tools, details = logged(talk)
    assert details[0] == (1, "x" * 2000, {})
    assert len(details) == 100
    assert tools.arguments("update_workflow_control_plane")[0]["output_json"] == '"done"'
    assert "line 1 is written without its fields" in caplog.text
    assert caplog.text.count("of its log the history has 100 lines, and no more") == 1
    away = ServerUnreachable("The dcf server did not answer.")
    tools, _ = logged(talk, log_event=away)
    assert tools.arguments("update_workflow_control_plane")[0]["output_json"] == '"done"'
    assert "line 1 is not written into the history" in caplog.text


def test_the_limits_of_a_worker_are_those_of_the_control_plane() -> None:
    limits = (task_calls._MOST_LINES, task_calls._LONGEST_MESSAGE, task_calls._MOST_BYTES)
    assert limits == (task_log.MOST_LINES, task_log.LONGEST_MESSAGE, task_log.MOST_BYTES)
