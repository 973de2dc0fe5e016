"""Counts of ended branches: what further branches add, and which failure stays told."""

from dcf.core.documents.decision import Tally
from tests.support.tables import rows

BROKEN = Tally(done=1, failed=1, error="Broken", cause="why")
LATER = Tally(done=1, failed=1, error="Later", cause="because")
GOOD = Tally(done=1)


@rows(
    ("before", "more", "expected"),
    [
        (GOOD, GOOD, Tally(done=2)),
        (GOOD, BROKEN, Tally(done=2, failed=1, error="Broken", cause="why")),
        (BROKEN, GOOD, Tally(done=2, failed=1, error="Broken", cause="why")),
        (BROKEN, LATER, Tally(done=2, failed=2, error="Later", cause="because")),
    ],
)
def test_counts_add_up_and_the_last_failure_stays_told(before: Tally, more: Tally, expected: Tally) -> None:
    assert before.plus(more) == expected
