"""A state whose turn met a usage limit is parked: no attempt counts, no lease is held, and the clock resumes it."""

from typing import Any

import pytest

from dcf.core.documents.answers import Released, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.parking import LONGEST_S
from dcf.core.leasing.attention import NEVER
from dcf.core.leasing.lease import Release
from dcf.core.leasing.parking import Excuse, excuse_of
from dcf.errors import InvalidArgument
from dcf.features.accounts.operations import release
from dcf.features.diagnosis.model import Cause
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND, to_text
from dcf.values.records import replace
from dcf.values.refusal import Refusal
from tests.support.ahead import let_pass, now, timers
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import task
from tests.support.world import World

HOUR = 3600


@pytest.fixture
def world(timely: World) -> World:
    """dcf in a time that tests let pass."""
    timely.ask("SET", keys.SERVER_TIME, now(timely))
    return timely


def park(world: World, run: str, token: str, seconds: int = HOUR, kind: str = "limit") -> Released | Updated | Refusal:
    excuse = Excuse(within_s=seconds, kind=kind)
    return release(world.plane, run, Release(state="A", token=token, excuse=excuse))


def parked(world: World, **options: Any) -> str:
    run = world.create(chain("A", "B"), agents={"A": "ann", "B": "ann"}, **options)
    answer = park(world, run, world.acquire(run, "A", "ann"))
    assert isinstance(answer, Released)
    return run


def test_a_parked_state_has_no_lease_and_no_counted_attempt_until_the_limit_ends(world: World) -> None:
    run = parked(world)
    doc = world.doc(run, "A")
    assert (doc.status, doc.lease.token, doc.attempts, doc.tries) == (Status.PENDING, None, 1, 0)
    refused = world.try_acquire(run, "A", "ann")
    assert isinstance(refused, Refusal)
    assert refused.code == "not_ready"
    assert refused.retry_after_s == pytest.approx(HOUR, abs=60)
    let_pass(world, HOUR)
    world.do(run, "A", "ann")
    world.do(run, "B", "ann")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_the_clock_announces_a_parked_state_when_its_limit_ends_and_not_before(world: World) -> None:
    run = parked(world)
    world.notifications.pulse()
    before = len(world.messages("ann"))
    assert timers(world, run)["A"] == world.doc(run, "A").not_before
    let_pass(world, HOUR - 60)
    world.make_due(run, "A")
    world.notifications.pulse()
    assert len(world.messages("ann")) == before
    let_pass(world, 60)
    world.make_due(run, "A")
    world.notifications.pulse()
    assert len(world.messages("ann")) == before + 1


def test_forty_limits_in_a_row_end_no_run_by_its_attempts(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "ann"}, max_attempts=2)
    for _ in range(40):
        assert isinstance(park(world, run, world.acquire(run, "A", "ann"), 60), Released)
        let_pass(world, 60)
    world.do(run, "A", "ann")
    doc = world.doc(run, "A")
    assert (doc.attempts, doc.tries) == (41, 1)
    assert doc.parked is not None
    assert (doc.parked.count, doc.parked.seconds, doc.parked.by) == (40, 2400, "ann")


def test_the_timeout_of_a_state_does_not_run_while_it_is_parked(world: World) -> None:
    run = world.create(workflow({"A": {**task(), "TimeoutSeconds": 100}}), agents={"A": "ann"})
    token = world.acquire(run, "A", "ann")
    before = world.doc(run, "A").deadline
    park(world, run, token)
    after = world.doc(run, "A").deadline
    assert before is not None
    assert after is not None
    assert after - before == pytest.approx(HOUR * SECOND, abs=SECOND)


def test_why_names_the_time_and_the_agent_that_reported_the_limit(world: World) -> None:
    run = parked(world)
    (finding,) = world.diagnosis.explain(run, None).findings
    assert (finding.cause, finding.stuck, finding.state) == (Cause.ACCOUNT_CLOSED, False, "A")
    assert "is parked. The usage limit of ann lasts until " in finding.sentence
    assert finding.evidence["until"] == to_text(world.doc(run, "A").not_before or 0)
    doc = world.doc(run, "A")
    assert doc.limit(doc.not_before or 0) is None, "it has ended"
    assert replace(doc, not_before=NEVER).limit(0) is None, "a retry put it off further"


@rows(
    "kind, words",
    [("guess", "has no known end"), ("busy", "is overloaded"), ("spent", "a person must pay"), ("new", "no known end")],
)
def test_why_says_what_kind_of_limit_it_is(world: World, kind: str, words: str) -> None:
    run = world.create(chain("A"), agents={"A": "ann"})
    park(world, run, world.acquire(run, "A", "ann"), kind=kind)
    (finding,) = world.diagnosis.explain(run, None).findings
    assert words in finding.sentence


def test_a_visit_that_waits_over_eight_days_in_all_fails_by_name(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "ann"})
    for _ in range(2):
        assert isinstance(park(world, run, world.acquire(run, "A", "ann"), LONGEST_S // 2), Released)
        let_pass(world, LONGEST_S // 2)
    answer = park(world, run, world.acquire(run, "A", "ann"), 60)
    assert isinstance(answer, Updated)
    doc = world.doc(run, "A")
    assert (doc.status, doc.tries) == (Status.FAILED, 1)
    assert doc.last_error is not None
    assert doc.last_error.startswith("DCF.AccountLimit: ")


def test_a_catch_routes_a_limit_that_lasts_too_long(world: World) -> None:
    catch = [{"ErrorEquals": ["DCF.AccountLimit"], "Next": "B"}]
    states = {"A": {"Type": "Task", "Catch": catch, "Next": "B"}, "B": {"Type": "Task", "End": True}}
    run = world.create(workflow(states), agents={"A": "ann", "B": "ben"})
    park(world, run, world.acquire(run, "A", "ann"), LONGEST_S + 1)
    world.do(run, "B", "ben")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_another_visit_of_a_state_begins_with_no_parking(world: World) -> None:
    again = {"Variable": "$", "NumericEquals": 1, "Next": "A"}
    states = {
        "A": {"Type": "Task", "Next": "Pick"},
        "Pick": {"Type": "Choice", "Choices": [again], "Default": "End"},
        "End": {"Type": "Succeed"},
    }
    run = world.create(workflow(states), agents={"A": "ann"})
    park(world, run, world.acquire(run, "A", "ann"))
    let_pass(world, HOUR)
    world.do(run, "A", "ann", output=1)
    assert world.doc(run, "A").parked is None


def test_a_limit_that_has_ended_only_does_not_count_the_attempt(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "ann"})
    excuse = Excuse(until=now(world) - SECOND)
    release(world.plane, run, Release(state="A", token=world.acquire(run, "A", "ann"), excuse=excuse))
    doc = world.doc(run, "A")
    assert (doc.tries, doc.not_before, doc.parked) == (0, None, None)


def test_ten_restarts_of_a_host_count_no_attempt(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "ann"}, max_attempts=2)
    for _ in range(10):
        token = world.acquire(run, "A", "ann")
        release(world.plane, run, Release(state="A", token=token, excuse=excuse_of(None, "limit", counts=False)))
    world.do(run, "A", "ann")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_a_repeated_parking_counts_once(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "ann"})
    token = world.acquire(run, "A", "ann")
    park(world, run, token)
    until = world.doc(run, "A").not_before
    again = park(world, run, token, 2 * HOUR)
    assert isinstance(again, Released)
    doc = world.doc(run, "A")
    assert (again.outcome, doc.not_before, doc.tries) == ("lease_already_clear", until, 0)


@rows("text", ["soon", "14:00", "2026-11-24T14:00:00", "-5s", "1.5s", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="limited_until"):
        excuse_of(text, "limit", counts=True)


def test_a_time_with_a_zone_and_a_length_of_time_are_read() -> None:
    moment = excuse_of("2026-11-24T14:00:00+01:00", "limit", counts=True)
    assert moment is not None
    assert to_text(moment.until or 0) == "2026-11-24T13:00:00.000000Z"
    assert excuse_of("90s", "guess", counts=True) == Excuse(within_s=90, kind="guess")
