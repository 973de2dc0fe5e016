"""The verdict in the answer of a review command, for every form in which agents' programs print it."""

import json
from typing import Any

from dcf.local.deepwork.review_verdict import ReviewVerdict, read_verdict
from tests.support.tables import rows

CRITERIA = ("It is dated.", "Sums are right.")
PASSED = {"passed": True, "feedback": "Good."}
RESULTS = [
    {"criterion": "It is dated.", "passed": False, "feedback": "No date."},
    {"criterion": "sums  are RIGHT.", "passed": True, "feedback": None},
]
FAILED = {"passed": False, "feedback": "Add a date.", "criteria_results": RESULTS}
BY_ORDER = [{"criterion": "1", "passed": False, "feedback": "No date."}, {"criterion": "2", "passed": True}]


def results_of(verdict: ReviewVerdict) -> list[tuple[str, bool, str | None]]:
    return [(result.criterion, result.passed, result.feedback) for result in verdict.results]


@rows(
    "text",
    [
        json.dumps(FAILED),
        f"Here it is:\n```json\n{json.dumps(FAILED, indent=1)}\n```\nDone.",
        f"I think {json.dumps(FAILED)} is right.",
        json.dumps({"type": "result", "result": f"```json\n{json.dumps(FAILED)}\n```"}),
        json.dumps({**FAILED, "passed": True}),
        json.dumps({**FAILED, "criteria_results": BY_ORDER}),
        json.dumps({**FAILED, "criteria_results": [*RESULTS, {"criterion": "It is dated.", "passed": True}]}),
    ],
)
def test_a_verdict_is_read_by_criterion_in_every_form(text: str) -> None:
    verdict = read_verdict(text, CRITERIA)
    assert results_of(verdict) == [("It is dated.", False, "No date."), ("Sums are right.", True, None)]
    assert (verdict.passed, verdict.feedback) == (False, "Add a date.")


def test_a_verdict_on_the_whole_is_one_on_each_criterion() -> None:
    assert read_verdict(json.dumps(PASSED), CRITERIA).passed
    failed = read_verdict(json.dumps({"passed": False, "feedback": "Bad."}), CRITERIA)
    assert results_of(failed) == [(criterion, False, "Bad.") for criterion in CRITERIA]
    all_met = [{"criterion": criterion, "passed": True} for criterion in CRITERIA]
    contradicting = {"passed": False, "feedback": "Bad.", "criteria_results": all_met}
    assert results_of(read_verdict(json.dumps(contradicting), CRITERIA)) == results_of(failed)


def test_a_criterion_that_failed_without_feedback_has_that_of_the_whole() -> None:
    answer = {"passed": False, "feedback": "Bad.", "criteria_results": [{**RESULTS[0], "feedback": " "}, RESULTS[1]]}
    assert results_of(read_verdict(json.dumps(answer), CRITERIA))[0] == ("It is dated.", False, "Bad.")


@rows(
    ("answer", "told"),
    [
        ("It is good.", "no JSON object"),
        ("", "no JSON object"),
        ('{"passed": "yes"}', "no JSON object"),
        ("[" * 100_000, "no JSON object"),
        (json.dumps({"passed": True, "criteria_results": RESULTS[1:]}), "'It is dated.'"),
    ],
)
def test_an_answer_that_leaves_criteria_out_is_no_verdict(answer: Any, told: str) -> None:
    verdict = read_verdict(answer, CRITERIA)
    assert verdict.why_none is not None
    assert told in verdict.why_none
    assert not verdict.passed
