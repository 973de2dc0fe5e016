"""Checks on demand that each dependency has a wheel for each platform and Python (docs/reference/platforms.md).

    python -m venv /tmp/uv && /tmp/uv/bin/pip install uv
    /tmp/uv/bin/python .ci/platforms.py                  # downloads about 2 GB, takes some minutes
    /tmp/uv/bin/python .ci/platforms.py --hashes         # the rows of dcf/store/embedded/binaries.py

uv resolves for the platform of the cell: pip evaluates markers for the machine that it runs on. pip then downloads what
uv resolved, and fails where a file is missing. Neither is a dependency of dcf, and no tier of the tests runs this.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
GROUPS = {"core": (), "embedded": ("embedded",), "tests": ("test",)}
SERVERS = ("redis-server", "valkey-server", "rejson.so")


class Platform(NamedTuple):
    """A column of the table: the name that uv has for it, and the tags that pip takes."""

    name: str
    uv: str
    tags: tuple[str, ...]


def manylinux(machine: str, newest: int) -> tuple[str, ...]:
    """Return the tags of Linux up to this version of glibc 2."""
    plain = [f"manylinux_2_{minor}" for minor in range(newest, 4, -1)]
    return tuple(f"{tag}_{machine}" for tag in (*plain, "manylinux2014", "manylinux2010", "manylinux1"))


PLATFORMS = (
    Platform("Linux x86-64", "x86_64-manylinux_2_31", manylinux("x86_64", 31)),
    Platform("Linux arm64", "aarch64-manylinux_2_28", manylinux("aarch64", 28)),
    Platform("macOS arm64", "aarch64-apple-darwin", ("macosx_14_0_arm64", "macosx_14_0_universal2")),
    Platform("macOS x86-64", "x86_64-apple-darwin", ("macosx_14_0_x86_64", "macosx_14_0_universal2")),
    Platform("Windows x86-64", "x86_64-pc-windows-msvc", ("win_amd64",)),
)

NEWER_LINUX = Platform("Linux x86-64, glibc 2.39", "x86_64-manylinux_2_39", manylinux("x86_64", 39))
"""Some packages have a wheel of its own for it."""


def main() -> int:
    """Check what the arguments ask for; return 1 if a cell of the table failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hashes", action="store_true", help="print the hashes of the binaries in the pinned wheels")
    parser.add_argument("--group", choices=GROUPS, help="only these requirements")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if options.hashes:
            print(*hashes(Path(place)), sep="\n")
            return 0
        groups = [options.group] if options.group else [*GROUPS]
        return max(print_table(group, Path(place)) for group in groups)


def print_table(group: str, place: Path) -> int:
    """Print the table of one group of requirements, row by row; return 1 if a cell failed."""
    print(f"\n| {group} | {' | '.join(platform.name for platform in PLATFORMS)} |")
    print("| --- " * (len(PLATFORMS) + 1) + "|", flush=True)
    failed = 0
    for python in PYTHONS:
        cells = [cell(group, platform, python, place) for platform in PLATFORMS]
        failed += sum("fails" in text for text in cells)
        print(f"| {python} | {' | '.join(cells)} |", flush=True)
    return min(failed, 1)


def cell(group: str, platform: Platform, python: str, place: Path) -> str:
    """Return what was downloaded for one platform and Python, or what is missing."""
    wanted = place / "requirements.txt"
    extras = [word for extra in GROUPS[group] for word in ("--extra", extra)]
    chosen = ("--python-platform", platform.uv, "--python-version", python)
    plain = ("--quiet", "--only-binary", ":all:", "--no-header", "--no-annotate", "--output-file", str(wanted))
    wanted.unlink(missing_ok=True)
    resolved = run(sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", *extras, *chosen, *plain)
    if resolved.returncode:
        return f"fails: {last_line(resolved)}"
    with tempfile.TemporaryDirectory(dir=place) as folder:
        fetched = download(folder, platform.tags, python, "-r", str(wanted))
        if fetched.returncode:
            return f"fails: {last_line(fetched)}"
        files = [*Path(folder).iterdir()]
        return f"{len(files)} wheels, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB"


def hashes(place: Path) -> Iterator[str]:
    """Yield the hash of each binary in the wheels that the extra pins, for each platform that has one."""
    pins = [line.split('"')[1].partition(";")[0] for line in extra_lines()]
    for platform in (*PLATFORMS, NEWER_LINUX):
        for python in PYTHONS:
            for pin in pins:
                folder = place / f"{platform.uv}-{python}-{pin}"
                download(str(folder), platform.tags, python, pin)
                for wheel in folder.glob("*.whl"):
                    yield from (f"{platform.name} {python} {pin} {row}" for row in binaries(wheel))


def extra_lines() -> Iterator[str]:
    """Yield the lines of the extra `embedded` in pyproject.toml."""
    lines = iter((ROOT / "pyproject.toml").read_text("utf-8").splitlines())
    next(line for line in lines if line.startswith("embedded = ["))
    for line in lines:
        if line == "]":
            return
        yield line


def binaries(wheel: Path) -> Iterator[str]:
    """Yield path and SHA-256 of each server and module in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.rpartition("/")[2] in SERVERS:
                yield f"{name} {hashlib.sha256(archive.read(name)).hexdigest()}"


def download(folder: str, tags: tuple[str, ...], python: str, *what: str) -> subprocess.CompletedProcess[str]:
    """Have pip download these wheels, and no others, for a platform."""
    plain = ("--quiet", "--no-deps", "--only-binary=:all:", "--implementation", "cp", "--python-version", python)
    platforms = [word for tag in tags for word in ("--platform", tag)]
    return run(sys.executable, "-m", "pip", "download", *plain, *platforms, "--dest", folder, *what)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the checkout and keep what it prints."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def last_line(process: subprocess.CompletedProcess[str]) -> str:
    """Return the last line of an error, which names what is missing."""
    lines = [line for line in process.stderr.splitlines() if line.strip() and "is ignored" not in line]
    return lines[-1].strip() if lines else f"exit code {process.returncode}"


if __name__ == "__main__":
    sys.exit(main())
