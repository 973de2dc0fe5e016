"""A batch of runs of one kind: creates them, lets workers work and faults strike, waits for the end, judges each.

A batch is what a seed repeats: its workflows, habits and strikes are drawn from it. Only the interleaving is new.
"""

import random
import shutil
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dcf.core.lifecycle.finalization import Finalize
from dcf.errors import DcfError, UnknownRun
from dcf.features.artifacts import quota_storage as artifact_quotas
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.checks import Listings
from lab import calling_back, clock, creating, growing, operating, people, reviewing, signalling, worker
from lab.crews import AGENTS, Crew
from lab.evidence import (
    Story,
    is_task,
    read_asked,
    read_children,
    read_documents,
    read_happenings,
    read_kept,
    read_kept_signals,
    read_left,
    read_meta,
    read_planner_mail,
)
from lab.expectation import Expected
from lab.extras import Bench
from lab.grown_plans import draw_plan, grown_run
from lab.kind import Kind
from lab.process import Dcf, opened, patiently
from lab.recording import Call, Recorder, read_calls
from lab.rules import judge
from lab.schedules import LabSchedules
from lab.verbs import OwnVerbs, Recorded
from lab.workflows import Workflow, draw

BATCH = 100
_LOOK_S = 0.2
_SOONER = 4
"""By how much the first strike of a batch comes sooner than the others."""

_REMINDERS = 4
"""Entries that an idle run adds to its history in that time: reminders of a state that no worker takes."""

_DELIVERY_S = 5.0
"""For the clocks to tell planners of the end. Runs that were listed before the time stepped back stay listed longer."""

_DRAIN_S = 15.0
_LATE_CALLS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a run broke."""

    seed: int
    rule: str
    sentence: str
    story: Story
    strikes: tuple[tuple[float, str], ...]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The outcome of a batch. `cases` are the errands of a kind, `broken` counts packets.

    `complaints` are those of processes that crashed, of Redis, and of errands that broke a rule.
    """

    runs: int = 0
    cases: int = 0
    calls: int = 0
    strikes: int = 0
    broken: int = 0
    seconds: float = 0.0
    complaints: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)


class Batch:
    """The runs of some seeds, on the servers of a kind."""

    def __init__(
        self, kind: Kind, seeds: range, *, only: int | None = None, work: Callable[[worker.Duty], None] | None = None
    ) -> None:
        """Take the runs of these seeds, or only one of them, with the strikes of all; `work` is what workers run."""
        self._kind = kind
        self._seeds = seeds
        self._work = work or kind.work
        self._folder = kind.home / f"batch-{seeds.start}"
        self._crew = Crew(self._folder)
        chosen = seeds if only is None else (only,)
        self._cases = tuple(chosen)
        self._workflows: dict[str, Workflow] = {}
        self._grown: dict[str, int] = {}
        for seed in chosen:
            run, workflow = f"lab-{kind.name}-{seed}", draw(seed)
            new = operating.again(run, seed)
            self._workflows |= {run: workflow} | ({} if new is None else {new: workflow})
            growing_run = grown_run(run, seed)
            self._grown |= {} if growing_run is None else {growing_run: seed}
        self._struck: list[tuple[float, str]] = []
        self._missed: list[str] = []
        self._observed: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self._over = threading.Event()
        self._signals_over = threading.Event()
        self._ended = threading.Event()

    def run(self) -> Outcome:
        """Run the batch to its end and judge it."""
        began = time.monotonic()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._kind.begin()
        with opened(self._kind.place()) as dcf:
            striker = threading.Thread(target=self._strike)
            schedules = LabSchedules(dcf.schedules, f"{self._kind.name}-{self._seeds.start}")
            try:
                self._start()
                schedules.create()
                self._create_all(dcf)
                errands = self._kind.errands(Bench(dcf=dcf, kind=self._kind, seeds=self._cases, ended=self._ended))
                striker.start()
                began_striking = time.monotonic()
                self._wait_for_ends(dcf, self._kind.striking_s)
                errands.wait(began_striking + self._kind.striking_s - time.monotonic())
                self._over.set()
                striker.join()
                self._kind.heal(self._crew)
                schedules.look()
                self._resume_all(dcf)
                self._wait_while_they_go_on(dcf)
                broken = errands.judge()
                ticks = schedules.judge(self._kind.client(), len(self._kind.losses))
                stories = self._finish(dcf)
            finally:
                self._over.set()
                self._signals_over.set()
                self._ended.set()
                self._crew.end()
        outcome = Outcome(runs=len(stories), strikes=len(self._struck), seconds=time.monotonic() - began)
        outcome.broken = self._kind.struck
        outcome.cases = errands.done
        outcome.complaints = [*self._kind.complaints(), *self._crew.crashes(), *ticks, *broken, *self._missed]
        for story in stories:
            outcome.calls += len(story.calls)
            result = [(rule, sentence) for rule, sentence in judge(story)]
            outcome.violations += [
                Violation(seed=story.seed, rule=rule, sentence=text, story=story, strikes=tuple(self._struck))
                for rule, text in result
            ]
        shutil.rmtree(self._folder, ignore_errors=True)
        return outcome

    def _start(self) -> None:
        place = self._kind.place()
        for number in range(2):
            self._crew.start(f"clock {number}", clock.main, place)
        seeds = {run: workflow.seed for run, workflow in self._workflows.items()}
        by_hand = operating.OperatorDuty(
            place=place, calls=self._folder / "operator.jsonl", seeds=seeds, number=self._seeds.start
        )
        self._crew.start("operator", operating.main, by_hand)
        grows = growing.PlannerDuty(
            place=place, calls=self._folder / "planner.jsonl", runs=self._grown, lossy=self._kind.honest
        )
        self._crew.start("planner", growing.main, grows)
        judges = reviewing.ReviewersDuty(
            place=place, calls=self._folder / "reviewers.jsonl", runs=tuple(self._grown), number=self._seeds.start
        )
        self._crew.start("worker reviewers", reviewing.main, judges)
        people_duty = people.PeopleDuty(
            place=place,
            calls=self._folder / "people.jsonl",
            runs=frozenset([*seeds, *self._grown]),
            number=self._seeds.start,
        )
        self._crew.start("worker people", people.main, people_duty)
        claimed = (*(run for run, seed in seeds.items() if seed % 3 == 0), *self._grown)
        for number, agent in enumerate(AGENTS):
            duty = worker.Duty(
                agent=agent,
                place=self._kind.workplace(),
                calls=self._folder / f"{agent}.jsonl",
                seeds=seeds,
                claimed=claimed,
                number=number + self._seeds.start,
                honest=self._kind.honest,
            )
            self._crew.start(f"worker {agent}", self._work, duty)

    def _create_all(self, dcf: Dcf) -> None:
        creating.keep_children(dcf, self._workflows.values())
        seeds = {run: workflow.seed for run, workflow in self._workflows.items()}
        self._signals_over = signalling.begin(
            dcf, seeds, Recorder(self._folder / "signals of the lab.jsonl", "signaller")
        )
        calls = Recorder(self._folder / "callbacks of the lab.jsonl", "callback")
        calling_back.begin(dcf, seeds, calls, self._signals_over, honest=self._kind.honest)
        for run, workflow in self._workflows.items():
            if operating.repeated_from(run) is None:
                creating.create(dcf, run, workflow)

    def _resume_all(self, dcf: Dcf) -> None:
        """Resume the runs that the operator paused. The operator has ended."""
        self._crew.end("operator")
        by_hand = operating.Operations(dcf, Recorder(self._folder / "resumed.jsonl", "the lab"))
        for run in self._workflows:
            if operating.repeated_from(run) is not None:
                creating.repeat(dcf, run)
            try:
                result = patiently(lambda run=run: dcf.plane.read(run, ()))  # type: ignore[misc]
            except UnknownRun:  # a power loss took it back
                continue
            for item in result.meta.blocked_by:
                issue = item.issue
                by_hand.surely(lambda run=run, issue=issue: by_hand.unblock(run, issue, f"at the end of {issue}"))  # type: ignore[misc]
            if result.meta.is_paused:
                by_hand.surely(lambda run=run: by_hand.resume(run, f"at the end of {run}"))  # type: ignore[misc]

    def _strike(self) -> None:
        luck = random.Random(f"strikes {self._kind.name} {self._seeds.start}")
        pause_s = luck.uniform(*self._kind.pause_s) / _SOONER  # a short batch must not be over before
        while not self._over.wait(pause_s):
            began = time.monotonic()
            try:
                self._struck.append((began, self._kind.strike(luck, self._crew)))
            except Exception:  # noqa: BLE001 - what the batch then shows is no fault of dcf
                self._missed.append(traceback.format_exc())
                print(self._missed[-1], file=sys.stderr)  # what was left half done may keep the batch from its end
                return
            pause_s = luck.uniform(*self._kind.pause_s)

    def _wait_for_ends(self, dcf: Dcf, seconds: float) -> set[str]:
        """Wait until every run has ended, or a little longer than this; return the runs that are still open."""
        until = time.monotonic() + seconds
        open_runs = {*self._workflows, *self._grown}
        while open_runs and time.monotonic() < until:
            time.sleep(_LOOK_S)
            with suppress(DcfError):
                open_runs = {run for run in sorted(open_runs) if self._is_open(dcf, run)}
        return open_runs

    def _is_open(self, dcf: Dcf, run: str) -> bool:
        """Return True if a run continues; create and start a run again that a power loss took back."""
        try:
            meta = dcf.plane.read(run, ()).meta
        except UnknownRun:
            meta = None
        if run in self._grown:  # its planner opens it again
            return meta is None or meta.status == "running"
        if meta is None and operating.is_deleted(self._workflows[run].seed):
            return False
        if meta is None and operating.repeated_from(run) is not None:
            creating.repeat(dcf, run)
            return True
        if meta is None or (meta.status == "running" and not meta.is_started):
            creating.create(dcf, run, self._workflows[run])
            return True
        return meta.status == "running"

    def _wait_while_they_go_on(self, dcf: Dcf) -> None:
        """Wait, after the end of all faults, until every run has ended or no event comes."""
        client, before = self._kind.client(), -1
        while open_runs := self._wait_for_ends(dcf, self._kind.patience_s):
            happened = sum(client.xlen(RunKeys(run).events) for run in (*self._workflows, *self._grown))
            if happened - before <= _REMINDERS * len(open_runs):
                return
            before = happened

    def _finish(self, dcf: Dcf) -> list[Story]:
        """Finalize the runs, make late calls, let everything drain, and collect the evidence."""
        self._crew.end("worker")
        self._crew.end("planner")
        self._signals_over.set()
        client, runs = self._kind.client(), (*self._workflows, *self._grown)
        ended = [run for run in runs if read_meta(client, run).get("status") not in {None, "running"}]
        self._drain(client, _DELIVERY_S)
        mail = read_planner_mail(client)
        for run in ended:
            patiently(lambda run=run: dcf.plane.finalize(run, Finalize(workflow_id=run)))  # type: ignore[misc]
        self._drain(client)
        for run, workflow in self._workflows.items():
            if operating.is_deleted(workflow.seed):
                patiently(lambda run=run: dcf.retention.delete(run))  # type: ignore[misc]
        before = {run: read_documents(client, run) for run in runs}
        self._call_late(dcf)
        if self._kind.sweeps:
            patiently(lambda: [*Listings(dcf.connections, settling=(artifact_quotas.settle,)).pages(repair=True)])
        left = {run: read_left(client, run) + read_asked(dcf.connections, run) for run in runs}
        by_run = defaultdict[str, list[Call]](list)
        for call in read_calls(self._folder):
            by_run[call.run].append(call)
        closures = self._kind.closures()
        common = {
            run: self._common(client, run, before[run], left[run], closures, is_over=run in ended) for run in runs
        }
        drawn = [
            Story(
                **common[run],
                seed=workflow.seed,
                expected=workflow.expected,
                calls=tuple(by_run[run]),
                kept=read_kept(client, run) if operating.is_deleted(workflow.seed) else (),
                is_to_be_deleted=operating.is_deleted(workflow.seed),
                repeats=operating.repeated_from(run),
                repeated_as=operating.again(run, workflow.seed),
                planner_notices=tuple(mail.get(run, ())),
            )
            for run, workflow in self._workflows.items()
        ]
        grown = [
            Story(
                **common[run],
                seed=seed,
                expected=Expected(inputs=draw_plan(seed, lossy=self._kind.honest).inputs),
                calls=tuple(by_run[run]),
                planner_notices=tuple(mail.get(run, ())),
                is_grown=True,
            )
            for run, seed in self._grown.items()
        ]
        return [*drawn, *grown]

    def _common(
        self,
        client: Any,
        run: str,
        before: Mapping[str, Any],
        left: tuple[str, ...],
        closures: Mapping[str, Any],
        *,
        is_over: bool,
    ) -> dict[str, Any]:
        """Return what is known of every run alike, at the end."""
        return {
            "run": run,
            "happenings": read_happenings(client, run),
            "meta": read_meta(client, run),
            "agents": frozenset(AGENTS),
            "documents": before if is_over else {},
            "documents_later": read_documents(client, run) if is_over else {},
            "left": left,
            "losses": tuple(self._kind.losses),
            "closures": closures,
            "children": read_children(client, run),
            "signals_kept": read_kept_signals(client, run),
        }

    def _drain(self, client: Any, seconds: float = _DRAIN_S) -> None:
        """Wait until the clocks have nothing left to do for any run that ended."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            live = {name.decode() for name in client.zrange(keys.LIVE, 0, -1)}
            if not [run for run in live if read_meta(client, run).get("status") != "running"]:
                return
            time.sleep(0.05)

    def _call_late(self, dcf: Dcf) -> None:
        """Come back with old leases when everything has ended."""
        recorder = Recorder(self._folder / "late.jsonl", "late", after_end=True)
        verbs = Recorded(OwnVerbs(dcf.plane, dcf.notifications), recorder, "late")
        luck = random.Random(f"late {self._seeds.start}")
        leases = defaultdict[str, list[Call]](list)
        for call in read_calls(self._folder):
            if call.token is not None and call.state and is_task(call.state):
                leases[call.run].append(call)
        for run, calls in leases.items():
            for call in luck.sample(calls, min(len(calls), _LATE_CALLS)):
                holding = worker.Held(
                    run=run, state=call.state, token=call.token or "", content={"output": 0}, over=True
                )
                worker.come_back(verbs, holding, luck)
