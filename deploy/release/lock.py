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


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file: what is resolved, from files or from a text, and the lock file whose versions it repeats."""

    name: str
    inputs: tuple[str, ...] = ("-",)
    text: str = ""
    follows: str | None = None


USED = ("embedded", "letta", "otel", "s3")
"""The extras for users; the other extras are for work on dcf."""

BUILDERS: tuple[str, ...] = tuple(tomllib.loads(PROJECT.read_text("utf-8"))["build-system"]["requires"])
DESCRIBER = "cyclonedx-bom>=7.5,<8"
"""It is in no extra, because it brings a grammar that jsonschema then compiles at every import, for seconds."""

LOCKS = (
    Lock("dev", ("pyproject.toml", "--all-extras")),
    Lock("user", ("pyproject.toml", *(word for name in USED for word in ("--extra", name))), follows="dev"),
    Lock("image", ("pyproject.toml", "--extra", "letta"), follows="dev"),
    Lock("build", text="\n".join(BUILDERS), follows="dev"),
    Lock("sbom", text=DESCRIBER),
)
"""For CI, for users with any extra, for the image, for building the wheel, for writing the SBOM."""


def write(lock: Lock, *options: str) -> None:
    """Resolve the packages that the file does not have yet, or with `--upgrade` all packages."""
    follows = ("--constraint", f"requirements/{lock.follows}.txt") if lock.follows else ()
    form = ("--universal", "--python-version", "3.11", "--generate-hashes", "--custom-compile-command", "make lock")
    target = f"requirements/{lock.name}.txt"
    command = ["pip", "compile", "-q", *lock.inputs, *form, *follows, *options, "-o", target]
    program = Path(sys.executable).with_name("uv")
    subprocess.run([program, *command], cwd=ROOT, input=lock.text, text=True, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    for lock in LOCKS:
        write(lock, *sys.argv[1:])
