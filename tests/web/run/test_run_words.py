"""The words of a run's page: durations, names of states inside others, and what a screen reader says of a state."""

from dcf.asl.state_paths import join
from dcf.core.documents.model import Lease, StateDoc, Status
from dcf.runs.views.status import StateView
from dcf.values.instants import SECOND
from dcf.web.run.words import holding, label, span, spoken, took
from tests.support.tables import rows

NOW = 1_800_000_000 * SECOND


@rows(
    ("micros", "words"),
    [
        (-5, "0 ms"),
        (0, "0 ms"),
        (1_500, "1.5 ms"),
        (350_000, "350 ms"),
        (12_340_000, "12.3 s"),
        (125 * SECOND, "2 min 05 s"),
        (3_780 * SECOND, "1 h 03 min"),
        (180_000 * SECOND, "2 d 02 h"),
    ],
)
def test_durations_have_two_units_at_most(micros: int, words: str) -> None:
    assert span(micros) == words


def test_a_state_inside_others_is_called_by_the_way_to_it() -> None:
    assert label("Review") == "Review"
    assert label("Deep/0/Many/12/One") == "Deep 0 / Many 12 / One"
    assert label(join("", "a/b")) == "a/b"


def view(**more: object) -> StateView:
    ready = bool(more.pop("ready", False))
    return StateView(path="Review", doc=StateDoc(**more), ready=ready, agents=("ann",))  # type: ignore[arg-type]


def lease(left_s: int) -> Lease:
    return Lease(token="t", owner_agent_id="agent-7", ts=NOW, ttl_s=60, epoch=1, expires_at=NOW + left_s * SECOND)


def test_who_holds_a_state_is_said_with_the_time_that_is_left() -> None:
    leased = view(status=Status.RUNNING, attempts=2, lease=lease(30))
    assert holding(leased, NOW) == "held by agent-7, 30.0 s left"
    assert spoken(leased, NOW) == "Review: running, attempt 2, held by agent-7"


def test_a_lease_that_ran_out_is_said_to_be_lost_and_since_when() -> None:
    lost = view(status=Status.RUNNING, attempts=1, lease=lease(-90))
    assert holding(lost, NOW) == "lease lost by agent-7, 1 min 30 s ago"
    assert spoken(lost, NOW) == "Review: running, attempt 1, lease lost by agent-7"


def test_what_a_state_waits_for_is_said() -> None:
    assert holding(view(ready=True), NOW) == "ready for ann"
    assert holding(view(not_before=NOW + 5 * SECOND), NOW) == "tries again in 5.0 s"
    assert holding(view(status=Status.RUNNING, kind="Human"), NOW) == "waits for a person"
    assert holding(view(status=Status.SUCCEEDED, lease=lease(30)), NOW) == ""


def test_how_long_a_state_took_is_known_once_it_began() -> None:
    assert took(view(), NOW) is None
    assert took(view(status=Status.RUNNING, started_at=NOW - SECOND), NOW) == SECOND
    assert took(view(status=Status.FAILED, started_at=NOW - 3 * SECOND, finished_at=NOW - SECOND), NOW) == 2 * SECOND
