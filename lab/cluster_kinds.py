"""A Redis Cluster whose slots move and whose nodes fail, while everybody works.

Its nodes decide themselves who takes the place of a primary. Strikes come one after the other, and each ends when all
replicas have everything again: what is lost with a node and its replica together is lost, whatever dcf does.
"""

import random
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import redis
from redis.crc import key_slot

from dcf.store.cluster.keys import cluster_key
from dcf.store.keys import table as keys
from lab.cluster_client import ClusterClient
from lab.crews import Crew
from lab.halves import Halves
from lab.kind import Kind, kill_clock, kill_worker
from lab.process import Place
from lab.regions import why_not
from tests.support.redis.cluster import HERE, Cluster, Host, Node, redis_cluster
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE_S: Final = 60
_MOST_SLOTS: Final = 6
_OTHERS: Final = 0.4


class FailingCluster(Kind):
    """Slots move key by key; primaries are killed, frozen and relieved. `DCF_WAIT_REPLICAS` is 1."""

    name = "cluster"
    pause_s = (0.0, 0.1)
    sweeps = True

    def open(self) -> None:
        """Start three primaries with a replica each."""
        self.cluster: Cluster = self.stack.enter_context(
            redis_cluster(self.home / "nodes", "--cluster-node-timeout", "700", hosts=self.hosts())
        )
        self.stack.callback(self.servers.end)

    def hosts(self) -> tuple[Host, ...]:
        """Return where the nodes run, in turn."""
        return (HERE,)

    def place(self) -> Place:
        """Let everybody find the cluster by some of its nodes, and answer only what replicas have."""
        return Place(url=self.cluster.url, time_file=self.time_file, wait_replicas=1)

    def client(self) -> Any:
        """Return a client of the whole cluster."""
        return ClusterClient(self.cluster)

    def complaints(self) -> list[str]:
        """Return what the users of a deployment do not give dcf."""
        return self.cluster.refusals()

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Move slots, have a replica take its primary's place, or kill a process of dcf."""
        strikes: list[tuple[int, Callable[[], str]]] = [
            (8, lambda: self._move(luck)),
            (3, lambda: self._kill(luck)),
            (3, lambda: self._freeze(luck)),
            (2, lambda: self._relieve(luck)),
            (1, lambda: kill_worker(luck, crew)),
            (1, lambda: kill_clock(luck, crew)),
        ]
        (choice,) = luck.choices([do for _, do in strikes], [weight for weight, _ in strikes])
        lent = choice()
        self.settle()
        return lent

    def settle(self) -> None:
        """Wait until every replica has everything again."""
        wait_until(self.cluster.is_in_step, _PATIENCE_S)

    def _move(self, luck: random.Random) -> str:
        """Move slots of what is worked on, several at the same time, in pieces."""
        cluster = self.cluster
        slots = sorted({self._slot(luck) for _ in range(luck.randint(1, _MOST_SLOTS))})
        moves: list[Future[None]] = []
        with ThreadPoolExecutor(_MOST_SLOTS) as moving:
            for slot in slots:
                owner = cluster.owner(slot)
                target = luck.choice([node for node in cluster.primaries() if node is not owner])
                at_once, pause_s = luck.choice((1, 1, 5)), luck.choice((0.0, 0.005, 0.02))
                moves.append(moving.submit(cluster.move, slot, target, at_once=at_once, pause_s=pause_s))
        for move in moves:
            move.result()
        return f"moved slots {', '.join(map(str, slots))}"

    def _slot(self, luck: random.Random) -> int:
        """Return the slot of a live run, or of anything."""
        if luck.random() < 0.7:
            with suppress(redis.RedisError):
                live = self.client().zrange(keys.LIVE, 0, -1)
                if live:
                    return int(key_slot(cluster_key(f"cp:wf:{luck.choice(sorted(live)).decode()}:meta").encode()))
        answer = luck.choice(self.cluster.primaries()).ask("RANDOMKEY")
        return luck.randrange(16384) if answer is None else int(key_slot(answer.encode()))

    def _kill(self, luck: random.Random) -> str:
        primary, replica = self._pair(luck)
        primary.kill()
        wait_until(lambda: _leads(replica), _PATIENCE_S)
        time.sleep(luck.uniform(0.0, 0.4))
        primary.start()
        return f"killed {primary.port}, whose place {replica.port} took"

    def _freeze(self, luck: random.Random) -> str:
        primary, replica = self._pair(luck)
        with primary.stopped():
            wait_until(lambda: _leads(replica), _PATIENCE_S)
            time.sleep(luck.uniform(0.0, 0.4))
        return f"froze {primary.port}, whose place {replica.port} took"

    def _relieve(self, luck: random.Random) -> str:
        primary, replica = self._pair(luck)
        self.cluster.fail_over(replica)
        return f"{replica.port} took the place of {primary.port} in agreement"

    def _pair(self, luck: random.Random) -> tuple[Node, Node]:
        primary = luck.choice(self.cluster.primaries())
        return primary, self.cluster.replica_of(primary)


class SplitCluster(FailingCluster):
    """A primary and the replica of another are cut off from the other nodes, but not from dcf."""

    name = "cluster-partition"

    @classmethod
    def why_not(cls) -> str | None:
        """Return why networks cannot be made here; None if they can."""
        return why_not()

    def open(self) -> None:
        """Make the networks, then start the nodes in them."""
        self.halves = self.stack.enter_context(Halves())
        super().open()

    def hosts(self) -> tuple[Host, ...]:
        """Give the first and the fifth node, no primary and its own replica, to the minority."""
        many, few = self.halves.hosts
        return (few, many, many, many, few, many)

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Cut off the minority for a while, with or without time to replace it; or do what is done to any cluster."""
        if luck.random() < _OTHERS:
            return super().strike(luck, crew)
        length = luck.choice((0.5, 2.0, 4.0))
        self.halves.cut()
        time.sleep(length)
        self.halves.join()
        self.settle()
        return f"cut off two nodes for {length} s"


def _leads(node: Node) -> bool:
    with suppress(redis.RedisError):
        return bool(node.ask("ROLE")[0] == "master")
    return False
