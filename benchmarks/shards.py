"""The load of clusters of any size, calculated: runs and agents are drawn, and their keys placed as dcf places them.

The costs of a step by family of keys are measured (`cluster_costs`). A step may take each node's one core for so long
as the busiest node needs; what the node spends most of it on is the wall. Pure.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from zlib import crc32

from benchmarks.cluster_costs import AGENTS, DUE, LISTS, RUN
from dcf.store.cluster.connections import SHARDS
from dcf.store.cluster.keys import cluster_key, slot_of
from dcf.store.keys.parts import AGENT_SHARDS

SIZES: Final = (3, 10, 100, 1000)
_SLOTS: Final = 16384
_DUE_KEYS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """In how many parts each family is that has no slot of its own for each run."""

    lists: int = SHARDS
    due: int = _DUE_KEYS
    agents: int = AGENT_SHARDS


@dataclass(frozen=True, slots=True)
class Load:
    """Microseconds that a step takes of the busiest node, by family, and of a node on the average."""

    busiest: Mapping[str, float]
    mean: float

    @property
    def steps_per_s(self) -> float:
        """How many steps a second keep the busiest node's core busy."""
        return 1e6 / sum(self.busiest.values())

    @property
    def skew(self) -> float:
        """How much more the busiest node has to do than one does on the average."""
        return sum(self.busiest.values()) / self.mean

    @property
    def wall(self) -> str:
        """The work that takes most time of the busiest node."""
        return max(self.busiest, key=lambda family: self.busiest[family])


def load(costs: Mapping[str, float], nodes: int, *, runs: int, agents: int, parts: Parts | None = None) -> Load:
    """Return the load of a cluster by its number of primaries, of equally active runs, and of agents.

    `costs` are microseconds of a step by family.
    """
    luck, result = random.Random(7), [defaultdict[str, float](float) for _ in range(nodes)]
    chosen = Parts() if parts is None else parts
    drawn = [f"run-{luck.getrandbits(64):016x}" for _ in range(runs)]
    workers = [f"agent-{number}" for number in range(agents)]
    members: dict[str, Sequence[str]] = {RUN: drawn, LISTS: drawn, DUE: drawn, AGENTS: workers}
    slots = _slots_of(chosen)
    for family, cost in costs.items():
        names = members.get(family, [family])
        place = slots.get(family, _constant)
        for name in names:
            result[place(name) * nodes // _SLOTS][family] += cost / len(names)
    busiest = max(result, key=lambda node: sum(node.values()))
    return Load(dict(busiest), sum(costs.values()) / nodes)


def _slots_of(parts: Parts) -> dict[str, Callable[[str], int]]:
    return {
        RUN: lambda run: slot_of(cluster_key(f"cp:wf:{run}:meta")),
        LISTS: lambda run: _slot(f"cp:idx:{{s{crc32(run.encode()) % parts.lists}}}:live"),
        DUE: lambda run: _slot(f"cp:idx:due:{crc32(run.encode()) % parts.due}"),
        AGENTS: lambda agent: _slot(f"cp:idx:{{a{crc32(agent.encode()) % parts.agents}}}:news"),
    }


def _constant(family: str) -> int:
    return _slot(f"cp:idx:{{{family}}}:")


@cache
def _slot(key: str) -> int:
    return slot_of(key)
