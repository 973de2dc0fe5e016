"""docker-compose.yml: every service is kept small, and its commands and variables are those that dcf has."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from dcf.application.files import local_directory
from dcf.cli.app import app
from dcf.settings.process import VARIABLES as SETTINGS
from dcf.settings.process import Settings
from tests.deployment.files import COMPOSE, compose, last_stage, services
from tests.support.paths import ROOT
from tests.support.tables import rows

OURS = ["dcf-mcp", "pulse", "stub-mcp"]
WORKFLOWS = "/home/dcf/.local/share/dcf/workflows"
LOOPBACK = "127.0.0.1:"


def test_the_example_of_env_names_every_variable_that_compose_replaces() -> None:
    example = (ROOT / ".env.example").read_text("utf-8")
    named = {line.lstrip("#").partition("=")[0] for line in example.splitlines() if "=" in line}
    used = {word.partition(":")[0].partition("}")[0] for word in COMPOSE.read_text("utf-8").split("${")[1:]}
    assert used == named


@rows("name", sorted(services()))
def test_every_service_tells_whether_it_is_well_and_comes_back(name: str) -> None:
    service = services()[name]
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert service["healthcheck"]["retries"]
    assert service["restart"] == "unless-stopped"
    assert service["mem_limit"]


@rows("name", ["redis", *OURS])
def test_a_service_is_nobody_special_and_writes_nowhere_but_in_its_volumes(name: str) -> None:
    service = services()[name]
    assert service["user"] not in {"root", "0", "0:0"}
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    stored = ("redis-data:", f"workflows:{WORKFLOWS}")
    assert all(volume.endswith(":ro") or volume.startswith(stored) for volume in service.get("volumes", []))
    assert "privileged" not in service


def test_the_local_user_writes_files_into_a_volume_and_keys_write_none() -> None:
    """The third step of the seed's planner, `write_file`, in `docker compose run --rm -i dcf-mcp serve`."""
    server = services()["dcf-mcp"]
    assert server["volumes"] == [f"workflows:{WORKFLOWS}"]
    assert "workflows" in compose()["volumes"]
    assert server["environment"]["DCF_FILES_WRITE"] == "${DCF_FILES_WRITE:-}"
    made = next(rest for name, rest in last_stage() if name == "RUN")
    assert f"mkdir -p {WORKFLOWS}" in made
    assert "chown -R 10001:10001 /home/dcf/.local" in made
    (home,) = [rest for name, rest in last_stage() if name == "WORKDIR"]
    assert local_directory(Settings.model_validate({"data_dir": Path(home, ".local/share/dcf")})) == Path(WORKFLOWS)


def test_redis_has_no_port_and_only_dcf_is_in_its_network() -> None:
    result = services()
    assert "ports" not in result["redis"]
    assert {name for name, service in result.items() if "redis" in service["networks"]} == {"redis", "dcf-mcp", "pulse"}
    assert result["redis"]["networks"] == ["redis"]
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


@rows("name", OURS)
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
    page = (ROOT / "docs" / "operating" / "deploy.md").read_text("utf-8")
    run = [line.partition("#")[0].split() for line in page.splitlines() if line.startswith("docker compose run --rm ")]
    assert len(run) == 6
    for _, _, _, _, service, *words in run:
        assert service in OURS
        assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0
    assert {line.split()[3] for line in page.splitlines() if line.startswith("docker compose exec ")} <= set(services())
    assert all((ROOT / word).exists() for word in page.replace("`", " ").split() if word.startswith("deploy/"))
