"""Docker Compose reads docker-compose.yml: it accepts the file, and without passwords it refuses to start."""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.deployment.files import COMPOSE, without
from tests.support.paths import ROOT

PASSWORDS = {"REDIS_PASSWORD": "one", "REDIS_OPERATOR_PASSWORD": "two"}


@cache
def compose_command() -> list[str]:
    """Return the compose that is there; it may be missing anywhere but in CI."""
    for command in (["docker", "compose"], ["docker-compose"]):
        request = [*command, "version"]
        if shutil.which(command[0]) and not subprocess.run(request, capture_output=True, check=False).returncode:
            return command
    assert os.environ.get("CI") != "true", "CI checks the compose file with compose"
    pytest.skip("there is no docker compose on this machine")


Configure = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Let compose read the file, with these variables and no .env."""
    nothing = tmp_path / "env"
    nothing.touch()

    def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        environment |= {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        command = [*compose_command(), "--env-file", str(nothing), "-f", str(COMPOSE), *options, "config", "-q"]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    "options",
    [[], ["--profile", "letta"], ["-f", "deploy/publish-redis.yml"]],
    ids=["as it is", "with Letta", "with a port for Redis"],
)
def test_compose_accepts_the_file(configure: Configure, options: list[str]) -> None:
    done = configure(*options, **PASSWORDS)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
@pytest.mark.parametrize("name", PASSWORDS)
def test_without_a_password_compose_refuses_and_says_where_it_goes(
    configure: Configure, name: str, empty: bool
) -> None:
    done = configure(**without(PASSWORDS, name, empty=empty))
    assert done.returncode != 0
    assert "set it in .env" in done.stderr
