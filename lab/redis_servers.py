"""A Redis of the lab, which can be killed, frozen, started again and left with less memory than it needs."""

import os
import secrets
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import redis

from dcf.store.embedded.append_log import drop_torn_transaction
from lab.regions import Region
from tests.support.redis.restricted import USERS, digest, rendered
from tests.support.redis.servers import MODULES, SERVER, free_port, listens
from tests.support.waiting import wait_until

ADMIN: Final = "admin"


@dataclass(frozen=True, slots=True)
class Users:
    """The users of a deployment, deploy/redis/users.acl, and the lab as an additional administrator."""

    passwords: Mapping[str, str]

    @classmethod
    def drawn(cls) -> Self:
        """Return them with new passwords."""
        return cls({user: secrets.token_hex(16) for user in ("dcf", "operator", ADMIN)})

    @property
    def administrator(self) -> tuple[str, str]:
        """Return the name and the password of the lab's own user."""
        return ADMIN, self.passwords[ADMIN]

    def login(self) -> str:
        """Return what a URL of dcf begins with, before the host."""
        return f"dcf:{self.passwords['dcf']}@"

    def options(self, home: Path) -> tuple[str, ...]:
        """Write the file, and return the options that make a Redis use it."""
        home.mkdir(parents=True, exist_ok=True)
        acl, secret = home / "users.acl", self.passwords[ADMIN]
        admin = f"user {ADMIN} on #{digest(secret)} ~* &* +@all\n"
        acl.write_text(rendered(USERS.read_text("utf-8"), dict(self.passwords)) + admin)
        return ("--aclfile", str(acl), "--acllog-max-len", "1000", "--masteruser", ADMIN, "--masterauth", secret)


def socket_of(folder: Path, port: int) -> Path:
    """Return the unix socket of a Redis in a region whose directory lies in this one."""
    return folder / f"{port}.sock"


class LabRedis:
    """A redis-server with its data in a directory; it keeps its port over a restart.

    One in a region is reached from elsewhere by its unix socket, which is next to the directory.
    """

    def __init__(self, home: Path, *options: str, users: Users | None = None, region: Region | None = None) -> None:
        self.home = home
        self.port = free_port()
        self._users = users
        self._region = region
        self._options = options if users is None else (*options, *users.options(home))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self, *more: str) -> None:
        """Start it, and wait until it answers with all its data loaded."""
        command = [
            *(SERVER, *self._binding(), "--port", str(self.port), "--dir", str(self.home)),
            *("--save", "", *MODULES, "--enable-debug-command", "local"),
            *("--repl-diskless-sync-delay", "0", *self._options, *more),
        ]
        within = command if self._region is None else self._region.command(*command)
        self._process = subprocess.Popen(within, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: listens(self.port if self._region is None else self.socket), 30)
        wait_until(self.is_loaded, 30)

    @property
    def socket(self) -> Path:
        """Where it listens besides its port, if it is in a region."""
        return socket_of(self.home.parent, self.port)

    def _binding(self) -> tuple[str, ...]:
        if self._region is None:
            return ("--bind", "127.0.0.1")
        ends = ("127.0.0.1", self._region.address)
        return ("--bind", *ends, "--protected-mode", "no", "--unixsocket", str(self.socket))

    def is_loaded(self) -> bool:
        """Return True if it has read all its data."""
        with suppress(redis.RedisError):
            return not self.client().info("persistence")["loading"]
        return False

    def kill(self) -> None:
        """Kill it at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
            self._process = None

    def repair(self) -> None:
        """Do what dcf does before it starts an embedded server, and `redis-check-aof --fix` for others."""
        drop_torn_transaction(self.home)

    def freeze(self) -> None:
        """Stop it; it keeps its connections."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the server continue."""
        self._signal(signal.SIGCONT)

    def lead(self) -> None:
        """Make it a primary."""
        self.client().replicaof("NO", "ONE")

    def follow(self, port: int) -> None:
        """Make it a replica of the one at this port, and wait until it has everything."""
        self.client().replicaof("127.0.0.1", port)
        wait_until(lambda: self.has_all_of(port), 20)

    def has_all_of(self, port: int) -> bool:
        """Return True if it is a replica of the one at this port, and has everything."""
        with suppress(redis.RedisError):
            info = self.client().info("replication")
            return bool(info.get("master_port") == port and info["master_link_status"] == "up")
        return False

    def leads(self) -> bool:
        """Return True if it is a primary."""
        with suppress(redis.RedisError):
            return bool(self.client().info("replication")["role"] == "master")
        return False

    def offset(self) -> int:
        """Return how much of the stream of writes it has, in bytes."""
        info = self.client().info("replication")
        return int(info["master_repl_offset"] if info["role"] == "master" else info["slave_repl_offset"])

    def client(self) -> Any:
        """Return a plain client."""
        login = "" if self._users is None else f"{ADMIN}:{self._users.passwords[ADMIN]}@"
        url = f"redis://{login}127.0.0.1:{self.port}" if self._region is None else f"unix://{login}{self.socket}"
        return redis.Redis.from_url(url, protocol=2, socket_timeout=5)

    def refusals(self) -> list[str]:
        """Return what the user dcf tried and may not do."""
        entries = self.client().acl_log()
        return [f"{entry['object']} ({entry['context']})" for entry in entries if entry["username"] == "dcf"]

    def log(self) -> Path:
        """Return the file of its latest log of commands."""
        return max(self.home.glob("appendonlydir/*.incr.aof"), key=lambda path: path.stat().st_mtime)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            os.kill(self._process.pid, number)
