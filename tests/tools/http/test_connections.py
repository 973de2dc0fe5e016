"""Connections: what is not sent in time is given up, and however many there are, the server says how it is."""

import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

import pytest
import redis

from dcf.application.application import Application
from dcf.settings.process import Settings
from dcf.tools.http.connections import SPARE, ConnectionLimit, Use
from dcf.tools.http.server import connection_limit
from dcf.tools.mcp.server import build_http_app
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.tools.http.raw_http import Served, body, get, head, post, rest, served, status

Replica = Callable[..., Application]

HALF_A_HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-"
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
LONG = ("x-dcf-profile: all", "X-DCF-Output-Schemas: true")
"""Headers with which the list is ten times as long: few such answers fill a connection without a reader."""

FOUR = 4


def _waiting(seconds: float, agent: str = "nobody-writes-to") -> bytes:
    """A long poll. By a clock that is held it does not end."""
    arguments = {"agent_id": agent, "timeout_s": seconds}
    params = {"name": "await_workflow_event", "arguments": arguments}
    return post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode())


@contextmanager
def _server(replica: Replica, **settings: object) -> Iterator[Served]:
    application = replica(**settings)
    with served(build_http_app(application), application.settings, clock_is_held=True) as server:
        yield server


@pytest.fixture(scope="module")
def patient(replica: Replica) -> Iterator[Served]:
    """A server for four connections, which waits long."""
    with _server(replica, max_connections=FOUR, max_connections_per_peer=FOUR) as server:
        yield server


@dataclass(frozen=True, slots=True, kw_only=True)
class Hasty:
    """A server with a clock that is held."""

    served: Served
    application: Application

    @contextmanager
    def connected(self, data: bytes) -> Iterator[socket.socket]:
        """The only connection, on which these bytes were sent and have been read."""
        wait_until(lambda: self.served.connections == 0)
        with self.served.connect() as connection:
            connection.sendall(data)
            wait_until(lambda: self.served.connections == 1)
            yield connection

    def waits_for_headers_after(self, data: bytes) -> None:
        """Wait until the server has read this part of the headers."""
        protocol = self.served.protocol()
        wait_until(lambda: not self.served.at_work and protocol.conn.trailing_data[0] == data)


@pytest.fixture(scope="module")
def hasty(replica: Replica) -> Iterator[Hasty]:
    """A server that waits a second for a request, by a clock that moves only when a test moves it."""
    application = replica(header_timeout_s=1, body_timeout_s=1)
    with served(build_http_app(application), application.settings, clock_is_held=True) as server:
        yield Hasty(served=server, application=application)


@contextmanager
def _held(server: Served, number: int, data: bytes) -> Iterator[list[socket.socket]]:
    """Connections that have sent something and stay open."""
    with ExitStack() as stack:
        wait_until(lambda: server.connections == 0)
        enter_contexts = [stack.enter_context(server.connect()) for _ in range(number)]
        for connection in enter_contexts:
            connection.sendall(data)
        wait_until(lambda: server.connections == number)
        yield enter_contexts
    wait_until(lambda: server.connections == 0)


@rows("sent", [b"", HALF_A_HEAD, get("/healthz")[:-2]])
def test_headers_that_do_not_come_in_time_are_given_up(hasty: Hasty, sent: bytes) -> None:
    """A further byte does not restart their deadline."""
    with hasty.connected(sent) as connection:
        hasty.waits_for_headers_after(sent)
        hasty.served.let_pass(0.6)
        connection.sendall(b"A")
        hasty.waits_for_headers_after(sent + b"A")
        hasty.served.let_pass(0.6)
        answer = rest(connection)
    assert status(answer) == 408
    assert answer.endswith(b"The headers of the request did not arrive in time.")


@rows("sent", [b"", LIST[:10]])
def test_a_body_that_does_not_come_in_time_is_given_up(hasty: Hasty, sent: bytes) -> None:
    with hasty.connected(post(sent, length=len(LIST))) as connection:
        wait_until(lambda: hasty.served.at_work == 1)
        hasty.served.let_pass(1.1)
        answer = rest(connection)
    assert status(answer) == 408
    assert answer.endswith(b"The body of the request did not arrive in time.")


def test_headers_that_do_not_end_on_a_connection_that_was_served_are_given_up(hasty: Hasty) -> None:
    with hasty.connected(get("/healthz") + HALF_A_HEAD) as connection:
        assert status(head(connection)) == 200
        hasty.waits_for_headers_after(HALF_A_HEAD)
        hasty.served.let_pass(1.1)
        assert b"408" in rest(connection)


def test_a_body_that_nobody_waits_for_any_more_does_not_keep_its_connection(hasty: Hasty) -> None:
    """The answer came before the body; single bytes would keep uvicorn's own timeout away forever."""
    with hasty.connected(get("/healthz", "Content-Length: 1000000")) as connection:
        assert status(head(connection)) == 200
        wait_until(lambda: hasty.served.at_work == 0)
        hasty.served.let_pass(1.1)
        wait_until(lambda: _is_broken(connection))


def _is_broken(connection: socket.socket) -> bool:
    """Send one more byte."""
    try:
        connection.sendall(b"x")
    except ConnectionError:
        return True
    return False


def test_an_answer_that_nobody_takes_is_given_up(hasty: Hasty) -> None:
    with hasty.connected(b"") as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0)
        protocol, unsent = hasty.served.protocol(), b""

        def is_kept_from_writing() -> bool:
            nonlocal unsent
            unsent = unsent or post(LIST, *LONG)
            with suppress(BlockingIOError):
                unsent = unsent[connection.send(unsent) :]
            return protocol.flow.write_paused

        wait_until(is_kept_from_writing)
        hasty.served.let_pass(1.1)
        wait_until(lambda: hasty.served.connections == 0)


def test_an_idle_connection_stays_longer_than_load_balancers_keep_theirs(hasty: Hasty) -> None:
    """That is 60 s. Where the server closes first, it may close while a request is being sent."""
    with hasty.connected(get("/healthz")) as connection:
        assert b'"ok":true' in body(connection)
        wait_until(lambda: hasty.served.at_work == 0)
        hasty.served.let_pass(61)
        connection.sendall(get("/healthz"))
        assert b'"ok":true' in body(connection)
        wait_until(lambda: hasty.served.at_work == 0)
        hasty.served.let_pass(100)
        wait_until(lambda: hasty.served.connections == 0)


def test_a_call_may_take_longer_than_its_request_may(hasty: Hasty, run_id: str) -> None:
    agent = f"agent-{run_id}"
    with hasty.connected(_waiting(50, agent)) as connection:
        wait_until(lambda: hasty.application.reader.waiting == 1)
        hasty.served.let_pass(2)
        hasty.application.inbox.put(agent, "run:A:1:event", {"n": 1})
        assert status(head(connection)) == 200


def test_a_new_connection_takes_the_place_of_the_one_that_waited_longest(patient: Served) -> None:
    with _held(patient, FOUR, HALF_A_HEAD) as (first, second, *_), patient.connect() as another:
        another.sendall(get("/healthz"))
        assert status(head(another)) == 200
        assert rest(first) == b""
        second.sendall(b"A: b\r\nContent-Length: 0\r\n\r\n")
        assert status(head(second)) == 400, "it is still there"


def test_a_connection_that_was_served_is_kept_longer_than_one_that_sends_nothing(patient: Served) -> None:
    with _held(patient, FOUR, HALF_A_HEAD) as (first, second, *_):
        first.sendall(b"A: b\r\nContent-Length: 0\r\n\r\n")
        assert status(head(first)) == 400
        with patient.connect() as another:
            another.sendall(get("/healthz"))
            assert status(head(another)) == 200
            assert rest(second) == b""


def _is_well(server: Served, path: str) -> bool:
    return status(server.ask(get(path))) == 200  # it closes the connection


def test_where_all_are_at_work_health_is_told_and_nothing_else_is_taken_on(patient: Served) -> None:
    with _held(patient, FOUR, _waiting(50)):
        wait_until(lambda: patient.at_work == FOUR)
        for path in ("/healthz", "/readyz"):
            wait_until(partial(_is_well, patient, path))
        refused = patient.ask(post(LIST))
        assert (status(refused), b"retry-after: 1" in refused.lower()) == (503, True)
        assert b"DCF_MAX_CONNECTIONS" in refused


def test_health_is_told_while_the_spare_connections_are_held_too(patient: Served) -> None:
    with _held(patient, FOUR, _waiting(50)), ExitStack() as stack:
        wait_until(lambda: patient.at_work == FOUR)
        spare = [stack.enter_context(patient.connect()) for _ in range(SPARE)]
        for connection in spare:
            connection.sendall(HALF_A_HEAD)
        wait_until(lambda: patient.connections == FOUR + SPARE)
        assert status(patient.ask(get("/healthz"))) == 200
        assert rest(spare[0]) == b""


@pytest.mark.skipif(sys.platform != "linux", reason="needs more than one loopback address")
def test_one_address_cannot_take_all_connections(replica: Replica) -> None:
    with (
        _server(replica, max_connections=FOUR, max_connections_per_peer=2) as server,
        _held(server, 2, _waiting(50)),
        server.connect("127.0.0.2") as other,
    ):
        assert status(server.ask(post(LIST))) == 503
        other.sendall(post(LIST))
        assert status(head(other)) == 200


def test_the_wait_of_a_client_that_goes_away_ends_and_takes_nothing(
    replica: Replica, raw_redis: redis.Redis, run_id: str
) -> None:
    application, agent = replica(), f"agent-{run_id}"
    with served(build_http_app(application), application.settings) as result:
        with result.connect() as connection:
            connection.sendall(_waiting(50, agent))
            wait_until(lambda: application.reader.waiting == 1)
        wait_until(lambda: application.reader.waiting == 0)
        application.inbox.put(agent, "run:A:1:event", {"n": 1})
        with result.connect() as connection:
            connection.sendall(_waiting(50, agent))
            assert json.loads(body(connection))["result"]["structuredContent"]["event"] == {"n": 1}
    assert raw_redis.zcard(f"cp:idx:inbox:{agent}:taken") == 1


class _Connection:
    def __init__(self, *, is_at_work: bool = False, is_new: bool = False) -> None:
        self.is_at_work = is_at_work
        self.is_new = is_new
        self.closed = False

    def give_way(self) -> None:
        self.closed = True


def test_an_address_with_too_many_closes_its_own_connections_only() -> None:
    limit = ConnectionLimit(total=4, per_peer=2)
    others, own = _Connection(), [_Connection() for _ in range(3)]
    assert limit.enter(others, "other") is Use.ANYTHING
    assert [limit.enter(item, "own") for item in own] == [Use.ANYTHING] * 3
    assert [item.closed for item in (others, *own)] == [False, True, False, False]


def test_a_connection_that_left_makes_room() -> None:
    limit = ConnectionLimit(total=1, per_peer=1)
    first, second = _Connection(is_at_work=True), _Connection(is_at_work=True)
    assert limit.enter(first, "a") is Use.ANYTHING
    assert limit.enter(second, "a") is Use.HEALTH
    limit.leave(first)
    limit.leave(first)
    assert limit.enter(_Connection(is_at_work=True), "a") is Use.ANYTHING


def test_the_newest_health_check_takes_the_place_of_the_oldest() -> None:
    limit = ConnectionLimit(total=1, per_peer=1)
    limit.enter(_Connection(is_at_work=True), "a")
    checks = [_Connection(is_at_work=True) for _ in range(SPARE + 1)]
    assert {limit.enter(check, "a") for check in checks} == {Use.HEALTH}
    assert [check.closed for check in checks] == [True] + [False] * SPARE


def test_a_connection_whose_request_is_not_read_yet_is_not_closed_for_another() -> None:
    limit = ConnectionLimit(total=1, per_peer=1)
    connections = [_Connection(is_new=True) for _ in range(1 + SPARE)]
    assert [limit.enter(connection, "a") for connection in connections] == [Use.ANYTHING] + [Use.HEALTH] * SPARE
    assert limit.enter(_Connection(is_new=True), "a") is Use.NONE
    assert not any(connection.closed for connection in connections)


def test_a_server_has_a_thousand_connections_and_half_of_them_for_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.tools.http.server.files_for", lambda needed: needed)
    limit = connection_limit(Settings())
    assert (limit.total, limit.per_peer) == (1000, 500)


def test_a_server_that_may_open_few_files_has_fewer_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.tools.http.server.files_for", lambda _: 256)
    limit = connection_limit(Settings())
    assert (limit.total, limit.per_peer) == (80, 40)


def test_ten_thousand_connections_take_little_more_than_ten_thousand_files(monkeypatch: pytest.MonkeyPatch) -> None:
    request: list[int] = []
    monkeypatch.setattr("dcf.tools.http.server.files_for", lambda needed: request.append(needed) or needed)  # type: ignore[func-returns-value]
    assert connection_limit(Settings(max_connections=10_000, max_connections_per_peer=10_000)).total == 10_000
    assert request[0] < 10_000 + 1000
