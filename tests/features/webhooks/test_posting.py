"""Where dcf posts to: public https addresses and what an operator listed, looked at when the connection is made."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from dcf.errors import Forbidden, InvalidArgument, PlatformUnavailable
from dcf.features.webhooks import posting
from dcf.features.webhooks.posting import Poster
from tests.support.agents.receivers import Receiver, receiver
from tests.support.tables import rows


def poster(receiver: Receiver, **more: float) -> Poster:
    return Poster((receiver.url,), **more)  # type: ignore[arg-type]


@pytest.fixture
def found() -> Iterator[Receiver]:
    with receiver() as item:
        yield item


@contextmanager
def talking(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server of one connection that says what a test wants, also what is no HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(60)


def test_a_listed_url_gets_the_body_and_the_headers(found: Receiver) -> None:
    assert poster(found).post(found.url, {"webhook-id": "msg_1"}, b'{"a": 1}').status == 204
    (came,) = found.came
    assert came.body == b'{"a": 1}'
    assert came.headers["webhook-id"] == "msg_1"
    assert came.headers["host"] == found.url.split("/")[2]


@rows(
    "url",
    [
        "http://203.0.113.7/",
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[::7f00:1]/",
        "https://[::ffff:0:127.0.0.1]/",
        "https://[::a9fe:a9fe]/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://metadata.google.internal/",
        "http://example.com/",
    ],
)
def test_plain_http_and_private_addresses_are_refused_unless_they_are_listed(url: str) -> None:
    with pytest.raises(Forbidden):
        Poster().check(url)


@rows(
    "url", ["ftp://a.example/", "https://user:secret@a.example/", "https://a.example\\@b/", "https://2130706433/", ""]
)
def test_a_url_that_can_be_read_in_two_ways_is_none(url: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        Poster().check(url)
    assert "secret" not in raised.value.message


@rows("address", ["127.0.0.1", "10.1.2.3", "fe80::1", "::1", "169.254.169.254", "::ffff:7f00:1"])
def test_a_public_name_that_leads_to_a_private_address_is_not_called(address: str) -> None:
    rebound = Poster(lookup=lambda _, __: ["93.184.216.34", address])
    with pytest.raises(Forbidden):
        rebound.post("https://hook.example/", {}, b"{}")


def test_even_a_listed_url_is_not_called_at_a_metadata_service() -> None:
    listed = Poster(("http://hook.internal",), lookup=lambda _, __: ["169.254.169.254"])
    with pytest.raises(Forbidden, match="never allowed"):
        listed.post("http://hook.internal/", {}, b"{}")


def test_the_connection_goes_to_the_address_that_was_looked_at(found: Receiver) -> None:
    """Example: a name that means something else when it is looked up once more."""
    port = found.url.split(":")[2].split("/")[0]
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    poster = Poster((f"http://hook.internal:{port}",), lookup=lambda _, __: next(answers))
    assert poster.post(f"http://hook.internal:{port}/hook", {}, b"{}").status == 204
    assert found.came[0].headers["host"] == f"hook.internal:{port}"


def test_a_redirect_is_answered_as_one_and_not_followed(found: Receiver) -> None:
    found.answers(307, Location=found.url.replace("/hook", "/elsewhere"))
    assert poster(found).post(found.url, {}, b"{}").status == 307
    assert len(found.came) == 1


def test_a_proxy_of_the_environment_is_not_asked(found: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert poster(found).post(found.url, {}, b"{}").status == 204


def test_a_receiver_that_does_not_answer_in_time_is_given_up(found: Receiver) -> None:
    found.hold.clear()
    with pytest.raises(PlatformUnavailable, match="in time"):
        poster(found, total_s=0.2).post(found.url, {}, b"{}")


def test_a_receiver_that_answers_a_byte_at_a_time_is_given_up() -> None:
    """Example: every byte that comes starts a socket's timeout again."""
    event = threading.Event()

    def drip(connection: socket.socket) -> None:
        for letter in b"HTTP/1.1 200 OK\r\n" + b"X" * 100_000:
            try:
                connection.sendall(bytes([letter]))
            except OSError:
                break
            if event.wait(0.02):
                break

    with talking(drip) as url:
        with pytest.raises(PlatformUnavailable, match="in time"):
            Poster((url,), total_s=0.3).post(url, {}, b"{}")
        event.set()


def test_a_host_of_many_addresses_that_do_not_answer_takes_no_longer_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock on which each try takes a second."""
    tried, real = list[float](), socket.create_connection

    def counted(address: tuple[str, int], timeout: float) -> socket.socket:
        tried.append(timeout)
        return real(address, 0.01)

    with socket.socket() as full, socket.socket() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting.connect(full.getsockname())  # from now on connections are not answered
        url = f"http://hook.internal:{full.getsockname()[1]}/"
        monkeypatch.setattr(socket, "create_connection", counted)
        monkeypatch.setattr(posting, "time", SimpleNamespace(monotonic=lambda: len(tried)))
        with pytest.raises(PlatformUnavailable, match="in time"):
            Poster((url,), lookup=lambda _, __: ["127.0.0.1"] * 50, connect_s=3).post(url, {}, b"{}")
    assert tried == [3, 2, 1]


def test_a_body_without_end_is_not_read() -> None:
    event = threading.Event()

    def flood(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 1000)
        event.wait(60)

    with talking(flood) as url:
        assert Poster((url,)).post(url, {}, b"{}").status == 200
        event.set()


@rows("said", [b"", b"SSH-2.0-nothing\r\n", b"HTTP/1.1 abc\r\n\r\n"])
def test_what_answers_in_no_http_is_unavailable(said: bytes) -> None:
    with (
        talking(lambda connection: connection.sendall(said)) as url,
        pytest.raises(PlatformUnavailable, match="no HTTP"),
    ):
        Poster((url,)).post(url, {}, b"{}")


def test_a_receiver_that_is_down_is_named_without_its_path() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/secret-path"
    with pytest.raises(PlatformUnavailable, match="refuses connections") as raised:
        Poster((url,)).post(url, {}, b"{}")
    assert "secret-path" not in raised.value.message


def test_a_host_without_an_address_is_unavailable() -> None:
    def nowhere(_: str, __: int) -> list[str]:
        raise socket.gaierror

    with pytest.raises(PlatformUnavailable, match="no address"):
        Poster(lookup=nowhere).post("https://hook.example/", {}, b"{}")
