"""The image: what the Dockerfile says, and that what it installs works where nothing else is."""

import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from dcf import __version__
from dcf.settings import VARIABLES as SETTINGS
from tests.support.paths import ROOT
from tests.system.deployment.files import dockerfile, image_environment, services

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SOURCES = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
INSTRUCTIONS = dockerfile()
WHERE = """
from dcf.data import find_directory, find_file
from dcf.settings import Settings
found = Settings()
print(find_directory(found.agents_dir), find_directory(found.workflows_dir), find_file(found.stub_config))
"""
_OF_PYTHON = {"PATH", "PYTHONUNBUFFERED", "STUB_MCP_HOST"}


def said(word: str) -> list[str]:
    return [rest for name, rest in INSTRUCTIONS if name == word]


def test_the_image_is_built_on_the_oldest_python_that_dcf_supports() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert [base.partition(" ")[0] for base in said("FROM")] == [f"python:{oldest}-slim"] * 2


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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel built of what the image is built of; other packages are those of the tests."""
    place = tmp_path_factory.mktemp("image")
    for name in SOURCES:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place / "src" / name)
    subprocess.run([sys.executable, "-m", "venv", place / "dcf"], check=True)
    (packages,) = (place / "dcf").glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    install: list[str | Path] = [
        place / "dcf" / "bin" / "pip",
        "install",
        "-q",
        "--no-deps",
        "--disable-pip-version-check",
        ".",
    ]
    subprocess.run(install, cwd=place / "src", check=True)
    return place / "dcf" / "bin"


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_what_is_installed_works_in_an_empty_directory(installed: Path, tmp_path: Path) -> None:
    def answer(*command: str) -> str:
        done = subprocess.run(
            [installed / command[0], *command[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    place = answer("python", "-c", "import dcf; print(dcf.__file__)")
    assert Path(place.strip()).is_relative_to(installed.parent), "and not what the tests run on"
    assert answer("dcf", "--version") == f"dcf {__version__}\n"
    assert "validate.order" in answer("dcf", "skills", "list")
    assert answer("dcf", "validate", "workflows/order_processing.json")
    shipped = answer("python", "-c", WHERE).split()
    assert [Path(one).is_relative_to(installed.parent) for one in shipped] == [True] * 3


@pytest.mark.parametrize("name", SOURCES)
def test_what_the_image_is_built_of_is_there(name: str) -> None:
    assert (ROOT / name).exists()
