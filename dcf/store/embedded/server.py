"""Starts and shares a real redis-server for one data directory, so that dcf runs without a Redis set up beforehand.

All processes of one user that name the same directory share one server; the last to leave stops it. Locks in that
directory coordinate them, not pids: the kernel releases a lock when its holder dies.

    start.lock    exclusive   a process while it starts, stops, joins or leaves the server
    users.lock    shared      every process that uses the server; one that can make it exclusive is the last
    always.lock   shared      every user that asked for appendfsync always, so that a restart keeps the setting
    server.lock   exclusive   the redis-server itself, which inherits it: free means no server on this data

It may not choose which Redis dcf uses, keep a connection, signal a process or trust a pid. A server is up if it
answers a PING on its socket, and gone if its lock is free. Two servers never write the same data.
"""

import atexit
import contextlib
import functools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

from dcf.errors import StoreUnavailable
from dcf.store.embedded.append_log import drop_torn_transaction
from dcf.store.embedded.directories import make_private, socket_directory
from dcf.store.embedded.foreign_data import is_foreign
from dcf.store.embedded.memory import share_of_memory
from dcf.store.embedded.program import Program
from dcf.store.embedded.sources import find_program
from dcf.values.records import record

if sys.platform != "win32":  # there is no server for Windows; this module still imports there, to say so
    import fcntl

__all__ = ["EmbeddedServer", "start"]

Appendfsync = Literal["everysec", "always"]
_Lock = Literal["start", "users", "always", "server"]

_PATIENCE_S = 10.0  # seconds without a reply after which a server counts as hung
_POLL_S = 0.002
_REPLY_S = 1.0
_MAX_SOCKET_PATH = 103  # sun_path holds 104 bytes on macOS and 108 on Linux, with the closing zero
_LOG_HINT = "Read the end of that log, free disk space or repair the append-only file, then try again."
_SILENT_HINT = "Look at that log, end the redis-server that holds this directory, then try again."
_DIRECTORY_HINT = "Name a data directory on a local disk that you can write to."


@record(frozen=True, slots=True)
class _Site:
    """The data directory and the files of a server in it."""

    data_dir: Path
    socket: Path

    @property
    def log(self) -> Path:
        return self.data_dir / "redis.log"

    @property
    def pid_file(self) -> Path:
        return self.data_dir / "redis.pid"

    def lock(self, name: _Lock) -> "_FileLock":
        return _FileLock(self.data_dir / f"{name}.lock")


class _FileLock:
    """A flock on its own open file description. It never waits. Lock files are never removed."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._owner = os.getpid()

    def try_shared(self) -> bool:
        return self._try(fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Unlock, even if a child that is being forked still has the file open. In a forked process, only close it."""
        if os.getpid() == self._owner:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        self.close()

    def close(self) -> None:
        """Close the file without unlocking, so that a child that inherited the lock keeps it."""
        os.close(self.fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class EmbeddedServer:
    """One user's share in the redis-server of a data directory; get one from `start`."""

    def __init__(self, site: _Site, program: Program, appendfsync: Appendfsync) -> None:
        self.data_dir = site.data_dir
        self.url = f"unix://{quote(str(site.socket))}"
        self._site = site
        self._program = program
        self._appendfsync = appendfsync
        self.maxmemory = 0
        self._owner = os.getpid()
        self._held: list[_FileLock] = []

    @property
    def pid(self) -> int:
        """The pid that the server wrote when it started. For people and tests only; no decision may depend on it."""
        try:
            return int(self._site.pid_file.read_text())
        except (OSError, ValueError):
            raise StoreUnavailable(f"No redis-server is running on {self.data_dir}.") from None

    def revive(self) -> None:
        """Restart the server on the same data, if it is dead. Any number of users may call this at once."""
        deadline = time.monotonic() + _PATIENCE_S
        with _as_unavailable(self.data_dir):
            if not any(self._bring_up(deadline) for _ in range(2)):  # twice: another process's may be killed
                raise _no_start(self._site)
            self._make_as_strict_as_asked(time.monotonic() + _REPLY_S)

    def close(self) -> None:
        """Stop using the server. The last user stops it and waits until it is gone."""
        self._leave(time.monotonic() + _PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _join(self, deadline: float) -> None:
        """Take a user's locks, then make sure that a server runs."""
        names: tuple[_Lock, ...] = ("users", "always") if self._appendfsync == "always" else ("users",)
        atexit.register(self.close)
        try:
            with _alone(self._site, deadline):
                self._held = [self._site.lock(name) for name in names]
                for lock in self._held:
                    lock.try_shared()  # succeeds: only the last user takes it exclusively
            self.revive()
        except BaseException:
            self._leave(deadline)
            raise

    def _bring_up(self, deadline: float) -> bool:
        self._start_unless_up(deadline)
        return _is_loaded(self._site)

    def _start_unless_up(self, deadline: float) -> None:
        """Return once a server answers, even if only that it is loading."""
        if self._held and _ping(self._site):
            return
        with _alone(self._site, deadline):
            if not self._held:
                raise StoreUnavailable(f"The embedded Redis on {self.data_dir} was closed by this process.")
            self._start_when_gone(deadline)

    def _start_when_gone(self, deadline: float) -> None:
        """Start at most one server, and none while another (ending, or not answering) still holds the data."""
        started = False
        while not _ping(self._site):
            if not started:
                started = _spawn(self._site, self._program, self.maxmemory)
            elif _is_gone(self._site):
                raise _no_start(self._site)
            _rest(self._site, deadline)

    def _make_as_strict_as_asked(self, deadline: float) -> None:
        """Set a running server to appendfsync always if this user asked for it. Never make it laxer."""
        wish = functools.partial(_ask, self._site.socket, "CONFIG SET appendfsync always")
        if self._appendfsync == "always" and not _wait_until(lambda: wish() == "+OK", deadline):
            raise _trouble(self._site, "refuses to change a setting")

    def _leave(self, deadline: float) -> None:
        atexit.unregister(self.close)
        if os.getpid() == self._owner:  # a forked copy of this object must not stop the server
            with contextlib.suppress(OSError, StoreUnavailable), _alone(self._site, deadline):
                if self._held and self._held[0].try_exclusive():
                    _stop(self._site, deadline)
                self._release()  # before the next user may join, who needs it shared
        self._release()

    def _release(self) -> None:
        locks, self._held = self._held, []
        for lock in locks:
            lock.release()


def start(data_dir: Path, *, appendfsync: Appendfsync = "everysec", maxmemory: int | None = None) -> EmbeddedServer:
    """Start the redis-server of `data_dir`, or join it. Create the directory if it is missing.

    A server that is started refuses writes beyond `maxmemory` bytes, 0 for none; by default half of what there is.
    """
    program = find_program()
    deadline = time.monotonic() + _PATIENCE_S
    with _as_unavailable(data_dir):
        server = EmbeddedServer(_prepare(data_dir), program, appendfsync)
        server.maxmemory = share_of_memory() if maxmemory is None else maxmemory
        server._join(deadline)  # noqa: SLF001  # same module; callers only get joined instances
    return server


def _prepare(data_dir: Path) -> _Site:
    """Create the directory, readable by its owner only, and choose a place for the socket."""
    home = data_dir.resolve()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    make_private(home)
    near = home / "redis.sock"
    too_long = len(os.fsencode(near)) > _MAX_SOCKET_PATH
    return _Site(home, socket_directory(home) / "redis.sock" if too_long else near)


@contextlib.contextmanager
def _as_unavailable(data_dir: Path) -> Iterator[None]:
    """Raise file system errors as StoreUnavailable."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StoreUnavailable(f"The embedded Redis cannot start on {data_dir}: {reason}.", _DIRECTORY_HINT) from error


@contextlib.contextmanager
def _alone(site: _Site, deadline: float) -> Iterator[None]:
    """Hold start.lock."""
    with site.lock("start") as lock:
        if not _wait_until(lock.try_exclusive, deadline):
            raise StoreUnavailable(f"Another process is still starting or stopping Redis on {site.data_dir}.")
        yield


def _is_gone(site: _Site) -> bool:
    """Return True if no server holds the data. Tries a shared lock, so that callers do not hinder each other."""
    with site.lock("server") as lock:
        return lock.try_shared()


def _strictest_wish(site: _Site) -> Appendfsync:
    with site.lock("always") as lock:
        return "everysec" if lock.try_exclusive() else "always"


def _wait_until(true: Callable[[], bool], deadline: float) -> bool:
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _spawn(site: _Site, program: Program, maxmemory: int) -> bool:
    """Start a server that inherits server.lock. Return False while another server has the lock."""
    lock = site.lock("server")
    try:
        if not lock.try_exclusive():
            return False
        program.verify()
        drop_torn_transaction(site.data_dir)
        _run(_command(site, program, maxmemory), site.log, lock.fd)
    except subprocess.SubprocessError:
        raise _no_start(site) from None
    finally:
        lock.close()
    return True


def _run(command: list[str], log: Path, lock_fd: int) -> None:
    """Run the command until it has gone to the background. Its output before it opens its log goes to the log too."""
    with log.open("ab") as output:
        subprocess.run(  # noqa: S603 - a fixed program and settings of ours, no shell
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(lock_fd,),
            umask=0o077,
            env=os.environ | {"LC_ALL": "C"},  # it does not start if LC_ALL names a locale that is not installed
            start_new_session=True,  # a Ctrl-C in the terminal is not meant for the server
            timeout=_PATIENCE_S,
        )


def _command(site: _Site, program: Program, maxmemory: int) -> list[str]:
    settings = {
        "port": "0",
        "unixsocket": str(site.socket),
        "unixsocketperm": "700",
        "dir": str(site.data_dir),
        "appendonly": "yes",
        "appendfsync": _strictest_wish(site),
        "aof-load-truncated": "yes",
        "aof-use-rdb-preamble": _snapshots(program),
        "save": "",
        "maxmemory": str(maxmemory),
        "maxmemory-policy": "noeviction",
        "stream-node-max-bytes": "2048",  # Redis allocates as much for a first entry, and a run has several streams
        "logfile": str(site.log),
        "pidfile": str(site.pid_file),
        "daemonize": "yes",  # no child of the starter: leaves no zombie when it ends first
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    loads = [word for module in program.modules for word in ("--loadmodule", str(module))]
    return [str(program.server), *options, *loads]


def _snapshots(program: Program) -> Literal["yes", "no"]:
    """Return whether a rewritten log begins with a snapshot, which only the same kind of server reads.

    RedisJSON cannot write its documents as commands (2.8: the rewrite crashes), and who knows what one on PATH has.
    """
    return "yes" if program.modules or not program.known else "no"


def _stop(site: _Site, deadline: float) -> None:
    """Ask the server to flush its AOF and exit. A busy server does so once it reads the command."""
    no_objection = ""
    if _ask(site.socket, "SHUTDOWN") == no_objection:
        _wait_until(functools.partial(_is_gone, site), deadline)


def _is_loaded(site: _Site) -> bool:
    """Wait until the data is loaded, as long as the server replies. Return False if the server is gone."""
    deadline = time.monotonic() + _PATIENCE_S
    while (reply := _ping(site)) != "+PONG":
        if reply.startswith("-LOADING"):
            deadline = time.monotonic() + _PATIENCE_S
        elif reply:
            raise _trouble(site, "refuses to work")
        elif _is_gone(site):
            return False
        _rest(site, deadline)
    return True


def _rest(site: _Site, deadline: float) -> None:
    if time.monotonic() > deadline:
        raise _trouble(site, f"has not answered for {_PATIENCE_S:.0f} seconds", _SILENT_HINT)
    time.sleep(_POLL_S)


def _ping(site: _Site) -> str:
    """Send PING. Return the reply: +PONG, an error such as -LOADING, or an empty string."""
    return _ask(site.socket, "PING") or ""


def _ask(address: Path, command: str) -> str | None:
    """Send one short command. Return the first line of its reply: "" if none came, None if no server listens.

    A plain socket, since a Redis client would retry, pause and send a handshake first, which a server that is starting
    or stopping may not answer.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_REPLY_S)
        try:
            connection.connect(str(address))
        except OSError:
            return None
        with contextlib.suppress(OSError):
            connection.sendall(f"{command}\r\n".encode())
            return connection.recv(1024).decode(errors="replace").partition("\r\n")[0]
    return ""


def _no_start(site: _Site) -> StoreUnavailable:
    if is_foreign(site.log):
        return StoreUnavailable(
            f"Another kind of server wrote the data in {site.data_dir}, which this one cannot read; see {site.log}.",
            "Use the Python environment that wrote it, or name another directory (DCF_DATA_DIR).",
        )
    return _trouble(site, "could not start")


def _trouble(site: _Site, trouble: str, hint: str = _LOG_HINT) -> StoreUnavailable:
    return StoreUnavailable(f"The embedded redis-server {trouble}; see its log, {site.log}.", hint)
