"""Signals as the engine knows them: kept in the run until a state that waits for one of that name is entered. Pure.

A Task with the Resource `dcf:signal` waits for the signal that its input names. Where one was kept, the state takes the
oldest in the step that enters it, and is left by that same step.
"""

import re
from collections.abc import Iterable
from typing import Final

from dcf.asl.expressions.templates import Literal, ObjectTemplate, Template
from dcf.asl.retrying import RUNTIME
from dcf.asl.steps import OpenTask, Step, TakenSignal
from dcf.asl.surroundings import Clock
from dcf.errors import StateError
from dcf.values.json_text import Json

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:=/@-]{0,127}\Z", re.ASCII)
NAME_RULE: Final = "A signal's name has 1 to 128 letters, digits or _ . : = / @ -, and begins with a letter or digit."


def is_signal_name(name: Json) -> bool:
    """Return True if a signal may have this name."""
    return isinstance(name, str) and _NAME.match(name) is not None


def signal_name(effective: Json) -> str:
    """Return the name of the signal that a state waits for, from its input; raise StateError if there is no name."""
    name = effective.get("name") if isinstance(effective, dict) else None
    if not isinstance(name, str) or not is_signal_name(name):
        raise StateError(RUNTIME, f"The input of a state that waits for a signal has no good 'name'. {NAME_RULE}")
    return name


def kept_signal(task: OpenTask, clock: Clock, steps: Iterable[Step]) -> TakenSignal | None:
    """Return that this state takes a signal that was kept; None if there is none that the steps so far left."""
    if task.waits_as != "Signal":
        return None
    name = signal_name(task.effective)
    taken = {step.signal.number for step in steps if isinstance(step, TakenSignal)}
    signal_left = next((signal for signal in clock.signals.get(name, ()) if signal.number not in taken), None)
    if signal_left is None:
        return None
    return TakenSignal(
        path=task.path, source=task.source, entry=task.entry, effective=task.effective, signal=signal_left
    )


def literal_name(parameters: Template | None) -> str | None:
    """Return the name of the awaited signal where the workflow writes it out; None where it follows from data."""
    match parameters:
        case Literal(value={"name": str(name)}):
            return name
        case ObjectTemplate(members=members):
            name_member = dict(members).get("name")
            return (
                name_member.value if isinstance(name_member, Literal) and isinstance(name_member.value, str) else None
            )
    return None
