"""The image: what the Dockerfile says."""

import json
import subprocess
import tomllib

from dcf.settings.process import VARIABLES as SETTINGS
from tests.deployment.files import dockerfile, image_environment, services
from tests.support.paths import ROOT
from tests.support.tables import rows

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SOURCES = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
INSTRUCTIONS = dockerfile()
_OF_PYTHON = {"PATH", "PYTHONUNBUFFERED", "STUB_MCP_HOST"}


def said(word: str) -> list[str]:
    return [rest for name, rest in INSTRUCTIONS if name == word]


def test_the_image_is_built_on_the_oldest_python_that_dcf_supports() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert [base.partition("@")[0] for base in said("FROM")] == [f"python:{oldest}-slim"] * 2
    assert len({base.partition(" ")[0] for base in said("FROM")}) == 1, "what is built runs on what it was built on"


def test_only_packages_of_the_lock_get_into_the_image() -> None:
    built = " && ".join(said("RUN")).split(" && ")
    installs = [line for line in built if " install " in line or " wheel " in line]
    assert len(installs) == 4
    locked = [line for line in installs if "--require-hashes" in line and "requirements/" in line]
    alone = [
        line for line in installs if "--no-deps" in line and ("--no-index" in line or "--no-build-isolation" in line)
    ]
    assert sorted([*locked, *alone]) == sorted(installs)


def test_the_image_runs_as_a_user_with_a_number_and_no_rights() -> None:
    *_, user = said("USER")
    assert user == services()["dcf-mcp"]["user"] == "10001:10001"
    after = INSTRUCTIONS[INSTRUCTIONS.index(("USER", user)) :]
    assert not {name for name, _ in after} & {"RUN", "COPY"}


def test_nothing_is_fetched_from_a_url_and_no_secret_is_built_in() -> None:
    assert said("ADD") == []
    assert said("ARG") == []
    assert not [name for name in image_environment() if name.endswith(("KEY", "PASSWORD", "URL"))]


def test_every_variable_that_the_image_sets_is_a_setting() -> None:
    assert set(image_environment()) - _OF_PYTHON <= set(SETTINGS)


def test_the_image_is_dcf_and_serves_unless_told_otherwise() -> None:
    assert [json.loads(rest) for rest in said("ENTRYPOINT")] == [["dcf"]]
    assert [json.loads(rest) for rest in said("CMD")] == [services()["dcf-mcp"]["command"]]
    assert PROJECT["scripts"]["dcf"]


def test_the_image_asks_itself_what_compose_asks_it() -> None:
    (check,) = said("HEALTHCHECK")
    assert json.loads(check.partition("CMD ")[2]) == services()["dcf-mcp"]["healthcheck"]["test"][1:]


def test_the_skills_of_the_image_know_the_stub_of_compose() -> None:
    (command,) = [rest for rest in said("RUN") if rest.startswith("sed")]
    done = subprocess.run(["sh", "-c", command.partition(" > ")[0]], cwd=ROOT, capture_output=True, check=True)
    assert json.loads(done.stdout)["env"] == "compose"
    assert "stub-mcp" in json.loads(done.stdout)["overrides"]["compose"]["orders"]["endpoint"]


@rows("name", SOURCES)
def test_what_the_image_is_built_of_is_there(name: str) -> None:
    assert (ROOT / name).exists()
