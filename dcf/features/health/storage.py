"""Reads from Redis what a health report is made of: a small write, its own figures, dcf's records.

It judges nothing (`core.health` does). Whether writes are refused is found by writing: with a full memory, a full disk
or too few replicas, everything that can be read still looks well. Of a cluster each primary is written to and asked.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import redis
from redis.exceptions import AskError, TryAgainError

from dcf.core.documents.model import RunStatus
from dcf.core.listing.sweep_results import SweepResult, Trouble
from dcf.errors import StoreUnavailable
from dcf.features.health.facts import (
    ClockFacts,
    Durability,
    MemoryUse,
    Overdue,
    PlatformTrouble,
    ReplicaSeen,
    ScheduleFacts,
    ServerVitals,
    Sighting,
    SilentWebhook,
    Vitals,
    WebhookFacts,
)
from dcf.features.schedules import keys as schedule_keys
from dcf.features.webhooks import keys as webhook_keys
from dcf.store.connection import faults
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.connection.inspection import product_of
from dcf.store.events.activity import TROUBLE_LIFE_S
from dcf.store.keys import table as keys
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import in_every_shard, oldest, oldest_commands
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import Json, load
from dcf.values.record_json.codec import RecordCodec

_TIMES: Final = ("status", "deadline")

MOST_RUNS: Final = 500
"""Live runs whose earliest timer is read."""

MOST_SEEN: Final = 50
"""Agents that a report names."""

MOST_WEBHOOKS: Final = 500
"""Webhooks of which it is read whether they answer."""

_SILENT_AFTER: Final = 3
"""Failures in a row after which a webhook counts as silent."""

_PROBE_LIFE_S: Final = 60
_CONFIRM_MS: Final = 500
_ABOUT: Final[tuple[Command, ...]] = (
    ("INFO", "server"),
    ("INFO", "memory"),
    ("INFO", "persistence"),
    ("INFO", "replication"),
    ("CONFIG", "GET", "appendfsync"),
    ("CONFIG", "GET", "save"),
    ("CONFIG", "GET", "aof-load-truncated"),
)
"""Asks a server for its figures and its settings."""

_NAMED_SCHEDULES: Final = 5
_OF_SCHEDULES: Final[tuple[Command, ...]] = (
    ("ZCARD", schedule_keys.SCHEDULES),
    ("ZRANGE", schedule_keys.SCHEDULES, 0, 0, "WITHSCORES"),
    ("ZCARD", schedule_keys.TROUBLED),
    ("ZRANGE", schedule_keys.TROUBLED, 0, _NAMED_SCHEDULES - 1),
)


class VitalSigns:
    """Reads the facts; `wait_replicas` is how many replicas must confirm a write before dcf answers it."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0) -> None:
        self._connections = connections
        self._wait_replicas = wait_replicas

    def read(self) -> Vitals:
        """Return the facts of this moment. Raise StoreUnavailable if Redis, or a node of a cluster, is not reached."""
        servers = sorted(map(self._server, self._connections.servers()), key=_fullness, reverse=True)
        shards = self._connections.shards
        clock, *rest = self._connections.ask(
            ("TIME",),
            ("GET", keys.SERVER_TIME),
            *(("ZCARD", key) for key in in_every_shard(keys.LIVE, shards)),
            *oldest_commands(keys.LIVE, shards, MOST_RUNS),
            ("ZCARD", keys.SEEN),
            ("ZREVRANGE", keys.SEEN, 0, MOST_SEEN - 1, "WITHSCORES"),
            ("HVALS", keys.PLATFORMS),
            ("GET", keys.SWEPT),
            ("ZCARD", webhook_keys.WEBHOOKS),
            ("ZRANGE", webhook_keys.WEBHOOKS, 0, MOST_WEBHOOKS - 1),
            *_OF_SCHEDULES,
        )
        looked_at, *listed = map(checked_sign, rest[: 1 + 2 * shards])
        replies = [None if _is_error(reply) else reply for reply in rest[1 + 2 * shards :]]
        seen_count, seen, platforms, swept, webhooks, listed_webhooks, *schedules = replies
        now = micros(checked_sign(clock))
        return Vitals(
            now=now,
            servers=tuple(servers),
            clock=self._clock(looked_at, sum(listed[:shards]), oldest(listed[shards:], MOST_RUNS), now),
            seen=tuple(_sightings(seen or [])),
            seen_count=seen_count or 0,
            troubled=platform_troubles(platforms or (), now),
            webhooks=self._webhooks(webhooks or 0, [name.decode() for name in listed_webhooks or ()]),
            swept=None if swept is None else _SWEPT.read(load(swept)),
            schedules=_schedules(schedules, now),
        )

    def _server(self, server: Connections) -> ServerVitals:
        """Write something small at a server, and read its figures. Raise StoreUnavailable if it does not answer."""
        waiting: list[Command] = [("WAIT", self._wait_replicas, _CONFIRM_MS)] if self._wait_replicas else []
        try:
            replies = server.ask(write_probe(server.own_key(keys.PROBE)), *_ABOUT, *waiting)
        except StoreUnavailable as error:
            if server.node is None:
                raise
            text = f"Node {server.node} of the cluster: {error.message}"
            raise StoreUnavailable(text, error.hint, place=error.place, remedy=error.remedy) from None
        written, *infos, fsync, save, truncated = replies[: 1 + len(_ABOUT)]
        settings = map(_setting, (fsync, save, truncated))
        confirmed = replies[-1] if waiting else None
        if _is_moving(written):
            confirmed = self._wait_replicas  # nothing was written that replicas could confirm
        info = _fields(infos)
        product, version = product_of(info or {})
        return ServerVitals(
            node=server.node,
            product=product,
            redis_version=version,
            refusal=refusal_of(written),
            memory=None if info is None else _memory(info),
            durability=None if info is None else _durability(info, *settings),
            is_replica=(info or {}).get("role") == "slave",
            replicas=None if info is None else tuple(_replicas(info)),
            confirmed=_number(confirmed) if waiting else None,
            waits=not _is_refused(confirmed),
        )

    def _webhooks(self, count: int, listed: list[str]) -> WebhookFacts:
        """Read which of these do not answer: the note on a webhook is removed when it answers."""
        reply = self._connections.ask(*(("GET", webhook_keys.rest(name)) for name in listed)) if listed else []
        notes = ((name, load(note)) for name, note in zip(listed, reply, strict=True) if isinstance(note, bytes))
        silent = (SilentWebhook(agent_id=name, failures=failures, error=error) for name, (_, failures, error) in notes)
        return WebhookFacts(
            count=count,
            silent=tuple(silent_webhook for silent_webhook in silent if silent_webhook.failures >= _SILENT_AFTER),
        )

    def _clock(self, looked_at: bytes | None, live: int, listed: list[str], now: int) -> ClockFacts:
        """Read the earliest timer of each listed run, and whether the run has ended."""
        form, commands = self._connections.form, list[Command]()
        for workflow_id in listed:
            run = RunKeys(workflow_id)
            commands.append(("ZRANGE", run.timers, 0, 0, "WITHSCORES"))
            commands.append(form.members(run.meta, _TIMES))
        replies = self._connections.ask(*commands) if commands else []
        running, overdue = 0, list[Overdue]()
        for workflow_id, timer, meta in zip(listed, replies[::2], replies[1::2], strict=True):
            value_type = (None if _is_error(meta) else form.values(_TIMES, meta)) or {}
            if value_type.get("status") == RunStatus.RUNNING:
                running += 1
                overdue += _due(workflow_id, timer, value_type.get("deadline"), now)
        return ClockFacts(
            looked_at=None if looked_at is None else int(looked_at),
            live=live,
            examined=len(listed),
            running=running,
            overdue=min(overdue, key=lambda overdue: overdue.since, default=None),
        )


def rejected_write(connections: Connections) -> Trouble | None:
    """Return why a small write is rejected, on a cluster by one of its nodes; None if it is accepted."""
    probed = (server.ask(write_probe(server.own_key(keys.PROBE)))[0] for server in connections.servers())
    return next((trouble for trouble in map(refusal_of, probed) if trouble is not None), None)


def checked_sign(reply: Reply) -> Reply:
    """Return the reply; raise dcf's error for an error reply."""
    if _is_error(reply):
        raise faults.refusal(reply)
    return reply


def _is_error(reply: Reply) -> bool:
    return isinstance(reply, redis.ResponseError)


def _is_moving(reply: Reply) -> bool:
    return isinstance(reply, AskError | TryAgainError)


def _is_refused(reply: Reply) -> bool:
    return isinstance(reply, redis.ResponseError) and faults.is_refused(reply)


def write_probe(key: str) -> Command:
    """Return the small write that shows whether Redis takes writes."""
    return ("SET", key, "1", "EX", _PROBE_LIFE_S)


def refusal_of(reply: Reply) -> Trouble | None:
    """Return why the small write was refused; None if it was not, or if the slot of its key moves to another node."""
    return Trouble.of(faults.refusal(reply)) if _is_error(reply) and not _is_moving(reply) else None


def _fullness(server: ServerVitals) -> tuple[float, int]:
    return (0.0, 0) if server.memory is None else (server.memory.share, server.memory.used)


def _number(reply: Reply) -> int:
    """Return the count of replicas; 0 where WAIT is refused, as on a replica."""
    return reply if isinstance(reply, int) else 0


def _setting(reply: Reply) -> str | None:
    """Return the value of a setting; None if this user may not read it."""
    return None if _is_error(reply) or not reply else reply[1].decode()


def _fields(sections: list[Reply]) -> Mapping[str, str] | None:
    """Return the fields of INFO; None if this user may not read it."""
    if any(map(_is_refused, sections)):
        return None
    lines = (line for section in sections for line in checked_sign(section).decode().splitlines())
    pairs = (line.partition(":") for line in lines if not line.startswith("#"))
    return {name: value for name, _, value in pairs}


def _memory(info: Mapping[str, str]) -> MemoryUse:
    return MemoryUse(
        used=int(info.get("used_memory", 0)),
        limit=int(info.get("maxmemory", 0)),
        policy=info.get("maxmemory_policy", "unknown"),
    )


def _durability(info: Mapping[str, str], fsync: str | None, save: str | None, truncated: str | None) -> Durability:
    return Durability(
        log=info.get("aof_enabled") == "1",
        fsync=fsync,
        snapshots=save,
        log_written=info.get("aof_last_write_status", "ok") == "ok",
        log_rewritten=info.get("aof_last_bgrewrite_status", "ok") == "ok",
        snapshot_written=info.get("rdb_last_bgsave_status", "ok") == "ok",
        loads_torn=None if truncated is None else truncated == "yes",
    )


def _replicas(info: Mapping[str, str]) -> Iterator[ReplicaSeen]:
    """Read lines such as `slave0:ip=10.0.0.2,port=6379,state=online,offset=42,lag=0`."""
    written = int(info.get("master_repl_offset", 0))
    for number in range(int(info.get("connected_slaves", 0))):
        fields = dict(part.partition("=")[::2] for part in info.get(f"slave{number}", "").split(","))
        yield ReplicaSeen(
            online=fields.get("state") == "online",
            lag_s=int(fields.get("lag", 0)),
            behind=max(0, written - int(fields.get("offset", 0))),
        )


def _sightings(result: list[bytes]) -> Iterator[Sighting]:
    for agent_id, at in zip(result[::2], result[1::2], strict=True):
        yield Sighting(agent_id=agent_id.decode(), at=int(float(at)))


def platform_troubles(result: Iterable[bytes], now: int) -> tuple[PlatformTrouble, ...]:
    """Return which platforms do not answer, by what processes wrote lately."""
    records: list[Mapping[str, Json]] = sorted(map(load, result), key=lambda item: str(item["kind"]))
    return tuple(
        PlatformTrouble(kind=record["kind"], since=record["since"], failures=record["failures"], error=record["error"])
        for record in records
        if record["at"] > now - TROUBLE_LIFE_S * SECOND
    )


_SWEPT: Final = RecordCodec(SweepResult, strict=True, added="trouble")


def _schedules(replies: Iterable[Reply], now: int) -> ScheduleFacts:
    count, first, troubled, names = replies
    due = int(float(first[1])) if first else now
    return ScheduleFacts(
        count=count or 0,
        troubled=troubled or 0,
        names=tuple(name.decode() for name in names or ()),
        overdue=due if due < now else None,
    )


def _due(workflow_id: str, timer: Reply, deadline: object, now: int) -> Iterator[Overdue]:
    """Yield the due times of a run: its earliest timer, and the run's own deadline."""
    if isinstance(timer, list) and timer and float(timer[1]) <= now:
        yield Overdue(workflow_id=workflow_id, state=decode_state(timer[0].decode()), since=int(float(timer[1])))
    ends = from_text(deadline)
    if ends is not None and ends <= now:
        yield Overdue(workflow_id=workflow_id, state=None, since=ends)
