"""The expected result of a workflow and the answers of a Task's worker: both are known before dcf starts.

The answer of a Task depends only on its name and its input, so any worker gives the same answer.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from zlib import crc32

Value: TypeAlias = Any
States: TypeAlias = dict[str, dict[str, Any]]

BROKEN = "Broken"
BUSY = "Busy"
CHECKED = "Checked"
"""Beginning of the names of Tasks whose output is checked with a schema."""

GATED = "Gated"
"""Beginning of the names of units whose output must pass gates."""

NEVER = "never"

PEOPLE = ("eve", "fay")
"""Whom tasks for people ask."""


@dataclass(slots=True, kw_only=True)
class Expected:
    """The expected result of a run. `open_ended` are scopes that break: how far those inside come is not determined.

    `inputs`: the inputs that a Task's workers may see. `asked`: the descriptions of tasks for people. `done`: how often
    a state completes. `outside`: the results of states that wait for signals and child runs.
    """

    status: str = "succeeded"
    output: Value = None
    error: str | None = None
    inputs: dict[str, list[Value]] = field(default_factory=dict)
    asked: dict[str, list[Value]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    open_ended: set[str] = field(default_factory=set)
    outside: dict[str, list[tuple[Value, Value]]] = field(default_factory=dict)

    def note(self, name: str, value: Value, result: Value) -> None:
        """Note what a state that waits for something outside asks for and gets; None if nothing ever comes."""
        self.outside.setdefault(name, []).append((value, result))

    def is_determined(self, path: str) -> bool:
        """Return True if what happens to a state does not depend on who is faster."""
        return not any(path.startswith(f"{scope}/") for scope in self.open_ended)


class Breaks(Exception):
    """A state fails and no state in its scope catches the error."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


Play: TypeAlias = Callable[[Expected, str, Value], Value]
"""Plays a piece on a value, in the scope that the prefix names; notes what is expected and returns the output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some states, entered at `first` and left at `last`, which has no Next yet."""

    states: States
    first: str
    last: str
    play: Play


FIX = "fix"
"""Member that a correction adds to a result; nothing that follows depends on it."""


def plain(value: Value) -> Value:
    """Return a value as it would be without corrections."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if name != FIX}
    return [plain(item) for item in value] if isinstance(value, list) else value


def payload_of(name: str) -> Value:
    """Return the payload of every signal of a name."""
    return {"n": crc32(name.encode()) % 1_000_003}


def answer_of(name: str, value: Value) -> tuple[str, Value]:
    """Return what a Task's worker does: ("ok", output), ("error", name of the error) or ("never", None)."""
    value = plain(value)
    word, _, rest = name.partition("_")
    if word == "Slow":
        return NEVER, None
    if word == "Bad":
        return "error", BROKEN
    if word in {"Busy", "Crack", "Callback"} and value["tries"] < int(rest.partition("_")[0]):
        return "error", BUSY
    output = {"n": crc32(f"{name} {json.dumps(value, sort_keys=True)}".encode()) % 1_000_003}
    if word == "Turn":
        output["round"] = value.get("round", 0) + 1
    return "ok", output
