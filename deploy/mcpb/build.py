"""Builds the MCP bundle (`.mcpb`): dcf with its manifest in one file that a desktop client installs with a click.

The same sources give the same bytes: files in order, without the time and the rights that they have here.
"""

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MANIFEST = Path(__file__).with_name("manifest.json")

FILES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
DIRECTORIES = ("dcf", "agents", "generated", "schemas", "skills_src", "workflows")
"""Contents of the wheel too: the package, and the data that pyproject.toml puts into it."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
_READABLE = 0o100644 << 16


def contents() -> Iterator[tuple[str, bytes]]:
    """Yield the bundle's files by name."""
    yield "manifest.json", MANIFEST.read_bytes()
    for name in FILES:
        yield name, (ROOT / name).read_bytes()
    for directory in DIRECTORIES:
        for path in sorted((ROOT / directory).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def build(target: Path) -> None:
    """Write the bundle."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
        for name, content in contents():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, _READABLE, 3
            bundle.writestr(entry, content)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
