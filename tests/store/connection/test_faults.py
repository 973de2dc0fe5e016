"""A refusal of Redis for a while is an unavailable store with a reason in words, and the same call succeeds later."""

import asyncio
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import redis

from dcf.core.documents.decision import Decision, ReadSet, Snapshot
from dcf.errors import StoreUnavailable, StoreUnsuitable, UnknownOutcome
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.faults import PassingError, reply_error
from dcf.store.transaction.attempts import commit
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import SENT
from tests.support.redis.inboxes import is_followed, reading
from tests.support.redis.proxy import Fault, Proxy
from tests.support.redis.servers import free_port, listens, redis_server, running
from tests.support.tables import rows
from tests.support.trouble import deadline_after
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World

Server = redis.Redis


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """How a server comes into it and out of it, what is said of it, and whether it may be over with the next try."""

    begin: Callable[[Server], object]
    end: Callable[[Server], object]
    said: str
    soon: bool = False
    options: tuple[str, ...] = ()


def cannot_save(server: Server) -> None:
    shutil.rmtree(str(server.config_get("dir")["dir"]))
    server.bgsave()
    wait_until(lambda: server.info("persistence")["rdb_last_bgsave_status"] == "err")


def can_save(server: Server) -> None:
    server.config_set("stop-writes-on-bgsave-error", "no")


def loses_its_primary(server: Server) -> None:
    server.replicaof("127.0.0.1", str(free_port()))


def becomes_the_primary(server: Server) -> None:
    server.replicaof("NO", "ONE")


def runs_a_script(server: Server) -> None:
    server.config_set("busy-reply-threshold", 1)
    threading.Thread(target=endless_script, args=(port_of(server),), daemon=True).start()
    wait_until(lambda: is_busy(server))


def ends_the_script(server: Server) -> None:
    server.script_kill()
    wait_until(lambda: not is_busy(server))


def is_busy(server: Server) -> bool:
    try:
        server.get("any")
    except redis.ResponseError as error:
        return str(error).startswith("BUSY")
    return False


def endless_script(port: int) -> None:
    with redis.Redis(port=port, protocol=2) as client, suppress(redis.RedisError):
        client.eval("while true do end", 0)


def setting(name: str, value: int) -> Callable[[Server], object]:
    return lambda server: server.config_set(name, value)


TROUBLES = {
    "OOM": Trouble(
        begin=setting("maxmemory", 1),
        end=setting("maxmemory", 0),
        said="Redis refuses writes: its memory is full (OOM).",
    ),
    "MISCONF": Trouble(
        begin=cannot_save,
        end=can_save,
        said="Redis refuses writes: its disk is full or it cannot save (MISCONF).",
        options=("--save", "3600 1"),
    ),
    "NOREPLICAS": Trouble(
        begin=setting("min-replicas-to-write", 1),
        end=setting("min-replicas-to-write", 0),
        said="Redis refuses writes: too few of its replicas are connected (NOREPLICAS).",
    ),
    "READONLY": Trouble(
        begin=loses_its_primary,
        end=becomes_the_primary,
        said="Redis refuses writes: this server is a replica (READONLY).",
        soon=True,
    ),
    "MASTERDOWN": Trouble(
        begin=loses_its_primary,
        end=becomes_the_primary,
        said="This Redis is a replica that lost its primary (MASTERDOWN).",
        soon=True,
        options=("--replica-serve-stale-data", "no"),
    ),
    "BUSY": Trouble(
        begin=runs_a_script,
        end=ends_the_script,
        said="Redis is busy with somebody's script (BUSY).",
    ),
}


@contextmanager
def server_for(directory: Path, trouble: Trouble) -> Iterator[tuple[str, Server]]:
    """Its URL, and a client that brings it into trouble."""
    home = directory / "home"
    home.mkdir()
    with (
        redis_server(home, *trouble.options) as port,
        redis.Redis(port=port, protocol=2, decode_responses=True) as item,
    ):
        yield f"redis://127.0.0.1:{port}", item


def on(url: str, *, deadline_s: float = 0.1) -> World:
    return World(connections=Connections(open_pool(url)), deadline_s=deadline_s)


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_write_that_is_refused_for_a_while_changes_nothing_and_succeeds_later(
    tmp_path: Path, trouble: Trouble
) -> None:
    with server_for(tmp_path, trouble) as (url, server):
        world = on(url)
        run = world.create(chain("A"))
        trouble.begin(server)
        with pytest.raises(StoreUnavailable) as raised:
            world.acquire(run, "A", token="lease-1")
        assert raised.value.message == trouble.said
        assert "repeat the call" in raised.value.hint
        trouble.end(server)
        world.acquire(run, "A", token="lease-1")
        assert world.doc(run, "A").attempts == 1
        world.connections.close()


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_transaction_whose_exec_is_refused_names_the_reason_and_writes_nothing(
    tmp_path: Path, trouble: Trouble
) -> None:
    """Between two commands of one packet the server may come into trouble; Redis then drops all of it."""
    with server_for(tmp_path, trouble) as (_, server), redis.Redis(port=port_of(server), protocol=2) as other:
        with other.client() as client:
            assert client.execute_command("MULTI") == b"OK"
            client.execute_command("SET", "k", "v")
            trouble.begin(server)
            with pytest.raises(redis.ResponseError) as refused:
                client.execute_command("EXEC")
        passing_error = reply_error(refused.value)
        assert isinstance(passing_error, PassingError if trouble.soon else StoreUnavailable)
        trouble.end(server)
        assert server.exists("k") == 0


def port_of(server: Server) -> int:
    port: int = server.get_connection_kwargs()["port"]
    return port


@pytest.mark.parametrize("trouble", ["OOM", "READONLY"])
def test_waiting_for_an_event_meets_the_same_trouble(tmp_path: Path, trouble: str) -> None:
    result = TROUBLES[trouble]
    with server_for(tmp_path, result) as (url, server):
        result.begin(server)

        async def look() -> None:
            async with reading(url) as reader:
                with pytest.raises(StoreUnavailable) as raised:
                    await reader.next("agent", 0.1)
                assert raised.value.message == result.said

        asyncio.run(look())


@pytest.mark.parametrize(("trouble", "delivered"), [("OOM", False), ("READONLY", False), ("READONLY", True)])
def test_taking_notifications_meets_the_same_trouble(tmp_path: Path, trouble: str, delivered: bool) -> None:
    """The first connection that takes any makes the group of its readers, which is a write."""
    with server_for(tmp_path, result := TROUBLES[trouble]) as (url, server):
        run = (world := on(url)).create(chain("A"), agents={"A": "a"})
        world.plane.kick_off(run, "start")
        assert not delivered or world.outbox.take(run, "anybody")
        result.begin(server)
        with pytest.raises(StoreUnavailable) as raised:
            world.outbox.take(run, "anybody")
        assert raised.value.message == result.said


def test_a_cluster_that_serves_no_keys_is_unavailable(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--cluster-enabled", "yes", "--cluster-port", str(free_port())) as port:
        world = on(f"redis://127.0.0.1:{port}")
        with pytest.raises(StoreUnavailable, match="CLUSTERDOWN"):
            world.acquire("run", "A")
        world.connections.close()


def test_a_server_that_stops_being_a_replica_meanwhile_is_not_even_noticed(tmp_path: Path) -> None:
    trouble = TROUBLES["READONLY"]
    with server_for(tmp_path, trouble) as (url, server):
        world = on(url, deadline_s=60)
        run = world.create(chain("A"))
        trouble.begin(server)
        waiting = threading.Thread(target=world.acquire, args=(run, "A"))
        waiting.start()
        wait_until(lambda: server.info("errorstats").get("errorstat_READONLY"))
        trouble.end(server)
        waiting.join()
        assert world.doc(run, "A").attempts == 1
        world.connections.close()


def test_a_commit_in_doubt_stays_unknown_although_redis_then_refuses_to_write(
    real: World, worlds: Callable[..., World], proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second try is refused for want of memory, and the first may have taken effect."""
    run = real.create(chain("A"))
    world = worlds(proxy.url, deadline_s=deadline_after(3, monkeypatch))
    proxy.plan(Fault.CUT_BEFORE, meanwhile=lambda: real.ask("CONFIG", "SET", "maxmemory", 1))
    try:
        with pytest.raises(UnknownOutcome):
            world.acquire(run, "A", token="lease-1")
    finally:
        real.ask("CONFIG", "SET", "maxmemory", 0)
    world.acquire(run, "A", token="lease-1")
    assert real.doc(run, "A").attempts == 1


def test_a_part_that_was_not_applied_is_never_told_as_something_that_passes(real: World) -> None:
    real.ask("SET", "dp:wf:part:1", "text")
    with real.connections.one() as connection, pytest.raises(StoreUnsuitable, match="only part of a transaction"):
        commit(connection, [("SET", "dp:wf:part:2", "x"), ("XADD", "dp:wf:part:1", "*", "a", "b")])
    assert real.ask("DEL", "dp:wf:part:1", "dp:wf:part:2") == 2


# Who may come in


def refuse(_: Snapshot) -> Decision[str]:
    return Decision(answer="refused")


@rows("login", ["", ":wrong@", "user:wrong@"])
def test_a_refused_login_is_not_tried_again(tmp_path: Path, login: str) -> None:
    with redis_server(tmp_path, "--requirepass", "right") as port, redis.Redis(port=port, password="right") as admin:
        world = on(f"redis://{login}127.0.0.1:{port}", deadline_s=1)
        for call in (world.index.live, partial(world.store.transact, "run", ReadSet(), refuse)):
            before = admin.info("stats")["total_connections_received"]
            with pytest.raises(StoreUnavailable, match="refused the user name or password"):
                call()
            assert admin.info("stats")["total_connections_received"] == before + 1


def test_a_user_who_loses_a_right_is_told_so_and_nothing_is_tried_again(tmp_path: Path) -> None:
    with redis_server(tmp_path) as port, redis.Redis(port=port) as admin:
        admin.acl_setuser("one", enabled=True, passwords=["+x"], keys=["*"], categories=["+@all"])
        counting = CountingPool(open_pool(f"redis://one:x@127.0.0.1:{port}"))
        world = World(connections=Connections(counting), deadline_s=1)
        run = world.create(chain("A"))
        admin.acl_setuser("one", enabled=True, commands=[f"-{SENT.write_many.lower()}"])
        with counting.counted() as packets, pytest.raises(StoreUnsuitable, match="NOPERM"):
            world.acquire(run, "A", token="lease-1")
        assert len(packets) == 2
        admin.acl_setuser("one", enabled=True, commands=[f"+{SENT.write_many.lower()}"])
        world.acquire(run, "A", token="lease-1")
        world.connections.close()


def test_a_user_who_may_not_choose_the_database_is_told_so(tmp_path: Path) -> None:
    options = ("--user", "one", "on", ">x", "~*", "&*", "+@all", "-select")
    with redis_server(tmp_path, *options) as port:
        connections = Connections(open_pool(f"redis://one:x@127.0.0.1:{port}/1"))
        with pytest.raises(StoreUnsuitable, match="NOPERM"):
            connections.send(("TIME",))


# Where it is that cannot be reached


def unreachable(url: str) -> tuple[str, str | None]:
    with pytest.raises(StoreUnavailable) as raised:
        Connections(open_pool(url)).send(("TIME",))
    return raised.value.message, raised.value.place


def test_an_unreachable_redis_is_reported_with_its_address_and_without_the_password(tmp_path: Path) -> None:
    port = free_port()
    assert unreachable(f"redis://u:canary@127.0.0.1:{port}/1") == (
        "Redis cannot be reached: no server listens there.",
        f"127.0.0.1:{port}",
    )
    assert unreachable("redis://:canary@no-such-host.invalid") == (
        "Redis cannot be reached: no address is known for this name.",
        "no-such-host.invalid:6379",
    )
    assert unreachable(f"unix://u:canary@{tmp_path}/none.sock") == (
        "Redis cannot be reached: there is no such socket.",
        f"{tmp_path}/none.sock",
    )
    assert unreachable(f"redis+sentinel://:canary@127.0.0.1:{port},[::1]:{port}/mymaster") == (
        "Redis cannot be reached: no sentinel that answers knows this master.",
        f"the master 'mymaster' of the sentinels at 127.0.0.1:{port}, [::1]:{port}",
    )


def test_a_server_that_speaks_no_tls_is_told_from_one_that_is_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=answer_in_plain_text, args=(listener,))
        answering.start()
        text, _ = unreachable(f"rediss://127.0.0.1:{listener.getsockname()[1]}")
        assert text == "Redis cannot be reached: it does not speak TLS, or its certificate is not trusted."
        answering.join()


def answer_in_plain_text(listener: socket.socket) -> None:
    for _ in range(2):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"-ERR unknown command\r\n")
            connection.recv(4096)


def test_waiting_for_an_event_names_the_place_too() -> None:
    port = free_port()

    async def look() -> None:
        async with reading(f"redis://:canary@127.0.0.1:{port}") as reader:
            with pytest.raises(StoreUnavailable) as raised:
                await reader.next("agent", 0)
            assert raised.value.message == "Redis cannot be reached: no server listens there."
            assert raised.value.place == f"127.0.0.1:{port}"

    asyncio.run(look())


def test_waiting_goes_by_the_sentinels_that_answer_and_leaves_no_connection_open(
    tmp_path: Path,
) -> None:
    dead, alive = free_port(), free_port()
    with redis_server(tmp_path) as master:
        config = tmp_path / "sentinel.conf"
        config.write_text(f"port {alive}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {master} 1\n")
        with running(str(config), "--sentinel"):
            wait_until(lambda: listens(alive))
            world = on(f"redis://127.0.0.1:{master}")

            async def look() -> None:
                url = f"redis+sentinel://127.0.0.1:{dead},127.0.0.1:{alive}/mymaster"
                async with reading(url) as reader:
                    waiting = asyncio.create_task(reader.next("agent", 30))
                    await asyncio.to_thread(wait_until, lambda: is_followed(world.connections))
                    world.inbox.put("agent", "run:A:1:event", {"n": 1})
                    result = await waiting
                    assert result is not None
                    assert result.event == {"n": 1}

            asyncio.run(look())
            world.connections.close()


@rows("scheme", ["redis://{}", "redis+sentinel://{}/mymaster"])
def test_waiting_for_an_event_asks_a_server_that_closes_the_connection_twice_at_most(scheme: str) -> None:
    request: list[str] = []

    async def close_at_once(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request.append("asked")
        writer.close()

    async def look() -> None:
        async with await asyncio.start_server(close_at_once, "127.0.0.1", 0) as closing:
            host, port = closing.sockets[0].getsockname()
            async with reading(scheme.format(f"{host}:{port}")) as reader:
                with pytest.raises(StoreUnavailable):
                    await reader.next("agent", 0.1)

    asyncio.run(look())
    assert len(request) in {1, 2}
