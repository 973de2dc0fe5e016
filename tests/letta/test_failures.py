"""A failure of Letta's side is always an error of dcf, never in the library's words. Needs no Letta."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from dcf.adapters.letta import LettaOptions, LettaPlatform
from dcf.errors import AgentUnknown, DcfError, InvalidArgument, PlatformUnavailable
from dcf.ports import AgentWish, ToolWish
from tests.support.redis.servers import free_port
from tests.support.tables import rows

NOBODY = "agent-00000000-0000-4000-8000-000000000000"
REGISTERED = ToolWish(name="t", definition={"type": "registered", "platformToolId": "tool-1"})
SERVED = ToolWish(
    name="t", definition={"type": "mcp_server", "toolName": "t"}, server={"name": "s", "url": "http://192.0.2.1/mcp"}
)
CALLS: dict[str, Callable[[LettaPlatform], object]] = {
    "create_agent": lambda letta: letta.create_agent(AgentWish(name="x", template={"llm_config": {}})),
    "find_agents": lambda letta: letta.find_agents(("a",)),
    "retrieve_agent": lambda letta: letta.retrieve_agent(NOBODY),
    "delete_agent": lambda letta: letta.delete_agent(NOBODY),
    "add_text": lambda letta: letta.add_text(NOBODY, "label", "value"),
    "remove_text": lambda letta: letta.remove_text(NOBODY, "block-1"),
    "attach a registered tool": lambda letta: letta.attach_tool(NOBODY, REGISTERED),
    "attach a tool of a server": lambda letta: letta.attach_tool(NOBODY, SERVED),
    "detach_tool": lambda letta: letta.detach_tool(NOBODY, "tool-1"),
    "apply": lambda letta: letta.apply(NOBODY),
    "lift_return_limits": lambda letta: letta.lift_return_limits(NOBODY),
}


@contextmanager
def answering(status: int, body: bytes = b'{"detail": "secret-insides"}', **headers: str) -> Iterator[LettaOptions]:
    """A server that answers everything with this status."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names are the library's

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield LettaOptions(base_url=f"http://127.0.0.1:{server.server_port}", api_key="sk-secret-key")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def error_of(options: LettaOptions, call: Callable[[LettaPlatform], object]) -> DcfError:
    with LettaPlatform(options) as letta, pytest.raises(DcfError) as caught:
        call(letta)
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"
    return caught.value


def errors_of(options: LettaOptions) -> dict[str, DcfError]:
    """The error of each call. One platform makes them all: it takes 50 ms to open."""
    errors = {}
    with LettaPlatform(options) as letta:
        for name, call in CALLS.items():
            with pytest.raises(DcfError) as caught:
                call(letta)
            errors[name] = caught.value
    assert "secret" not in str([(error.message, error.hint) for error in errors.values()])
    return errors


def test_a_letta_that_is_down_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("letta_client._base_client.INITIAL_RETRY_DELAY", 0.001)
    errors = errors_of(LettaOptions(base_url=f"http://127.0.0.1:{free_port()}"))
    assert {name: type(error) for name, error in errors.items()} == dict.fromkeys(CALLS, PlatformUnavailable)
    assert [name for name, error in errors.items() if "cannot be reached" not in error.message] == []


@rows("status", [500, 503])
def test_a_letta_that_fails_inside_is_unavailable(status: int) -> None:
    with answering(status, retry_after="0.001") as options:
        errors = errors_of(options)
    assert {name: type(error) for name, error in errors.items()} == dict.fromkeys(CALLS, PlatformUnavailable)


def test_a_letta_that_never_answers_is_unavailable_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        error = error_of(LettaOptions(base_url=url, read_timeout_s=0.05), lambda letta: letta.find_agents(("a",)))

    assert isinstance(error, PlatformUnavailable)
    assert "did not answer in time" in error.message


def test_a_wrong_key_is_told_as_such() -> None:
    with answering(401) as options:
        assert "LETTA_API_KEY" in error_of(options, lambda letta: letta.retrieve_agent(NOBODY)).message


@rows(("header", "expected"), [("0.2", 1.0), ("7", 7.0), ("9999999", 300.0), ("soon", 10.0)])
def test_a_request_to_slow_down_is_passed_on(header: str, expected: float) -> None:
    with answering(429, retry_after=header) as options:
        error = error_of(options, lambda letta: letta.add_text(NOBODY, "label", "value"))

    assert isinstance(error, PlatformUnavailable)
    assert error.retry_after_s == expected


@rows("body", [b"<html>", b"[]", b"{}", b"null", b'"text"', b'{"id": 7, "tags": 7}', b"\xff"])
def test_an_answer_of_something_else_than_letta_is_unavailable(body: bytes) -> None:
    with answering(200, body) as options:
        assert isinstance(error_of(options, lambda letta: letta.retrieve_agent(NOBODY)), PlatformUnavailable)


@rows("status", [404, 422])
def test_an_id_that_letta_does_not_know_is_an_unknown_agent(status: int) -> None:
    with answering(status) as options:
        assert isinstance(error_of(options, lambda letta: letta.retrieve_agent(NOBODY)), AgentUnknown)


def test_what_is_gone_may_be_taken_away() -> None:
    with answering(404) as options, LettaPlatform(options) as letta:
        assert letta.delete_agent(NOBODY) is False
        letta.remove_text(NOBODY, "block-1")
        letta.detach_tool(NOBODY, "tool-1")


@rows("url", ["letta:8283", "", "ftp://letta", "http://"])
def test_an_address_that_is_none_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(InvalidArgument, match="LETTA_BASE_URL"):
        LettaOptions(base_url=url)


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(LettaOptions(base_url="http://127.0.0.1:1", api_key="sk-secret-key"))
