"""A real Letta 0.16.8 on a loopback port, with its own Postgres; may be stopped and started again in between."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.system.letta.installed import packages
from tests.system.letta.installed.postgres import Postgres

HERE = Path(__file__).parent
LONG_START_S = 240.0
"""Seconds that a start never takes, nearly all of them imports."""

_OWN = ("PATH", "LANG", "LC_ALL", "TMPDIR")
"""Variables the server sees; a developer's own keys and servers must not leak into it."""


class LettaServer:
    """The server's process. `port` stays the same over restarts."""

    def __init__(self, environment: Path, folder: Path, model_url: str, *, local_mcp: bool = True) -> None:
        self._environment = environment
        self._folder = folder
        self._model_url = model_url
        self._local_mcp = local_mcp
        self._postgres = Postgres(environment, folder)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """The output of the server, without its warnings and the lines they quote."""
        lines = (self._folder / "letta.log").read_text(errors="replace").splitlines()
        return "\n".join(line for line in lines if "Warning: " not in line and not line.startswith("  "))

    def prepare(self) -> None:
        """Start Postgres and make the tables."""
        (self._folder / "home").mkdir()
        self._postgres.start()
        done = subprocess.run(
            self._python(HERE / "tables.py"), cwd=self._folder, env=self._variables(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()[-3000:]

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [*self._python(HERE / "local_server.py"), str(self.port), "yes" if self._local_mcp else "no"]
        with (self._folder / "letta.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._variables(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._healthy_or_dead, LONG_START_S)
        assert self._process.poll() is None, f"Letta did not start:\n{self.log[-3000:]}"

    def stop(self) -> None:
        """Kill the server, as a crash would: what it was doing is lost."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)  # its own session, so its own group
            self._process.wait()
            self._process = None

    def legacy_export(self, agent_id: str) -> str:
        """Return an agent in the first form of agent files, as JSON; the API has only the second one."""
        command = [*self._python(HERE / "legacy_export.py"), agent_id]
        done = subprocess.run(command, cwd=self._folder, env=self._variables(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        return done.stdout.decode().splitlines()[-1]

    def close(self) -> None:
        self.stop()
        self._postgres.stop()

    def _healthy_or_dead(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            return True
        try:
            with urllib.request.urlopen(f"{self.url}/v1/health/", timeout=3) as answer:
                return int(answer.status) == 200
        except (urllib.error.URLError, OSError):
            return False

    def _python(self, script: Path) -> list[str]:
        return [str(self._environment / "bin" / "python"), "-W", "ignore", str(script)]

    def _variables(self) -> dict[str, str]:
        home = self._folder / "home"
        return {name: os.environ[name] for name in _OWN if name in os.environ} | {
            "HOME": str(home),
            "LETTA_DIR": str(home / ".letta"),
            "LETTA_PG_URI": self._postgres.uri,
            # By default every query opens a connection: five times the CPU, and stalls of a minute were seen.
            "LETTA_DISABLE_SQLALCHEMY_POOLING": "false",
            "LETTA_DISABLE_TRACING": "true",
            "MCP_DISABLE_STDIO": "false",
            "OPENAI_API_KEY": "unused",
            "OPENAI_BASE_URL": self._model_url,
            "NO_PROXY": "127.0.0.1,localhost",
            "PYTHONUNBUFFERED": "1",
        }


@contextmanager
def running_letta(model_url: str, *, local_mcp: bool = True) -> Iterator[LettaServer]:
    """Run a server with an empty database; everything ends with the block."""
    environment = packages.installed()
    folder = Path(tempfile.mkdtemp(prefix="dcf-letta-data-"))
    folder.chmod(0o755)  # for Postgres, which runs as `nobody` when this is root
    server = LettaServer(environment, folder, model_url, local_mcp=local_mcp)
    try:
        server.prepare()
        server.start()
        yield server
    finally:
        server.close()
        sys.stdout.write(f"--- the end of Letta's log\n{server.log[-20_000:]}\n")  # shown if the test failed
        shutil.rmtree(folder, ignore_errors=True)
