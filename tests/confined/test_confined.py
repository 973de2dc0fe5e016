"""A confined call answers, or is ended when it wants too much; its process serves, and ends with its caller."""

import fcntl
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL

import pytest

from dcf.confined.calls import BeyondLimit, ConfinedCalls, ConfinedReply
from dcf.errors import InternalError

MEMORY = 96 * 1024 * 1024


@contextmanager
def calls(function: str, *, children: int = 1) -> Iterator[ConfinedCalls]:
    confined = ConfinedCalls(f"tests.support.confined_functions:{function}", memory=MEMORY, children=children)
    try:
        yield confined
    finally:
        confined.close()


def data_of(reply: ConfinedReply | BeyondLimit) -> bytes:
    assert isinstance(reply, ConfinedReply)
    return reply.data


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_call_answers_whatever_the_size_of_its_data() -> None:
    with calls("echo") as call:
        for size in (0, 1, 65_535, 65_536, 3_000_000):
            assert data_of(call(b"x" * size, 10)) == b"x" * size


def test_a_call_that_needs_too_much_memory_or_time_is_ended_and_the_next_one_answers() -> None:
    with calls("allocate") as call:
        assert data_of(call(b"1000", 10)) == b"1000"
        assert call(b"%d" % MEMORY, 10) == BeyondLimit(excess="memory")
        assert data_of(call(b"1000", 10)) == b"1000"
    with calls("spin") as call:
        assert call(b"work", 0.05) == BeyondLimit(excess="time")
    with calls("spin") as call:
        assert call(b"sleep", 10, 0.5) == BeyondLimit(excess="time")
    with calls("end") as call:
        assert call(b"", 10) == BeyondLimit(excess="ended")


def test_a_call_tells_the_processor_time_that_it_took() -> None:
    with calls("allocate") as call:
        reply = call(b"20000000", 10)
        assert isinstance(reply, ConfinedReply)
        assert 0 < reply.cpu_s < 10


def test_children_serve_many_calls_and_end_when_the_calls_are_closed() -> None:
    with calls("identity") as call:
        pids = {int(data_of(call(b"", 10)).split()[0]) for _ in range(20)}
        assert len(pids) == 1
        assert all(map(is_alive, pids))
    assert not any(map(is_alive, pids))


def test_a_child_that_died_while_nobody_called_is_replaced() -> None:
    with calls("identity") as call:
        pid = int(data_of(call(b"", 10)).split()[0])
        os.kill(pid, SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert int(data_of(call(b"", 10)).split()[0]) != pid


def test_threads_share_the_children() -> None:
    with calls("identity", children=2) as call, ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(lambda _: data_of(call(b"", 10)), range(200)))
    assert 1 <= len({reply.split()[0] for reply in replies}) <= 2


def test_threads_get_the_answers_to_their_own_calls() -> None:
    with calls("echo", children=2) as call, ThreadPoolExecutor(8) as threads:
        requests = [b"%d" % number * (number * 50) for number in range(300)]
        assert [data_of(reply) for reply in threads.map(lambda data: call(data, 10), requests)] == requests


def test_a_child_has_no_file_of_its_parent() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
        calls("identity") as call,
    ):
        high = fcntl.fcntl(server, fcntl.F_DUPFD, 200)  # the next one that is free: dup2 would close another's
        try:
            opened = data_of(call(b"", 10)).decode().splitlines()[1:]
        finally:
            os.close(high)
    assert opened == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_of_the_caller_uses_children_of_its_own() -> None:
    with calls("identity") as call:
        own = data_of(call(b"", 10)).split()[0]
        reading, writing = os.pipe()
        forked = os.fork()
        if forked == 0:
            os.write(writing, data_of(call(b"", 10)).split()[0])
            call.close()
            os._exit(0)
        os.waitpid(forked, 0)
        other = os.read(reading, 100)
        os.close(reading)
        os.close(writing)
        assert other
        assert other != own
        assert data_of(call(b"", 10)).split()[0] == own


def test_a_child_that_cannot_start_is_a_trouble_of_the_server() -> None:
    with calls("missing") as call, pytest.raises(InternalError):
        call(b"", 10)


def test_an_interrupted_call_leaves_no_answer_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with calls("echo") as call:
        assert data_of(call(b"first", 10)) == b"first"
        with monkeypatch.context() as patch:
            patch.setattr("dcf.confined.processes.os.read", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                call(b"interrupted", 10)
        assert data_of(call(b"second", 10)) == b"second"


def _interrupt(*_: object) -> bytes:
    raise KeyboardInterrupt
