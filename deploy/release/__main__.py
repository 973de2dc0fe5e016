"""`python -m deploy.release TARGET`: builds a release, and tries its parts (docs/contributing/releases.md)."""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from deploy.release import check, image, packages, sbom, trial

ROOT = Path(__file__).parents[2]


def release(target: Path, *, with_image: bool) -> None:
    """Build, try, describe."""
    if disagreements := check.find_disagreements(ROOT):
        sys.exit("\n".join(disagreements))
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, check=True).stdout:
        sys.exit(
            "the working tree differs from the newest commit: commit first, since the release names the commit's time"
        )
    packages.check_builder(version(packages.BUILDER))
    target.mkdir(parents=True)
    epoch = packages.committed_at()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        packages.copy_sources(place / "sources")
        packages.build(place / "sources", target, epoch)
        packages.build_bundle(place / "sources", target)
        (wheel,) = target.glob("*.whl")
        commands = trial.install(wheel, place / "bare")
        print(f"bare environment: the order pipeline took {trial.run_order(commands, place / 'empty'):.1f} s")
        sbom.write(place / "bare", target / f"{wheel.name.removesuffix('-py3-none-any.whl')}.cdx.json")
        write_digests(target)
        if with_image:
            build_image(place / "sources", epoch)
    for text in check.find_shortfalls(ROOT):
        print(f"before it is published: {text}")


def build_image(sources: Path, epoch: int) -> None:
    """Build and try the image where images can be built."""
    if builder := image.find_builder():
        print(f"image: {image.build(builder, sources, epoch)}")
        image.attempt(builder)
    else:
        print("image: not built; neither docker nor podman answers here")


def write_digests(target: Path) -> None:
    """Write SHA256SUMS, as `sha256sum --check` reads it."""
    paths = sorted(target.iterdir())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths]
    (target / "SHA256SUMS").write_text("".join(lines), "utf-8")
    print("".join(lines), end="")


def main() -> None:
    """Read the arguments."""
    arguments = argparse.ArgumentParser(prog="python -m deploy.release")
    arguments.add_argument("target", type=Path, help="directory to write; it must not exist")
    arguments.add_argument(
        "--no-image", action="store_true", help="build no image: it needs the registry of base images"
    )
    chosen = arguments.parse_args()
    release(chosen.target.resolve(), with_image=not chosen.no_image)


if __name__ == "__main__":
    main()
