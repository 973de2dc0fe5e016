"""Bodies of requests: all together they hold a bounded part of the memory, and what is doubtfully framed is refused."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest
from starlette.applications import Starlette

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.tools.http.bodies import BodyBudget, LimitedBodies, body_budget
from dcf.tools.mcp.server import build_http_app
from dcf.verbs.endpoints import FREE
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.tools.http.raw_http import Served, get, head, post, served, status

Replica = Callable[..., Application]

MIB = 1024 * 1024
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
LONG = LIST + b" " * (MIB - len(LIST))
HELD = MIB - 1 - FREE
"""The budget of a body that lacks its last byte."""
LIMITS = {"max_body_bytes": MIB, "max_caller_bodies_bytes": 2 * MIB, "max_bodies_bytes": 3 * MIB}


def _budget_of(app: Starlette) -> BodyBudget:
    (result,) = (item for item in app.user_middleware if item.cls is LimitedBodies)  # type: ignore[comparison-overlap]
    budget: Any = result.args[0]
    assert isinstance(budget, BodyBudget)
    return budget


class _Site:
    def __init__(self, application: Application, server: Served, budget: BodyBudget) -> None:
        self.budget = budget
        self.server = server
        self._application = application

    def key(self) -> str:
        """A new key, as a header."""
        key = self._application.keys.create((Scope.READ,), agent_id=None, label=None, life_s=None)
        return f"Authorization: Bearer {key.text}"

    @contextmanager
    def unfinished(self, number: int, *headers: str) -> Iterator[list[socket.socket]]:
        """Bodies of which the last byte is missing."""
        before = self.budget.held
        with ExitStack() as stack:
            enter_contexts = [stack.enter_context(self.server.connect()) for _ in range(number)]
            for connection in enter_contexts:
                connection.sendall(post(LONG[:-1], *headers, length=MIB))
            wait_until(lambda: self.budget.held == before + number * HELD)
            yield enter_contexts
        wait_until(lambda: self.budget.held == before)


@pytest.fixture(scope="module")
def kept_site(replica: Replica) -> Iterator[_Site]:
    application = replica(auth="keys", **LIMITS)
    app = build_http_app(application)
    with served(app, application.settings) as server:
        yield _Site(application, server, _budget_of(app))


@pytest.fixture
def site(kept_site: _Site) -> _Site:
    """The server once it has released the requests of other tests: their answers come a moment before."""
    wait_until(lambda: kept_site.budget.held == 0)
    return kept_site


def _asked(site: _Site, body: bytes, *headers: str) -> int:
    with site.server.connect() as connection:
        connection.sendall(post(body, *headers))
        return status(head(connection))


def test_one_key_holds_a_part_of_the_bodies_and_no_more(site: _Site) -> None:
    key = site.key()
    with site.unfinished(2, key):
        assert _asked(site, LONG, key) == 429
        assert _asked(site, LONG, site.key()) == 200, "another key has its own part"
        wait_until(lambda: site.budget.held == 2 * HELD)


def test_all_keys_together_hold_no_more_than_the_limit(site: _Site) -> None:
    with site.unfinished(2, site.key()), site.unfinished(1, site.key()):
        assert _asked(site, LONG, site.key()) == 503
        assert site.budget.held <= site.budget.total


def test_short_requests_are_answered_while_long_ones_are_refused(site: _Site) -> None:
    key = site.key()
    with site.unfinished(2, key), site.unfinished(1, site.key()):
        assert _asked(site, LIST, key) == 200
        assert status(site.server.ask(get("/healthz", "Connection: close"))) == 200


def test_a_body_counts_until_its_request_is_answered(site: _Site) -> None:
    key = site.key()
    with site.unfinished(2, key) as (first, _):
        first.sendall(LONG[-1:])
        assert status(head(first)) == 200
        wait_until(lambda: site.budget.held == HELD)
        assert _asked(site, LONG, key) == 200


def test_half_sent_bodies_are_taken_in_up_to_the_limit_however_many_there_are(site: _Site) -> None:
    """As many as an attacker likes: what is refused is not kept."""
    key = site.key()
    answers = []
    with site.unfinished(2, key):
        for _ in range(20):
            with site.server.connect() as connection:
                connection.sendall(post(LONG[:-1], key, length=MIB))
                answers.append(status(head(connection)))
            assert site.budget.held <= site.budget.per_caller
        wait_until(lambda: site.budget.held == 2 * HELD)
    assert set(answers) == {429}


def test_without_a_key_no_body_is_taken_in(site: _Site) -> None:
    with site.server.connect() as connection:
        connection.sendall(post(LONG[:-1], length=MIB))
        assert status(head(connection)) == 401
        assert site.budget.held == 0


def test_a_server_without_keys_has_one_limit_for_all(replica: Replica) -> None:
    application = replica(**LIMITS)
    app = build_http_app(application)
    with served(app, application.settings) as server:
        site = _Site(application, server, _budget_of(app))
        with site.unfinished(3):
            assert _asked(site, LONG) == 503
        assert _asked(site, LONG) == 200


def test_by_default_bodies_hold_sixteen_mebibytes_and_those_of_one_key_eight() -> None:
    budget = body_budget(Settings())
    assert (budget.total, budget.per_caller) == (16 * MIB, 8 * MIB)


def test_the_longest_request_allowed_always_fits() -> None:
    budget = body_budget(Settings.model_validate({"max_body_bytes": 64 * MIB}))
    assert (budget.total, budget.per_caller) == (64 * MIB, 64 * MIB)


def _called(values: Any) -> bytes:
    arguments = {"workflow_id": "r", "states_json": values}
    params = {"name": "read_workflow_control_plane", "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


def test_a_request_with_more_than_two_hundred_thousand_values_is_not_parsed(site: _Site) -> None:
    key, values = site.key(), [0] * 200_000
    assert _asked(site, _called(values), key) == 413
    assert _asked(site, _called(json.dumps(values)), key) == 200, "as JSON text it is one value"
    assert _asked(site, _called(values[:-100]), key) == 200


@rows("first", ["Content-Length", "Transfer-Encoding"])
def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(site: _Site, first: str) -> None:
    lengths = {"Content-Length": f"Content-Length: {len(LIST)}", "Transfer-Encoding": "Transfer-Encoding: chunked"}
    details = [lengths.pop(first), *lengths.values()]
    request = get("/healthz", *details).replace(b"GET /healthz", b"POST /mcp")
    answer = site.server.ask(request + b"%x\r\n%s\r\n0\r\n\r\n" % (len(LIST), LIST) + get("/healthz"))
    assert status(answer) == 400
    assert answer.endswith(b"Content-Length and Transfer-Encoding exclude each other.")
    assert answer.count(b"HTTP/1.1") == 1, "what came after it is not read"


@rows("header", ["Origin: http://localhost:1", "Host: localhost"])
def test_a_repeated_origin_or_host_is_refused(site: _Site, header: str) -> None:
    own = [header] if header.startswith("Host") else [header, "Origin: http://evil.example"]
    assert status(site.server.ask(post(LIST, site.key(), *own))) == 400


@rows(
    "wrong",
    [
        (b"Host: localhost\r\n", b"Host: localhost\n"),
        (b"Accept:", b"X-Folded: a\r\n b\r\nAccept:"),
        (b"Accept:", b"X-Folded: a\r\n\tb\r\nAccept:"),
        (b" HTTP/1.1\r\n", b" HTTP/1.1\n"),
    ],
)
def test_a_header_that_two_readers_understand_differently_is_refused(site: _Site, wrong: tuple[bytes, bytes]) -> None:
    """A line that ends without CR, or continues in the next line; also in a request that follows another at once."""
    request = post(LIST, site.key())
    assert wrong[0] in request
    doubtful = request.replace(*wrong, 1)
    answer = site.server.ask(doubtful + get("/healthz"))
    assert (status(answer), answer.count(b"HTTP/1.1")) == (400, 1)
    with site.server.connect() as connection:
        with suppress(ConnectionError):  # it is refused before all of it is sent
            for begin in range(0, len(doubtful), 7):
                connection.sendall(doubtful[begin : begin + 7])
        assert status(head(connection)) == 400
    answer = site.server.ask(get("/healthz") + doubtful)
    assert (status(answer), answer.count(b"HTTP/1.1")) == (200, 1), "the second is not answered"


def test_a_request_with_a_key_twice_is_refused_wherever_it_stands(site: _Site) -> None:
    plain = _called(["A"])
    for once, twice in ((b'"id":1', b'"id":1,"id":2'), (b'"workflow_id":"r"', b'"workflow_id":"r","workflow_id":"s"')):
        assert _asked(site, plain.replace(once, twice), site.key()) == 400
    long = _called(["A" * 80, *(["B" * 80] * 1000)]).replace(b'"id":1', b'"id":1,"id":1')
    assert _asked(site, long, site.key()) == 400
    assert _asked(site, plain, site.key()) == 200


def test_a_chunked_body_is_counted_as_it_comes(site: _Site) -> None:
    key = site.key()
    headers = ("Content-Type: application/json", "Accept: application/json, text/event-stream", key)
    request = get("/mcp", "Transfer-Encoding: chunked", *headers).replace(b"GET", b"POST", 1)
    with site.unfinished(2, key), site.server.connect() as connection:
        connection.sendall(request + b"%x\r\n%s\r\n" % (len(LONG), LONG))
        assert status(head(connection)) == 429


def test_a_call_that_is_broken_off_leaves_no_word_in_the_log(site: _Site, caplog: pytest.LogCaptureFixture) -> None:
    with site.unfinished(1, site.key()):
        pass
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    assert _asked(site, message, site.key()) == 200
    assert [record.getMessage() for record in caplog.records] == []
