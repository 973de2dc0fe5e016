"""Connecting: every form of URL, and one clear sentence for whatever is wrong with the server behind it."""

import json
import traceback
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
import redis
import redis.asyncio

from dcf.application.application import open_application
from dcf.errors import DcfError, InvalidArgument, StoreUnavailable, StoreUnsuitable, UnknownState
from dcf.features.health.storage import VitalSigns
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.inspection import inspect_server
from dcf.store.connection.pools import open_async_client
from dcf.store.embedded import server as embedded
from dcf.store.keys import table as keys
from dcf.values.json_text import dump
from tests.support.redis.documents import STORED, read_document
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.servers import free_port, listens, redis_server, running
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World

Worlds = Callable[..., World]
CANARY = "s3cret-canary"


def problem(call: Callable[[], object]) -> DcfError:
    """The error of a call: ours, one sentence and a hint, without a secret, a cause or a library's text."""
    with pytest.raises(DcfError) as raised:
        call()
    error = raised.value
    shown = "".join(traceback.format_exception(error)) + repr(error) + error.message + error.hint + repr(vars(error))
    assert CANARY not in shown
    assert error.message.endswith(".")
    assert "\n" not in error.message + error.hint
    for word in ("Traceback", "redis.exceptions", "Errno", "WRONGPASS", "WRONGTYPE", "NOAUTH", "args beginning"):
        assert word not in error.message + error.hint
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    return error


def on(url: str, *, deadline_s: float = 0.1) -> World:
    return World(connections=Connections(open_pool(url)), deadline_s=deadline_s)


def using(world: World) -> Iterator[Callable[[], object]]:
    """One call of each kind: a transaction, a read, a command of a group."""
    yield lambda: world.plane.create(world.wish(chain("A")))
    yield lambda: world.plane.read("run")
    yield lambda: inspect_server(world.connections)
    yield world.index.live
    yield lambda: world.outbox.take("run", "me")


# Servers that will not do


def test_a_server_without_the_json_module_that_has_such_documents_is_refused(tmp_path: Path) -> None:
    with redis_server(tmp_path, with_json=False) as port, redis.Redis(port=port) as client:
        client.set(keys.DOCUMENT_FORM, "json")
        world = on(f"redis://127.0.0.1:{port}")
        world.connections.wanted = "auto"
        problems = [problem(call) for call in islice(using(world), 3)]
        world.connections.close()
    assert all(isinstance(error, StoreUnsuitable) for error in problems)
    assert "RedisJSON module" in problems[0].message
    assert problems[2].message == "The documents of this Redis need RedisJSON, which this server does not have."


def test_a_port_where_nobody_listens_is_unreachable() -> None:
    world = on(f"redis://:{CANARY}@127.0.0.1:{free_port()}")
    for call in using(world):
        error = problem(call)
        assert isinstance(error, StoreUnavailable)
        assert error.message == "Redis cannot be reached: no server listens there."
        assert "REDIS_URL" in error.hint


@rows("login", ["", f":{CANARY}@", f"user:{CANARY}@"], ids=["none", "password", "user"])
def test_a_refused_login_is_said_at_once_and_not_repeated_until_the_deadline(tmp_path: Path, login: str) -> None:
    with redis_server(tmp_path, "--requirepass", "the-right-one") as port:
        world = on(f"redis://{login}127.0.0.1:{port}", deadline_s=60)
        for call in using(world):
            error = problem(call)
            assert isinstance(error, StoreUnavailable)
            assert error.message == "Redis refused the user name or password."
        world.connections.close()


def test_the_right_password_is_accepted(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--requirepass", CANARY) as port:
        world = on(f"redis://:{CANARY}@127.0.0.1:{port}")
        assert world.run_status(world.create(chain("A"))) == "running"
        world.connections.close()


def test_a_user_without_the_rights_is_told_so_and_may_still_lack_config(tmp_path: Path) -> None:
    options = ("--user", "limited", "on", f">{CANARY}", "~*", "&*", "+@all", "-config", "--user", "reader", "on")
    with redis_server(tmp_path, *options, f">{CANARY}", "~*", "+@read", "+@connection", "+@transaction") as port:
        limited = on(f"redis://limited:{CANARY}@127.0.0.1:{port}")
        durability = VitalSigns(limited.connections).read().servers[0].durability
        assert durability is not None
        assert durability.fsync is None
        run = limited.create(chain("A"))
        reader = on(f"redis://reader:{CANARY}@127.0.0.1:{port}")
        error = problem(lambda: reader.index.retire(run))
        limited.connections.close()
        reader.connections.close()
    assert isinstance(error, StoreUnsuitable)
    assert error.message == "Redis does not allow this user a command, key or channel that dcf needs (NOPERM)."


def test_a_server_that_is_still_loading_is_named_so(real: World, proxy: Proxy) -> None:
    error = redis.BusyLoadingError("Redis is loading the dataset in memory")
    pool = open_pool(proxy.url)
    connection = pool.get_connection()

    def loading() -> None:
        raise error

    connection.read_response = loading
    pool.release(connection)
    connections = Connections(pool)
    result = problem(lambda: connections.send(("TIME",), ("TIME",)))
    connections.close()
    assert result.message == "Redis is still loading its data (LOADING)."


def test_a_silent_server_is_not_waited_for_longer_than_the_timeout(real: World, worlds: Worlds, proxy: Proxy) -> None:
    world = worlds(f"{proxy.url}?socket_timeout=0.05", deadline_s=0.1)
    for _ in range(20):
        proxy.plan(Fault.STALL, command="WATCH")
    error = problem(lambda: world.acquire(real.create(chain("A")), "A"))
    assert error.message == "Redis did not answer in time."


# Keys that somebody else wrote


@rows("write", [("SET", "text"), ("LPUSH", "item")])
def test_a_state_key_of_a_foreign_type_is_a_clear_error_and_other_states_go_on(
    real: World, write: tuple[str, str]
) -> None:
    run = real.create(chain("A", "B"))
    key = real.store.keys(run).state("A")
    real.ask("DEL", key)
    real.ask(write[0], key, write[1])
    calls = [
        lambda: real.acquire(run, "A"),
        lambda: real.renew(run, "A", "t"),
        lambda: real.release(run, "A", "t"),
        lambda: real.complete(run, "A", "t"),
        lambda: real.plane.exhaust(run, "A"),
    ]
    for call in calls:
        error = problem(call)
        assert isinstance(error, StoreUnsuitable)
        assert error.message == f"The document of state 'A' of run '{run}' is missing or is no JSON."
    assert real.doc(run, "B").status == "pending"


def test_a_meta_key_of_a_foreign_type_is_a_clear_error(real: World) -> None:
    run = real.create(chain("A"))
    real.ask("SET", real.store.keys(run).meta, "text")
    for call in (lambda: real.acquire(run, "A"), lambda: real.plane.read(run), lambda: real.finalize(run)):
        error = problem(call)
        assert isinstance(error, StoreUnsuitable)
        assert "changed by hand" in error.message


def test_an_output_key_of_a_foreign_type_is_reported_as_not_applied_or_is_replaced(real: World) -> None:
    """A string and a hash are replaced by the text of a document. RedisJSON replaces only what is its own."""
    run = real.create(chain("A", "B"))
    token = real.acquire(run, "A")
    real.ask("HSET", real.store.keys(run).output("A"), "field", "text")
    if not STORED.has_type:
        real.complete(run, "A", token, 1)
        assert read_document(real.ask, real.store.keys(run).output("A")) == 1
        return
    error = problem(lambda: real.complete(run, "A", token, 1))
    assert isinstance(error, StoreUnsuitable)
    assert "only part of a transaction" in error.message
    assert real.doc(run, "A").lease.token == token, "the documents are written together or not at all"


def test_a_state_that_the_workflow_does_not_have_is_unknown_not_broken(world: World) -> None:
    run = world.create(chain("A"))
    for call in (lambda: world.acquire(run, "Z"), lambda: world.complete(run, "Z", "t"), lambda: world.doc(run, "Z")):
        assert isinstance(problem(call), UnknownState)


# URLs


@rows(
    "url",
    [
        f"http://:{CANARY}@127.0.0.1",
        CANARY,
        "",
        f"redis://:{CANARY}@127.0.0.1:port",
        f"redis://:{CANARY}@127.0.0.1:99999",
        f"redis://[::1:{CANARY}",
        f"redis://127.0.0.1?socket_timeout={CANARY}",
        f"redis://127.0.0.1?{CANARY}=1",
        f"redis+sentinel://:{CANARY}@127.0.0.1:26379",
        f"redis+sentinel://:{CANARY}@/mymaster",
        f"redis+sentinel://:{CANARY}@127.0.0.1:x/mymaster",
        f"redis+sentinel://:{CANARY}@127.0.0.1:1/mymaster/x",
    ],
)
def test_a_bad_url_is_refused_without_repeating_it(url: str) -> None:
    for opened in (open_pool, open_async_client):
        error = problem(lambda open_it=opened: open_it(url))  # type: ignore[misc]
        assert isinstance(error, InvalidArgument)
        assert error.message.startswith("REDIS_URL ")


def test_a_url_cannot_change_what_the_protocol_relies_on(real: World, worlds: Worlds, proxy: Proxy) -> None:
    world = worlds(f"{proxy.url}?protocol=3&decode_responses=true&retry_on_timeout=true")
    run = world.create(chain("A"), agents={"A": "w"})
    assert world.claim(run, "w", "lease-1")
    assert [kind.type for kind in world.events(run)] == ["RunCreated", "StateEntered", "LeaseAcquired"]
    before = len(real.events(run))
    proxy.plan(Fault.LOSE_REPLY)
    world.complete(run, "A", "lease-1", 1)
    assert len(real.events(run)) == before + 2


def test_sentinels_lead_to_the_master_and_transactions_work(tmp_path: Path) -> None:
    ports = free_port(), free_port()
    with redis_server(tmp_path) as master:
        config = tmp_path / "sentinel.conf"
        config.write_text(f"port {ports[0]}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {master} 1\n")
        with running(str(config), "--sentinel"):
            wait_until(lambda: listens(ports[0]))
            url = f"redis+sentinel://127.0.0.1:{ports[1]},127.0.0.1:{ports[0]}/mymaster/1"
            world = on(url, deadline_s=60)
            run = world.create(chain("A", "B"))
            world.do(run, "A", output=1)
            assert world.statuses(run) == {"A": "succeeded", "B": "pending"}
            world.connections.close()
        direct = on(f"redis://127.0.0.1:{master}/1")
        assert direct.given(run, "B") == 1
        direct.connections.close()


def test_a_sentinel_that_does_not_know_the_master_is_an_unavailable_store() -> None:
    world = on(f"redis+sentinel://:{CANARY}@127.0.0.1:{free_port()}/mymaster")
    assert problem(lambda: world.acquire("run", "A")).message.endswith("no sentinel that answers knows this master.")


def test_a_sentinel_url_gives_login_and_database_to_the_master() -> None:
    client = open_async_client(f"rediss+sentinel://user:{CANARY}@one,two:7000/mymaster/3")
    options = client.connection_pool.connection_kwargs
    assert (options["username"], options["password"], options["db"]) == ("user", CANARY, 3)
    sentinels = client.connection_pool.sentinel_manager.sentinels  # type: ignore[attr-defined]
    result = [sentinel.connection_pool.connection_kwargs for sentinel in sentinels]
    assert [(kwargs["host"], kwargs["port"]) for kwargs in result] == [("one", 26379), ("two", 7000)]


def test_a_password_reaches_the_master_behind_a_sentinel_without_its_escapes() -> None:
    client = open_async_client("redis+sentinel://us%40er:p%3Aw%2F@one/mymaster")
    options = client.connection_pool.connection_kwargs
    assert (options["username"], options["password"]) == ("us@er", "p:w/")


# What kind of server it is


def test_the_embedded_server_is_fit(short_directory: Path) -> None:
    with embedded.start(short_directory / "fit") as server:
        connections = Connections(open_pool(server.url))
        facts = inspect_server(connections)
        connections.close()
    assert facts.version.startswith({"Redis": "8.", "Valkey": "9."}[facts.product])
    assert "ReJSON" in facts.modules
    assert facts.executable is not None
    assert facts.executable.endswith(("redis-server", "valkey-server"))


def test_an_application_that_cannot_use_its_server_leaves_no_connection_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Connections] = []
    close = Connections.close

    def noted(connections: Connections) -> None:
        closed.append(connections)
        close(connections)

    monkeypatch.setattr(Connections, "close", noted)
    with redis_server(tmp_path) as port, redis.Redis(port=port) as client:
        client.set(keys.DOCUMENT_FORM, "moving")
        settings = Settings(redis_url=f"redis://127.0.0.1:{port}")
        with pytest.raises(StoreUnsuitable, match="being moved"), open_application(settings):
            pass
    assert len(closed) == 1


def test_an_application_runs_a_workflow_on_the_configured_server(tmp_path: Path) -> None:
    with redis_server(tmp_path) as port:
        settings = Settings(redis_url=f"redis://127.0.0.1:{port}")
        with open_application(settings) as application:
            world = World(connections=Connections(open_pool(application.redis_url)))
            run = world.create(chain("A"), agents={"A": "w"})
            application.control_plane.kick_off(run, "go")
            application.clock.pulse()
            application.clock.finish(10)
            assert [event["reason"] for event in world.messages("w")] == ["go"]
            world.connections.close()
            assert json.loads(dump(application.history.after(run)[0].data))["definition_sha256"]
