"""Letta's database: Postgres with pgvector from a wheel, on a loopback port; nothing in it survives a power loss."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until

_OPTIONS = (
    "listen_addresses=127.0.0.1", "unix_socket_directories=''", "max_connections=200", "shared_buffers=64MB",
    "fsync=off", "synchronous_commit=off", "full_page_writes=off",
)  # fmt: skip


class Postgres:
    """One database server in a folder of its own. As root it runs as `nobody`, since it refuses root."""

    def __init__(self, environment: Path, folder: Path) -> None:
        (self._programs,) = environment.glob("lib/python3.*/site-packages/pgserver/pginstall/bin")
        self._folder = folder / "postgres"
        self._data = self._folder / "data"
        self._password = secrets.token_hex(16)
        self.port = free_port()

    @property
    def uri(self) -> str:
        """As Letta wants it: without `ssl=disable` its pooled connections ask for TLS."""
        return f"postgresql://letta:{self._password}@127.0.0.1:{self.port}/postgres?ssl=disable"

    def start(self) -> None:
        self._folder.mkdir(mode=0o700)
        password = self._folder / "password"
        password.write_text(self._password)
        if (user := _unprivileged()) is not None:
            shutil.chown(self._folder, user.pw_uid, user.pw_gid)
            shutil.chown(password, user.pw_uid, user.pw_gid)
        self._run(
            "initdb", "-D", str(self._data), "-U", "letta", "-E", "UTF8", "--no-sync", "--auth=scram-sha-256",
            f"--pwfile={password}",
        )  # fmt: skip
        options = " ".join(f"-c {option}" for option in (*_OPTIONS, f"port={self.port}"))
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "-w", "-t", "60", "-D", str(self._data), "-l", log, "-o", options)

    def stop(self) -> None:
        """End the server at once: its data has no further use."""
        pid_file = self._data / "postmaster.pid"
        if pid_file.exists():
            os.kill(int(pid_file.read_text().splitlines()[0]), signal.SIGINT)
            wait_until(lambda: not pid_file.exists(), 60)

    def _run(self, program: str, *arguments: str) -> None:
        rights: dict[str, Any] = {}
        if (user := _unprivileged()) is not None:
            rights = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with (self._folder / f"{program}.log").open("w+") as log:  # a pipe would be kept open by the server
            done = subprocess.run(
                [str(self._programs / program), *arguments],
                cwd="/",
                env={"PATH": os.environ["PATH"], "HOME": str(self._folder), "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
                start_new_session=True,
                **rights,
            )
            log.seek(0)
            assert done.returncode == 0, f"{program} failed:\n{log.read()[-2000:]}"


def _unprivileged() -> pwd.struct_passwd | None:
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None
