"""Builds wheel, sdist and bundle. The same sources give the same bytes: no time, path or mask gets in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
BUILDER = "hatchling"


def copy_sources(target: Path) -> None:
    """Copy the files that git knows, and no others: what lies about does not get into a package."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)


def committed_at() -> int:
    """Return the time of the newest commit, which a release takes for the time of all its files."""
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def build(sources: Path, target: Path, epoch: int) -> list[Path]:
    """Build wheel and sdist into a directory."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    command = [sys.executable, "-m", BUILDER, "build", "-d", str(target)]
    subprocess.run(command, cwd=sources, env=environment, check=True, stdout=sys.stderr)
    return sorted(target.glob("dcf_mcp-*"))


def build_bundle(sources: Path, target: Path) -> Path:
    """Build the bundle for desktop clients."""
    path = target / "dcf.mcpb"
    subprocess.run([sys.executable, sources / "deploy" / "mcpb" / "build.py", path], check=True)
    return path


def locked_builder() -> str:
    """Return the version of the builder that the lock has: the wheel names it."""
    lines = (ROOT / "requirements" / "build.txt").read_text("utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"{BUILDER}==")]
    (specifier,) = Requirement(line.removesuffix("\\")).specifier
    return specifier.version


def check_builder(installed: str) -> None:
    """Refuse another version of the builder: its bytes would not be those of the release."""
    if installed != (locked := locked_builder()):
        sys.exit(f"{BUILDER} is {installed}, and the lock has {locked}: pip install -r requirements/build.txt")
