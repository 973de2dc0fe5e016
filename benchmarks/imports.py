"""How many modules each command imports: `python -m benchmarks.imports`.

A count is the same on every machine, and most of the time of a short command is its imports. Each command runs in a
fresh interpreter, on an embedded Redis of its own; the processes that it starts are not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]

_LIST_IMPORTS: Final = """
import json, os, sys
from pathlib import Path
from dcf.cli.app import main
sys.argv = ["dcf", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    if end.code:
        raise
Path(os.environ["MODULES"]).write_text(json.dumps(sorted(sys.modules)))
"""

_ORDER: Final = "workflows/order_processing.json"
_INPUT: Final = ("--input", "workflows/order_processing/order.json")

COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "--help": ("--help",),
    "show --help": ("show", "--help"),
    "ls": ("ls",),
    "doctor": ("doctor", "--json"),
    "validate": ("validate", _ORDER),
    "worker --check": ("worker", "workflows/order_processing.py", "--agent-id", "a", "--check"),
    "run": ("run", _ORDER, *_INPUT),
    "run --direct": ("run", _ORDER, *_INPUT, "--direct"),
    "serve": ("serve",),
}
"""The arguments of each command. `serve` ends at once, because its standard input is empty."""

_SHOWN: Final = ("dcf", "typer", "rich", "pydantic", "redis", "anyio", "asyncio", "jsonschema", "mcp", "mcp_types")


def imported(folder: Path, *arguments: str, **environment: str) -> frozenset[str]:
    """Run `dcf ARGUMENTS` to its end, with its files in a folder; return the names of the modules that it imported."""
    names = folder / "modules.json"
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "MODULES": str(names)}
    subprocess.run(
        [sys.executable, "-c", _LIST_IMPORTS, *arguments],
        env=own | environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=90,
    )
    return frozenset(json.loads(names.read_text()))


def imported_by(command: str) -> frozenset[str]:
    """Return the names of the modules that a command of `COMMANDS` imports."""
    with tempfile.TemporaryDirectory(prefix="dcf-") as name:
        return imported(Path(name), *COMMANDS[command], DCF_DATA_DIR=str(Path(name) / "data"))


def _print_row(first: str, cells: Sequence[object]) -> None:
    sys.stdout.write(f"{first:16}" + "".join(f"{cell:>11}" for cell in cells) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print a row for each command: all modules, and those of the largest packages."""
    _print_row("command", ["modules", *_SHOWN])
    for command in COMMANDS:
        modules = imported_by(command)
        packages = Counter(name.partition(".")[0] for name in modules)
        _print_row(command, [len(modules), *(packages[name] for name in _SHOWN)])


if __name__ == "__main__":
    main()
