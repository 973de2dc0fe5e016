"""Reviews a step that waits for the project's quality gate: runs the command, and records its verdict.

The verdict names the hash of the output that was read, so that a verdict on an older output has no effect. A command
that gives no verdict decides nothing either: the step waits, and the answer to the agent says why.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from dcf.errors import ToolCallFailed
from dcf.local.deepwork.quality_gate import CONFIGURATION, QualityGate
from dcf.local.deepwork.review_request import ReviewRequest
from dcf.local.deepwork.review_verdict import CriterionResult, ReviewVerdict
from dcf.local.deepwork.tool_calls import ReviewCalls
from dcf.profiles.deepwork.jobs import GATE, QUALITY_GATE
from dcf.profiles.profile import NotDone
from dcf.values.json_text import Json, dump
from dcf.values.records import record

_OVERTAKEN: Final = frozenset({"not_judged", "content_changed", "run_over", "state_terminal", "already_done"})
"""Refusals of a verdict after which the same call of the agent finds out how the step stands."""

_KEY: Final = f"DCF_HELPER_KEY must be a key of this agent: dcf keys add --agent-id {QUALITY_GATE} --scope work"
_OTHERWISE: Final = "Or pass quality_review_override_reason, if the user agrees that no review is necessary."


class Again(Protocol):
    """Asks how a step stands, of which an answer said that it waits for its review."""

    async def __call__(self, waits_for_review: Mapping[str, Json], /) -> dict[str, Any]:
        """Return the result."""


@record(frozen=True, slots=True, kw_only=True)
class Reviewing:
    """How steps of this directory are reviewed: by the command of the gate, or not at all without one."""

    gate: QualityGate | None
    calls: ReviewCalls

    @property
    def reviewed_by(self) -> str:
        """The reviewer of outputs, in the form of the profile's start_workflow."""
        return "nobody" if self.gate is None else QUALITY_GATE

    async def judged(self, root: Path, result: dict[str, Any], again: Again) -> dict[str, Any]:
        """Review the step that a result says is waiting; return the result of the same call after that."""
        try:
            return await self._judged(root, result, again)
        except ToolCallFailed as refused:
            return _failed(f"The server does not take the verdict of the quality gate. {refused.message}", _KEY)

    async def _judged(self, root: Path, result: dict[str, Any], again: Again) -> dict[str, Any]:
        answer = result["structuredContent"]
        place = answer["waits_for_review"]
        waiting = await self._waiting(place)
        if self.gate is None or waiting is None:
            return result
        verdict = await self.gate.review(root, _request(waiting, answer.get("missing_outputs") or ()))
        if verdict.why_none is not None:
            return _failed(f"The quality gate gave no verdict. {verdict.why_none}", _hint(self.gate))
        await self._decide(place, waiting, verdict)
        after = await again(place)
        attempt = int(waiting["attempt"])
        if verdict.passed or (after.get("structuredContent") or {}).get("status") != "needs_work":
            return after
        if attempt >= self.gate.max_attempts:
            return _failed(_often(attempt, verdict), f"Correct this and call finished_step again. {_OTHERWISE}")
        return _with_feedback(after, verdict)

    async def _waiting(self, place: Mapping[str, Json]) -> Mapping[str, Json] | None:
        listed = await self.calls.call("list_gates", workflow_id=place["workflow_id"], state=place["step_id"])
        rows = [row for row in listed["gates"] if row["name"] == GATE and f"'{QUALITY_GATE}'" in str(row["asked"])]
        return rows[0] if rows else None

    async def _decide(self, place: Mapping[str, Json], waiting: Mapping[str, Json], verdict: ReviewVerdict) -> None:
        try:
            await self.calls.call(
                "decide_gate",
                workflow_id=place["workflow_id"],
                state=place["step_id"],
                gate=GATE,
                verdict="pass" if verdict.passed else "fail",
                content_sha256=waiting["content_sha256"],
                agent_id=QUALITY_GATE,
                criteria=[result.as_json() for result in verdict.results],
                comment=verdict.feedback,
            )
        except (NotDone, ToolCallFailed) as refused:
            code = refused.code if isinstance(refused, ToolCallFailed) else refused.failure.code
            if code not in _OVERTAKEN:
                raise


def is_open(result: Mapping[str, Any]) -> bool:
    """Return True for a result that says which step waits for a review."""
    answer = result.get("structuredContent")
    return isinstance(answer, dict) and isinstance(answer.get("waits_for_review"), dict)


def _request(waiting: Mapping[str, Json], missing: Sequence[str]) -> ReviewRequest:
    output = waiting.get("output")
    output = output if isinstance(output, dict) else {}
    notes = output.get("notes")
    return ReviewRequest(
        step=str(waiting["state"]),
        criteria=tuple(waiting.get("criteria") or ()),
        files=tuple(output.get("files") or ()),
        missing=tuple(missing),
        notes=notes if isinstance(notes, str) else None,
    )


def _often(attempt: int, verdict: ReviewVerdict) -> str:
    failed = "; ".join(_not_met(result) for result in verdict.results if not result.passed)
    feedback = "" if verdict.feedback is None else f" {verdict.feedback.rstrip('.')}."
    return f"The quality review failed {attempt} times.{feedback} Not met: {failed}."


def _not_met(result: CriterionResult) -> str:
    criterion = result.criterion.rstrip(".")
    return criterion if result.feedback is None else f"{criterion} ({result.feedback.rstrip('.')})"


def _hint(gate: QualityGate) -> str:
    command = " ".join(gate.words)[:200]
    return (
        f"Check the command '{command}' ({CONFIGURATION}, or --quality-gate of dcf serve), and call again. {_OTHERWISE}"
    )


def _failed(message: str, hint: str) -> dict[str, Any]:
    return {
        "content": [{"type": "text", "text": f"Error: {message} {hint}"}],
        "isError": True,
        "resultType": "complete",
    }


def _with_feedback(result: dict[str, Any], verdict: ReviewVerdict) -> dict[str, Any]:
    answer = result["structuredContent"]
    structured_content = answer if verdict.feedback is None else {**answer, "feedback": verdict.feedback}
    return {
        **result,
        "content": [{"type": "text", "text": dump(structured_content)}],
        "structuredContent": structured_content,
    }
