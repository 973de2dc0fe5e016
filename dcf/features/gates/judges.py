"""Checks that a caller may give a verdict on an output: reviewers, persons, a helper; never its author. Pure."""

from dcf.features.gates import refusals
from dcf.features.gates.consequences import GateCase
from dcf.features.gates.gate import Gate
from dcf.features.gates.model import PASSES, GateVerdict, OpenGate
from dcf.values.records import record
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class Judge:
    """The author of a verdict: the name, the key (None without keys), the groups, and the rights.

    Without a name it is the author of the output. `may_attest`: a helper that runs commands where agents work.
    """

    name: str | None
    key: str | None = None
    groups: frozenset[str] = frozenset()
    may_work: bool = False
    may_plan: bool = False
    may_attest: bool = False
    is_person: bool = False


def why_not_by(case: GateCase, gate: Gate, open_gate: OpenGate, judge: Judge) -> Refusal | None:
    """Refuse a verdict of a caller that is not asked, or that made the output."""
    if not _is_asked(case, open_gate, judge):
        return refusals.NOT_A_REVIEWER.refuse(gate=open_gate, judge=judge.name or "nobody")
    if gate.author_may_review and gate.kind != "command":
        return None
    if judge.name != case.kept.author and not _has_authors_key(case, judge):
        return None
    how = "is by" if judge.name == case.kept.author else "came with the same key as"
    return refusals.AUTHOR_MAY_NOT_REVIEW.refuse(gate=gate.name, how=how, author=case.kept.author)


def why_not_attested(case: GateCase, open_gate: OpenGate, judge: Judge, verdict: GateVerdict) -> Refusal | None:
    """Let a helper report the result of the author's command. The author may only report that it did not pass."""
    if judge.name == case.kept.author or _has_authors_key(case, judge):
        is_stranger = judge.key is not None and case.kept.author_key not in {None, judge.key}
        if is_stranger:
            return refusals.NOT_A_REVIEWER.refuse(gate=open_gate, judge=judge.key or "")
        return refusals.AUTHOR_MAY_NOT_ATTEST.refuse(gate=open_gate.name) if verdict.verdict == PASSES else None
    return None if judge.may_attest else refusals.NOT_A_REVIEWER.refuse(gate=open_gate, judge=judge.name or "nobody")


def _has_authors_key(case: GateCase, judge: Judge) -> bool:
    return judge.key is not None and judge.key == case.kept.author_key


def runs_own(gate: Gate, open_gate: OpenGate) -> bool:
    """Return True for a command that runs where the author of the output works: its exit code is the verdict."""
    return gate.kind == "command" and not open_gate.by_people and not gate.reviewers


def _is_asked(case: GateCase, open_gate: OpenGate, judge: Judge) -> bool:
    if not open_gate.by_people:
        return (not open_gate.to or judge.name in open_gate.to) and (judge.may_work or judge.is_person)
    if open_gate.people.is_empty and judge.may_plan and judge.name == case.meta.planner_agent_id:
        return True
    is_named = judge.name in open_gate.people.people or not judge.groups.isdisjoint(open_gate.people.groups)
    return judge.is_person and (open_gate.people.is_empty or is_named)
