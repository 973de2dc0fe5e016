"""The benchmark of growth works: packed runs are runs to dcf, and every operation is measured beside them."""

from benchmarks.growth import measure, sizes, table
from benchmarks.growth_cases import CASES


def test_each_step_of_the_growth_has_ten_times_as_many_runs_as_the_one_before() -> None:
    assert sizes(1_000_000, 100_000) == [(1_000, 500), (10_000, 1_000), (100_000, 10_000), (1_000_000, 100_000)]


def test_every_operation_is_measured_beside_packed_runs() -> None:
    heading, rule, *lines = table(measure(600, 200, rounds=2, serve=False))
    assert heading.count("|") == rule.count("|")
    assert [line.split("|")[1].strip() for line in lines[: len(CASES)]] == [case.name for case in CASES]
