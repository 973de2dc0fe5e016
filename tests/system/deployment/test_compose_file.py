"""docker-compose.yml: compose accepts it, nothing starts without passwords, and every service is kept small."""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dcf.cli.app import app
from dcf.settings import VARIABLES as SETTINGS
from tests.support.paths import ROOT
from tests.system.deployment.files import COMPOSE, compose, services, without

PASSWORDS = {"REDIS_PASSWORD": "one", "REDIS_OPERATOR_PASSWORD": "two"}
OURS = ["dcf-mcp", "pulse", "stub-mcp"]
LOOPBACK = "127.0.0.1:"


@cache
def compose_command() -> list[str]:
    """Return the compose that is there; it may be missing anywhere but in CI."""
    for command in (["docker", "compose"], ["docker-compose"]):
        asked = [*command, "version"]
        if shutil.which(command[0]) and not subprocess.run(asked, capture_output=True, check=False).returncode:
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


# What compose says


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


def test_the_example_of_env_names_every_variable_that_compose_replaces() -> None:
    example = (ROOT / ".env.example").read_text("utf-8")
    named = {line.lstrip("#").partition("=")[0] for line in example.splitlines() if "=" in line}
    used = {word.partition(":")[0].partition("}")[0] for word in COMPOSE.read_text("utf-8").split("${")[1:]}
    assert used == named


# What it is


@pytest.mark.parametrize("name", sorted(services()))
def test_every_service_tells_whether_it_is_well_and_comes_back(name: str) -> None:
    service = services()[name]
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert service["healthcheck"]["retries"]
    assert service["restart"] == "unless-stopped"
    assert service["mem_limit"]


@pytest.mark.parametrize("name", ["redis", *OURS])
def test_a_service_is_nobody_special_and_writes_nowhere_but_in_its_volumes(name: str) -> None:
    service = services()[name]
    assert service["user"] not in {"root", "0", "0:0"}
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert all(volume.endswith(":ro") or volume.startswith("redis-data:") for volume in service.get("volumes", []))
    assert "privileged" not in service


def test_redis_has_no_port_and_only_dcf_is_in_its_network() -> None:
    found = services()
    assert "ports" not in found["redis"]
    assert {name for name, service in found.items() if "redis" in service["networks"]} == {"redis", "dcf-mcp", "pulse"}
    assert found["redis"]["networks"] == ["redis"]
    assert compose()["networks"]["redis"]["internal"] is True


def test_ports_are_those_of_this_machine_only() -> None:
    ports = [port for service in services().values() for port in service.get("ports", [])]
    assert len(ports) == 3
    assert all(port.startswith(LOOPBACK) for port in ports)


def test_no_secret_stands_in_the_file() -> None:
    every: list[tuple[str, Any]] = [
        pair for service in services().values() for pair in service.get("environment", {}).items()
    ]
    secret = [(name, value) for name, value in every if name.endswith(("PASSWORD", "KEY"))]
    assert len(secret) >= 5
    assert all(value.startswith("${") and value.partition(":")[2] in {"-}", "?set it in .env}"} for _, value in secret)
    urls = [value for name, value in every if name == "REDIS_URL"]
    assert urls == ["redis://dcf:${REDIS_PASSWORD:?set it in .env}@redis:6379/0"] * 2


def test_who_needs_redis_waits_until_it_is_well() -> None:
    for name in ("dcf-mcp", "pulse"):
        assert services()[name]["depends_on"] == {"redis": {"condition": "service_healthy"}}


@pytest.mark.parametrize("name", OURS)
def test_the_command_of_a_service_is_one_that_dcf_has(name: str) -> None:
    assert CliRunner().invoke(app, [*services()[name]["command"], "--help"]).exit_code == 0


def test_every_variable_of_a_service_of_ours_is_a_setting() -> None:
    used = {variable for name in OURS for variable in services()[name].get("environment", {})}
    assert used <= set(SETTINGS)


def test_the_health_check_of_pulse_is_a_command_that_dcf_has() -> None:
    marker, program, *words = services()["pulse"]["healthcheck"]["test"]
    assert (marker, program) == ("CMD", "dcf")
    assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0


def test_the_stub_is_called_as_the_skills_call_it() -> None:
    assert "http://stub-mcp:8765" in (ROOT / "skills_src" / "registry.json").read_text("utf-8")
    assert "127.0.0.1:8765:8765" in services()["stub-mcp"]["ports"]


def test_the_page_about_it_names_services_commands_and_files_that_there_are() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text("utf-8")
    run = [line.partition("#")[0].split() for line in page.splitlines() if line.startswith("docker compose run --rm ")]
    assert len(run) == 6
    for _, _, _, _, service, *words in run:
        assert service in OURS
        assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0
    assert {line.split()[3] for line in page.splitlines() if line.startswith("docker compose exec ")} <= set(services())
    assert all((ROOT / word).exists() for word in page.replace("`", " ").split() if word.startswith("deploy/"))
