"""A release: the same sources give the same bytes, and the wheel works in an environment that has nothing else."""

import json
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest

from deploy.release import packages, sbom, trial
from tests.deployment.locks import read
from tests.deployment.test_install import PROJECT
from tests.support.paths import ROOT

EPOCH = 1_700_000_000

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Path]]:
    """Build from a copy of the sources at a place of its own, with a mask for its files, in a time zone."""

    def run(name: str, *, mask: int, zone: str) -> list[Path]:
        place = tmp_path_factory.mktemp(name)
        before, was = os.umask(mask), os.environ.get("TZ", "")
        os.environ["TZ"] = zone
        try:
            packages.copy_sources(place / "sources")
            built = packages.build(place / "sources", place / "built", EPOCH)
            return [*built, packages.build_bundle(place / "sources", place / "built")]
        finally:
            os.umask(before)
            os.environ["TZ"] = was

    return run


@pytest.fixture(scope="module")
def built(build: Callable[..., list[Path]]) -> list[Path]:
    return build("first", mask=0o022, zone="UTC")


@pytest.fixture(scope="module")
def wheel(built: list[Path]) -> Path:
    (path,) = [path for path in built if path.suffix == ".whl"]
    return path


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment that has the wheel and what the lock for users has."""
    return trial.install(wheel, tmp_path_factory.mktemp("bare") / "environment")


def test_two_builds_give_the_same_bytes(built: list[Path], build: Callable[..., list[Path]]) -> None:
    again = build("second-with-a-longer-path", mask=0o077, zone="Pacific/Auckland")
    assert [path.name for path in built] == [path.name for path in again]
    assert [path.suffix for path in built] == [".whl", ".gz", ".mcpb"]
    assert [before.read_bytes() == after.read_bytes() for before, after in zip(built, again, strict=True)] == [True] * 3


def test_the_sdist_builds_the_wheel(built: list[Path], wheel: Path, tmp_path: Path) -> None:
    (sdist,) = [path for path in built if path.suffix == ".gz"]
    with tarfile.open(sdist) as files:
        files.extractall(tmp_path, filter="data")
    (sources,) = tmp_path.iterdir()
    (again,) = [path for path in packages.build(sources, tmp_path / "built", EPOCH) if path.suffix == ".whl"]
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_says_what_the_project_says_and_holds_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (path,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(files.read(path).decode())
    assert {name.partition("/")[0] for name in names} == {"dcf", path.partition("/")[0]}
    assert metadata.get_all("Classifier") == PROJECT["classifiers"]
    assert metadata.get_all("License-File") == PROJECT["license-files"]
    assert (metadata["Author"], metadata["License-Expression"]) == (PROJECT["authors"][0]["name"], PROJECT["license"])
    assert metadata.get_all("Project-URL") == [f"{name}, {address}" for name, address in PROJECT["urls"].items()]


def test_the_order_pipeline_runs_in_a_bare_environment(bare: Path, short_directory: Path) -> None:
    assert trial.run_order(bare, short_directory / "empty") > 0


@pytest.fixture(scope="module")
def bill(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The SBOM of that environment; a second one must have the same bytes."""
    place = tmp_path_factory.mktemp("sbom")
    first, second = (sbom.write(bare.parent, place / name) for name in ("first.json", "second.json"))
    assert first.read_bytes() == second.read_bytes()
    content: dict[str, Any] = json.loads(first.read_text("utf-8"))
    return content


def test_the_sbom_has_every_locked_package_and_its_licence(bill: dict[str, Any]) -> None:
    here = {"python_version": "{}.{}".format(*sys.version_info)}
    markers = [(pin, pin.requirement.marker) for pin in read(ROOT / "requirements" / "user.txt")]
    locked = {(pin.name, pin.version) for pin, marker in markers if marker is None or marker.evaluate(here)}
    listed = {(item["name"], item["version"]): item for item in bill["components"] if item["name"] != PROJECT["name"]}
    assert {(name.lower().replace("_", "-").replace(".", "-"), version) for name, version in listed} == locked
    assert [pair for pair, item in listed.items() if not item["purl"].startswith("pkg:pypi/")] == []
    assert [pair for pair, item in listed.items() if not item.get("licenses")] == []
    assert bill["metadata"]["component"]["name"] == PROJECT["name"]
    assert bill["metadata"]["component"]["version"] == PROJECT["version"]


def test_the_sbom_tells_nothing_of_the_machine_that_made_it(bill: dict[str, Any]) -> None:
    text = json.dumps(bill)
    assert "file:" not in text
    assert str(Path.home()) not in text
    assert "timestamp" not in bill["metadata"]
    assert "serialNumber" not in bill


def test_the_release_refuses_another_builder_than_the_locked_one() -> None:
    """The wheel names it with its version."""
    packages.check_builder(packages.locked_builder())
    with pytest.raises(SystemExit, match=r"hatchling is 1\.0, and the lock has .*requirements/build\.txt"):
        packages.check_builder("1.0")
