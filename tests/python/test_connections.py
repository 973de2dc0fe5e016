"""A client with broken connections, wrong keys and wrong addresses."""

import asyncio
from collections.abc import Iterator

import pytest

import dcf
from dcf.application.application import open_application
from dcf.client import Client, RunEvent
from dcf.core.access.model import Scope
from dcf.errors import Forbidden, InvalidArgument, ServerUnreachable, StoreUnavailable, Unauthorized
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.python.forgetful import forgetful
from tests.python.workflows import HELLO, chain
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.tools.calls import serving

NOWHERE = "http://127.0.0.1:1/mcp"


@pytest.fixture
def proxy(python_redis: RestrictedRedis) -> Iterator[Proxy]:
    with Proxy(python_redis.socket, python_redis.login()) as proxy:
        yield proxy


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
def test_following_goes_on_after_a_broken_connection_to_redis_without_gap_or_double(
    proxy: Proxy, served: Client, run_id: str, fault: Fault
) -> None:
    """The connection breaks while the history is read, again and again, and the run continues meanwhile."""
    names = ("A", "B", "C", "D")
    with dcf.connect(proxy.url) as client:
        client.start(chain(*names), workflow_id=run_id)
        followed: list[RunEvent] = []
        for event in client.events(run_id, follow=True):
            followed.append(event)
            if event.type == "StateEntered":
                assert event.state is not None
                proxy.plan(fault, "XRANGE")
                served.resolve(run_id, event.state, output=event.state)
        assert proxy.is_spent
    assert followed[-1].type == "RunSucceeded"
    assert followed == list(served.events(run_id))


def test_a_call_whose_answer_was_lost_is_applied_once(served: Client, server_url: str, run_id: str) -> None:
    """The server did what it was asked, its answer is lost, and the client asks again."""
    with forgetful(server_url) as proxy, dcf.connect(proxy.url) as client:
        proxy.to_lose.update(["start_run", "rerun", "cancel_run", "retry_run", "read_run_events"])
        started = client.start(HELLO, tags=[run_id])
        again = client.rerun(started.workflow_id)
        assert client.cancel(started.workflow_id).repeated
        retried = client.retry(started.workflow_id)
        assert (retried.retried, retried.repeated) == (1, True)
        assert list(client.events(started.workflow_id)) == list(served.events(started.workflow_id))
        assert proxy.to_lose.total() == 0
    listed = {item.workflow_id for item in served.list(tag=run_id)}
    assert listed == {started.workflow_id, again.workflow_id}


def test_a_server_that_does_not_answer_is_given_up_at_the_deadline() -> None:
    with dcf.connect(NOWHERE, deadline_s=0.01) as client, pytest.raises(ServerUnreachable):
        client.get("some-run")


def test_a_redis_that_does_not_answer_is_told_when_the_client_is_opened() -> None:
    with pytest.raises(StoreUnavailable):
        dcf.connect("redis://127.0.0.1:1")

    async def open_it() -> None:
        async with dcf.connect_async("redis://127.0.0.1:1"):
            pytest.fail("it was opened")

    with pytest.raises(StoreUnavailable):
        asyncio.run(open_it())


@rows("address", ["localhost:8337", "ftp://somewhere", "", "mcp"])
def test_an_address_of_another_kind_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(InvalidArgument, match="neither that of a server nor of a Redis") as refused:
        dcf.connect(address)
    assert "http://HOST:PORT/mcp" in refused.value.hint


def test_a_client_that_was_not_opened_serves_nothing(python_redis: RestrictedRedis) -> None:
    with pytest.raises(InvalidArgument, match="not open"):
        dcf.connect_async(python_redis.url).serve({}, "somebody")


def test_a_server_with_keys_wants_a_good_one_with_the_right_scope(
    python_redis: RestrictedRedis, monkeypatch: pytest.MonkeyPatch, run_id: str
) -> None:
    chosen = {"redis_url": python_redis.url, "auth": "keys"}
    with open_application(Settings.model_validate(chosen)) as opened, serving(build_http_app(opened)) as url:
        key = opened.keys.create((Scope.READ, Scope.PLAN), agent_id=None, label=None, life_s=None).text
        address = f"{url}/mcp"
        for wrong in (None, "dcf_000000000000_" + "x" * 43):
            with dcf.connect(address, api_key=wrong) as client, pytest.raises(Unauthorized):
                client.get("some-run")
        with dcf.connect(address, api_key=key) as client:
            assert client.start(HELLO, workflow_id=run_id).run_status == "running"
            with pytest.raises(Forbidden):
                client.release(run_id, "Greet")
        monkeypatch.setenv("DCF_API_KEY", key)
        with dcf.connect(address) as client:
            assert client.get(run_id).status == "running"


def test_many_runs_are_waited_for_on_one_event_loop(server_url: str, served: Client, run_id: str) -> None:
    async def wait_for_all() -> list[object]:
        async with dcf.connect_async(server_url) as client:
            runs = [f"{run_id}-{number}" for number in range(20)]
            for run in runs:
                await client.start(HELLO, workflow_id=run)
            waiting = [asyncio.create_task(client.result(run, timeout_s=60)) for run in runs]
            for number, run in enumerate(runs):
                await client.resolve(run, "Greet", output=number)
            return list(await asyncio.gather(*waiting))

    assert asyncio.run(wait_for_all()) == list(range(20))


@rows("place", ["server", "redis"])
def test_functions_are_served_beside_an_event_loop(
    server_url: str, python_redis: RestrictedRedis, run_id: str, agent: str, place: str
) -> None:
    async def story() -> object:
        address = server_url if place == "server" else python_redis.url
        async with dcf.connect_async(address) as client, client.serve({"Greet": lambda value: [value]}, agent):
            await client.start(HELLO, 7, workflow_id=run_id, agents=agent)
            return await client.result(run_id, timeout_s=60)

    assert asyncio.run(story()) == [7]


@pytest.mark.parametrize("place", ["server", "redis"])
def test_a_wait_that_is_cancelled_leaves_the_client_as_it_was(
    server_url: str, python_redis: RestrictedRedis, run_id: str, place: str
) -> None:
    async def story() -> object:
        async with dcf.connect_async(server_url if place == "server" else python_redis.url) as client:
            await client.start(HELLO, workflow_id=run_id)
            waiting = asyncio.create_task(client.wait(run_id))
            following = asyncio.ensure_future(anext(client.events(run_id, follow=True, types=["RunSucceeded"])))
            await asyncio.sleep(0)
            waiting.cancel()
            following.cancel()
            ended = await asyncio.gather(waiting, following, return_exceptions=True)
            assert [type(text) for text in ended] == [asyncio.CancelledError] * 2
            await client.resolve(run_id, "Greet", output="all the same")
            return await client.result(run_id)

    assert asyncio.run(story()) == "all the same"
