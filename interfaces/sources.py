"""Every derived file, with its text. Python is formatted as other files are."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from dcf.tools.mcp import selection
from dcf.verbs.description.verb import VERBS, Verb
from interfaces.calls import calls_source
from interfaces.client_methods import client_source, methods_source
from interfaces.client_package import package_source
from interfaces.table import place_of, table_source

_PACKAGE: Final = Path(selection.__file__).parents[2]


def derived_sources() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each derived file."""
    yield _PACKAGE / "verbs" / "description" / "table.json", table_source()
    yield _PACKAGE / "verbs" / "wording" / "calls.json", calls_source()
    by_toolset = {name: list(verbs) for name, verbs in groupby(_in_order(), _toolset)}
    folder = _PACKAGE / "client" / "derived"
    for toolset, verbs in by_toolset.items():
        derived = [verb for verb in verbs if verb.steps is None]
        if derived:
            yield folder / f"{toolset}.py", _formatted(client_source(toolset, derived))
    yield folder / "methods.py", _formatted(methods_source(by_toolset))
    yield folder.parent / "__init__.py", _formatted(package_source(_in_order()))


def _in_order() -> list[Verb]:
    return sorted(VERBS.values(), key=lambda verb: (verb.toolset, place_of(verb.function.__module__)))


def _toolset(verb: Verb) -> str:
    return verb.toolset


def _formatted(text: str) -> str:
    for command in (["check", "--select", "F401,I", "--fix", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(_PACKAGE / "derived.py"), "-"]
        done = subprocess.run(ruff, input=text, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode:
            raise ValueError(f"Ruff refuses a derived file: {done.stdout[-2000:]}{done.stderr}")
        text = done.stdout
    return text
