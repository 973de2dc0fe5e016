"""The rules for gates of units; as in `rules.py`, one function each. The units that have gates are known by name."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import TypeAlias

from lab.evidence import Happening, Story
from lab.expectation import GATED, PEOPLE
from lab.grown_plans import MOST_REWORKS, REVIEW, SHAPE

Rule: TypeAlias = Callable[[Story], Iterator[str]]

_REVIEWED = ("pass", "fail")
_JUDGED_ANEW = ("UnitRewound", "UnitRetried")


def nothing_gated_ends_well_unjudged(story: Story) -> Iterator[str]:
    """A unit with gates ends well once each passed for the output it has, not by its author, or somebody waived it."""
    submitted: dict[str, tuple[str, str]] = {}
    passed, waived = defaultdict[str, set[tuple[str, str]]](set), defaultdict[str, set[str]](set)
    for happening in story.happenings:
        state, details = happening.state, (str(happening.data.get("gate")), str(happening.data.get("content_sha256")))
        if happening.type == "GateOpened":
            submitted[state] = (details[1], str(happening.data["author"]))
        elif happening.type == "GateDecided":
            if details[0] == REVIEW and submitted.get(state) == (details[1], happening.data.get("judged_by")):
                yield f"its author judged it: {happening.told()}"
            (passed[state].add if happening.data["verdict"] == "pass" else passed[state].discard)(details)
        elif happening.type == "GateOverridden":
            waived[state].add(details[0])
        elif happening.type in _JUDGED_ANEW:
            waived.pop(state, None)
            if happening.type == "UnitRewound":
                passed.pop(state, None)
        elif _is_done(story, happening):
            content = submitted.get(state, ("nothing", ""))[0]
            left = {gate for gate in (SHAPE, REVIEW) if (gate, content) not in passed[state]} - waived[state]
            if left:
                yield f"it ended well without {sorted(left)} of {content[:8]}: {happening.told()}"


def _is_done(story: Story, happening: Happening) -> bool:
    """Return True if a unit with gates was completed, and not skipped."""
    by_hand = (happening.state, happening.epoch) in story.resolved
    return happening.type == "StateSucceeded" and happening.state.startswith(GATED) and not by_hand


def a_verdict_counts_once(story: Story) -> Iterator[str]:
    """A review decides an open gate once. Each acknowledged verdict has its own request, and is in the history."""
    is_open: dict[str, object] = {}
    for happening in story.happenings:
        if happening.type == "GateOpened":
            is_open[happening.state] = happening.data["content_sha256"]
        elif _is_review(happening):
            if is_open.pop(happening.state, None) != happening.data.get("content_sha256"):
                yield f"nobody waited for it: {happening.told()}"
        elif happening.type in (*_JUDGED_ANEW, "GateOverridden"):
            is_open.pop(happening.state, None)
    calls = [call for call in story.calls if call.op == "judge" and call.content["verdict"] in _REVIEWED]
    request = {(call.state, call.agent, call.content["request"]) for call in calls if not call.is_refused}
    details = {
        (call.state, call.agent, call.content["request"])
        for call in calls
        if call.is_ok and not story.may_be_lost(call)
    }
    done = Counter((result.state, str(result.data["judged_by"])) for result in story.happenings if _is_review(result))
    asked_by, answered_by = Counter(item[:2] for item in request), Counter(item[:2] for item in details)
    for person in {*done, *answered_by}:
        if not answered_by[person] <= done[person] <= asked_by[person]:
            yield f"{person} judged {done[person]} times, by {asked_by[person]} requests, {answered_by[person]} told so"


def _is_review(happening: Happening) -> bool:
    is_of_review = happening.type == "GateDecided" and happening.data.get("gate") == REVIEW
    return is_of_review and happening.data["verdict"] in _REVIEWED


def rework_is_counted_and_bounded(story: Story) -> Iterator[str]:
    """A gate sends an output back at most N times: the last time fails the unit, and no time before.

    After people have looked, the count starts again.
    """
    fails = Counter[tuple[str, str]]()
    for happening in story.happenings:
        if happening.type == "GateDecided" and happening.data["verdict"] == "fail":
            of = (happening.state, str(happening.data["gate"]))
            fails[of] = 0 if happening.data["judged_by"] in PEOPLE else fails[of] + 1
        elif happening.type in ("StateFailed", *_JUDGED_ANEW):
            most = max(fails[happening.state, gate] for gate in (SHAPE, REVIEW))
            if happening.data.get("error") == "DCF.GateFailed" and most != MOST_REWORKS:
                yield f"failed after {most} reworks: {happening.told()}"
            for gate in (SHAPE, REVIEW):
                del fails[happening.state, gate]
        for (state, gate), times in fails.items():
            if times > MOST_REWORKS:
                yield f"{gate} of {state} failed {times} times: {happening.told()}"


GATE_RULES: tuple[Rule, ...] = (
    nothing_gated_ends_well_unjudged,
    a_verdict_counts_once,
    rework_is_counted_and_bounded,
)
