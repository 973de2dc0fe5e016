"""Reviews in the profile `deepwork`: the open reviews, the verdict that all criteria are met, answers to the author."""

from typing import Final

from dcf.core.access.model import Scope
from dcf.profiles.deepwork import calls
from dcf.profiles.growing_runs import RunUnit
from dcf.profiles.native_calls import decide
from dcf.profiles.profile import Failure, Native, Toolbox, refuse
from dcf.values.json_text import Json

BOX: Final = Toolbox()
_HOW_REVIEWED: Final = (
    "Another agent judges them with get_review_instructions and mark_review_as_passed. A person judges them with "
    "`dcf inbox`. Call finished_step again with the same outputs to find out. quality_review_override_reason passes "
    "over the review."
)


@BOX.tool(calls.GetReviewInstructionsCall, read_only=True)
async def get_review_instructions(native: Native, args: calls.GetReviewInstructionsCall) -> Json:
    """List the gates that wait for the caller's verdict."""
    page = await native.call("list_gates", agent_id=native.agent())
    lines: list[str] = []
    for gate in page["gates"]:
        whole = await native.call("list_gates", workflow_id=gate["workflow_id"], state=gate["state"])
        for row in whole["gates"]:
            files = (row.get("output") or {}).get("files") or []
            if row["kind"] != "review" or (args.files is not None and not set(files) & set(args.files)):
                continue
            review = f"{row['workflow_id']}:{row['state']}:{row['name']}:{row['content_sha256']}"
            criteria = "".join(f"\n- {text}" for text in row.get("criteria") or ())
            lines.append(f"Review {review}\nFiles: {', '.join(files) or 'none'}\nCriteria:{criteria}")
    return "\n\n".join(lines) or "No review waits for you."


@BOX.tool(calls.MarkReviewAsPassedCall, Scope.WORK)
async def mark_review_as_passed(native: Native, args: calls.MarkReviewAsPassedCall) -> Json:
    """Give the verdict that every criterion is met; the author of the outputs may not."""
    parts = args.review_id.split(":")
    if len(parts) != 4 or ".." in args.review_id or args.review_id.startswith("/"):  # noqa: PLR2004 - as it is written
        raise refuse(
            "invalid_argument", "review_id is no id of a review.", "Pass it exactly as you got it.", "review_id"
        )
    run, state, gate, content = parts
    whole = await native.call("list_gates", workflow_id=run, state=state)
    criteria = next(
        (waiting_gate.get("criteria") or [] for waiting_gate in whole["gates"] if waiting_gate["name"] == gate), []
    )
    await decide(native, run, state, gate, content, criteria, passed=True)
    return f"Review '{args.review_id}' is marked as passed."


def reviewed(unit: RunUnit, failure: Failure, request: str | None) -> dict[str, Json]:
    """Return the answer while others judge the outputs of a step: by whom, and of which step of which run."""
    place = {"workflow_id": unit.run, "step_id": unit.name} | ({} if request is None else {"request_id": request})
    feedback = f"The outputs are being reviewed. {failure.message} {_HOW_REVIEWED}"
    return {"status": "needs_work", "feedback": feedback, "failed_criteria": [], "waits_for_review": place}


def needs_work(failure: Failure) -> dict[str, Json]:
    """Return the answer where the review of a step failed: the criteria that are not met."""
    failed = failure.details.get("failed_criteria") or []
    shown = [
        {"criterion": criterion["criterion"], "passed": False, "feedback": criterion.get("feedback")}
        for criterion in failed
    ]
    details = dict.fromkeys(str(criterion["feedback"] or f"Not met: {criterion['criterion']}") for criterion in shown)
    feedback = " ".join(text if text.rstrip().endswith((".", "!", "?")) else f"{text}." for text in details)
    feedback = feedback or failure.message
    return {"status": "needs_work", "feedback": feedback, "failed_criteria": shown}
