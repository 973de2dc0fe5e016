"""Pins images by digest, in the Dockerfile, the compose file and the Helm chart, to what their tags name now.

It asks the registry through `docker buildx imagetools`, which needs no running Docker. Digests are of indexes of all
platforms. A release pins before it builds, so that an image has the fixes of its base image.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = ("Dockerfile", "docker-compose.yml")

_REFERENCE = re.compile(
    r"^(?P<before>FROM |\s+image: )(?P<tag>[\w./-]+:[\w.-]+)(?P<digest>@sha256:[0-9a-f]{64})?", re.MULTILINE
)


def references(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield each image of others that a file names, as its tag and its digest."""
    for match in _REFERENCE.finditer(text):
        digest = match["digest"]
        yield match["tag"], digest[1:] if digest else None


def pinned(text: str, digests: Mapping[str, str]) -> str:
    """Return the file with the digest of each tag."""
    return _REFERENCE.sub(lambda match: f"{match['before']}{match['tag']}@{digests[match['tag']]}", text)


def look_up(tag: str) -> str:
    """Ask the registry which digest a tag has."""
    command = ["docker", "buildx", "imagetools", "inspect", tag, "--format", "{{json .Manifest}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the registry does not say the digest of {tag}: {done.stderr.strip()}")
    digest: str = json.loads(done.stdout)["digest"]
    return digest


def main() -> None:
    """Write the new digests into the files, and print the changes."""
    texts = {name: (ROOT / name).read_text("utf-8") for name in FILES}
    before = {tag: digest for text in texts.values() for tag, digest in references(text)}
    digests = {tag: look_up(tag) for tag in before}
    for name, text in texts.items():
        (ROOT / name).write_text(pinned(text, digests), "utf-8")
    for tag, digest in digests.items():
        print(f"{tag}: {'as it was' if digest == before[tag] else digest}")


if __name__ == "__main__":
    main()
