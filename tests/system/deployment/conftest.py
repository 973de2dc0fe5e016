"""Redis as the compose file starts it: its entry point and command line, on this machine's binaries."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deployment.files import services
from tests.support.paths import ROOT
from tests.support.redis.documents import STORED
from tests.support.redis.servers import MODULES, SERVER
from tests.support.waiting import wait_until

PASSWORDS = {"REDIS_PASSWORD": "a/&\\1 of dcf", "REDIS_OPERATOR_PASSWORD": "the operator's"}
"""As awkward for a shell and for sed as passwords get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A directory with what the service finds in its image: its data, and in `bin` the programs."""

    place: Path

    @property
    def socket(self) -> Path:
        return self.place / "redis.sock"

    @property
    def acl_file(self) -> Path:
        return self.place / "users.acl"

    def environment(self, **more: str) -> Mapping[str, str]:
        path = f"{self.place / 'bin'}:{os.environ['PATH']}"
        return {"PATH": path, "REDIS_ACL_FILE": str(self.acl_file), "DCF_DOCUMENTS": STORED.name, **more}

    def command(self) -> list[str]:
        service = services()["redis"]
        (source,) = [mount.split(":")[0] for mount in service["volumes"] if mount.endswith(":/deploy:ro")]
        words = [word.replace("/deploy", str(ROOT / source)) for word in service["entrypoint"]]
        return [*words, *service["command"]]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start the service and wait until it is well; kill it in the end."""
        quiet, environment = subprocess.DEVNULL, self.environment(**PASSWORDS)
        command = self.command()
        with subprocess.Popen(command, env=environment, cwd=self.place, stdout=quiet, stderr=quiet) as process:
            try:
                wait_until(self.is_well)
                yield
            finally:
                process.kill()

    def is_well(self) -> bool:
        marker, check = services()["redis"]["healthcheck"]["test"]
        assert marker == "CMD-SHELL"
        done = subprocess.run(["sh", "-c", check], env=self.environment(), stderr=subprocess.DEVNULL, check=False)
        return done.returncode == 0


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return container_in(tmp_path)


@pytest.fixture(scope="session")
def deployed(short_directory: Path) -> Iterator[Container]:
    """The service, up and well."""
    container = container_in(short_directory / "deployed")
    with container.running():
        yield container


def container_in(place: Path) -> Container:
    """Return the service with its data in this directory."""
    container = Container(place=place)
    programs = place / "bin"
    programs.mkdir(parents=True)
    (programs / "redis-server").symlink_to(SERVER)
    own = f"--port 0 --unixsocket {container.socket} --dir {place} {' '.join(MODULES)}"
    client = f"{sys.executable} {Path(__file__).with_name('redis_cli.py')} {container.socket}"
    for name, line in {"docker-entrypoint.sh": f'"$@" {own}', "redis-cli": f'{client} "$@"'}.items():
        (programs / name).write_text(f"#!/bin/sh\nexec {line}\n")
        (programs / name).chmod(0o755)
    (programs / "redis-check-aof").symlink_to(SERVER)  # one program; its name says what it does
    return container
