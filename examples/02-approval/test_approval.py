"""A day of waiting in a moment: the flow in virtual time, with scripted people."""

from approval import approval

from dcf import testing

INPUT = {"topic": "storage"}


def test_alice_approves_within_the_hour() -> None:
    yes = testing.After(600, {"choice": "approve", "answered_by": "alice"})
    story = testing.run(approval, INPUT, answers={"Approve": yes})
    assert (story.output, story.elapsed) == ("alice let us publish https://example.org/18", 600)


def test_the_boss_may_answer_after_an_hour() -> None:
    yes = testing.After(2 * 3600, {"choice": "approve", "answered_by": "boss"})
    story = testing.run(approval, INPUT, answers={"Approve": yes})
    assert (story.output, story.elapsed) == ("boss let us publish https://example.org/18", 7200)


def test_a_rejection_fails_the_run_with_its_comment() -> None:
    no = {"choice": "reject", "comment": "too short", "answered_by": "alice"}
    story = testing.run(approval, INPUT, answers={"Approve": no})
    assert (story.error, story.cause) == ("DCF.Rejected", "too short")
    assert "publish" not in story.visited


def test_the_run_fails_after_a_day_without_an_answer() -> None:
    story = testing.run(approval, INPUT, answers={"Approve": testing.NEVER})
    assert (story.status, story.error, story.elapsed) == ("failed", "States.Timeout", 24 * 3600)
