"""Makes environments of locked packages, which have nothing else, pip neither."""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make(place: Path, lock: str) -> Path:
    """Make an environment of what a lock file pins; return the directory of its commands."""
    venv.create(place, with_pip=False)
    pip_install(place, "--require-hashes", "--only-binary", ":all:", "-r", str(ROOT / "requirements" / f"{lock}.txt"))
    return place / "bin"


def pip_install(place: Path, *arguments: str) -> None:
    """Install into an environment with the pip of this one."""
    python = str(place / "bin" / "python")
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "-q", *arguments], check=True)
