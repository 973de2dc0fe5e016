"""The document of a run's signals: those that came before a state waited for them. Data and its JSON form. Pure.

The transaction that enters a waiting state gives it the oldest stored signal of its name. So while any state waits for
a name, no signal of that name is stored.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Final

from dcf.asl.surroundings import KeptSignal
from dcf.values.instants import from_text, to_text
from dcf.values.json_text import Json
from dcf.values.records import record

MOST_KEPT: Final = 100
"""Most signals that a run keeps for states to come."""

MOST_KEPT_BYTES: Final = 1024 * 1024
"""Most bytes of their payloads together."""


@record(frozen=True, kw_only=True)
class Signals:
    """The signals of a run: how many came in all, and the `kept` ones, oldest first.

    `waits` counts the times that a state began to wait for a signal. A caller that saw no waiting state compares it
    before it stores a signal, since a state that was entered in between would never see that signal.
    """

    received: int = 0
    waits: int = 0
    kept: tuple[KeptSignal, ...] = field(default_factory=tuple)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[KeptSignal, ...]]:
        """The kept signals by name, oldest first."""
        signals: dict[str, tuple[KeptSignal, ...]] = {}
        for signal in self.kept:
            signals[signal.name] = (*signals.get(signal.name, ()), signal)
        return signals

    def without(self, number: int) -> "Signals":
        """Return the signals after a state has taken this one."""
        return replace(self, kept=tuple(signal for signal in self.kept if signal.number != number))

    def awaited(self) -> "Signals":
        """Return the signals after one more state has begun to wait."""
        return replace(self, waits=self.waits + 1)


NO_SIGNALS: Final = Signals()


def write_signals(signals: Signals) -> dict[str, Json]:
    """Write the document."""
    stored_signals: list[Json] = [
        {"number": signal.number, "name": signal.name, "at": to_text(signal.at), "payload": signal.payload}
        for signal in signals.kept
    ]
    return {"received": signals.received, "waits": signals.waits, "kept": stored_signals}


def read_signals(document: Json) -> Signals:
    """Read the document; invalid entries are left out."""
    members = document if isinstance(document, dict) else {}
    stored_signals = members.get("kept")
    return Signals(
        received=_count(members.get("received")),
        waits=_count(members.get("waits")),
        kept=tuple(
            signal
            for signal in map(_signal, stored_signals if isinstance(stored_signals, list) else ())
            if signal is not None
        ),
    )


def _signal(document: Json) -> KeptSignal | None:
    match document:
        case {"number": int(number), "name": str(name), "payload": payload}:
            return KeptSignal(number=number, name=name, payload=payload, at=from_text(document.get("at")) or 0)
    return None


def _count(value: Json) -> int:
    return value if isinstance(value, int) else 0
