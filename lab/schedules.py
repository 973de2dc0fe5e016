"""Schedules of a batch: one for each way to overlap, which the clocks serve while faults strike; judged at its end.

They start runs of a Wait alone, in addition to the runs that are drawn from the seed.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice, pairwise
from typing import Any, Final

from dcf.core.access.model import LOCAL
from dcf.core.definitions.model import read_definition
from dcf.core.listing.runs import Facet
from dcf.errors import DcfError, UnknownSchedule
from dcf.features.schedules.model import CatchUp, Overlap, Schedule, ScheduleWish, tag_of
from dcf.features.schedules.operations import Schedules
from dcf.store.keys import table as keys
from lab.evidence import Happening, read_happenings, read_meta
from lab.process import patiently

_EVERY_S: Final = 60
_WAIT_S: Final = 45
_PATIENCE_S: Final = 60.0
_CATCH_UP: Final = {Overlap.SKIP: CatchUp.NONE, Overlap.QUEUE: CatchUp.ONE, Overlap.ALLOW: CatchUp.ALL}
_WORKFLOW: Final = {
    "workflow_name": "lab-ticks",
    "asl": {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": _WAIT_S, "End": True}}},
}


class LabSchedules:
    """The schedules of one batch."""

    def __init__(self, schedules: Schedules, batch: str) -> None:
        self._schedules = schedules
        self._names = {overlap: f"lab-{batch}-{overlap}" for overlap in Overlap}
        self._before: dict[str, tuple[int, int | None]] = {}

    def create(self) -> None:
        """Create them, as often as it takes."""
        definition = read_definition(_WORKFLOW)
        for overlap, name in self._names.items():
            wish = ScheduleWish(
                name=name,
                workflow=definition.sha256,
                every_s=_EVERY_S,
                overlap=overlap,
                catch_up=_CATCH_UP[overlap],
                created_by=LOCAL,
            )
            patiently(partial(self._schedules.create, wish, {}, definition))

    def look(self) -> None:
        """Note what they did until everything was well: each must do more from then on."""
        for name in self._names.values():
            with suppress(UnknownSchedule):  # a power loss took it back
                self._before[name] = self._done(name)

    def judge(self, client: Any, losses: int) -> list[str]:
        """Pause them after another tick of each, and return what is wrong; each power loss excuses something."""
        there = [(overlap, name) for overlap, name in self._names.items() if name in self._before]
        return [sentence for overlap, name in there for sentence in self._judged(client, overlap, name, losses)]

    def _judged(self, client: Any, overlap: Overlap, name: str, losses: int) -> Iterator[str]:
        goes_on = self._goes_on(name)
        paused = patiently(lambda: self._schedules.pause(name))
        if not goes_on:
            yield f"schedule {name} does nothing any more: {paused}"
        listed = [run for run in _runs_of(client, name) if read_meta(client, run)]
        runs = {run: read_happenings(client, run) for run in listed}
        yield from untrue_records(paused, set(runs))
        for run, events in runs.items():
            if Counter(event.type for event in events)["RunCreated"] != 1:
                yield f"run {run} of schedule {name} was not created once: {events}"
        if overlap is not Overlap.ALLOW:
            yield from overlapping_runs(runs, losses)

    def _goes_on(self, name: str) -> bool:
        """Wait for another tick; whether it came."""
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            with suppress(DcfError):
                if self._done(name) != self._before[name]:
                    return True
            time.sleep(0.05)
        return False

    def _done(self, name: str) -> tuple[int, int | None]:
        """Return what changes with every tick: one served before the time stepped back is not counted again."""
        schedule: Schedule = patiently(lambda: self._schedules.read(name))
        return schedule.started + schedule.skipped, schedule.next_at


def _runs_of(client: Any, name: str) -> list[str]:
    return [run.decode() for run in client.zrange(keys.runs_by(Facet.TAG, tag_of(name)), 0, -1)]


def untrue_records(schedule: Schedule, runs: set[str]) -> Iterator[str]:
    """A tick that is told to be started has its run, and no two have the same."""
    details = [record.run for record in schedule.records if record.outcome == "started"]
    for run, times in Counter(details).items():
        if times > 1:
            yield f"schedule {schedule.name} tells {times} times that it started {run}"
        if run not in runs:
            yield f"schedule {schedule.name} tells that it started {run}, which is not there"


def overlapping_runs(runs: Mapping[str, tuple[Happening, ...]], losses: int = 0) -> Iterator[str]:
    """No run begins before the one before it has ended, by Redis' own time.

    Each power loss excuses one pair. The clock sees that a run has ended. The loss takes that end back. Then
    the clock starts the next run.
    """
    yield from islice(_overlaps(runs), losses, None)


def _overlaps(runs: Mapping[str, tuple[Happening, ...]]) -> Iterator[str]:
    for (earlier, before), (later, after) in pairwise(sorted(runs.items(), key=lambda item: item[1][0].at_ms)):
        ended = next((event.at_ms for event in before if event.type == "RunSucceeded"), None)
        if ended is None or after[0].at_ms < ended:
            yield f"run {later} began before {earlier} had ended: {before}, {after[0]}"
