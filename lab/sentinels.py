"""Redis Sentinel: three processes that watch a primary and its replica, and promote the replica when they must.

Their steps take fractions of seconds here (`SENTINEL DEBUG`), but for votes.
"""

import subprocess
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import redis

from lab.redis_servers import LabRedis, Users
from tests.support.redis.servers import SERVER, free_port, listens
from tests.support.waiting import wait_until

MASTER: Final = "lab"
_NUMBER: Final = 3
_QUORUM: Final = 2
_DOWN_AFTER_MS: Final = 600
_PERIODS_MS: Final = {"ping-period": 300, "info-period": 500, "ask-period": 200, "publish-period": 200}
_PATIENCE_S: Final = 30


class Sentinels:
    """Three sentinels of one primary."""

    def __init__(self, home: Path, primary: LabRedis, users: Users | None) -> None:
        self._home = home
        self._primary = primary
        self._users = users
        self._processes: list[subprocess.Popen[bytes]] = []
        self.ports = tuple(free_port() for _ in range(_NUMBER))

    def __enter__(self) -> Self:
        self._home.mkdir(parents=True, exist_ok=True)
        for port in self.ports:
            config = self._home / f"{port}.conf"
            config.write_text(self._config(port))
            command = [SERVER, str(config), "--sentinel", "--bind", "127.0.0.1"]
            quiet = subprocess.DEVNULL
            self._processes.append(subprocess.Popen(command, stdout=quiet, stderr=quiet))
        for port in self.ports:
            wait_until(lambda port=port: listens(port), _PATIENCE_S)  # type: ignore[misc]
            self._client(port).execute_command(*("SENTINEL", "DEBUG"), *_debugged())
        wait_until(self.are_ready, _PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def url(self, login: str) -> str:
        """Return the URL of the present primary, for dcf."""
        return f"redis+sentinel://{login}{','.join(f'127.0.0.1:{port}' for port in self.ports)}/{MASTER}"

    def are_ready(self) -> bool:
        """Return True if each knows the replica and the other sentinels, and takes both servers for well."""
        return all(self._is_ready(port) for port in self.ports)

    def all_follow(self, port: int) -> bool:
        """Return True if all of them take the server at this port for the primary."""
        with suppress(redis.RedisError):
            return all(self._primary_at(item)["port"] == port for item in self.ports)
        return False

    def _is_ready(self, port: int) -> bool:
        with suppress(redis.RedisError):
            details, replicas = self._primary_at(port), self._client(port).sentinel_slaves(MASTER)
            is_well = not any(item["is_sdown"] or item["is_odown"] for item in (details, *replicas))
            return is_well and len(replicas) == 1 and details["num-other-sentinels"] == _NUMBER - 1
        return False

    def _primary_at(self, port: int) -> Any:
        return self._client(port).sentinel_master(MASTER)

    def _client(self, port: int) -> Any:
        return redis.Redis(port=port, protocol=2, socket_timeout=5)

    def _config(self, port: int) -> str:
        lines = [
            f"port {port}",
            f"dir {self._home}",
            f"sentinel monitor {MASTER} 127.0.0.1 {self._primary.port} {_QUORUM}",
            f"sentinel down-after-milliseconds {MASTER} {_DOWN_AFTER_MS}",
            f"sentinel failover-timeout {MASTER} 1000",
        ]
        if self._users is not None:
            user, secret = self._users.administrator
            lines += [f"sentinel auth-user {MASTER} {user}", f"sentinel auth-pass {MASTER} {secret}"]
        return "\n".join(lines) + "\n"


def _debugged() -> list[str | int]:
    return [part for name, period in _PERIODS_MS.items() for part in (name, period)]
