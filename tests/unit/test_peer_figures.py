"""The comparison with peers: its graphs, its ratios, its tables and its picture, from figures made up here."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import picture, report
from benchmarks.peers.figures import Case, Figures, rate_after_submission, whole_rate
from benchmarks.peers.killing import Killed
from benchmarks.peers.programs.shapes import graph, steps
from benchmarks.peers.rounds import Found
from benchmarks.peers.systems import SYSTEMS
from benchmarks.peers.turns import Sample, notes_of
from tests.support.tables import rows

SAMPLE = Sample(
    system="bullmq",
    workers=1,
    concurrency=1,
    shape="chain",
    steps=1000,
    seconds=1.0,
    submitting=0.2,
    cpu_workers=0.5,
    cpu_servers=0.25,
    cpu_redis=0.1,
    commands=12_000,
    reads=2000,
    memory=500_000,
)
CHAIN = Case("chain")


def took(system: str, seconds: float, **others: int) -> Sample:
    return replace(SAMPLE, system=system, seconds=seconds, **others)  # type: ignore[arg-type]


@rows(("shape", "size"), [("chain", 7), ("dag", 3), ("map", 5)])
def test_a_graph_carried_out_step_by_step_ends_once_all_its_steps_are_done(shape: str, size: int) -> None:
    expected = graph(shape, size)
    waiting, ready, done = list(expected.upstreams), expected.roots, 0
    while ready:
        done += 1
        for child in expected.children[ready.pop()]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    assert done == steps(shape, size) == len(expected.children)


def test_the_dag_of_45_diamonds_has_1000_steps_and_one_end() -> None:
    assert steps("dag", 45) == 1000
    assert graph("dag", 45).leaves == 1


def test_a_ratio_compares_within_rounds_so_that_a_slow_round_slows_both() -> None:
    quick, slow = [took("dcf-library", 1), took("bullmq", 2)], [took("dcf-library", 10), took("bullmq", 20)]
    figures = Figures([quick, slow, [took("dcf-library", 0.5)]])
    assert figures.ratio("dcf-library", "bullmq", CHAIN, whole_rate) == 2


def test_a_ratio_to_a_peer_that_was_not_measured_is_none() -> None:
    assert Figures([[took("dcf-library", 1)]]).ratio("dcf-library", "bullmq", CHAIN, whole_rate) is None


def test_submitting_is_counted_in_the_whole_rate_only() -> None:
    assert (whole_rate(SAMPLE), rate_after_submission(SAMPLE)) == (1000, 1250)


def test_the_gain_of_eight_workers_is_theirs_against_one_in_the_same_round() -> None:
    figures = Figures([[took("docket", 2), took("docket", 1, workers=8)]])
    assert figures.gain("docket", "chain", 8) == 2


def test_the_tables_say_what_was_measured_and_why_something_was_not() -> None:
    result = Found(rounds=[[took("dcf-library", 0.5), SAMPLE]])
    result.killed.append(Killed(system="bullmq", in_hand=10, lost=1, repeated=2, delay_s=None, waited_s=90))
    result.skip(next(item for item in SYSTEMS if item.name == "rq"), "at all", "pip failed")
    text = report.tables("today", result, SYSTEMS)
    assert "| dcf, library : BullMQ | 2.00 |" in report.ratios("today", result, SYSTEMS)
    assert "| BullMQ | 10 | 1 | 2 | not within 90 s |" in text
    assert "- RQ: pip failed" in text
    assert "| RQ |" not in text


def test_what_is_written_around_the_figures_stays(tmp_path: Path) -> None:
    document = tmp_path / "benchmarks.md"
    document.write_text(f"before\n{report.BEGIN}\nold figures\n{report.END}\nafter\n")
    report.write(document, report.tables("new figures", Found(), SYSTEMS))
    text = document.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old figures" not in text
    assert "new figures" in text


def test_the_picture_is_well_formed_and_its_longest_bar_is_the_fastest_system() -> None:
    figures = Figures([[took("dcf-library", 0.5), SAMPLE]])
    drawing = ET.fromstring(picture.draw(figures, SYSTEMS, "a < b"))
    widths = {bar.get("class"): int(bar.get("width", "0")) for bar in drawing.iter("{http://www.w3.org/2000/svg}rect")}
    assert widths["own"] == pytest.approx(2 * widths["peer"], abs=1)


def test_a_step_that_began_twice_is_noted_twice(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("begin 3 100 1\nbegin 3 200 2\nend 3 300 2\n")
    assert notes_of(log) == ({3: [100, 200]}, {3: [300]})
