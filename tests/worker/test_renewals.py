"""The thread that renews leases: it outlives what goes wrong with one of them, and ends when there are none."""

import threading

import pytest

from dcf.errors import StoreUnavailable
from dcf.values.records import replace
from dcf.worker.calls import Work
from dcf.worker.renewals import Renewals
from tests.support.waiting import wait_until

LONG = 60.0
QUICK = 0.01


def work(token: str) -> Work:
    return Work(workflow_id="run-1", state="A", token=token, given=None)


def renewing() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "dcf-renewals"]


def test_a_renewal_that_breaks_keeps_no_other_lease_from_being_renewed(caplog: pytest.LogCaptureFixture) -> None:
    renewed = threading.Semaphore(0)

    def renew(work: Work) -> str | None:
        if work.token == "broken":
            raise RuntimeError("the client was closed")
        renewed.release()
        return None

    renewals = Renewals(renew, QUICK)
    renewals.hold(work("broken"), lambda _: None)
    renewals.hold(work("whole"), lambda _: None)
    assert all(renewed.acquire(timeout=LONG) for _ in range(3))
    assert "the client was closed" in caplog.text
    for token in ("broken", "whole"):
        renewals.let_go(work(token))


def test_a_lease_that_awaits_a_sign_is_renewed_soon_until_a_renewal_succeeds() -> None:
    """A third of its short term is left when two renewals failed."""
    renewed, failures = threading.Semaphore(0), ["no answer", "no answer"]

    def renew(_: Work) -> str | None:
        renewed.release()
        if failures:
            raise StoreUnavailable(failures.pop())
        return None

    renewals = Renewals(renew, LONG)
    short = replace(work("token"), sign_within_s=3 * QUICK)
    renewals.hold(short, lambda _: None)
    assert all(renewed.acquire(timeout=LONG / 2) for _ in range(3))
    assert renewals._held["token"].soon_s is None
    renewals.let_go(short)


def test_the_thread_ends_when_there_is_no_lease_and_comes_back_with_the_next_one() -> None:
    before, renewed = renewing(), threading.Semaphore(0)

    def renew(_: Work) -> str | None:
        renewed.release()
        return None

    renewals = Renewals(renew, QUICK, idle_s=QUICK)
    for _ in range(2):
        renewals.hold(work("token"), lambda _: None)
        assert renewed.acquire(timeout=LONG)
        renewals.let_go(work("token"))
        wait_until(lambda: set(renewing()) <= set(before))
        while renewed.acquire(blocking=False):
            pass


def test_the_thread_ends_when_its_last_lease_was_lost() -> None:
    before, lost = renewing(), threading.Event()
    renewals = Renewals(lambda _: "another has it", QUICK, idle_s=QUICK)
    renewals.hold(work("token"), lambda _: lost.set())
    assert lost.wait(LONG)
    wait_until(lambda: set(renewing()) <= set(before))
