"""requirements/*.txt: each lock file pins, with hashes, what pyproject.toml asks for, on every platform and Python."""

import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement

from deploy.release.lock import BUILDERS, DESCRIBER, USED
from tests.deployment.locks import PYTHONS, environments, read, requirements_of
from tests.support.paths import ROOT
from tests.support.tables import rows

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DIRECTORY = ROOT / "requirements"
NEWER = "run `make lock`"
EXTRAS = {"dev": tuple(PROJECT["optional-dependencies"]), "user": USED, "image": ("letta",)}
ALONE = {"build": BUILDERS, "sbom": (DESCRIBER,)}
LOCKS = sorted([*EXTRAS, *ALONE])


def needed_by(name: str, environment: dict[str, str]) -> list[Requirement]:
    """Return the requirements that this lock file must satisfy in an environment."""
    if name in ALONE:
        return [Requirement(text) for text in ALONE[name]]
    return requirements_of(PROJECT, EXTRAS[name], environment)


@rows("name", LOCKS)
def test_a_lock_holds_what_the_project_asks_for_on_every_platform(name: str) -> None:
    pins = read(DIRECTORY / f"{name}.txt")
    for environment in environments():
        here = {
            pin.name: pin
            for pin in pins
            if pin.requirement.marker is None or pin.requirement.marker.evaluate({**environment})
        }
        for requirement in needed_by(name, dict(environment)):
            assert requirement.name.lower() in here, f"{requirement} is not locked for {environment}: {NEWER}"
            assert here[requirement.name.lower()].version in requirement.specifier, f"{requirement}: {NEWER}"


@rows("name", LOCKS)
def test_every_package_of_a_lock_has_a_version_and_hashes_and_no_address(name: str) -> None:
    text = (DIRECTORY / f"{name}.txt").read_text("utf-8")
    pins = read(DIRECTORY / f"{name}.txt")
    assert pins
    assert [pin.name for pin in pins if not pin.hashes or not pin.version] == []
    assert not re.search(r"://|^\s*--(extra-)?index|^\s*-[ef] ", text, re.MULTILINE), "any index may serve the files"


@rows("name", ["image", "user", "build"])
def test_locks_agree_about_every_version(name: str) -> None:
    every = {(pin.name, pin.version) for pin in read(DIRECTORY / "dev.txt")}
    assert {(pin.name, pin.version) for pin in read(DIRECTORY / f"{name}.txt")} <= every


def test_ci_installs_with_pip_in_no_way_but_from_the_lock() -> None:
    for script in ("run", "pythons"):
        lines = (ROOT / ".ci" / script).read_text("utf-8").splitlines()
        commands = [line.strip() for line in lines if not line.startswith("#")]
        installs = [
            line for line in commands if "pip" in line.split("#")[0] and "install -q" in line and "apt-get" not in line
        ]
        assert installs
        assert [line for line in installs if not line.startswith(".ci/locked ")] == []
    assert "--require-hashes" in (ROOT / ".ci" / "locked").read_text("utf-8")


def test_the_classifiers_name_the_pythons_that_locks_serve() -> None:
    beginning = "Programming Language :: Python :: 3."
    named = {text.removeprefix(beginning) for text in PROJECT["classifiers"] if text.startswith(beginning)}
    assert {f"3.{minor}" for minor in named} == set(PYTHONS)


@pytest.mark.parametrize("field", ["authors", "classifiers", "keywords", "urls", "license-files"])
def test_the_project_says_of_itself_what_an_index_shows(field: str) -> None:
    assert PROJECT[field]
