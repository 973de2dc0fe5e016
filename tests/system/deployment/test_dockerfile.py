"""The Dockerfile: hadolint, which also reads its shell, has no complaint. To build it needs a registry."""

import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.system.quality.test_checks import BIN

HADOLINT = BIN / "hadolint"


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HADOLINT, "--no-color", path], capture_output=True, text=True, check=False)


def test_hadolint_finds_nothing() -> None:
    done = checked(ROOT / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("USER 10001:10001", "USER root", "DL3002"),
        ('ENTRYPOINT ["dcf"]', "ENTRYPOINT dcf", "DL3025"),
        ("WORKDIR /src", "RUN cd /src", "DL3003"),
    ],
    ids=["root", "a shell", "no directory"],
)
def test_hadolint_finds_planted_faults(before: str, after: str, rule: str, tmp_path: Path) -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert before in text
    (tmp_path / "Dockerfile").write_text(text.replace(before, after), "utf-8")
    done = checked(tmp_path / "Dockerfile")
    assert done.returncode != 0
    assert rule in done.stdout
