"""The load of clusters by calculation: keys are placed as dcf places them, and the busiest node decides."""

import pytest

from benchmarks.cluster_costs import AGENTS, DUE, LISTS, RUN, family_of
from benchmarks.shards import Parts, load
from dcf.store.cluster.connections import SHARDS
from dcf.store.cluster.keys import cluster_key, slot_of
from dcf.store.keys import table as keys
from dcf.store.keys.parts import AGENT_SHARDS
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import place_of
from tests.support.tables import rows


def test_one_node_carries_what_a_core_does() -> None:
    document = load({RUN: 90, LISTS: 10}, 1, runs=10, agents=1)
    assert document.steps_per_s == pytest.approx(10_000)
    assert document.skew == pytest.approx(1)


def test_inboxes_in_so_many_parts_are_on_so_many_nodes_at_most() -> None:
    document = load({AGENTS: 160}, 1000, runs=1, agents=2000)
    assert document.wall == AGENTS
    assert document.skew > 1000 / AGENT_SHARDS
    few = load({AGENTS: 160}, 1000, runs=1, agents=2000, parts=Parts(agents=16))
    assert document.steps_per_s > 4 * few.steps_per_s


def test_what_has_one_slot_is_the_wall_of_a_large_cluster() -> None:
    costs = {RUN: 99.0, "limits": 1.0}
    assert load(costs, 3, runs=3000, agents=1).wall == RUN
    assert load(costs, 1000, runs=3000, agents=1).wall == "limits"


@rows(
    ("key", "family"),
    [
        (RunKeys("a").meta, RUN),
        (place_of(keys.LIVE, "a", SHARDS), LISTS),
        (keys.due("a"), DUE),
        (keys.inbox("anna"), AGENTS),
        (keys.news("anna", SHARDS), AGENTS),
        ("cp:idx:limits", "limits"),
        ("cp:idx:time", "time"),
    ],
)
def test_every_key_has_its_family(key: str, family: str) -> None:
    assert family_of(["EVAL", "a script", "1", cluster_key(key)]) == family


def test_keys_are_drawn_where_dcf_has_them() -> None:
    run = next(name for number in range(10**6) if _node(RunKeys(name := f"run-{number}").meta) == 0)
    assert load({RUN: 1}, 10, runs=1, agents=1).skew == pytest.approx(10)
    assert _node(RunKeys(run).outbox) == 0


def _node(key: str) -> int:
    return slot_of(cluster_key(key)) * 10 // 16384
