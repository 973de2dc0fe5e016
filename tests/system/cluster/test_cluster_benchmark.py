"""The benchmark of a cluster works: one server and clusters take turns, with costs by family of keys."""

from pathlib import Path

import pytest

from benchmarks import cluster, cluster_tables, cluster_transactions
from benchmarks.cluster_costs import AGENTS, LISTS, RUN
from benchmarks.cluster_load import CLUSTER, ONE
from benchmarks.cluster_transactions import DCF, REDIS_PY
from benchmarks.cluster_trials import BEFORE_READS, LOST


def test_one_server_and_clusters_take_turns_at_the_same_work(tmp_path: Path) -> None:
    places = (ONE, CLUSTER)
    (turns,) = cluster.measure_throughput(tmp_path, rounds=1, workers=1, length=22, places=places)
    assert [(turn.shape, turn.place) for turn in turns] == [
        (shape, place) for shape in ("chain", "dag") for place in places
    ]
    assert [(turn.steps, len(turn.nodes)) for turn in turns] == [(22, 1), (22, 3), (32, 1), (32, 3)]
    item, three = turns[:2]
    assert three.commands < 1.5 * item.commands  # a cluster is asked for no more than one server is
    heading, *_ = cluster_tables.throughput([turns], 1)
    assert heading.startswith("### A cluster compared with one server")


def test_costs_are_told_by_family_of_keys_and_sizes_calculated_from_them(tmp_path: Path) -> None:
    measured = cluster.measure_costs(tmp_path, rounds=2, runs=1)
    assert set(measured.costs[cluster_tables.CLAIMED]) >= {RUN, LISTS}
    assert measured.costs[cluster_tables.HANDED][AGENTS].commands >= 2  # an event is put in and taken
    assert measured.bytes_of_run > 1000
    *_, last, end = cluster_tables.sizes(measured.costs, measured.bytes_of_run, 1000)
    assert last.startswith("| 1,000 |")
    assert end == ""


def test_figures_are_written_between_the_marks_of_the_document(tmp_path: Path) -> None:
    document = tmp_path / "scaling.md"
    document.write_text(f"before\n\n{cluster.BEGIN}\nold\n{cluster.END}\n\nafter\n")
    cluster.write(document, ["new"])
    assert document.read_text() == f"before\n\n{cluster.BEGIN}\n\nnew\n\n{cluster.END}\n\nafter\n"


def test_a_transaction_of_dcf_is_two_packets_and_loses_no_change_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(BEFORE_READS, "a watched key moves before it is read")  # redis-py tries for seconds
    turns, _, tried = cluster_transactions.measure(tmp_path, rounds=1, times=20)
    packets = {name: of[0].counters.reads / of[0].times for name, of in turns.items()}
    assert packets[DCF] < 3 < packets[REDIS_PY]
    assert not any(row.split("|")[-2].strip() == LOST for row in tried)
