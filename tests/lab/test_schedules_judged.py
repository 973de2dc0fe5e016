"""The lab finds schedules that started a run twice, reported an unknown run, or let two runs overlap."""

from dataclasses import replace

from dcf.features.schedules.model import ScheduleWish, TickRecord, new_schedule
from lab.evidence import Happening
from lab.schedules import overlapping_runs, untrue_records

SCHEDULE = new_schedule(ScheduleWish(name="s", workflow="w@1", every_s=60, created_by="local"), 0, "secret")


def told(*runs: str) -> list[str]:
    records = tuple(TickRecord(outcome="started", at=1, tick=1, run=run) for run in runs)
    return list(untrue_records(replace(SCHEDULE, records=records), {"a", "b"}))


def run(began: int, ended: int | None) -> tuple[Happening, ...]:
    times = [("RunCreated", began)] + ([] if ended is None else [("RunSucceeded", ended)])
    return tuple(
        Happening(type=kind, state="", data={}, number=number, at_ms=at) for number, (kind, at) in enumerate(times)
    )


def test_records_that_are_true_are_no_fault() -> None:
    assert told("a", "b") == []
    assert list(overlapping_runs({"b": run(3, None), "a": run(1, 3)})) == []


def test_a_tick_that_was_started_twice_and_one_without_its_run_are_found() -> None:
    assert told("a", "a") == ["schedule s tells 2 times that it started a"]
    assert told("a", "c") == ["schedule s tells that it started c, which is not there"]


def test_runs_that_overlap_are_found() -> None:
    (early,) = overlapping_runs({"a": run(1, 5), "b": run(4, 6)})
    (open_end,) = overlapping_runs({"a": run(1, None), "b": run(4, 6)})
    assert early.startswith("run b began before a had ended")
    assert open_end.startswith("run b began before a had ended")


def test_a_power_loss_excuses_the_overlap_of_one_pair_of_runs() -> None:
    overlapping = {"a": run(1, 5), "b": run(4, 8), "c": run(7, 9)}
    assert list(overlapping_runs({"a": run(1, 5), "b": run(4, 6)}, losses=1)) == []
    (second,) = overlapping_runs(overlapping, losses=1)
    assert second.startswith("run c began before b had ended")
