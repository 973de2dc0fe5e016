"""The document of a run's signals: those that came before a state waited for them. Data and its JSON form. Pure.

The transaction that enters a waiting state gives it the oldest stored signal of its name. So while any state waits for
a name, no signal of that name is stored.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Final

from dcf.asl.surroundings import KeptSignal
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
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


_SIGNALS: Final = RecordCodec(Signals, codecs={"kept": RecordCodec(KeptSignal, times="at", whole=True)}, whole=True)
write_signals: Final = _SIGNALS.write


def read_signals(document: Json) -> Signals:
    """Read the document; invalid entries are left out."""
    return _SIGNALS.read(document)
