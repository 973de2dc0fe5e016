"""The promises of every platform about deliveries. Another joins by its site in `deliverers`."""

import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from dcf.ports import Delivery, Undelivered
from tests.platforms.deliverers import IN_TROUBLE, NOT_NOW, SITES, AtUrl, DeliverySite
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.support.world import World

LONG = 60.0


@pytest.fixture(params=sorted(SITES))
def site(request: pytest.FixtureRequest, real: World) -> Iterator[DeliverySite]:
    with SITES[request.param](real) as result:
        yield result


@pytest.fixture(params=sorted(IN_TROUBLE))
def at(request: pytest.FixtureRequest, real: World) -> Iterator[AtUrl]:
    with ExitStack() as stack:
        yield stack.enter_context(IN_TROUBLE[request.param](real, stack))


def event(number: int = 1) -> dict[str, Any]:
    run = f"run-{secrets.token_hex(6)}"
    ident = f"{run}:A:{number}:ready"
    return {
        "type": "workflow_event",
        "event_id": ident,
        "workflow_id": run,
        "target_state": "A",
        "payload": {"n": "12e5"},
    }


def given(site: DeliverySite, agent: str, details: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages that the agent got of this event."""
    return [item for item in site.got(agent) if item["event_id"] == details["event_id"]]


def test_an_event_reaches_its_agent_as_it_is(site: DeliverySite) -> None:
    agent, details = site.agent(), event()
    done = site.deliverer.deliver(agent, details["event_id"], details)
    assert (done.failure, done.error, done.duplicate) == (None, None, False)
    assert done.message_id
    wait_until(lambda: given(site, agent, details))
    (got,) = given(site, agent, details)
    assert {name: got[name] for name in ("event_id", "workflow_id", "payload")} == {
        name: details[name] for name in ("event_id", "workflow_id", "payload")
    }
    assert got.get("agent_id", agent) == agent


def test_an_event_goes_to_one_agent_only(site: DeliverySite) -> None:
    first, other, details = site.agent(), site.agent(), event()
    site.deliverer.deliver(first, details["event_id"], details)
    wait_until(lambda: given(site, first, details))
    assert given(site, other, details) == []


def test_a_repetition_is_no_failure_and_comes_once_or_can_be_told(site: DeliverySite) -> None:
    agent, details = site.agent(), event()
    site.deliverer.deliver(agent, details["event_id"], details)
    wait_until(lambda: given(site, agent, details))
    again = site.deliverer.deliver(agent, details["event_id"], details)
    assert (again.failure, again.duplicate) == (None, site.drops_repetitions)
    came = given(site, agent, details)
    assert len(came) == (1 if site.drops_repetitions else 2)
    assert {came["event_id"] for came in came} == {details["event_id"]}, "by which its receiver drops the second"


def test_an_agent_that_is_not_there_is_named(site: DeliverySite) -> None:
    agent = site.gone()
    done = site.deliverer.deliver(agent, "e1", event())
    assert done.failure is Undelivered.UNKNOWN_AGENT
    assert done.error is not None
    assert agent[:40] in done.error


def test_whether_a_server_is_called_is_known_without_calling_it(site: DeliverySite) -> None:
    assert isinstance(site.deliverer.is_remote, bool)


# Servers in trouble


def not_now(done: Delivery) -> None:
    assert done.failure in NOT_NOW, done
    assert done.retry_after_s > 0
    assert done.error is not None
    assert done.error.endswith(".")
    assert "c4nary" not in done.error, "a path may be a secret"


def test_a_server_that_is_away_is_a_failure_and_no_exception(at: AtUrl) -> None:
    deliverer, agent = at(f"http://127.0.0.1:{free_port()}/c4nary", LONG)
    not_now(deliverer.deliver(agent, "e1", event()))


def test_a_server_that_does_not_answer_is_given_up(at: AtUrl) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        deliverer, agent = at(f"http://127.0.0.1:{listener.getsockname()[1]}/c4nary", 0.2)
        not_now(deliverer.deliver(agent, "e1", event()))


def test_a_server_that_answers_nonsense_is_a_failure_and_no_exception(at: AtUrl, nonsense: str) -> None:
    deliverer, agent = at(nonsense, LONG)
    done = deliverer.deliver(agent, "e1", event())
    assert done.failure is not None
    assert done.error is not None


@pytest.fixture
def nonsense() -> Iterator[str]:
    """A server that answers everything with what is no answer of any platform."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(500)
            self.send_header("Content-Length", "7")
            self.end_headers()
            self.wfile.write(b"<html>!")

        do_POST = do_GET  # noqa: N815 - the names of http.server

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
