"""The image: what it installs works where nothing else is."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from dcf import __version__
from tests.deployment.test_image import SOURCES
from tests.support.paths import ROOT

WHERE = """
from dcf.data import find_directory, find_file
from dcf.settings.process import Settings
found = Settings()
print(find_directory(found.agents_dir), find_directory(found.workflows_dir), find_file(found.stub_config))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel built of what the image is built of; other packages are those of the tests."""
    place = tmp_path_factory.mktemp("image")
    for name in SOURCES:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place / "src" / name)
    venv.create(place / "dcf")
    (packages,) = (place / "dcf").glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", place / "dcf" / "bin" / "python"]
    # The commands below import, and so compile, a part of the package; pip would compile all of it.
    options = ["-q", "--no-deps", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *options, "."], cwd=place / "src", check=True)
    return place / "dcf" / "bin"


@pytest.mark.processes
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
    assert "validate.order" in answer("dcf", "skills", "ls")
    assert answer("dcf", "validate", "workflows/order_processing.json")
    shipped = answer("python", "-c", WHERE).split()
    assert [Path(item).is_relative_to(installed.parent) for item in shipped] == [True] * 3
