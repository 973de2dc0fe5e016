"""Reads from Redis what a diagnosis of a run is made of, in two packets however many states the run has.

It judges nothing (`core.diagnosis` does). Whether writes are refused is found by writing a small key, as a health
report does: with a full memory, everything that can be read still looks well.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.listing.sweep_results import Trouble
from dcf.features.health.facts import PlatformTrouble
from dcf.features.health.storage import checked_sign, platform_troubles, refusal_of, write_probe
from dcf.store.connection.commands import Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.events.notified import Told, announcement_fields, read_announcements
from dcf.store.keys import table as keys
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import keys_of
from dcf.store.transaction.reading import Reading
from dcf.values.records import record

MOST: Final = 1_000
"""Open states that are read; the ones that need attention first."""


@record(frozen=True, slots=True, kw_only=True)
class RunSigns:
    """The run as a whole: its meta document, its open states by their next timer, and how many more.

    `scopes` are the Parallel and Map states that were ever opened, with how many branches or iterations they had.
    """

    snapshot: Snapshot
    due: Mapping[str, int]
    unread: int
    has_definition: bool
    looked_at: int | None
    refusal: Trouble | None
    troubled: tuple[PlatformTrouble, ...]
    scopes: Mapping[str, int]


@record(frozen=True, slots=True, kw_only=True)
class StateSigns:
    """Documents of states, how their agents were notified, and when agents were last seen."""

    snapshot: Snapshot
    told: Mapping[str, Told]
    seen: Mapping[str, int]


class RunSignsReader:
    """Reads the facts."""

    def __init__(self, connections: Connections, note: Callable[[Trouble | None], None] | None = None) -> None:
        """Read over these connections; `note` is called with why Redis rejects writes, or None if it accepts them."""
        self._connections = connections
        self._note = note

    def run(self, workflow_id: str) -> RunSigns:
        """Return the signs of the run as a whole; `snapshot.meta` is None if there is no such run."""
        run, reading = (
            keys_of(workflow_id),
            Reading(self._connections.form, keys_of(workflow_id), ReadSet(whole_meta=True)),
        )
        commands = reading.commands()
        written, *replies = self._connections.ask(
            write_probe(_probe(run.workflow_id, self._connections.shards)),
            *commands,
            ("ZRANGE", run.timers, 0, MOST - 1, "WITHSCORES"),
            ("ZCARD", run.timers),
            ("EXISTS", run.definition),
            ("GET", keys.SERVER_TIME),
            ("TIME",),
            ("HVALS", keys.PLATFORMS),
            ("ZRANGE", run.scopes, 0, MOST - 1, "WITHSCORES"),
        )
        for reply in replies:
            checked_sign(reply)
        refusal = refusal_of(written)
        if self._note is not None and self._connections.shards == 1:  # on a cluster, other nodes may reject writes
            self._note(refusal)
        listed, count, defined, looked_at, time, platforms, scopes = replies[len(commands) :]
        return RunSigns(
            snapshot=reading.snapshot(replies[: len(commands)]),
            due=_scored(listed),
            unread=count - len(listed) // 2,
            has_definition=bool(defined),
            looked_at=None if looked_at is None else int(looked_at),
            refusal=refusal,
            troubled=platform_troubles(platforms, micros(time)),
            scopes=_scored(scopes),
        )

    def states(
        self, workflow_id: str, paths: tuple[str, ...], agents: Iterable[str], others: tuple[str, ...] = ()
    ) -> StateSigns:
        """Return the signs of these states and agents, and the documents and timers of `others`."""
        reads = ReadSet(states=tuple(dict.fromkeys((*paths, *others))), timers=others)
        run, reading = keys_of(workflow_id), Reading(self._connections.form, keys_of(workflow_id), reads)
        commands, named = reading.commands(), list(dict.fromkeys(agents))
        delivery_reads = [("HMGET", run.told, *announcement_fields(paths))] if paths else []
        seen = [("ZMSCORE", keys.SEEN, *named)] if named else []
        replies = self._connections.send(*commands, *delivery_reads, *seen)
        rest = replies[len(commands) :]
        return StateSigns(
            snapshot=reading.snapshot(replies[: len(commands)]),
            told=read_announcements(paths, rest[0]) if delivery_reads else {},
            seen={agent: int(float(at)) for agent, at in zip(named, rest[-1], strict=True) if at is not None}
            if seen
            else {},
        )


def _scored(reply: Reply) -> dict[str, int]:
    """Return paths with their scores."""
    return {decode_state(part.decode()): int(float(at)) for part, at in zip(reply[::2], reply[1::2], strict=True)}


def _probe(workflow_id: str, shards: int) -> str:
    """Return the key of the small write that shows whether Redis takes writes to a run: on a cluster in its slot."""
    return keys.PROBE if shards == 1 else f"{keys.PROBE}:{{{workflow_id}}}"
