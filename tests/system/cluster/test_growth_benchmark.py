"""The benchmark of growth works: packed runs are runs to dcf, and every operation is measured with them."""

from benchmarks.growth import measure, open_site, sizes, table
from benchmarks.growth_cases import CASES
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import RunQuery
from tests.support.tables import rows


def test_each_step_of_the_growth_has_ten_times_as_many_runs_as_the_one_before() -> None:
    assert sizes(1_000_000, 100_000) == [(1_000, 500), (10_000, 1_000), (100_000, 10_000), (1_000_000, 100_000)]


def test_every_operation_is_measured_beside_packed_runs() -> None:
    heading, rule, *lines = table(measure(600, 200, rounds=2, serve=False))
    assert heading.count("|") == rule.count("|")
    assert [line.split("|")[1].strip() for line in lines[: len(CASES)]] == [case.name for case in CASES]


@rows("on_cluster", [False, True], ids=["server", "cluster"])
def test_packed_runs_are_in_the_lists_of_their_redis_and_every_operation_works(on_cluster: bool) -> None:
    with open_site(on_cluster=on_cluster) as site:
        site.grow(30, 30)
        assert site.app.sweep.look(repair=False).total == 0
        listed = site.app.run_list.list_runs(RunQuery(limit=200, status=RunStatus.RUNNING)).rows
        assert {row.workflow_id for row in listed} >= {*site.names["ready"], *site.names["leased"]}
        for case in CASES:
            case.prepare(site)
            case.work(site)
