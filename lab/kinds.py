"""The kinds of faults: for each the servers it needs, and what it does to them at a stroke."""

import random
import time
from collections.abc import Mapping
from contextlib import suppress

import redis

from lab.cluster_kinds import FailingCluster, SplitCluster
from lab.crews import Crew
from lab.deployment_kinds import ExpressionBombs, HostClocks, Versions, Webhooks
from lab.disk_kinds import Disks, LostDefinitions, TornLogKind
from lab.http_kinds import ArtifactStores, FrozenPolls, Quotas, RedisAway, Servers
from lab.kind import BehindProxy, Kind, freeze_worker, kill_clock, kill_redis, kill_worker
from lab.limit_kinds import Limits
from lab.primary_kinds import Failover, Sentinel
from lab.region_kinds import FailingRegion, UnconfirmedRegion


class Workers(Kind):
    """Worker processes are killed and frozen."""

    name = "workers"

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill or freeze a worker."""
        return luck.choice((freeze_worker, kill_worker, kill_worker))(luck, crew)


class Packets(BehindProxy):
    """A proxy tears, delays, loses and holds back packets between dcf and Redis."""

    name = "packets"

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Let packets be broken for a while."""
        before = self.controls.struck
        self.controls.may_strike = True
        time.sleep(luck.uniform(0.2, 0.6))
        self.controls.may_strike = False
        self.struck += self.controls.struck - before
        return f"broke {self.controls.struck - before} packets"

    def heal(self, crew: Crew) -> None:
        """Let everything pass."""
        super().heal(crew)
        self.controls.may_strike = False


class RedisServers(Kind):
    """The redis-server is killed and frozen; it syncs every write, so nothing acknowledged may be lost."""

    name = "redis"
    pause_s = (0.2, 0.7)

    def options(self) -> tuple[str, ...]:
        """Log every write, and sync it before it is answered."""
        return ("--appendonly", "yes", "--appendfsync", "always")

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill it, freeze it, or have it rewrite its log."""
        task_choice = luck.choice(("kill", "kill", "freeze", "rewrite"))
        if task_choice == "kill":
            return kill_redis(luck, self.redis)
        if task_choice == "rewrite":
            with suppress(redis.RedisError):
                self.client().bgrewriteaof()
            return "rewrote the log"
        length = luck.choice((0.05, 0.3, 0.7))
        self.redis.freeze()
        time.sleep(length)
        self.redis.thaw()
        return f"froze redis-server for {length} s"


class Memory(Kind):
    """Redis has no memory left, for a while."""

    name = "memory"

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Let Redis refuse all writes, or those after the next few kilobytes."""
        client = self.client()
        spare = luck.choice((None, 500, 5_000, 20_000))
        limit = 1 if spare is None else int(client.info("memory")["used_memory"]) + spare
        client.config_set("maxmemory", limit)
        length = luck.uniform(0.05, 0.4)
        time.sleep(length)
        client.config_set("maxmemory", 0)
        return f"no memory beyond {spare} bytes for {length:.2f} s"

    def heal(self, crew: Crew) -> None:
        """Give it memory."""
        super().heal(crew)
        self.client().config_set("maxmemory", 0)


class Clocks(Kind):
    """The server's clock is stepped: by seconds, minutes, an hour, either way. Clock processes are killed."""

    name = "clocks"

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Step the time, or kill a process that looks at it."""
        if luck.random() < 0.2:
            return kill_clock(luck, crew)
        seconds = luck.choice((-3600, -600, -30, -2, 2, 30, 600, 3600))
        self.time.step(seconds)
        return f"stepped the time by {seconds} s"


_ON_ONE_MACHINE = (Workers, Servers, Packets, RedisServers, Disks, Memory, Clocks, Failover, Sentinel)

_WITH_ERRANDS = (
    *(FrozenPolls, RedisAway, Quotas, ArtifactStores, LostDefinitions, ExpressionBombs, Webhooks, TornLogKind),
    *(HostClocks, Versions, Limits),
)

_FARTHER = (FailingCluster, SplitCluster, FailingRegion, UnconfirmedRegion)

KINDS: Mapping[str, type[Kind]] = {kind.name: kind for kind in (*_ON_ONE_MACHINE, *_WITH_ERRANDS, *_FARTHER)}
