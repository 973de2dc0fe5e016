"""Finds the server that the embedded start runs: that of the extra `embedded`, else one on PATH.

`REDIS_URL` comes before both, and is decided by `connection.opening`. This module starts no server; the only program
that it runs is `redis-server --version`, for a server on PATH.
"""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dcf.errors import StoreUnsuitable
from dcf.store.embedded.binaries import JSON_MODULES, SERVERS, Wheel
from dcf.store.embedded.program import KnownFile, Program

_OLDEST: Final = (7, 0)
_NAMES: Final = ("redis-server", "valkey-server")
_VERSION: Final = re.compile(r"\bv=(\d+)\.(\d+)")
_PATIENCE_S: Final = 10.0

_THREE_WAYS: Final = (
    "Set REDIS_URL to a Redis that runs; or install the extra: pip install 'dcf-mcp[embedded]' ('.[embedded]' in a"
    " checkout); or install a server: apt install redis-server, brew install valkey."
)
_WINDOWS: Final = "On Windows run dcf in WSL or in a container, or set REDIS_URL to a Redis that runs elsewhere."


def find_program() -> Program:
    """Return the program to start. Raise StoreUnsuitable, with the three ways to a Redis, if there is none."""
    if sys.platform == "win32":
        raise StoreUnsuitable("There is no embedded Redis for Windows, and REDIS_URL is not set.", _WINDOWS)
    program = _of_extra() or _on_path()
    if program is None:
        raise StoreUnsuitable(_why_none(), _THREE_WAYS)
    return program


def origin_of(program: Path) -> str:
    """Return the distribution of a server's program, or its path if dcf does not know the distribution."""
    for wheel in SERVERS:
        if any(program.match(f"{wheel.package}/{binary.path}") for binary in wheel.binaries.values()):
            return wheel.distribution.replace("==", " ")
    return str(program)


def _of_extra() -> Program | None:
    """Return the server of the first wheel that is installed, with the JSON module where a wheel has one."""
    server = next(filter(None, map(_installed, SERVERS)), None)
    if server is None:
        return None
    module = _installed(JSON_MODULES)
    known = (server,) if module is None else (server, module)
    return Program(server=server.path, modules=tuple(file.path for file in known[1:]), known=known)


def _installed(wheel: Wheel) -> KnownFile | None:
    """Return the wheel's file for this platform, if it is installed. The package is not imported."""
    binary = wheel.binaries.get(f"{sys.platform}-{platform.machine()}")
    package = importlib.util.find_spec(wheel.package) if binary else None
    if binary is None or package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / binary.path
    return KnownFile(path=path, digests=binary.digests) if path.is_file() else None


def _on_path() -> Program | None:
    for server in _servers_on_path():
        if _version(server) >= _OLDEST:
            return Program(server=server)
    return None


def _servers_on_path() -> Iterator[Path]:
    """Yield the servers in PATH's absolute directories: a relative one names another place after each `cd`."""
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if Path(folder).is_absolute()]
    for name in _NAMES:
        if server := shutil.which(name, path=os.pathsep.join(folders)):
            yield Path(server)


def _version(server: Path) -> tuple[int, ...]:
    """Return the version in the server's answer, or (0, 0) if there is none."""
    try:
        answer = subprocess.run(  # noqa: S603 - a program of this machine, by its absolute path, without a shell
            [server, "--version"], capture_output=True, text=True, check=False, timeout=_PATIENCE_S
        )
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    version = _VERSION.search(answer.stdout)
    return tuple(map(int, version.groups())) if version else (0, 0)


def _why_none() -> str:
    servers = [f"{server} is {'.'.join(map(str, _version(server)))}" for server in _servers_on_path()]
    oldest = ".".join(map(str, _OLDEST))
    if servers:
        return f"dcf has no Redis to use: REDIS_URL is not set, and {' and '.join(servers)}, older than {oldest}."
    return f"dcf has no Redis to use: REDIS_URL is not set, and no server from {oldest} is installed."
