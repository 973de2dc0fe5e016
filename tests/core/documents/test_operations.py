"""A request about a whole run is applied once for all its repetitions, and its id stands for its content."""

from dataclasses import replace

import pytest

from dcf.core.documents.decision import Decision, More, WriteSet
from dcf.core.documents.operations import (
    LONGEST_REASON,
    RunAnswer,
    RunDecision,
    RunRequest,
    once,
    read_run_receipt,
    write_run_receipt,
)
from dcf.errors import InvalidArgument
from dcf.values.json_text import dump, load
from tests.core import build
from tests.support.tables import rows

PAUSE = RunRequest(verb="pause_run", request_id="r1", reason="lunch")


def paused() -> RunDecision:
    return Decision(
        answer=RunAnswer(answer={"paused": True}, at=build.NOW), changes=WriteSet(meta={"paused_at": "now"})
    )


def resumed() -> RunDecision:
    return Decision(
        answer=RunAnswer(answer={"paused": False}, at=build.NOW), changes=WriteSet(meta={"paused_at": None})
    )


def test_a_repeated_request_changes_nothing_and_gets_the_first_answer() -> None:
    made = build.run()
    first = made.commit(once(made.snapshot(), PAUSE, paused))
    made.now += 1
    again = made.commit(once(made.snapshot(), replace(PAUSE, reason="lunch, again"), resumed))
    assert isinstance(first, RunAnswer)
    assert again == replace(first, repeated=True)
    assert made.last_changes is None


@rows(
    "other",
    [
        RunRequest(verb="cancel_run", request_id="r1"),
        RunRequest(verb="pause_run", request_id="r1", arguments={"until": "noon"}),
    ],
)
def test_an_id_that_was_used_for_something_else_is_refused(other: RunRequest) -> None:
    made = build.run()
    made.commit(once(made.snapshot(), PAUSE, paused))
    assert build.code(made.commit(once(made.snapshot(), other, resumed))) == "conflict"
    assert made.last_changes is None


def test_another_request_is_applied_after_the_first() -> None:
    made = build.run()
    made.commit(once(made.snapshot(), PAUSE, paused))
    made.commit(once(made.snapshot(), RunRequest(verb="resume_run", request_id="r2"), resumed))
    assert made.last_changes is not None
    assert made.last_changes.meta == {"paused_at": None}


def test_a_refusal_is_not_kept_so_that_the_request_can_be_made_again() -> None:
    made = build.run()
    made.commit(once(made.snapshot(), PAUSE, lambda: Decision(answer=More())))
    assert (made.last_changes, made.run_receipts) == (None, {})


def test_a_request_that_changed_nothing_is_kept_for_its_repetition() -> None:
    made = build.run()
    nothing: RunDecision = Decision(answer=RunAnswer(answer={"paused": True}, at=build.NOW))
    made.commit(once(made.snapshot(), PAUSE, lambda: nothing))
    assert made.commit(once(made.snapshot(), PAUSE, resumed)) == RunAnswer(
        answer={"paused": True}, at=build.NOW, repeated=True
    )


def test_a_receipt_is_read_as_it_was_written_and_anything_else_is_none() -> None:
    made = build.run()
    made.commit(once(made.snapshot(), PAUSE, paused))
    (receipt,) = made.run_receipts.values()
    assert read_run_receipt(load(dump(write_run_receipt(receipt)))) == receipt
    assert read_run_receipt({"req": "x", "at": 1}) is None


def test_reasons_and_ids_that_are_too_long_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="reason"):
        RunRequest(verb="pause_run", request_id="r1", reason="x" * (LONGEST_REASON + 1))
    with pytest.raises(InvalidArgument, match="request_id"):
        RunRequest(verb="pause_run", request_id="")


def test_the_reason_stands_in_the_event_if_there_is_one() -> None:
    assert PAUSE.told(by="ann") == {"by": "ann", "reason": "lunch"}
    assert replace(PAUSE, reason=None).told(by="ann") == {"by": "ann"}
