"""A worker that works on several states at a time, against a server of a few lines."""

import threading
from typing import Any

import pytest

from dcf.errors import ServerUnreachable
from dcf.worker import TaskFunction, Worker
from dcf.worker.concurrency import Hands
from tests.support.agents.worker_tools import RUN, Answer, FakeTools, claimed
from tests.support.waiting import wait_until

LONG = 60.0


class Server:
    """A run of N states, named A; an answer to `complete_states` brings the requested number of them."""

    def __init__(self, size: int, state: str = "A") -> None:
        self.state = state
        self.left = [str(number) for number in range(size)]
        self.done: list[Answer] = []
        self.calls: list[tuple[str, Answer]] = []
        self.troubles: list[Answer | Exception] = []
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._told = False
        self._size = size

    def call(self, tool: str, **arguments: Any) -> Answer:
        with self._lock:
            self.calls.append((tool, arguments))
            return {"code": "ok", **getattr(self, f"_{tool}")(**arguments)}

    def arguments(self, tool: str) -> list[Answer]:
        return [arguments for name, arguments in self.calls if name == tool]

    def _await_workflow_event(self, **_: Any) -> Answer:
        if self._told:
            self.stop.wait(0.01)
            return {"status": "timeout"}
        self._told = True
        return {"status": "event", "message_id": "1-0", "event": {"workflow_id": RUN, "target_state": self.state}}

    def _acquire_state_lease(self, **_: Any) -> Answer:
        return {"work": {"input": self.left.pop()}}

    def _claim_ready_state(self, claim_next: int, **_: Any) -> Answer:
        leases = self._leases(claim_next)
        return {"work": leases[0], "more_work": leases[1:]} if leases else {"code": "nothing_ready"}

    def _release_state_lease(self, **_: Any) -> Answer:
        return {}

    def _complete_states(self, results: list[Answer], claim_next: int, **_: Any) -> Answer:
        if self.troubles:
            trouble = self.troubles.pop()
            if isinstance(trouble, Exception):
                raise trouble
            return trouble | {"completed": [trouble] * len(results), "work": [], "code": "ok"}
        self.done += results
        leases = self._leases(claim_next)
        if len(self.done) == self._size:
            self.stop.set()
        return {"completed": [{"code": "ok"} for _ in results], "work": leases}

    def _leases(self, most: int) -> list[Answer]:
        result = [self.left.pop() for _ in range(min(most, len(self.left)))]
        return [claimed(self.state) | {"lease_token": lease_token, "input": lease_token} for lease_token in result]


def serve(server: Server, function: TaskFunction, concurrency: int = 4) -> None:
    Worker(server, "me", {"A": function}, concurrency=concurrency, wait_s=0, pause_s=0.001).serve(server.stop)


def test_each_state_is_done_once_and_calls_bring_a_lease_for_each_free_hand() -> None:
    server = Server(60)
    serve(server, lambda value: value)
    tokens = [item["lease_token"] for item in server.done]
    assert len(tokens) == len(set(tokens)) == 60
    claim_nexts = [argument["claim_next"] for argument in server.arguments("complete_states")]
    assert claim_nexts[0] == 4, "all hands were free but the one that had finished, which is free as well"
    assert max(claim_nexts) <= 4


def test_ready_states_of_a_scope_are_leased_with_one_call_for_all_free_hands() -> None:
    server, together = Server(12, state="Each/0/A"), threading.Barrier(4)

    def meet(meet: Any) -> Any:
        if int(meet) >= 8:  # the first four
            together.wait(LONG)
        return meet

    serve(server, meet)
    assert [argument["claim_next"] for argument in server.arguments("claim_ready_state")] == [3]
    assert len({item["lease_token"] for item in server.done}) == 12


def test_each_state_that_was_claimed_is_completed_with_the_token_of_its_lease() -> None:
    server = Server(8, state="Each/0/A")
    serve(server, lambda value: value)
    acquired, *_ = server.arguments("acquire_state_lease")
    assert {item["lease_token"] for item in server.done} == {acquired["lease_token"], *map(str, range(7))}


def test_beside_a_state_that_is_in_no_scope_nothing_is_looked_for() -> None:
    server = Server(8)
    serve(server, lambda value: value)
    assert server.arguments("claim_ready_state") == []


def test_a_bounded_number_of_functions_runs_and_finished_results_travel_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, together, finished = Server(13), threading.Barrier(4), threading.Semaphore(0)
    end, complete = Hands._end, server._complete_states

    def end_and_tell(hands: Hands, *result: Any) -> None:
        end(hands, *result)
        finished.release()

    def complete_slowly(**arguments: Any) -> Answer:
        if len(server.arguments("complete_states")) == 2:
            assert all(finished.acquire(timeout=LONG) for _ in range(5)), "the first, and the four after it"
        return complete(**arguments)

    def meet(meet: Any) -> Any:
        if meet != "12":  # the first, which comes alone
            together.wait(LONG)
        return meet

    monkeypatch.setattr(Hands, "_end", end_and_tell)
    monkeypatch.setattr(server, "_complete_states", complete_slowly)
    serve(server, meet)
    assert max(len(argument["results"]) for argument in server.arguments("complete_states")) > 1


def test_results_say_what_failed_and_how() -> None:
    server = Server(2)

    def fail(value: Any) -> Any:
        raise ValueError("no good")

    serve(server, fail)
    assert {item["error_name"] for item in server.done} == {"ValueError"}
    assert not [item for item in server.done if "new_status" in item]


def test_results_that_nobody_took_are_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(3)
    server.troubles = [{"code": "store_unavailable", "error": "store_unavailable: Redis is loading."}]
    serve(server, lambda value: value)
    assert len(server.done) == 3
    assert "the result is not accepted: store_unavailable" in caplog.text


def test_a_result_that_is_refused_is_given_up_and_frees_its_hand(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(1)
    server.troubles = [{"code": "lease_lost", "error": "lease_lost: somebody else has it."}]
    thread = threading.Thread(target=serve, args=(server, lambda value: value))
    thread.start()
    wait_until(lambda: server.arguments("complete_states"))
    server.stop.set()
    thread.join(LONG)
    assert not thread.is_alive()
    assert server.done == []
    assert "lease_lost" in caplog.text


def test_told_to_stop_it_finishes_what_it_began_and_gives_the_rest_back() -> None:
    server, begun, door = Server(30), threading.Event(), threading.Event()

    def work(work: Any) -> Any:
        if work != "29":
            begun.set()
            assert door.wait(LONG)
        return work

    thread = threading.Thread(target=serve, args=(server, work, 2))
    thread.start()
    assert begun.wait(LONG)
    server.stop.set()
    door.set()
    thread.join(LONG)
    assert not thread.is_alive()
    taken = {item["lease_token"] for item in server.done} | {
        argument["lease_token"] for argument in server.arguments("release_state_lease")
    }
    assert len(taken) == 30 - len(server.left)
    assert server.arguments("complete_states")[-1]["claim_next"] == 0


def test_a_function_that_ends_its_process_ends_the_worker() -> None:
    def leave(value: Any) -> Any:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        serve(Server(5), leave)


def test_a_worker_that_outlives_a_function_goes_on_with_the_wait_that_is_under_way() -> None:
    """A second wait would take an event, and the worker would not handle it."""
    server, waits = Server(12, state="Each/0/A"), 0
    dying = threading.Event()

    def leave_once(leave_once: Any) -> Any:
        if not dying.is_set():
            dying.set()
            raise SystemExit(3)
        return leave_once

    class Counted(Worker):
        def events(self, *arguments: Any, **options: Any) -> Any:
            nonlocal waits
            waits += 1
            return super().events(*arguments, **options)

    worker = Counted(server, "me", {"A": leave_once}, concurrency=2, wait_s=0, pause_s=0.001)
    with pytest.raises(SystemExit):
        worker.serve(server.stop, outlives=True)
    assert not server.stop.is_set()
    server.left.append("again")
    worker.serve(server.stop, outlives=True)
    assert waits == 1
    assert len(server.done) == 12


def test_a_worker_with_several_threads_fails_when_one_of_them_does() -> None:
    stop = threading.Event()
    tools = FakeTools(await_workflow_event=ServerUnreachable("The dcf server did not answer."))
    with pytest.raises(ServerUnreachable):
        Worker(tools, "me", {"A": lambda value: value}, wait_s=0, concurrency=3).serve(stop)
    assert stop.is_set()
