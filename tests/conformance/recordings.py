"""The recorded cases, and the few of them that dcf answers otherwise on purpose."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def cases(name: str) -> list[Any]:
    """Read one file of cases."""
    document: list[Any] = json.loads((HERE / "cases" / f"{name}.json").read_text(encoding="utf-8"))
    return document


def known_difference(kind: str, key: str) -> str | None:
    """Tell why a case is answered otherwise, if it is."""
    known: dict[str, dict[str, str]] = json.loads((HERE / "known_differences.json").read_text(encoding="utf-8"))
    return known.get(kind, {}).get(key)
