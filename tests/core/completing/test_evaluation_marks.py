"""Whether a process may make a risky evaluation, by the marks that others left."""

from dcf.core.completing.evaluation_marks import LONGEST_EVALUATION, Leave, Mark, may_evaluate
from tests.support.tables import rows

NOW = 1_000 * LONGEST_EVALUATION
OWN = Mark(mark_id="own", state="A", process="me", since=NOW)


def left(ago: int, state: str = "A", process: str = "other") -> Mark:
    return Mark(mark_id=f"{process}-{ago}", state=state, process=process, since=NOW - ago)


ALIVE = left(1)
DEAD = left(LONGEST_EVALUATION + 1)


@rows(
    ("marks", "leave", "deaths"),
    [
        ([], Leave.GO, 0),
        ([ALIVE], Leave.GO, 0),
        ([DEAD], Leave.GO, 1),
        ([ALIVE, ALIVE], Leave.WAIT, 0),
        ([DEAD, ALIVE], Leave.WAIT, 1),
        ([DEAD, DEAD], Leave.HOLD, 2),
        ([DEAD, DEAD, ALIVE], Leave.HOLD, 2),
        ([left(LONGEST_EVALUATION), left(LONGEST_EVALUATION)], Leave.WAIT, 0),
        ([left(LONGEST_EVALUATION + 1, state="B"), DEAD], Leave.GO, 1),
        ([left(LONGEST_EVALUATION + 1, process="me"), DEAD], Leave.GO, 1),
        ([left(-LONGEST_EVALUATION), left(-LONGEST_EVALUATION)], Leave.GO, 0),
    ],
)
def test_at_most_two_evaluate_for_a_state_and_none_after_two_deaths(
    marks: list[Mark], leave: Leave, deaths: int
) -> None:
    ruled = may_evaluate(OWN, marks)
    assert (ruled.leave, len(ruled.deaths)) == (leave, deaths)
