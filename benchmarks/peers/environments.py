"""Installs the peers, each into an environment of its own in a cache directory, never into the project's.

A system that cannot be installed is left out, with the reason. The versions are in `PACKAGES` and in package.json.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
_PARSER: Final = "hiredis==3.5.0"
"""dcf uses it as well, and it makes redis-py faster."""
PACKAGES: Final = {
    "docket": ("pydocket==0.27.0", _PARSER),
    "celery": ("celery[redis]==5.7.0", _PARSER),
    "rq": ("rq==2.12.0", _PARSER),
    "restate": ("restate-sdk[serde]==1.2.0", "hypercorn==0.18.0"),
}
"""The packages that pip installs for each peer written in Python."""

_DONE: Final = "installed.json"
_PATIENCE_S: Final = 300


class NotInstalled(Exception):
    """A peer cannot be had on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Environments:
    """The cache directory of all environments."""

    folder: Path

    def python(self, name: str) -> Path:
        """Return the interpreter of a Python peer, installed if it is not yet; raise NotInstalled."""
        place = self.folder / name
        python = place / "bin" / "python"
        if _recorded(place) == list(PACKAGES[name]):
            return python
        shutil.rmtree(place, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(place)], self.folder)
        _run([str(python), "-m", "pip", "install", "-q", *PACKAGES[name]], self.folder)
        _record(place, list(PACKAGES[name]))
        return python

    def node_modules(self) -> Path:
        """Return the folder of the packages from npm, installed if they are not yet; raise NotInstalled."""
        if shutil.which("node") is None or shutil.which("npm") is None:
            raise NotInstalled("node and npm are not on this machine")
        place = self.folder / "node"
        expected = npm_packages()
        if _recorded(place) != expected:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            shutil.copy(HERE / "package.json", place)
            _run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], place)
            _record(place, expected)
        # A module is looked up next to its file, so the program is where its packages are.
        shutil.copy(HERE / "programs" / "bullmq.mjs", place)
        return place

    def restate_server(self) -> Path:
        """Return the Restate server that npm ships; raise NotInstalled."""
        result = sorted(self.node_modules().glob("node_modules/@restatedev/restate-server-*/bin/restate-server"))
        if not result:
            raise NotInstalled("npm ships no restate-server for this platform")
        return result[0]


def default_folder() -> Path:
    """Return where the environments are kept: in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "dcf-bench-peers"


def npm_packages() -> dict[str, str]:
    """Return what npm installs, by name."""
    packages: dict[str, str] = json.loads((HERE / "package.json").read_text("utf-8"))["dependencies"]
    return packages


def _recorded(place: Path) -> object:
    file = place / _DONE
    return json.loads(file.read_text("utf-8")) if file.exists() else None


def _record(place: Path, subject: object) -> None:
    (place / _DONE).write_text(json.dumps(subject), "utf-8")


def _run(command: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{Path(command[0]).name} took longer than {_PATIENCE_S} s") from None
    except (OSError, subprocess.CalledProcessError) as error:
        lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise NotInstalled(f"{Path(command[0]).name} failed: {lines[-1] if lines else error}") from None
