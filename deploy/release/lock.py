"""Writes the lock files `requirements/*.txt`: every package with its version and its hashes.

One file of the form that any pip reads (`--require-hashes`) serves Python 3.11 to 3.14 on every platform: lines for
one of them have a marker. The files name no index, so that they work with any mirror.
"""

import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "pyproject.toml"
DIRECTORY = ROOT / "requirements"


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file: what is resolved, and the file whose versions it repeats."""

    name: str
    inputs: tuple[str, ...]
    follows: str | None = None

    @property
    def path(self) -> Path:
        """Return the lock file."""
        return DIRECTORY / f"{self.name}.txt"


USED = ("embedded", "letta", "otel", "s3")
"""The extras for users; the others are for those who work on dcf."""

LOCKS = (
    Lock("dev", ("pyproject.toml", "--all-extras")),
    Lock("user", ("pyproject.toml", *(word for name in USED for word in ("--extra", name))), follows="dev"),
    Lock("image", ("pyproject.toml", "--extra", "letta"), follows="dev"),
    Lock("build", ("-",), follows="dev"),
)
"""What CI installs from; all that a user may install; what the image has; what builds the wheel."""


def write(lock: Lock, *options: str) -> None:
    """Resolve anew what the file does not have yet, or with `--upgrade` all of it."""
    follows = ("--constraint", f"requirements/{lock.follows}.txt") if lock.follows else ()
    form = ("--universal", "--python-version", "3.11", "--generate-hashes", "--custom-compile-command", "make lock")
    command = ["pip", "compile", "-q", *lock.inputs, *form, *follows, *options, "-o", f"requirements/{lock.name}.txt"]
    built_with = "\n".join(tomllib.loads(PROJECT.read_text("utf-8"))["build-system"]["requires"])
    subprocess.run(
        [Path(sys.executable).with_name("uv"), *command],
        cwd=ROOT,
        input=built_with,
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    for lock in LOCKS:
        write(lock, *sys.argv[1:])
