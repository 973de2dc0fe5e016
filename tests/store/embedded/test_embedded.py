"""The embedded server as its users see it: a real redis-server, started, shared, killed and stopped."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from dcf.errors import StoreUnavailable
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.embedded import server as embedded
from dcf.store.embedded.directories import socket_directory
from dcf.store.embedded.memory import share_of_memory
from dcf.store.embedded.server import EmbeddedServer, start
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

USER = """
import pathlib, sys
from dcf.store.embedded.server import start
server = start(pathlib.Path(sys.argv[1]))
print(server.pid, flush=True)
sys.stdin.read()
"""

FORKING_USER = """
import os, pathlib, sys
from dcf.store.embedded.server import start
server = start(pathlib.Path(sys.argv[1]))
if os.fork() == 0:
    server.close()
    os._exit(0)
os.wait()
print(server.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def connected(server: EmbeddedServer) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(server.url, decode_responses=True, retry=Retry(NoBackoff(), 0))
    with client:
        yield client


@contextmanager
def user_process(data_dir: Path, script: str = USER) -> Iterator[subprocess.Popen[str]]:
    """Another process that uses the server until its stdin is closed."""
    command = [sys.executable, "-c", script, str(data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def reported_pid(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def is_up(server: EmbeddedServer) -> bool:
    try:
        with connected(server) as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False


def kill_server(server: EmbeddedServer) -> None:
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: not is_up(server))


def setting(server: EmbeddedServer, name: str) -> str:
    with connected(server) as client:
        return str(client.config_get(name)[name])


def append_only_file(server: EmbeddedServer) -> Path:
    (append_only_file,) = server.data_dir.glob("appendonlydir/*.incr.aof")
    return append_only_file


def stopped_with(data_dir: Path, keys: int) -> EmbeddedServer:
    """A server that wrote a number of keys and has ended."""
    with start(data_dir) as server, connected(server) as client:
        pipeline = client.pipeline(transaction=False)
        for number in range(keys):
            pipeline.set(f"key:{number}", "v" * 100)
        pipeline.execute()
    return server


def test_it_starts_with_json_and_an_append_only_file(tmp_path: Path) -> None:
    with start(tmp_path / "data") as server, connected(server) as client:
        assert client.json().set("doc", "$", {"a": 1})
        assert {module["name"] for module in client.module_list()} >= {"ReJSON"}
        assert "search" not in {module["name"] for module in client.module_list()}
        assert setting(server, "appendonly") == "yes"
        assert setting(server, "appendfsync") == "everysec"
        assert setting(server, "maxmemory-policy") == "noeviction"
        assert setting(server, "stream-node-max-bytes") == "2048"
        assert setting(server, "save") == ""


def test_it_may_use_half_of_the_memory_unless_told_otherwise(tmp_path: Path) -> None:
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with start(tmp_path / "half") as server:
        assert 0 < int(setting(server, "maxmemory")) <= machine // 2
    for maxmemory in (0, 100_000_000):
        with start(tmp_path / f"told-{maxmemory}", maxmemory=maxmemory) as server:
            assert int(setting(server, "maxmemory")) == maxmemory


def test_a_container_has_half_of_its_limit(tmp_path: Path) -> None:
    limit, none = tmp_path / "memory.max", tmp_path / "no.limit"
    limit.write_text("1048576\n")
    none.write_text("max\n")
    assert share_of_memory([limit, none, tmp_path / "missing"]) == 512 * 1024
    assert share_of_memory([none]) == share_of_memory([])


def test_a_server_whose_memory_is_full_says_so_and_lives(tmp_path: Path) -> None:
    with start(tmp_path, maxmemory=20_000_000) as server:
        connections = Connections(open_pool(server.url))
        writes: list[Command] = [("SET", f"key:{number}", "v" * 1_000_000) for number in range(100)]
        with pytest.raises(StoreUnavailable, match="its memory is full"):
            connections.send(*writes)
        assert connections.send(("EXISTS", "key:0")) == [1], "nothing was dropped"
        connections.close()


def test_it_is_reachable_by_its_owner_only(tmp_path: Path) -> None:
    with start(tmp_path / "data") as server:
        assert setting(server, "port") == "0"
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "data" / "redis.sock").stat().st_mode & 0o777 == 0o700
        assert append_only_file(server).stat().st_mode & 0o077 == 0


def test_an_open_data_directory_is_closed_to_others(tmp_path: Path) -> None:
    stopped_with(tmp_path / "data", keys=3)
    for directory in (tmp_path / "data", tmp_path / "new"):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o755)
        with start(directory):
            assert directory.stat().st_mode & 0o777 == 0o700


def test_an_open_directory_with_other_files_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir(mode=0o755)
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(StoreUnavailable, match="is open to other users") as refusal:
        start(tmp_path / "photos")
    assert "chmod 700" in refusal.value.hint
    assert (tmp_path / "photos").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.jpg"]


def test_a_directory_with_odd_characters_works(tmp_path: Path) -> None:
    with start(tmp_path / "a %41 é#?") as server:
        assert is_up(server)


def test_a_directory_with_a_long_path_works(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 40)
    with start(home) as server, connected(server) as client, start(home) as second:
        client.set("k", "v")
        assert second.url == server.url
    assert list(home.glob("appendonlydir/*"))
    socket_directory(home).rmdir()


@pytest.mark.parametrize("squat", ["open to all", "a link"])
def test_a_socket_directory_that_is_not_private_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, squat: str
) -> None:
    home = tmp_path / ("long" * 40)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    place = socket_directory(home)
    place.chmod(0o755)
    if squat == "a link":
        place.rename(tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable, match="not a private directory"):
        start(home)


def test_an_unknown_locale_does_not_keep_it_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "xx_YY.UTF-8")
    with start(tmp_path) as server:
        assert is_up(server)


def test_data_survives_a_killed_server(tmp_path: Path) -> None:
    with start(tmp_path, appendfsync="always") as server:
        with connected(server) as client:
            client.set("k", "v")
        killed = server.pid
        kill_server(server)
        server.revive()
        assert server.pid != killed
        with connected(server) as client:
            assert client.get("k") == "v"


def test_many_threads_revive_one_server(tmp_path: Path) -> None:
    with start(tmp_path) as server, start(tmp_path) as other, ThreadPoolExecutor(8) as pool:
        kill_server(server)
        list(pool.map(lambda number: (server, other)[number % 2].revive(), range(16)))
        assert is_up(server)
        assert (tmp_path / "redis.log").read_text().count("Ready to accept connections") == 2


def test_reviving_copes_with_a_server_that_dies_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with start(tmp_path) as server:
        plain = embedded._is_loaded

        def is_loaded(site: embedded._Site) -> bool:
            monkeypatch.undo()
            kill_server(server)
            return plain(site)

        monkeypatch.setattr(embedded, "_is_loaded", is_loaded)
        server.revive()
        assert is_up(server)


def test_reviving_a_live_server_leaves_it_alone(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        before = server.pid
        server.revive()
        assert server.pid == before


def test_the_next_start_mends_a_killed_server(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        kill_server(server)
        with start(tmp_path) as second:
            assert is_up(second)


def test_a_closed_share_cannot_revive(tmp_path: Path) -> None:
    server = start(tmp_path)
    server.close()
    server.close()
    with pytest.raises(StoreUnavailable, match="was closed"):
        server.revive()
    with pytest.raises(StoreUnavailable, match="No redis-server"):
        _ = server.pid


def test_starting_twice_joins_the_same_server(tmp_path: Path) -> None:
    with start(tmp_path) as first, start(tmp_path) as second:
        assert (first.pid, first.url) == (second.pid, second.url)


def test_four_processes_at_once_start_one_server(tmp_path: Path) -> None:
    with (
        user_process(tmp_path) as popen,
        user_process(tmp_path) as two,
        user_process(tmp_path) as three,
        user_process(tmp_path) as four,
    ):
        assert len({reported_pid(user) for user in (popen, two, three, four)}) == 1
        assert (tmp_path / "redis.log").read_text().count("Ready to accept connections") == 1


def test_the_server_stays_until_the_last_user_leaves(tmp_path: Path) -> None:
    first, second = start(tmp_path), start(tmp_path)
    first.close()
    assert is_up(second)
    second.close()
    assert not is_up(second)


def test_a_process_that_exits_without_closing_leaves_no_server(tmp_path: Path) -> None:
    with user_process(tmp_path) as user, start(tmp_path) as server:
        assert reported_pid(user) == server.pid
        server.close()
        assert is_up(server)
        user.communicate()
        assert not is_up(server)


def test_a_forked_copy_does_not_stop_the_server(tmp_path: Path) -> None:
    with user_process(tmp_path, FORKING_USER) as user:
        pid = reported_pid(user)
        with start(tmp_path) as server:
            assert server.pid == pid


def test_a_killed_user_does_not_keep_the_server_alive(tmp_path: Path) -> None:
    with user_process(tmp_path) as user, start(tmp_path) as server:
        assert reported_pid(user) == server.pid
        user.kill()
        user.wait()
        assert is_up(server)
        server.close()
        assert not is_up(server)


def test_files_left_by_a_crash_harm_neither_the_start_nor_the_owner_of_the_pid(
    tmp_path: Path,
) -> None:
    with start(tmp_path) as server:
        kill_server(server)
    assert (tmp_path / "redis.sock").exists()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        (tmp_path / "redis.pid").write_text(f"{bystander.pid}\n")
        with start(tmp_path) as server:
            assert is_up(server)
            assert server.pid != bystander.pid
        assert bystander.poll() is None
        bystander.communicate(b"\n")


def test_a_silent_server_is_reported_and_no_second_one_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(tmp_path) as server:
        monkeypatch.setattr(embedded, "_PATIENCE_S", 0.1)
        monkeypatch.setattr(embedded, "_REPLY_S", 0.05)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            with pytest.raises(StoreUnavailable, match="has not answered"):
                start(tmp_path)
        finally:
            os.kill(server.pid, signal.SIGCONT)
            monkeypatch.undo()
        wait_until(lambda: is_up(server))
        assert (tmp_path / "redis.log").read_text().count("Ready to accept connections") == 1


def test_a_server_that_lost_its_socket_keeps_its_data_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start(tmp_path) as server:
        hidden = tmp_path / "hidden.sock"
        (tmp_path / "redis.sock").rename(hidden)
        monkeypatch.setattr(embedded, "_PATIENCE_S", 0.1)
        with pytest.raises(StoreUnavailable, match="has not answered"):
            server.revive()
        hidden.rename(tmp_path / "redis.sock")
        monkeypatch.undo()
        assert is_up(server)


def test_a_stricter_user_makes_the_server_stricter(tmp_path: Path) -> None:
    with start(tmp_path) as relaxed, start(tmp_path, appendfsync="always"):
        assert setting(relaxed, "appendfsync") == "always"


def test_a_relaxed_user_does_not_make_the_server_laxer(tmp_path: Path) -> None:
    with start(tmp_path, appendfsync="always"), start(tmp_path) as relaxed:
        assert setting(relaxed, "appendfsync") == "always"
        kill_server(relaxed)
        relaxed.revive()
        assert setting(relaxed, "appendfsync") == "always"


def test_starting_waits_until_the_data_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading would take ten seconds, and the server listens five times a second: it is told to hurry at once."""
    stopped_with(tmp_path, keys=50_000)
    heard: list[str] = []
    plain_command, plain_ping = embedded._command, embedded._ping
    slow = ["--key-load-delay", "200"]  # microseconds; it listens once in 1024 commands

    def ping(site: embedded._Site) -> str:
        heard.append(plain_ping(site))
        if heard[-1].startswith("-LOADING"):
            wait_until(lambda: embedded._ask(site.socket, "CONFIG SET key-load-delay 0") == "+OK")
        return heard[-1]

    monkeypatch.setattr(embedded, "_command", lambda *args: [*plain_command(*args), *slow])
    monkeypatch.setattr(embedded, "_ping", ping)
    with start(tmp_path) as server, connected(server) as client:
        assert client.dbsize() == 50_000
    assert any(reply.startswith("-LOADING") for reply in heard)


def test_a_torn_last_write_costs_only_itself(tmp_path: Path) -> None:
    aof = append_only_file(stopped_with(tmp_path, keys=3))
    os.truncate(aof, aof.stat().st_size - 10)
    with start(tmp_path) as server, connected(server) as client:
        assert client.dbsize() == 2


def test_a_corrupt_append_only_file_is_reported_at_once_and_names_the_log(tmp_path: Path) -> None:
    aof = append_only_file(stopped_with(tmp_path, keys=3))
    sound = aof.read_bytes()
    aof.write_bytes(b"*9\r\nrubbish" + sound)
    with pytest.raises(StoreUnavailable, match="could not start") as caught:
        start(tmp_path)
    assert str(tmp_path / "redis.log") in caught.value.message
    assert "Bad file format" in (tmp_path / "redis.log").read_text()
    aof.write_bytes(sound)
    with start(tmp_path) as server:
        assert is_up(server)


def test_a_program_that_refuses_its_settings_is_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = embedded._command
    monkeypatch.setattr(embedded, "_command", lambda *args: [*plain(*args), "--no-such-setting", "1"])
    with pytest.raises(StoreUnavailable, match=r"could not start; see its log, .*redis\.log"):
        start(tmp_path)
    assert "no-such-setting" in (tmp_path / "redis.log").read_text()


def test_a_data_directory_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot start on"):
        start(tmp_path / "data")
