"""Every derived file, with its text. Python is formatted as other files are."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dcf.tools.mcp import selection
from dcf.verbs.description.verb import VERBS, Verb
from interfaces.calls import calls_source
from interfaces.client_methods import rows_source, signatures_source
from interfaces.client_package import names_source, package_source
from interfaces.table import place_of, table_source

_PACKAGE: Final = Path(selection.__file__).parents[2]


def derived_sources() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each derived file."""
    yield _PACKAGE / "verbs" / "description" / "table.json", table_source()
    yield _PACKAGE / "verbs" / "wording" / "calls.json", calls_source()
    folder = _PACKAGE / "client" / "derived"
    yield folder / "methods.json", rows_source(_in_order())
    yield folder / "methods.pyi", _formatted(signatures_source(_in_order()), "methods.pyi")
    yield folder / "names.json", names_source(_in_order())
    yield folder.parent / "__init__.pyi", _formatted(package_source(_in_order()), "__init__.pyi")


def _in_order() -> list[Verb]:
    return sorted(VERBS.values(), key=lambda verb: (verb.toolset, place_of(verb.function.__module__)))


def _formatted(text: str, name: str) -> str:
    for command in (["check", "--select", "F401,I", "--fix", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(_PACKAGE / name), "-"]
        done = subprocess.run(ruff, input=text, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode:
            raise ValueError(f"Ruff refuses a derived file: {done.stdout[-2000:]}{done.stderr}")
        text = done.stdout
    return text
