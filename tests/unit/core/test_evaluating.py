"""Whether a process may make a risky evaluation, by the marks that others left."""

from dcf.core.evaluating import LONGEST_EVALUATION, Mark, Verdict, judge
from tests.support.tables import rows

NOW = 1_000 * LONGEST_EVALUATION
OWN = Mark(mark_id="own", state="A", process="me", since=NOW)


def left(ago: int, state: str = "A", process: str = "other") -> Mark:
    return Mark(mark_id=f"{process}-{ago}", state=state, process=process, since=NOW - ago)


ALIVE = left(1)
DEAD = left(LONGEST_EVALUATION + 1)


@rows(
    ("marks", "verdict", "deaths"),
    [
        ([], Verdict.GO, 0),
        ([ALIVE], Verdict.GO, 0),
        ([DEAD], Verdict.GO, 1),
        ([ALIVE, ALIVE], Verdict.WAIT, 0),
        ([DEAD, ALIVE], Verdict.WAIT, 1),
        ([DEAD, DEAD], Verdict.HOLD, 2),
        ([DEAD, DEAD, ALIVE], Verdict.HOLD, 2),
        ([left(LONGEST_EVALUATION), left(LONGEST_EVALUATION)], Verdict.WAIT, 0),
        ([left(LONGEST_EVALUATION + 1, state="B"), DEAD], Verdict.GO, 1),
        ([left(LONGEST_EVALUATION + 1, process="me"), DEAD], Verdict.GO, 1),
        ([left(-LONGEST_EVALUATION), left(-LONGEST_EVALUATION)], Verdict.GO, 0),
    ],
)
def test_at_most_two_evaluate_for_a_state_and_none_after_two_deaths(
    marks: list[Mark], verdict: Verdict, deaths: int
) -> None:
    judged = judge(OWN, marks)
    assert (judged.verdict, len(judged.deaths)) == (verdict, deaths)
