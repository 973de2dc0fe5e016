"""The Python client: every verb of dcf as a method with typed answers, over a server or directly on Redis.

`dcf.connect` and `dcf.connect_async` open one, and docs/reference/python.md describes it. Each name is imported on
first use: no program needs all records. `make verbs` derives the names, and `__init__.pyi` for type checkers.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


@cache
def _places() -> dict[str, str]:
    """Return the module of each name."""
    from dcf.values.json_text import load  # noqa: PLC0415 - `import dcf` needs no JSON

    places: dict[str, str] = load((Path(__file__).parent / "derived" / "names.json").read_bytes())
    return places


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name == "__all__":
        return list(_places())
    if name not in _places():
        raise AttributeError(f"module 'dcf.client' has no attribute '{name}'")
    place = import_module(_places()[name])  # nosemgrep: nothing-of-a-caller-is-executed - only modules of the file
    return getattr(place, name)


def __dir__() -> list[str]:
    """Name what programs use, for editors and shells."""
    return list(_places())
