"""Who may give a verdict on an output: reviewers, persons, a helper that ran a command; never its author. Pure."""

from typing import TYPE_CHECKING

from dcf.asl.gates import Gate
from dcf.core import gate_refusals as refusals
from dcf.core.gates import PASSES, GateVerdict, OpenGate
from dcf.core.judging import Submission
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.core.verdicts import Judge


def why_not_by(case: Submission, gate: Gate, one: OpenGate, judge: "Judge") -> Refusal | None:
    """Refuse a verdict of somebody who is not asked, or who made the output."""
    if not _is_asked(case, one, judge):
        return refusals.not_a_reviewer(one, judge.name or "nobody")
    if gate.author_may_review and gate.kind != "command":
        return None
    if judge.name == case.kept.author:
        return refusals.author_may_not_review(gate.name, case.kept.author, by_key=False)
    if _has_authors_key(case, judge):
        return refusals.author_may_not_review(gate.name, case.kept.author, by_key=True)
    return None


def why_not_attested(case: Submission, one: OpenGate, judge: "Judge", verdict: GateVerdict) -> Refusal | None:
    """Let a helper tell what came of the author's command, and the author only that it did not pass."""
    if judge.name == case.kept.author or _has_authors_key(case, judge):
        is_stranger = judge.key is not None and case.kept.author_key not in {None, judge.key}
        if is_stranger:
            return refusals.not_a_reviewer(one, judge.key or "")
        return refusals.author_may_not_attest(one.name) if verdict.verdict == PASSES else None
    return None if judge.may_attest else refusals.not_a_reviewer(one, judge.name or "nobody")


def _has_authors_key(case: Submission, judge: "Judge") -> bool:
    return judge.key is not None and judge.key == case.kept.author_key


def runs_own(gate: Gate, one: OpenGate) -> bool:
    """Return True for a command that runs where the author of the output works: its exit code is the verdict."""
    return gate.kind == "command" and not one.by_people and not gate.reviewers


def _is_asked(case: Submission, one: OpenGate, judge: "Judge") -> bool:
    if not one.by_people:
        return (not one.to or judge.name in one.to) and (judge.may_work or judge.is_person)
    if one.people.is_nobody and judge.may_plan and judge.name == case.meta.planner_agent_id:
        return True
    is_named = judge.name in one.people.people or not judge.groups.isdisjoint(one.people.groups)
    return judge.is_person and (one.people.is_nobody or is_named)
