"""A primary in one region and its replica in another: the link between them is cut, and the region of the primary lost.

Clients are led to the region that is to serve them, as when a person gives them another REDIS_URL. The lab does what
docs/operating/failing-region.md tells that person to do ("When a region fails").
"""

import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from lab.crews import Crew
from lab.kind import BehindProxy
from lab.process import Place
from lab.redis_servers import LabRedis
from lab.regions import Regions, why_not
from tests.support.waiting import wait_until

_DELAY_S: Final = 0.005
_PATIENCE_S: Final = 60
_MARGIN_S: Final = 0.1


class FailingRegion(BehindProxy):
    """The link to the other region is cut, or the whole region lost; `DCF_WAIT_REPLICAS` is 1, so no answer is."""

    name = "region"
    pause_s = (0.2, 0.8)
    ways: tuple[str, ...] = ("cut off", "lost", "given up")
    taken_over_at = 0.0

    @classmethod
    def why_not(cls) -> str | None:
        """Return why regions cannot be made here; None if they can."""
        return why_not()

    def open(self) -> None:
        """Start a primary here, its replica there and a proxy."""
        self.regions = self.stack.enter_context(Regions(_DELAY_S))
        super().open()
        self.spare = self.stack.enter_context(self.server("spare"))
        self.regions.lead(self.regions.there, self.redis.port, self.regions.here)
        self.regions.lead(self.regions.here, self.spare.port, self.regions.there)
        self.spare.follow(self.redis.port)

    def server(self, name: str) -> LabRedis:
        """Return one here, unless it is the spare one."""
        region = self.regions.there if name == "spare" else self.regions.here
        return LabRedis(self.home / name, *self.options(), users=self.users, region=region)

    def sockets(self) -> Path | None:
        """Let the proxy reach the servers by their unix sockets."""
        return self.home

    def place(self) -> Place:
        """Answer only what the other region has."""
        return replace(super().place(), wait_replicas=1)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Cut the link. Then restore it, or let the other region take over."""
        old, new, how = self.redis, self.spare, luck.choice(self.ways)
        self.regions.cut()
        time.sleep(luck.uniform(0.0, 0.6))
        if how == "cut off":
            self.regions.join()
            reached = old.offset()
            wait_until(lambda: new.offset() >= reached, _PATIENCE_S)
            return "the other region was cut off for a while"
        if how == "lost":
            old.kill()
        self.taken_over_at = time.monotonic()
        new.lead()
        self.redis, self.spare = new, old
        self.controls.target = new.port
        time.sleep(luck.uniform(0.0, 0.4))
        self.regions.join()
        if how == "lost":
            old.start("--replicaof", "127.0.0.1", str(new.port))
            wait_until(lambda: old.has_all_of(new.port), _PATIENCE_S)
        else:
            old.follow(new.port)
        return f"the other region took the place of one that was cut off and {how}"


class UnconfirmedRegion(FailingRegion):
    """The same without `DCF_WAIT_REPLICAS`: what was answered while the other region was cut off is lost with this."""

    name = "region-unconfirmed"
    honest = True
    ways = ("cut off", "lost")

    def place(self) -> Place:
        """Answer at once."""
        return replace(super().place(), wait_replicas=0)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Note from when to when answers may be lost."""
        began, primary = time.monotonic(), self.redis
        strike = super().strike(luck, crew)
        if self.redis is not primary:
            self.losses.append((began - _DELAY_S - _MARGIN_S, self.taken_over_at))
        return strike
