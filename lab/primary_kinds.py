"""The kinds of faults in which the replica takes the place of its primary, by the lab or by Redis Sentinel."""

import random
import time
from dataclasses import replace
from typing import Final

from lab.crews import Crew
from lab.kind import BehindProxy, Kind
from lab.process import Place
from lab.sentinels import Sentinels
from tests.support.waiting import wait_until

_PROMOTION_S: Final = 60


class Failover(BehindProxy):
    """The replica takes the primary's place, and `DCF_WAIT_REPLICAS` is 1, so nothing acknowledged may be lost.

    New connections lead to the new primary, as with Sentinel. Connections to the old one stay while it continues.
    """

    name = "failover"
    pause_s = (0.2, 0.8)

    def open(self) -> None:
        """Start a primary, its replica and a proxy."""
        super().open()
        self.spare = self.stack.enter_context(self.server("spare"))
        self.spare.follow(self.redis.port)

    def place(self) -> Place:
        """Answer only what the replica has."""
        return replace(super().place(), wait_replicas=1)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Let the two change places: the old one dies, or is frozen or forgotten for a while and continues."""
        old, new = self.redis, self.spare
        how = luck.choice(("killed", "frozen", "forgotten", "cut off and killed"))
        if how == "frozen":
            old.freeze()
        elif how == "cut off and killed":
            new.freeze()
            old.client().client_kill_filter(_type="replica")
            time.sleep(luck.uniform(0.1, 0.4))
        if "killed" in how:
            old.kill()
            new.thaw()
        new.lead()
        self.redis, self.spare = new, old
        self.controls.target = new.port
        if how == "frozen":
            time.sleep(luck.uniform(0.0, 0.3))
            old.thaw()
        if "killed" in how:
            old.start("--replicaof", "127.0.0.1", str(new.port))
            wait_until(lambda: old.has_all_of(new.port), 20)
        else:
            time.sleep(luck.uniform(0.0, 0.4))
            old.follow(new.port)
        return f"the replica took the place of its primary, which was {how}"


class Sentinel(Kind):
    """The primary is killed or frozen, and Redis Sentinel promotes the replica; `DCF_WAIT_REPLICAS` is 1.

    The old primary starts again with nothing, or continues with its data and connections as a primary, until a
    sentinel demotes it.
    """

    name = "sentinel"
    pause_s = (0.1, 0.6)

    def open(self) -> None:
        """Start a primary, its replica and three sentinels."""
        super().open()
        self.spare = self.stack.enter_context(self.server("spare"))
        self.spare.follow(self.redis.port)
        self.sentinels = self.stack.enter_context(Sentinels(self.home / "sentinels", self.redis, self.users))

    def place(self) -> Place:
        """Let everybody ask the sentinels, and answer only what the replica has."""
        login = "" if self.users is None else self.users.login()
        return Place(url=self.sentinels.url(login), time_file=self.time_file, wait_replicas=1)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Kill or freeze the primary until the replica is in its place, and wait until it is a replica of that one."""
        old, new = self.redis, self.spare
        how = luck.choice(("killed", "frozen"))
        if how == "killed":
            old.kill()
        else:
            old.freeze()
        wait_until(new.leads, _PROMOTION_S)
        self.redis, self.spare = new, old
        time.sleep(luck.uniform(0.0, 0.5))
        if how == "killed":
            old.start()
        else:
            old.thaw()
        wait_until(lambda: self.sentinels.all_follow(new.port), _PROMOTION_S)
        wait_until(lambda: old.has_all_of(new.port), _PROMOTION_S)
        wait_until(self.sentinels.are_ready, _PROMOTION_S)
        return f"sentinels promoted the replica of a primary that was {how}"
