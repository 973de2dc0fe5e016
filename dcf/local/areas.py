"""Which changed files lie outside the areas of a unit of work. Pure.

An area is a glob over paths below the root: `*` and `?` stay within one name, `**` spans any number of directories, and
one that ends in `/` means everything below it.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache


def outside(paths: Iterable[str], areas: Sequence[str]) -> list[str]:
    """Return the paths that no area covers; with no areas everything is allowed."""
    if not areas:
        return []
    patterns = [_pattern(area) for area in areas]
    return [path for path in paths if not any(pattern.fullmatch(path) for pattern in patterns)]


@lru_cache(maxsize=256)
def _pattern(area: str) -> "re.Pattern[str]":
    text = area.removeprefix("./")
    if text.endswith("/") or text == "":
        text += "**"
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    words = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts))
