"""A run for each cause that a diagnosis finds: the function has the name of the cause, and returns the run.

`store_refuses_writes` needs a Redis of its own, and `waiting_for` is that of a state;
tests/web/pages/test_why_clears.py has them.
"""

from collections.abc import Callable
from functools import partial

from dcf.core.completing.evaluation_marks import Mark
from dcf.core.documents.decision import ReadSet
from dcf.core.leasing.lease import Release
from dcf.core.leasing.parking import Excuse
from dcf.core.lifecycle.holding import hold
from dcf.features.accounts.operations import release
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry
from dcf.features.people.listing import HumanTaskQuery
from dcf.store.keys import parts as key_parts
from dcf.store.keys import table as keys
from dcf.store.lists.agents import AgentRecord
from dcf.values.instants import SECOND, from_text, to_text
from tests.features.external.test_callbacks import asks
from tests.features.external.test_operations import waits
from tests.support.ahead import now
from tests.support.redis.documents import Place, set_member
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.world import World
from tests.web import run_stories

LONG_AGO = "2001-01-01T00:00:00.000000Z"


def started(world: World, document: Document, **options: object) -> str:
    """A run that was kicked off, and whose agents were notified."""
    run = world.create(document, **options)
    world.plane.kick_off(run, "initial")
    world.notifications.deliver_all(run)
    return run


def put(world: World, run: str, state: str, place: Place, value: object) -> None:
    set_member(world.ask, world.store.keys(run).state(state), place, value)


def not_started(world: World) -> str:
    return world.create(chain("A", "B"), agents={"A": "a-1"}, planner="p-1")


def nobody_assigned(world: World) -> str:
    return started(world, chain("A", "B"))


def not_notified(world: World) -> str:
    run = world.create(chain("A", "B"), agents={"A": "a-1"})
    world.plane.kick_off(run, "initial")
    return run


def not_taken(world: World, agent: str = "a-gone") -> str:
    return started(world, chain("A", "B"), agents={"A": agent})


def delivery_failed(world: World) -> str:
    agent = f"a-{world.name()}"
    world.records.create(AgentRecord(agent_id=agent, name=agent))
    world.records.delete(agent)
    return started(world, chain("A", "B"), agents={"A": agent})


def lease_held(world: World) -> str:
    run = started(world, chain("A", "B"), agents={"A": "a-1"})
    world.acquire(run, "A", "a-1")
    return run


def lease_expired(world: World) -> str:
    run = lease_held(world)
    put(world, run, "A", ("lease", "expires_at"), to_text(now(world) - 60 * SECOND))
    world.make_due(run, "A")
    return run


def keeps_failing(world: World) -> str:
    retry = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 9, "IntervalSeconds": 3600}]
    run = started(world, workflow({"A": {"Type": "Task", "Retry": retry, "End": True}}), agents={"A": "a-1"})
    for _ in range(3):
        put(world, run, "A", "not_before", None)
        lease = world.acquire(run, "A", "a-1")
        world.fail(run, "A", lease, "Broken", "no such file")
    return run


def timer_due(world: World) -> str:
    return started(world, workflow({"W": {"Type": "Wait", "Seconds": 3600, "Next": "A"}, "A": _TASK}))


def paused(world: World) -> str:
    run = not_taken(world)
    world.lifecycle.pause(run, reason="look")
    return run


def clock_late(world: World) -> str:
    run = timer_due(world)
    put(world, run, "W", "not_before", LONG_AGO)
    world.make_due(run, "W")
    world.ask("ZADD", world.store.keys(run).timers, from_text(LONG_AGO) or 0, key_parts.encode_state("W"))
    return run


def clock_absent(world: World) -> str:
    run = clock_late(world)
    world.ask("SET", keys.SERVER_TIME, now(world) - 3600 * SECOND)
    return run


def waiting_for_person(world: World) -> str:
    asking = {"to": "alice", "title": "Approve"}
    run = started(world, workflow({"H": {"Type": "Task", "Resource": "dcf:human", "Parameters": asking, "End": True}}))
    assert world.people.list_human_tasks(HumanTaskQuery(limit=9, run=run)).rows
    return run


def definition_unknown(world: World) -> str:
    run = not_taken(world)
    world.ask("DEL", world.store.keys(run).definition)
    return run


def blocked(world: World) -> str:
    run = not_taken(world)
    issue = AddEntry(kind=EntryKind.ISSUE, text="Which?", agent="a-1", key="k", blocks=True, is_operator=True)
    world.journal.add_journal_entry(run, issue)
    return run


def killed_process(world: World) -> str:
    run = not_taken(world)
    deaths = [Mark(mark_id=name, state="A", process=f"host:{name}", since=0) for name in ("1", "2")]
    world.store.transact(run, ReadSet(), partial(hold, state="A", deaths=deaths))
    return run


def retry_due(world: World) -> str:
    retry = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 9, "IntervalSeconds": 3600}]
    run = started(world, workflow({"A": {"Type": "Task", "Retry": retry, "End": True}}), agents={"A": "a-1"})
    world.fail(run, "A", world.acquire(run, "A", "a-1"), "Broken", "no such file")
    return run


def account_closed(world: World) -> str:
    run = started(world, chain("A", "B"), agents={"A": "a-1"})
    excuse = Excuse(within_s=3600, kind="limit")
    release(world.plane, run, Release(state="A", token=world.acquire(run, "A", "a-1"), excuse=excuse))
    return run


def waiting_for_callback(world: World) -> str:
    return started(world, workflow({"A": asks()}))


def waiting_for_signal(world: World) -> str:
    return started(world, workflow({"Paid": waits("paid-7")}))


def waiting_for_child(world: World) -> str:
    run, _ = run_stories.parent(world)
    return run


def waiting_for_verdict(world: World) -> str:
    return run_stories.judged(world)


def waiting_for_answer(world: World) -> str:
    return run_stories.asking(world)


def timer_lost(world: World) -> str:
    run = not_taken(world)
    world.ask("ZREM", world.store.keys(run).timers, "A")
    return run


def nothing_open(world: World) -> str:
    run = timer_lost(world)
    set_member(world.ask, world.store.keys(run).state("A"), "status", "succeeded")
    return run


def not_finalized(world: World) -> str:
    run = lease_held(world)
    world.lifecycle.cancel(run)
    return run


_TASK: Document = {"Type": "Task", "End": True}
CAUSES: tuple[Callable[[World], str], ...] = (
    *(not_started, nobody_assigned, not_notified, not_taken, delivery_failed, lease_held, lease_expired),
    *(keeps_failing, timer_due, paused, clock_late, clock_absent, waiting_for_person, definition_unknown, blocked),
    *(retry_due, waiting_for_callback, waiting_for_signal, waiting_for_child, waiting_for_verdict, waiting_for_answer),
    *(account_closed, timer_lost, nothing_open, not_finalized, killed_process),
)
