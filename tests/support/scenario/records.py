"""Compares records that interfaces answer with, without what differs from thing to thing."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from tests.support.scenario.things import Things

DRAWN: Final = re.compile(
    r"(?<=sample-|manual-)[a-z0-9]{10}|(?<=release-mark-)[a-z0-9]{10}|(?<=whsec_)[\w+/=]+|\d{13}-\d+"
    r"|(?<=[-_:j])[0-9a-f]{8,}|\b[0-9a-f]{64}\b"
)
"""Ids and keys that are drawn, places in a history, and hashes of what has an id in it."""

MEASURED: Final = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|\+00:00)|[0-9.]+ [KMG]iB")
"""Times, and how much memory the server uses."""


def lost(answer: Any, returned: Any, at: str = "") -> Iterator[str]:
    """Yield the members of an answer, but for empty ones, that what is returned does not have."""
    if isinstance(answer, dict) and isinstance(returned, dict):
        for name, member in answer.items():
            if name in returned:
                yield from lost(member, returned[name], f"{at}/{name}")
            elif member not in (None, {}, []):
                yield f"{at}/{name} is not returned"
    elif isinstance(answer, list) and isinstance(returned, list):
        for number, (item, other) in enumerate(zip(answer, returned, strict=False)):
            yield from lost(item, other, f"{at}/{number}")


def differences(ours: Any, theirs: Any, at: str = "") -> Iterator[str]:
    """Yield where two JSON values differ, and how."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            yield from differences(ours.get(name, "nothing"), theirs.get(name, "nothing"), f"{at}/{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (item, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(item, other, f"{at}/{number}")
    elif ours != theirs:
        yield f"{at}: {ours!r}, and in the answer of the tool {theirs!r}"


def steady(value: Any, at: Things) -> Any:
    """Return JSON without what differs from thing to thing."""
    if isinstance(value, dict):
        members = {steady(name, at): steady(member, at) for name, member in value.items()}
        return members | ({"used": "MEASURED"} if "used" in members else {})
    if isinstance(value, list):
        return [steady(item, at) for item in value]
    if isinstance(value, int) and value > 10**14:
        return "MOMENT"
    if isinstance(value, float | datetime):
        return "SECONDS" if isinstance(value, float) else "MEASURED"
    if not isinstance(value, str):
        return value
    for name, made in vars(at).items():
        if isinstance(made, str):
            value = value.replace(made, name)
    return DRAWN.sub("DRAWN", MEASURED.sub("MEASURED", value))
