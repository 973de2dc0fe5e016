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
    for found in story.happenings:
        state, told = found.state, (str(found.data.get("gate")), str(found.data.get("content_sha256")))
        if found.type == "GateOpened":
            submitted[state] = (told[1], str(found.data["author"]))
        elif found.type == "GateDecided":
            if told[0] == REVIEW and submitted.get(state) == (told[1], found.data.get("judged_by")):
                yield f"its author judged it: {found.told()}"
            (passed[state].add if found.data["verdict"] == "pass" else passed[state].discard)(told)
        elif found.type == "GateOverridden":
            waived[state].add(told[0])
        elif found.type in _JUDGED_ANEW:
            waived.pop(state, None)
            if found.type == "UnitRewound":
                passed.pop(state, None)
        elif _is_done(story, found):
            content = submitted.get(state, ("nothing", ""))[0]
            left = {gate for gate in (SHAPE, REVIEW) if (gate, content) not in passed[state]} - waived[state]
            if left:
                yield f"it ended well without {sorted(left)} of {content[:8]}: {found.told()}"


def _is_done(story: Story, found: Happening) -> bool:
    """Return True if a unit with gates was completed, and not skipped."""
    by_hand = (found.state, found.epoch) in story.resolved
    return found.type == "StateSucceeded" and found.state.startswith(GATED) and not by_hand


def a_verdict_counts_once(story: Story) -> Iterator[str]:
    """A review decides an open gate once. Each acknowledged verdict has its own request, and is in the history."""
    is_open: dict[str, object] = {}
    for found in story.happenings:
        if found.type == "GateOpened":
            is_open[found.state] = found.data["content_sha256"]
        elif _is_review(found):
            if is_open.pop(found.state, None) != found.data.get("content_sha256"):
                yield f"nobody waited for it: {found.told()}"
        elif found.type in (*_JUDGED_ANEW, "GateOverridden"):
            is_open.pop(found.state, None)
    calls = [call for call in story.calls if call.op == "judge" and call.content["verdict"] in _REVIEWED]
    asked = {(call.state, call.agent, call.content["request"]) for call in calls if not call.is_refused}
    told = {
        (call.state, call.agent, call.content["request"])
        for call in calls
        if call.is_ok and not story.may_be_lost(call)
    }
    done = Counter((found.state, str(found.data["judged_by"])) for found in story.happenings if _is_review(found))
    asked_by, answered_by = Counter(one[:2] for one in asked), Counter(one[:2] for one in told)
    for who in {*done, *answered_by}:
        if not answered_by[who] <= done[who] <= asked_by[who]:
            yield f"{who} judged {done[who]} times, by {asked_by[who]} requests, {answered_by[who]} told so"


def _is_review(found: Happening) -> bool:
    is_of_review = found.type == "GateDecided" and found.data.get("gate") == REVIEW
    return is_of_review and found.data["verdict"] in _REVIEWED


def rework_is_counted_and_bounded(story: Story) -> Iterator[str]:
    """A gate sends an output back at most N times: the last time fails the unit, and no time before.

    After people have looked, the count starts again.
    """
    fails = Counter[tuple[str, str]]()
    for found in story.happenings:
        if found.type == "GateDecided" and found.data["verdict"] == "fail":
            of = (found.state, str(found.data["gate"]))
            fails[of] = 0 if found.data["judged_by"] in PEOPLE else fails[of] + 1
        elif found.type in ("StateFailed", *_JUDGED_ANEW):
            most = max(fails[found.state, gate] for gate in (SHAPE, REVIEW))
            if found.data.get("error") == "DCF.GateFailed" and most != MOST_REWORKS:
                yield f"failed after {most} reworks: {found.told()}"
            for gate in (SHAPE, REVIEW):
                del fails[found.state, gate]
        for (state, gate), times in fails.items():
            if times > MOST_REWORKS:
                yield f"{gate} of {state} failed {times} times: {found.told()}"


GATE_RULES: tuple[Rule, ...] = (
    nothing_gated_ends_well_unjudged,
    a_verdict_counts_once,
    rework_is_counted_and_bounded,
)
