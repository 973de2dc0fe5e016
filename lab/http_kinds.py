"""The kinds of faults that callers over HTTP meet, with errands of each."""

import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lab.artifacts import INLINE, Artifacts
from lab.crews import Crew
from lab.extras import Bench, Errands
from lab.kind import Kind, kill_clock, kill_redis, strike_server
from lab.outages import Outages
from lab.polling import Polls
from lab.process import Place
from lab.quotas import LiveRuns
from lab.serving import ServerDuty

_SYNCED: Final = ("--appendonly", "yes", "--appendfsync", "always")


class OverHttp(Kind):
    """Servers of MCP are killed and frozen, and so are clocks; workers call over HTTP with API keys."""

    def __init__(self, home: Path, *, acl: bool = False, http: bool = False) -> None:
        super().__init__(home, acl=acl, http=True)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill or freeze a server, or kill a clock."""
        return kill_clock(luck, crew) if luck.random() < 0.5 else strike_server(luck, self.servers)


class Servers(OverHttp):
    """Servers of MCP are killed and frozen, and so are clock processes."""

    name = "servers"


class FrozenPolls(OverHttp):
    """Clients are frozen while they wait for a task, and the task is leased to them."""

    name = "frozen-polls"
    pause_s = (0.3, 1.0)

    def errands(self, bench: Bench) -> Errands[Any]:
        """Freeze a client for each seed."""
        return Polls(bench)


class RedisAway(OverHttp):
    """Redis is killed, and is away while pages, metrics and health are asked for. One server asks for no API keys."""

    name = "outages"
    pause_s = (0.3, 1.0)
    outages: Outages

    def options(self) -> tuple[str, ...]:
        """Log every write, and sync it before it is answered."""
        return _SYNCED

    def duty(self, port: int, place: Place) -> ServerDuty:
        """Give both servers the page, and one of them no keys."""
        keyed = port == self.ports[0]
        whose = place if keyed else replace(place, api_keys={})
        return ServerDuty(port=port, place=whose, settings={"allow_operator": True}, page=True)

    def errands(self, bench: Bench) -> Errands[Any]:
        """Judge what was answered in the outages."""
        self.outages = Outages(bench)
        return self.outages

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill Redis, ask the servers, and start it again."""
        keyed, without = (f"http://127.0.0.1:{port}" for port in self.ports)
        self.redis.kill()
        time.sleep(luck.choice((0.0, 0.3)))
        self.outages.probe(luck, without, keyed, luck.choice([*self.api_keys.values()]))
        self.redis.start()
        return "killed redis-server, and asked for pages and metrics while it was away"


class Quotas(OverHttp):
    """Servers, clocks and Redis are killed while keys start and cancel runs, of which each may have only a few."""

    name = "quotas"
    pause_s = (0.2, 0.8)

    def options(self) -> tuple[str, ...]:
        """Log every write, and sync it before it is answered."""
        return _SYNCED

    def errands(self, bench: Bench) -> Errands[Any]:
        """Let a key start runs for each seed."""
        return LiveRuns(bench)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill Redis, or a server, or a clock."""
        return super().strike(luck, crew) if luck.random() < 0.6 else kill_redis(luck, self.redis)


class ArtifactStores(OverHttp):
    """Servers lose answers of Redis and are killed while artifacts are put, most of them into a directory."""

    name = "artifacts"
    pause_s = (0.3, 1.0)

    def duty(self, port: int, place: Place) -> ServerDuty:
        """Give the servers one directory, and have them lose the answers to one transaction of six."""
        settings = {"artifact_store": f"dir:{self.home / 'blobs'}", "artifact_inline_bytes": INLINE}
        return ServerDuty(port=port, place=place, settings=settings, loses=16)

    def errands(self, bench: Bench) -> Errands[Any]:
        """Put artifacts for each seed."""
        return Artifacts(bench)
