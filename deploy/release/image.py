"""Builds the image, and tries it as Compose and Kubernetes run it: nothing writable, no rights, no network."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TAG = "dcf"
CONFINED = ("--read-only", "--user", "10001:10001", "--cap-drop", "ALL", "--network", "none")
TRIALS = (("--version",), ("validate", "workflows/order_processing.json"), ("skills", "ls"))


@dataclass(frozen=True, slots=True)
class Builder:
    """The commands that build an image and run it."""

    build: tuple[str, ...]
    run: tuple[str, ...]


DOCKER = Builder(
    # Without provenance, which has the time of the build in it. The times of files are those of the release.
    ("docker", "buildx", "build", "--provenance=false", "--output", f"type=docker,name={TAG},rewrite-timestamp=true"),
    ("docker", "run", "--rm"),
)
PODMAN = Builder(
    # The format of Docker, since that of OCI has no health check.
    ("podman", "build", "-t", TAG, "--format", "docker", "--timestamp", "{epoch}"),
    ("podman", "run", "--rm"),
)


def find_builder() -> Builder | None:
    """Return what builds images here: the program alone is not enough, its service must answer."""
    for builder in (DOCKER, PODMAN):
        program = builder.run[0]
        if shutil.which(program) and not subprocess.run([program, "info"], capture_output=True, check=False).returncode:
            return builder
    return None


def build(builder: Builder, sources: Path, epoch: int) -> str:
    """Build the image of the sources; return the digests of its layers. Those of two builds are the same.

    Its id may differ: Podman notes in it which container it built in.
    """
    words = [word.format(epoch=epoch) for word in builder.build]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    if subprocess.run([*words, "."], cwd=sources, env=environment, check=False).returncode:
        sys.exit("the image was not built (above). To release without it: python -m deploy.release TARGET --no-image")
    inspect = [builder.run[0], "image", "inspect", "--format", "{{json .RootFS.Layers}}", TAG]
    return subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.strip()


def attempt(builder: Builder) -> None:
    """Run commands of dcf in the image."""
    for arguments in TRIALS:
        subprocess.run([*builder.run, *CONFINED, TAG, *arguments], check=True)
