"""A platform that does not answer is left alone, and asked again by one at a time, ever more rarely."""

from collections.abc import Mapping
from typing import Any

from dcf.ports import Delivery, Undelivered
from dcf.runs.notifying.breaker import Breaker, GuardedDeliverer

AWAY = Delivery(failure=Undelivered.PLATFORM_UNAVAILABLE, error="It does not answer.")
SENT = Delivery(message_id="m")


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Elsewhere:
    """A platform whose answer the test chooses; `asked` counts who got through to it."""

    is_remote = True

    def __init__(self, answer: Delivery = AWAY) -> None:
        self.answer = answer
        self.asked = 0

    def deliver(self, _agent_id: str, _event_id: str, _event: Mapping[str, Any]) -> Delivery:
        self.asked += 1
        return self.answer


def guarded(platform: Elsewhere) -> tuple[GuardedDeliverer, Time]:
    time = Time()
    return GuardedDeliverer(platform, Breaker(time)), time


def deliver(guard: GuardedDeliverer, times: int = 1) -> Delivery:
    for _ in range(times - 1):
        guard.deliver("a", "e", {})
    return guard.deliver("a", "e", {})


def test_a_platform_that_failed_three_times_in_a_row_is_not_asked_for_a_while() -> None:
    platform = Elsewhere()
    guard, _ = guarded(platform)
    assert deliver(guard, 3) == AWAY
    refused = deliver(guard, 10)
    assert platform.asked == 3
    assert (refused.failure, refused.retry_after_s) == (Undelivered.PLATFORM_UNAVAILABLE, 2.0)


def test_failures_with_an_answer_between_them_do_no_harm() -> None:
    platform = Elsewhere()
    guard, _ = guarded(platform)
    for answer in (AWAY, AWAY, SENT, AWAY, AWAY, SENT):
        platform.answer = answer
        assert deliver(guard) == answer
    assert platform.asked == 6


def test_an_agent_that_is_busy_or_unknown_is_an_answer_of_the_platform() -> None:
    for failure in (Undelivered.BUSY, Undelivered.UNKNOWN_AGENT, Undelivered.REFUSED):
        platform = Elsewhere(Delivery(failure=failure, error="no"))
        guard, _ = guarded(platform)
        deliver(guard, 20)
        assert platform.asked == 20


def test_a_turn_that_somebody_else_has_says_nothing_about_the_platform() -> None:
    """A caller that waits for a frozen platform has the turn of its agent meanwhile."""
    platform = Elsewhere()
    guard, _ = guarded(platform)
    deliver(guard, 2)
    platform.answer = Delivery(failure=Undelivered.UNDER_WAY, error="Somebody else is at it.")
    deliver(guard, 5)
    platform.answer = AWAY
    deliver(guard, 5)
    assert platform.asked == 2 + 5 + 1


def test_after_the_pause_one_tries_and_the_others_wait_for_what_becomes_of_it() -> None:
    time = Time()
    breaker = Breaker(time)
    for _ in range(3):
        breaker.note(answered=False)
    time.now = 2.0
    assert breaker.admit() == 0.0
    assert breaker.admit() > 0.0
    breaker.note(answered=True)
    assert [breaker.admit(), breaker.admit()] == [0.0, 0.0]


def test_pauses_grow_up_to_a_minute_and_end_with_the_first_answer() -> None:
    platform = Elsewhere()
    guard, time = guarded(platform)
    deliver(guard, 3)
    pauses = []
    for _ in range(7):
        pauses.append(deliver(guard).retry_after_s)
        time.now += pauses[-1]
        deliver(guard)
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    platform.answer = SENT
    time.now += 60.0
    assert deliver(guard, 2) == SENT
