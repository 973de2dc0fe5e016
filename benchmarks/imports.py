"""How many modules each command imports, and of how many models of the MCP SDK it makes the validators.

`python -m benchmarks.imports`. A count is the same on every machine, and most of the time of a short command is its
imports. Each command runs in a fresh interpreter, on an embedded Redis of its own; the processes that it starts are not
counted.
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

from dcf.values.records import record

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
modules = [module for name, module in sys.modules.items() if name.startswith("mcp_types")]
types = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
made = [value for value in types if getattr(value, "__pydantic_complete__", False)]
Path(os.environ["IMPORTED"]).write_text(json.dumps({"modules": sorted(sys.modules), "models": len(made)}))
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


@record(frozen=True, slots=True)
class Imported:
    """The names of the modules that a process imported, and how many models of the MCP SDK it made."""

    modules: frozenset[str]
    models: int


def imported(folder: Path, *arguments: str, **environment: str) -> Imported:
    """Run `dcf ARGUMENTS` to its end, with its files in a folder; return what it imported."""
    figures = folder / "imported.json"
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "IMPORTED": str(figures)}
    subprocess.run(
        [sys.executable, "-c", _LIST_IMPORTS, *arguments],
        env=own | environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=90,
    )
    read = json.loads(figures.read_text())
    return Imported(frozenset(read["modules"]), read["models"])


def imported_by(command: str) -> Imported:
    """Return what a command of `COMMANDS` imports."""
    with tempfile.TemporaryDirectory(prefix="dcf-") as name:
        return imported(Path(name), *COMMANDS[command], DCF_DATA_DIR=str(Path(name) / "data"))


def _print_row(first: str, cells: Sequence[object]) -> None:
    sys.stdout.write(f"{first:16}" + "".join(f"{cell:>11}" for cell in cells) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print a row for each command: all modules, the models that it made, and the modules of the largest packages."""
    _print_row("command", ["modules", "models", *_SHOWN])
    for command in COMMANDS:
        own = imported_by(command)
        packages = Counter(name.partition(".")[0] for name in own.modules)
        _print_row(command, [len(own.modules), own.models, *(packages[name] for name in _SHOWN)])


if __name__ == "__main__":
    main()
