"""The rules for runs that grow; as in `rules.py`, one function each. Which units there are is read off the history."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from lab.evidence import Happening, Story
from lab.recording import Call

Rule: TypeAlias = Callable[[Story], Iterator[str]]

_ADDING = ("grow", "misgrow")


@dataclass(slots=True)
class _Standing:
    """How a grown run stands while its history is read: its units, what is sealed, what has ended well or failed."""

    units: dict[str, Mapping[str, object]] = field(default_factory=dict)
    waits: dict[str, set[str]] = field(default_factory=dict)
    sealed: set[str] = field(default_factory=set)
    well: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    def read(self, happening: Happening) -> None:
        """Advance by one entry."""
        name = happening.state
        match happening.type:
            case "UnitAdded":
                self.units[name] = happening.data
                waits = happening.data.get("depends_on")
                own = set(waits) if isinstance(waits, list) else set()
                self.waits[name] = own | self.waits.get(str(happening.data.get("group")), set())
            case "GroupSealed":
                self.sealed.add(name)
            case "RunSealed":
                self.sealed |= {"", *self.groups()}
            case "StateEntered":
                self.failed.discard(name)
            case "StateFailed":
                self.failed.add(name)
            case "StateSucceeded":
                self.well.add(name)
            case "StateResolved" if happening.data.get("how") == "skip":
                self.well.add(name)
            case "StatesSkipped":
                self.well |= set(happening.data["states"])
            case "UnitRewound":
                self.well.discard(name)

    def groups(self) -> set[str]:
        """Return the names of the groups."""
        return {name for name, unit in self.units.items() if unit.get("kind") == "group"}

    def inside(self, group: str) -> set[str]:
        """Return what is directly in a group; with an empty name, in none."""
        return {name for name, unit in self.units.items() if (unit.get("group") or "") == group}

    def below(self, parent: str) -> set[str]:
        """Return what is directly below a unit."""
        return {name for name, unit in self.units.items() if unit.get("parent") == parent}


def _read(story: Story) -> Iterator[tuple[Happening, _Standing]]:
    """Yield each entry of the history, and how the run stood just before it."""
    standing = _Standing()
    for happening in story.happenings:
        yield happening, standing
        standing.read(happening)


def a_unit_is_leased_only_when_all_it_waits_for_are_done(story: Story) -> Iterator[str]:
    """No worker gets a unit before the dependencies of it and its group have succeeded, or after one was reopened."""
    for result, standing in _read(story):
        missing = standing.waits.get(result.state, set()) - standing.well
        if result.type == "LeaseAcquired" and missing:
            yield f"leased while {sorted(missing)} are not done: {result.told()}"


def acknowledged_units_are_there_once(story: Story) -> Iterator[str]:
    """An acknowledged unit is in the run exactly once. No other unit is in it."""
    added = Counter(result.state for result in story.of("UnitAdded"))
    yield from (f"{name} was added {times} times" for name, times in added.items() if times > 1)
    for call in _adding(story):
        missing = [name for name in call.content["units"] if not added[name]]
        if call.is_ok and missing and not story.may_be_lost(call):
            yield f"{missing} are missing: {call.told()}"
    names = {name for call in _adding(story) if not call.is_refused for name in call.content["units"]}
    yield from (f"nobody added {name}" for name in added if name not in names)
    if story.documents and set(story.documents) != set(added):
        yield f"the documents are those of {sorted(set(story.documents) ^ set(added))} too, or not"


def refused_additions_leave_nothing(story: Story) -> Iterator[str]:
    """Units of a call that was refused are not there, and no call with a wrong unit takes effect."""
    there = {*story.documents_later, *(result.state for result in story.of("UnitAdded"))}
    names = {name for call in _adding(story) if not call.is_refused for name in call.content["units"]}
    for call in _adding(story):
        if call.op == "misgrow" and call.is_ok:
            yield f"added, though one of the units is wrong: {call.told()}"
        left = sorted(there & set(call.content["units"]) - names)
        if call.is_refused and left:
            yield f"refused, and {left} are there: {call.told()}"


def _adding(story: Story) -> Iterator[Call]:
    return (call for call in story.calls if call.op in _ADDING)


def a_group_ends_when_it_is_sealed_and_done(story: Story) -> Iterator[str]:
    """A group ends once it is sealed and all its members are done; nothing is added to what is sealed."""
    for result, standing in _read(story):
        if result.type == "UnitAdded" and {str(result.data.get("group") or ""), ""} & standing.sealed:
            yield f"added though it is sealed: {result.told()}"
        if result.type != "StateSucceeded":
            continue
        is_group = result.state in standing.groups()
        open_ones = (standing.inside(result.state) if is_group else standing.below(result.state)) - standing.well
        if open_ones:
            yield f"ended while {sorted(open_ones)} are not done: {result.told()}"
        if is_group and result.state not in standing.sealed:
            yield f"ended before it was sealed: {result.told()}"


def a_grown_run_ends_as_it_was_closed(story: Story) -> Iterator[str]:
    """A sealed run whose units are done ends. A closed run ends as it was closed: strictly, only when all is done.

    A run that is closed as anything but a success has no failed unit.
    """
    closes = [call for call in story.calls if call.op == "close" and not call.is_refused]
    ends = 0
    for result, standing in _read(story):
        left = sorted(set(standing.units) - standing.groups() - standing.well)
        if result.type == "RunSucceeded" and (left or "" not in standing.sealed):
            yield f"it ended by itself while {left} are open, sealed: {sorted(standing.sealed)}"
        if result.type == "RunClosed":
            ends += 1
            left = left if result.data["status"] == "succeeded" else sorted(set(left) - standing.failed)
            forced = [call for call in closes if call.content["force"]]
            if not closes or (left and not forced) or result.data.get("left") != len(left):
                text = f"{len(closes)} requests, {len(forced)} with force"
                yield f"closed by {text}, while {left} are open: {result.told()}"
    calls = [call for call in closes if call.is_ok and not story.may_be_lost(call)]
    if calls and not ends:
        yield f"told to have closed it, and the history does not say so: {calls[0].told()}"


def what_the_planner_asks_for_takes_effect_once(story: Story) -> Iterator[str]:
    """Each rewind, new try and skip of a unit has a request of its own; what one was told to have done is there."""
    for op, type_ in (("retry_unit", "UnitRetried"), ("without", "StateResolved"), ("rewind", "UnitRewound")):
        calls = [call for call in story.calls if call.op == op]
        done = Counter(
            result.state for result in story.of(type_) if result.data.get("unit", result.state) == result.state
        )
        counter = Counter(state for state, _ in {_request(call) for call in calls if not call.is_refused})
        details = Counter(
            state for state, _ in {_request(call) for call in calls if call.is_ok and not story.may_be_lost(call)}
        )
        for name in {*done, *details}:
            if not details[name] <= done[name] <= counter[name]:
                yield f"{done[name]} times {type_} of {name}, by {counter[name]} requests, {details[name]} told so"


def _request(call: Call) -> tuple[str, str]:
    return call.state, str(call.content["request"])


GROWN_RULES: tuple[Rule, ...] = (
    a_unit_is_leased_only_when_all_it_waits_for_are_done,
    acknowledged_units_are_there_once,
    refused_additions_leave_nothing,
    a_group_ends_when_it_is_sealed_and_done,
    a_grown_run_ends_as_it_was_closed,
    what_the_planner_asks_for_takes_effect_once,
)
