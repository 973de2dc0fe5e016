"""The services of the compose file as processes: command, environment and health check as the file and the image say.

The differences: ports, addresses of other services, and the home directory. Limits, users and networks are Docker's and
are not tried here, nor is the image built.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tests.deployment.files import image_environment, last_stage, services
from tests.support.paths import ROOT
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.system.deployment.conftest import PASSWORDS, Container
from tests.system.processes.site import LONG

HOME: Final = "/home/dcf"
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")
STOPPED: Final = (0, 128 + signal.SIGTERM)
"""Exit codes of a service that Docker stops: it ended on its own, or names the signal."""
_PORTS: Final = {"dcf-mcp": "8337", "stub-mcp": "8765"}


def replaced(text: str, variables: Mapping[str, str]) -> str:
    """Fill in variables as compose does: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`."""

    def value(match: re.Match[str]) -> str:
        name, kind, word = match.groups()
        assert variables.get(name) or kind != "?", word
        return variables.get(name) or (word if kind == "-" else "")

    return _VARIABLE.sub(value, text)


@dataclass(frozen=True, kw_only=True)
class Composed:
    """The services on this machine. `variables` are those of `.env`."""

    place: Path
    redis: Container
    variables: Mapping[str, str]
    ports: Mapping[str, int] = field(default_factory=lambda: {name: free_port() for name in _PORTS})

    @property
    def home(self) -> Path:
        return self.place / "home"

    def prepare(self) -> None:
        """Do the steps of the Dockerfile but for installing: the home directory and the registry of the image."""
        (self.home / ".local" / "share" / "dcf" / "workflows").mkdir(parents=True)
        text = (ROOT / "skills_src" / "registry.json").read_text("utf-8").replace('"env": "local"', '"env": "compose"')
        (self.place / "registry.json").write_text(self._here(text))

    def environment(self, service: str) -> dict[str, str]:
        """Return what a process of the service sees."""
        described: Mapping[str, str] = services()[service].get("environment") or {}
        filled = {name: replaced(text, self.variables) for name, text in described.items()}
        tool_callerses = {name: self._here(text) for name, text in (image_environment() | filled).items()}
        password = quote(self.variables["REDIS_PASSWORD"], safe="")
        if "REDIS_URL" in tool_callerses:
            tool_callerses["REDIS_URL"] = f"unix://dcf:{password}@{self.redis.socket}"
        tool_callerses |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(self.home)}
        tool_callerses |= {"DCF_MCP_HOST": "127.0.0.1", "STUB_MCP_HOST": "127.0.0.1", "TMPDIR": str(self.place)}
        ports = {"DCF_MCP_PORT": self.ports["dcf-mcp"], "STUB_MCP_PORT": self.ports["stub-mcp"]}
        tool_callerses |= {name: str(port) for name, port in ports.items()}
        return tool_callerses | {"SKILL_REGISTRY_PATH": str(self.place / "registry.json"), "PYTHONPATH": str(ROOT)}

    def run(self, service: str, *command: str) -> str:
        """Run a command in the service's container, as `docker compose run --rm SERVICE COMMAND`; return its output."""
        done = subprocess.run(
            [*_entrypoint(), *command],
            env=self.environment(service),
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def up(self, service: str) -> Iterator[None]:
        """Start the service, wait until it is well, and end it as Docker does."""
        command = [*_entrypoint(), *services()[service]["command"]]
        with (self.place / f"{service}.log").open("w") as log:
            process = subprocess.Popen(command, env=self.environment(service), cwd=self.home, stdout=log, stderr=log)
        try:
            wait_until(lambda: process.poll() is not None or self.is_well(service), LONG)
            assert process.poll() is None, (self.place / f"{service}.log").read_text()
            yield
            process.terminate()
            assert process.wait(LONG) in STOPPED, (self.place / f"{service}.log").read_text()
        finally:
            process.kill()
            process.wait()

    def is_well(self, service: str) -> bool:
        """Carry out the health check."""
        marker, *check = services()[service]["healthcheck"]["test"]
        assert marker == "CMD"
        command = [self._here(word) for word in check]
        done = subprocess.run(command, env=self.environment(service), cwd=self.home, capture_output=True, check=False)
        return done.returncode == 0

    def _here(self, text: str) -> str:
        """Put this machine's addresses and directories in place of those of the containers."""
        for service, port in _PORTS.items():
            text = text.replace(f"{service}:{port}", f"127.0.0.1:{self.ports[service]}")
            text = re.sub(rf"(localhost|127\.0\.0\.1):{port}", rf"\1:{self.ports[service]}", text)
        return text.replace(HOME, str(self.home))


def _entrypoint() -> list[str]:
    ((_, text),) = [item for item in last_stage() if item[0] == "ENTRYPOINT"]
    (program,) = [word.strip('",[]') for word in shlex.split(text)]
    return [sys.executable, "-m", program]


def composed_in(place: Path, redis: Container) -> Composed:
    """Return the services with what a `.env` says that lets keys write files, as `.env.example` describes it."""
    variables = {**PASSWORDS, "DCF_FILES_WRITE": f"{HOME}/.local/share/dcf/workflows"}
    composed = Composed(place=place, redis=redis, variables=variables)
    composed.prepare()
    return composed
