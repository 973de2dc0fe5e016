"""Reads the answer of a review command: a JSON object, alone, in a fence, or in what an agent's program prints. Pure.

The verdict of the whole review follows from its criteria. An answer that leaves criteria out is no verdict, unless it
says that all passed, or that the step failed: then each failed with the feedback of the whole.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dcf.values.record_json.codec import json_method
from dcf.values.records import record

_FENCE: Final = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_LONGEST: Final = 2000
"""Characters of feedback that are kept."""


@record(frozen=True, slots=True, kw_only=True)
class CriterionResult:
    """The verdict of a review on one criterion."""

    criterion: str
    passed: bool
    feedback: str | None = None

    as_json = json_method(left_out="defaults")


@record(frozen=True, slots=True, kw_only=True)
class ReviewVerdict:
    """A verdict: one result for each criterion. `why_none` says why there is none."""

    results: tuple[CriterionResult, ...] = ()
    feedback: str | None = None
    why_none: str | None = None

    @property
    def passed(self) -> bool:
        """True if every criterion is met."""
        return self.why_none is None and all(result.passed for result in self.results)


def read_verdict(text: str, criteria: Sequence[str]) -> ReviewVerdict:
    """Return the verdict that an answer is, or why it is none."""
    answer = next(_answers(text), None)
    if answer is None:
        return ReviewVerdict(why_none=f'It printed no JSON object with "passed": {text.strip()[:300]!r}')
    feedback = _text(answer.get("feedback"))
    results = _results(answer.get("criteria_results"), criteria)
    if not results or (not answer["passed"] and all(result.passed for result in results.values())):
        results = {
            judged: CriterionResult(criterion=judged, passed=answer["passed"], feedback=feedback) for judged in criteria
        }
    missing = [judged for judged in criteria if judged not in results]
    if missing:
        return ReviewVerdict(why_none=f"It did not judge the criterion '{missing[0]}'.")
    judged = tuple(_with_feedback(results[judged], feedback) for judged in criteria)
    return ReviewVerdict(results=judged, feedback=feedback)


def _with_feedback(result: CriterionResult, whole: str | None) -> CriterionResult:
    if result.passed or result.feedback is not None:
        return result
    return CriterionResult(criterion=result.criterion, passed=False, feedback=whole)


def _answers(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a text that say whether the review passed."""
    for piece in (text, *_FENCE.findall(text), text[text.find("{") : text.rfind("}") + 1]):
        try:
            verdict_document = json.loads(piece)
        except (ValueError, RecursionError):
            continue
        if isinstance(verdict_document, dict) and isinstance(verdict_document.get("passed"), bool):
            yield verdict_document
        elif (
            isinstance(verdict_document, dict)
            and isinstance(verdict_document.get("result"), str)
            and verdict_document["result"] != text
        ):
            yield from _answers(verdict_document["result"])  # as `claude --print --output-format json` prints it


def _results(listed: object, criteria: Sequence[str]) -> dict[str, CriterionResult]:
    """Return the results by criterion, known by their texts, or by their order where there is one for each."""
    rows = [row for row in listed if _is_result(row)] if isinstance(listed, list) else []
    named = {_plain(judged): judged for judged in criteria}
    results: dict[str, CriterionResult] = {}
    for number, row in enumerate(rows):
        criterion = named.get(_plain(row.get("criterion")))
        if criterion is None and len(rows) == len(criteria):
            criterion = criteria[number]
        if criterion is not None and (criterion not in results or results[criterion].passed):  # a failure counts
            result = CriterionResult(criterion=criterion, passed=row["passed"], feedback=_text(row.get("feedback")))
            results[criterion] = result
    return results


def _is_result(row: object) -> bool:
    return isinstance(row, dict) and isinstance(row.get("passed"), bool)


def _plain(text: object) -> str:
    return " ".join(str(text).split()).casefold()


def _text(value: object) -> str | None:
    return value.strip()[:_LONGEST] if isinstance(value, str) and value.strip() else None
