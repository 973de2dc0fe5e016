"""The remedy of a diagnosis exists and clears the cause: the test runs the very command that `dcf why` prints."""

import inspect
import shlex
from collections.abc import Callable
from typing import Final

import typer.main
from typer.core import TyperGroup

from dcf.asl.tasks.askees import Askees
from dcf.cli.app import app
from dcf.features.diagnosis import remedies
from dcf.features.diagnosis.model import Remedy
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry
from dcf.tools.mcp import selection as profiles  # noqa: F401 - importing it registers all tools
from dcf.verbs.registry import TOOLS
from tests.cli.conftest import Dcf
from tests.features.diagnosis.test_commands import (
    holder_hangs,
    holder_vanished,
    never_started,
    nobody_assigned,
    nobody_notified,
    worker_fails,
    worker_missing,
)
from tests.features.diagnosis.test_operations import clock_looked
from tests.support.advised import advised_command
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.world import World

GIVEN: Final = {
    "run": "order-42",
    "state": "Each/17/It's done",
    "epoch": 1_790_000_000_000_000,
    "agent_id": "a-1",
    "advice": "Free memory.",
    "to": Askees(people=("alice",)),
    "choices": ("approve", "reject"),
    "question_id": "q1",
    "signal": "It's paid",
    "issue": "j0123456789abcdef",
    "gate": "review",
    "by_token": True,
    "account": "anthropic-1",
    "is_spent": True,
}

ALL: Final = {
    name: make(**{argument: GIVEN[argument] for argument in inspect.signature(make).parameters})
    for name, make in inspect.getmembers(remedies, inspect.isfunction)
    if make.__module__ == remedies.__name__ and not name.startswith("_")
}
"""Every remedy there is, for a state whose name a shell would take apart."""

TO_COME: Final = frozenset(
    {"resume_run", "cancel_run", "resolve_state", "notify", "release", "resume", "cancel", "resolve"}
)


@rows("remedy", ALL.values(), ids=ALL)
def test_the_advised_call_is_a_call_of_a_tool(remedy: Remedy) -> None:
    TOOLS[remedy.tool].arguments.model_validate(dict(remedy.arguments))


@rows("remedy", ALL.values(), ids=ALL)
def test_the_advised_command_is_a_command_with_these_arguments(remedy: Remedy) -> None:
    dcf, name, *words = shlex.split(advised_command(remedy))
    assert dcf == "dcf"
    group = typer.main.get_group(app)
    context = group.make_context(dcf, [name])
    _, command, _ = group.resolve_command(context, [name])
    if isinstance(command, TyperGroup):
        name, *words = words
        context = command.make_context(context.info_name, [name], parent=context)
        _, command, _ = command.resolve_command(context, [name])
    assert command is not None, name
    command.make_context(name, words, parent=context)


def blocked(world: World) -> str:
    run = worker_missing(world)
    world.journal.add_journal_entry(
        run, AddEntry(kind=EntryKind.ISSUE, text="Which?", agent="a", key="k", blocks=True, is_operator=True)
    )
    return run


def paused(world: World) -> str:
    run = worker_missing(world)
    world.lifecycle.pause(run, reason=None, request_id=None)
    return run


def timer_lost(world: World) -> str:
    run = worker_missing(world)
    world.ask("ZREM", world.store.keys(run).timers, "A")
    return run


def nothing_open(world: World) -> str:
    run = timer_lost(world)
    set_member(world.ask, world.store.keys(run).state("A"), "status", "succeeded")
    return run


CLEARED: dict[Callable[[World], str], tuple[str, str | None]] = {
    never_started: ("not_started", "not_taken"),
    nobody_notified: ("not_notified", "not_taken"),
    nobody_assigned: ("nobody_assigned", "not_taken"),
    holder_hangs: ("lease_held", "not_notified"),
    paused: ("paused", "not_taken"),
    blocked: ("blocked", "not_taken"),
    timer_lost: ("timer_lost", "not_taken"),
    nothing_open: ("nothing_open", "not_finalized"),
}
"""Runs by what happened to them: the cause, and what is found once the advised command was run."""


@rows("case", CLEARED, ids=lambda case: case.__name__)
def test_the_advised_command_clears_the_cause(dcf: Dcf, world: World, case: Callable[[World], str]) -> None:
    clock_looked(world)
    run, (cause, after) = case(world), CLEARED[case]
    (finding,) = world.diagnosis.explain(run).findings
    assert finding.cause == cause
    _, *words = shlex.split(advised_command(finding.remedy).replace("AGENT", "a-1"))
    done = dcf(*words, *(["--yes"] if {"release", "cancel"} & {*words[:2]} else []))
    assert done.exit_code == 0, done.output
    assert [finding.cause for finding in world.diagnosis.explain(run).findings] == [after]


def test_the_advised_command_prints_the_errors_of_a_worker_that_keeps_failing(dcf: Dcf, world: World) -> None:
    clock_looked(world)
    (finding,) = world.diagnosis.explain(worker_fails(world)).findings
    _, *words = shlex.split(advised_command(finding.remedy))
    assert dcf(*words).stdout.count("Broken") == 2


def test_an_expired_lease_is_taken_over_once_its_agents_were_told(dcf: Dcf, world: World) -> None:
    clock_looked(world)
    run = holder_vanished(world)
    (finding,) = world.diagnosis.explain(run).findings
    _, *words = shlex.split(advised_command(finding.remedy))
    assert dcf(*words).exit_code == 0
    (finding,) = world.diagnosis.explain(run).findings
    assert finding.evidence["told_times"] == 1
    world.acquire(run, "A", "a-1")
    assert [finding.cause for finding in world.diagnosis.explain(run).findings] == ["lease_held"]
