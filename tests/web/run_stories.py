"""Runs in which something has happened, as their pages show it. Each function makes one and returns its id."""

from dataclasses import dataclass
from typing import Any

from dcf.core.documents.usage import read_report
from dcf.features.gates.judges import Judge
from dcf.features.gates.model import Judged
from dcf.features.gates.submitting import content_sha256
from dcf.features.gates.verdicts import Ruling
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry
from dcf.features.questions.asking import Ask
from tests.features.children.test_operations import begin, keep, only_child, starts
from tests.support.waiting import wait_until
from tests.support.workflows.machines import Document, chain, numbered_chain, workflow
from tests.support.workflows.scopes import each, parallel, retrying, task
from tests.support.world import World

CRITERION = "Every claim has a source."
REVIEW: Document = {"name": "review", "kind": "review", "criteria": [CRITERION], "reviewers": ["rita"]}


@dataclass(frozen=True)
class Held:
    """A run with a state that an agent holds, by this token."""

    run: str
    token: str


def held(world: World, **options: Any) -> Held:
    """`Draft` is worked on by ann, after `Fetch`."""
    document: Document = {"Instructions": "Write about {% $states.input.topic %}.", "Skills": ["skill://style@1.0.0"]}
    states = {"Fetch": task("Draft"), "Draft": task(**document)}
    run = world.create(workflow(states), agents={"Fetch": "fay", "Draft": "ann"}, **options)
    world.do(run, "Fetch", "fay", {"topic": "bees"})
    return Held(run, world.acquire(run, "Draft", "ann"))


def retried(world: World) -> str:
    """`Call` failed once, waits for its next try, and says why."""
    run = world.create(workflow({"Call": task(Retry=retrying("Flaky"))}), agents={"Call": "cal"})
    world.fail(run, "Call", world.acquire(run, "Call", "cal"), "Flaky", "the line was busy")
    return run


def taken_over(world: World) -> str:
    """`A` was held by lou, whose lease ran out, and is held by max."""
    run = world.create(chain("A", "B"), agents={"A": ("lou", "max")})
    world.acquire(run, "A", "lou")
    world.expire_lease(run, "A")
    let_a_moment_pass(world)
    world.acquire(run, "A", "max")
    return run


def idle(world: World) -> str:
    """A was worked on, then no agent worked for a while, then B was."""
    run = world.create(chain("A", "B"))
    for state in ("A", "B"):
        token = world.acquire(run, state)
        let_a_moment_pass(world)
        world.complete(run, state, token)
        let_a_moment_pass(world)
    return run


def let_a_moment_pass(world: World) -> None:
    """Until the next event has another time than the last: histories tell milliseconds."""
    now = micros(world)
    wait_until(lambda: micros(world) > now + 2_000)


def micros(world: World) -> int:
    seconds, rest = world.ask("TIME")
    return int(seconds) * 1_000_000 + int(rest)


def lost(world: World) -> str:
    """`A` was held by lou, whose lease ran out."""
    run = world.create(chain("A", "B"), agents={"A": "lou"})
    world.acquire(run, "A", "lou")
    world.expire_lease(run, "A")
    return run


def failed(world: World, error: str = "Broken", cause: str = "the tank is empty") -> str:
    """`Fill` failed, and so did the run."""
    run = world.create(chain("Look", "Fill", "Drive"), agents={"Fill": "fil"})
    world.do(run, "Look", output={"tank": 0})
    world.fail(run, "Fill", world.acquire(run, "Fill", "fil"), error, cause)
    return run


def mapped(world: World, size: int = 200, **options: Any) -> str:
    """Of the iterations of `Each` the first ended, the fourth failed, the sixth is worked on."""
    more = {"MaxConcurrency": size, "ToleratedFailureCount": 5, **options}
    run = world.create(
        workflow({"Each": each({"Score": task("Keep"), "Keep": task()}, **more)}), run_input=list(range(size))
    )
    for at in (0, 1, 2):
        world.do(run, f"Each/{at}/Score", output=at)
        world.do(run, f"Each/{at}/Keep", output=at)
    world.fail(run, "Each/3/Score", world.acquire(run, "Each/3/Score", "sue"), "NoScore", "there was nothing to score")
    world.acquire(run, "Each/5/Score", "sam")
    return run


def branched(world: World) -> str:
    """`Left` ended, `Right` is worked on, side by side; inside `Deep` is a Map in a Parallel."""
    deep = parallel({"Many": each({"One": task()})}, {"Alone": task()})
    run = world.create(
        workflow({"Both": parallel({"Left": task()}, {"Right": task()}, following="Deep"), "Deep": deep}),
        run_input=["a", "b"],
    )
    world.do(run, "Both/0/Left", output=[1, 2])
    world.acquire(run, "Both/1/Right", "rob")
    return run


def nested(world: World) -> str:
    """A Map in a branch of a Parallel, both open."""
    run = world.create(
        workflow({"Deep": parallel({"Many": each({"One": task()})}, {"Alone": task()})}), run_input=["a", "b"]
    )
    world.do(run, "Deep/0/Many/0/One", output="A")
    return run


def parent(world: World) -> tuple[str, str]:
    """A run whose state started another: both ids."""
    run = begin(world, workflow({"Inner": starts(keep(world))}), run_input={"n": 1})
    return run, only_child(world, run)


def judged(world: World) -> str:
    """The output of `Write` was sent back once, and waits for its review again."""
    run = world.create(workflow({"Write": task(Gates=[REVIEW])}), agents={"Write": "ann"})
    token = world.acquire(run, "Write", "ann")
    world.try_complete(run, "Write", token, {"text": "first"})
    ruling = Ruling(
        state="Write",
        gate="review",
        verdict="fail",
        sha256=content_sha256({"text": "first"}),
        by=Judge(name="rita", may_work=True),
        criteria=(Judged(criterion=CRITERION, passed=False, feedback="name the book"),),
    )
    world.gates.decide(run, ruling)
    world.try_complete(run, "Write", token, {"text": "second"}, request_id="again")
    return run


def asking(world: World) -> str:
    """The holder of `Draft` asked the planner something."""
    made = held(world, planner="pat")
    world.talking.ask_question(made.run, Ask(state="Draft", token=made.token, text="Which bees?"))
    return made.run


def cancelled(world: World) -> str:
    made = held(world)
    world.lifecycle.cancel(made.run, reason="not wanted any more")
    return made.run


def documented(world: World) -> str:
    """`Draft` has a note in the journal and reported usage."""
    made = held(world)
    entry = AddEntry(kind=EntryKind.LOG, text="Only honey bees.", agent="ann", key="k1", state="Draft", token=None)
    world.journal.add_journal_entry(made.run, entry)
    usage = read_report({"tokens_in": 1200, "tokens_out": 340})
    world.complete(made.run, "Draft", made.token, {"text": "Bees hum."}, usage=usage)
    return made.run


def long_chain(world: World, length: int = 1000, done: int = 3) -> str:
    run = world.create(numbered_chain(length))
    for at in range(done):
        world.do(run, f"S{at}", output={"n": at})
    return run
