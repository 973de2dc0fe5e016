"""The packages of a real Letta server and of Postgres, installed once from the package index.

Kept between runs in the directory that DCF_LETTA_DIR names, or below the system's temporary directory.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PINS = Path(__file__).with_name("pins.txt")
_INSTALLER = "uv==0.13.9"
_SUPPORTED = ((3, 11), (3, 12))


def directory() -> Path:
    """Where the packages are kept. Postgres refuses to run as root, so `nobody` must be able to enter it."""
    named = os.environ.get("DCF_LETTA_DIR")
    return Path(named) if named else Path(tempfile.gettempdir()) / f"dcf-letta-{os.getuid()}"


def why_not() -> str | None:
    """Say why Letta cannot run here, if it cannot."""
    if os.environ.get("DCF_LETTA") != "1":
        return "a real Letta server is started only with DCF_LETTA=1 (it installs 900 MB of packages the first time)"
    if sys.platform != "linux" or sys.version_info[:2] not in _SUPPORTED:
        return "Letta 0.16.8 is started on Linux with Python 3.11 or 3.12 only"
    return None


def installed() -> Path:
    """Install what is missing; return the virtual environment. Processes that ask at the same time wait."""
    folder = directory()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        hexdigest = hashlib.sha256(PINS.read_bytes()).hexdigest()
        mark = folder / "installed"
        if not mark.exists() or mark.read_text() != hexdigest:
            _install(folder / "venv")
            mark.write_text(hexdigest)
    return folder / "venv"


def _install(target: Path) -> None:
    venv.create(target, clear=True, with_pip=True)
    python = str(target / "bin" / "python")
    _run(python, "-m", "pip", "install", "-q", _INSTALLER)
    _run(str(target / "bin" / "uv"), "pip", "install", "-q", "--python", python, "--no-deps", "-r", str(PINS))


def _run(*command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"the packages of Letta could not be installed:\n{done.stderr[-3000:]}"
