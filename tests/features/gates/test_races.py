"""Races about one submitted output: the first call decides, and no verdict is applied twice."""

import secrets
from collections.abc import Callable
from typing import Any

from dcf.core.documents.operations import RunAnswer
from dcf.features.gates.judges import Judge
from dcf.features.gates.model import Judged, submission_of
from dcf.features.gates.overriding import Override
from dcf.features.gates.submitting import content_sha256
from dcf.features.gates.verdicts import Ruling
from tests.support.racing import race
from tests.support.tables import rows
from tests.support.workflows.machines import Document, workflow
from tests.support.world import World

ROUNDS = 100
CRITERION = "Every claim has a source."
REVIEW: Document = {"name": "review", "kind": "review", "criteria": [CRITERION], "reviewers": ["rita", "rob"]}
GOOD, OTHER = {"text": "done"}, {"text": "other"}


def submitted(world: World) -> tuple[str, str]:
    """A run whose output waits for a review, and the token of its worker."""
    states = {"A": {"Type": "Task", "Gates": [REVIEW], "Next": "B"}, "B": {"Type": "Task", "End": True}}
    run = world.create(workflow(states), agents={"A": "ann", "B": "ben"})
    token = world.acquire(run, "A", "ann")
    world.try_complete(run, "A", token, output=GOOD)
    return run, token


def judged(world: World, run: str, by: str, *, passed: bool) -> Callable[[], Any]:
    ruling = Ruling(
        state="A",
        gate="review",
        verdict="pass" if passed else "fail",
        sha256=content_sha256(GOOD),
        by=Judge(name=by, may_work=True),
        criteria=(Judged(criterion=CRITERION, passed=passed),),
    )
    return lambda: world.gates.decide(run, ruling, request_id=secrets.token_hex(4))


def overridden(world: World, run: str) -> Callable[[], Any]:
    wish = Override(state="A", by="olga", reason="by phone")
    return lambda: world.gates.override(run, wish)


def resubmitted(world: World, run: str, token: str) -> Callable[[], Any]:
    return lambda: world.try_complete(run, "A", token, output=OTHER)


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    return race(len(calls), lambda at: calls[at]())


def accepted(answers: list[Any]) -> int:
    return sum(isinstance(answer, RunAnswer) for answer in answers)


def has_moved_on_once(world: World, run: str) -> bool:
    types = world.event_types(run)
    entered = [event for event in world.events(run) if (event.type, event.state) == ("StateEntered", "B")]
    return types.count("StateSucceeded") <= 1 and len(entered) == types.count("StateSucceeded")


def test_of_two_reviewers_one_decides(real: World) -> None:
    for number in range(ROUNDS):
        run, _ = submitted(real)
        both = [judged(real, run, "rita", passed=True), judged(real, run, "rob", passed=bool(number % 2))]
        answers = at_once(both)
        assert accepted(answers) == 1, answers
        decided = [event.data["verdict"] for event in real.events(run) if event.type == "GateDecided"]
        assert len(decided) == 1
        assert real.statuses(run)["A"] == ("succeeded" if decided == ["pass"] else "running")
        assert has_moved_on_once(real, run)


@rows("other", ["override", "cancel", "resubmit", "release"])
def test_a_verdict_and_whatever_else_ends_the_waiting_exclude_each_other(real: World, other: str) -> None:
    for _ in range(ROUNDS // 4):
        run, token = submitted(real)
        others: dict[str, Callable[[], Any]] = {
            "override": overridden(real, run),
            "cancel": lambda run=run: real.lifecycle.cancel(run),  # type: ignore[misc]
            "resubmit": resubmitted(real, run, token),
            "release": lambda run=run: real.release(run, "A", None, force=True),  # type: ignore[misc]
        }
        both = [judged(real, run, "rita", passed=True), others[other]]
        at_once(both)
        assert has_moved_on_once(real, run)
        doc, kinds = real.doc(run, "A"), real.event_types(run)
        if doc.status == "succeeded":
            assert kinds.count("GateDecided") + kinds.count("GateOverridden") == 1
        elif other == "resubmit":
            assert doc.is_judged
            submission = submission_of(doc)
            assert submission is not None
            assert submission.sha256 == content_sha256(OTHER)
        else:
            assert (other, doc.status) in {("cancel", "cancelled"), ("release", "pending")}
